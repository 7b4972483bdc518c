//! A dispatcher with components that write down what reaches them, and do what a
//! test tells them to do then.
#![allow(dead_code)] // Each module uses the part that it needs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pitlane::dispatch::{
    Component, ComponentId, Context, Dispatcher, HeapBytes, Limits, MaintenanceRule, Needs, Topic,
};

/// The topic that [`Rig::publish`] uses.
pub(crate) const TOPIC: Topic = Topic(3);

/// An event that is only a name; a guard in it runs when the capture is dropped.
#[derive(Clone, Default)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) on_drop: Option<Rc<OnDrop>>,
    pub(crate) heap: usize,
}

impl Event {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    pub(crate) fn dropping(name: &str, body: impl FnOnce() + 'static) -> Self {
        Self {
            on_drop: Some(on_drop(body)),
            ..Self::new(name)
        }
    }
}

impl HeapBytes for Event {
    fn heap_bytes(&self) -> usize {
        self.heap
    }
}

/// Runs something when it is dropped.
pub(crate) struct OnDrop {
    body: RefCell<Option<Box<dyn FnOnce()>>>,
}

impl std::fmt::Debug for OnDrop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnDrop")
    }
}

pub(crate) fn on_drop(body: impl FnOnce() + 'static) -> Rc<OnDrop> {
    Rc::new(OnDrop {
        body: RefCell::new(Some(Box::new(body))),
    })
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            body();
        }
    }
}

/// What reached whom, under which root.
type Log = Vec<(String, Option<u64>)>;

pub(crate) type Script = Rc<dyn Fn(&Rig)>;

/// What the test's components share.
#[derive(Clone)]
pub(crate) struct Rig {
    pub(crate) d: Rc<Dispatcher<Event>>,
    log: Rc<RefCell<Log>>,
    scripts: Rc<RefCell<HashMap<String, Script>>>,
    /// A component that is running.
    pub(crate) first: ComponentId,
}

/// Logs what reaches it, and runs the script of the event's name.
pub(crate) struct Recorder {
    pub(crate) prefix: &'static str,
    pub(crate) maintains: bool,
    pub(crate) rule: MaintenanceRule,
    pub(crate) needs: Needs,
    pub(crate) takes: fn(&str) -> bool,
    pub(crate) rig: Rig,
}

impl Recorder {
    pub(crate) fn new(rig: &Rig, prefix: &'static str) -> Self {
        Self {
            prefix,
            maintains: false,
            rule: MaintenanceRule::default(),
            needs: Needs::NOTHING,
            takes: |_| true,
            rig: rig.clone(),
        }
    }
}

impl Component<Event> for Recorder {
    fn name(&self) -> &str {
        if self.prefix.is_empty() {
            "recorder"
        } else {
            self.prefix
        }
    }

    fn accepts(&self, event: &Event) -> bool {
        (self.takes)(&event.name)
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn maintenance_rule(&self) -> MaintenanceRule {
        self.rule
    }

    fn maintain(&mut self, event: &Event, _: &Context<'_, Event>) {
        if self.maintains {
            let name = format!("{}maintain({})", self.prefix, event.name);
            self.rig.note(&name);
            self.rig.run_script(&name);
        }
    }

    fn on_event(&mut self, event: &Event, _: &Context<'_, Event>) {
        self.rig.note(&format!("{}{}", self.prefix, event.name));
        self.rig.run_script(&event.name);
    }

    fn on_start(&mut self, _: &Context<'_, Event>) {
        self.rig.run_script(&format!("{}start", self.prefix));
    }

    fn on_stop(&mut self, _: &Context<'_, Event>) {
        self.rig.run_script(&format!("{}stop", self.prefix));
    }
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::over(Dispatcher::new())
    }

    pub(crate) fn with_limits(limits: Limits) -> Self {
        Self::over(Dispatcher::with_limits(limits))
    }

    fn over(dispatcher: Dispatcher<Event>) -> Self {
        let d = Rc::new(dispatcher);
        let log = Rc::default();
        let scripts = Rc::default();
        // A rig needs its first component, and the component a rig: the component that
        // is registered first is only there to be replaced.
        struct Nobody;
        impl Component<Event> for Nobody {
            fn name(&self) -> &str {
                "nobody"
            }
            fn on_event(&mut self, _: &Event, _: &Context<'_, Event>) {}
        }
        let nobody = d.register(Box::new(Nobody)).expect("room for one");
        let mut rig = Self {
            d,
            log,
            scripts,
            first: nobody,
        };
        rig.d.retire(nobody).expect("just registered");
        rig.first = rig.add(Recorder::new(&rig, ""));
        let first = rig.first;
        rig.d
            .with(first, |recorder: &mut Recorder| recorder.rig.first = first);
        rig
    }

    /// Registers and starts a component.
    pub(crate) fn add(&self, component: impl Component<Event>) -> ComponentId {
        let id = self.d.register(Box::new(component)).expect("room");
        self.d.start(id).expect("just registered");
        id
    }

    pub(crate) fn note(&self, name: &str) {
        self.log
            .borrow_mut()
            .push((name.into(), self.d.active_root()));
    }

    pub(crate) fn run_script(&self, name: &str) {
        let script = self.scripts.borrow().get(name).cloned();
        if let Some(script) = script {
            script(self);
        }
    }

    /// What a component does when it is told of an event.
    pub(crate) fn on(&self, name: &str, script: impl Fn(&Rig) + 'static) {
        self.scripts
            .borrow_mut()
            .insert(name.into(), Rc::new(script));
    }

    /// Queues an event for the first component, directly.
    pub(crate) fn admit(&self, name: &str) {
        self.try_admit(name).expect("not refused");
    }

    pub(crate) fn try_admit(&self, name: &str) -> Result<(), pitlane::dispatch::DispatchError> {
        self.d.admit(self.first, || Event::new(name))
    }

    /// A publication that admits these.
    pub(crate) fn publish(&self, names: &[&str]) {
        self.d.publication(|| {
            for name in names {
                self.admit(name);
            }
        });
    }

    /// What was written down since the last look.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.take().into_iter().map(|(name, _)| name).collect()
    }

    /// The same with roots, numbered by their first appearance: `a@R1`, `b@-`.
    pub(crate) fn log_with_roots(&self) -> Vec<String> {
        let mut seen = Vec::new();
        let mut number = |serial: u64| {
            seen.iter()
                .position(|one| *one == serial)
                .unwrap_or_else(|| {
                    seen.push(serial);
                    seen.len() - 1
                })
                + 1
        };
        let log = self.log.take();
        log.into_iter()
            .map(|(name, root)| match root {
                Some(serial) => format!("{name}@R{}", number(serial)),
                None => format!("{name}@-"),
            })
            .collect()
    }

    /// Drains everything at boundaries.
    pub(crate) fn drain_all(&self) {
        while self.d.boundary(64).expect("nothing is wrong") {}
    }

    /// Positions of what is queued, as `publication.admission`.
    pub(crate) fn positions(&self) -> Vec<String> {
        let positions = self.d.positions();
        positions
            .iter()
            .map(|at| format!("{}.{}", at.publication, at.admission))
            .collect()
    }
}
