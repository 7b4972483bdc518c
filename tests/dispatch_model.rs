//! Random programs of publications, admissions, commands, drains, cancellations,
//! stops and panics, through the real dispatcher and through a plain model of it:
//! every callback and command in the same order, under the same root.

#[path = "dispatch/plain_dispatcher.rs"]
mod plain_dispatcher;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pitlane::dispatch::{
    Children, CommandQueue, CommandSender, Component, ComponentId, Context, DispatchError,
    Dispatcher, Fatal, Limits, Routes, Topic,
};
use plain_dispatcher::{Entry, FUEL, Halt, Op, PlainDispatcher, Program, TARGETS, is_told};
use proptest::prelude::*;

/// Every component has subscribed to it.
const ALL: Topic = Topic(0);

/// The first component alone has subscribed to it.
const FIRST: Topic = Topic(1);

/// What a planned panic throws.
struct Planned;

/// Keeps planned panics out of the test's output; all others are shown.
fn hush() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload().is::<Planned>() {
                shown(info);
            }
        }));
    });
}

/// The real dispatcher, driven by the same programs.
struct Real {
    d: Dispatcher<usize>,
    commands: CommandQueue<usize>,
    sender: CommandSender<usize>,
    program: Program,
    targets: RefCell<Vec<ComponentId>>,
    log: RefCell<Vec<Entry>>,
    fuel: Cell<u32>,
}

/// Runs the script that its event names.
struct Player {
    target: usize,
    real: Rc<Real>,
}

impl Component<usize> for Player {
    fn name(&self) -> &str {
        "player"
    }

    fn on_event(&mut self, script: &usize, _: &Context<'_, usize>) {
        // To ask for a root makes one.
        let root = is_told(*script)
            .then(|| self.real.d.active_root())
            .flatten();
        self.real.log.borrow_mut().push(Entry::Callback {
            target: self.target,
            script: *script,
            root,
        });
        self.real.script(*script, None);
    }
}

impl Real {
    fn new(program: &Program) -> Rc<Self> {
        let limits = Limits {
            units: program.units,
            deliveries: program.deliveries,
            ..Limits::default()
        };
        let d = Dispatcher::with_limits(limits);
        let commands = CommandQueue::new(&d);
        let real = Rc::new(Self {
            sender: commands.sender(),
            commands,
            d,
            program: program.clone(),
            targets: RefCell::default(),
            log: RefCell::default(),
            fuel: Cell::new(FUEL),
        });
        for target in 0..TARGETS {
            let player = Player {
                target,
                real: Rc::clone(&real),
            };
            let id = real.d.register(Box::new(player)).expect("room");
            real.d.start(id).expect("registered");
            real.d.subscribe(ALL, id).expect("room");
            real.targets.borrow_mut().push(id);
        }
        let first = real.targets.borrow()[0];
        real.d.subscribe(FIRST, first).expect("room");
        if program.is_watched {
            let watches =
                |routes: &mut Routes<usize>| routes.subscribe_direct(ALL, Rc::new(|_, _| {}));
            real.d.with_routes(watches).expect("room");
        }
        real
    }

    fn script(&self, script: usize, mut children: Option<&mut Children<'_, usize>>) {
        for op in &self.program.scripts[script] {
            self.op(op, &mut children);
        }
    }

    fn op(&self, op: &Op, children: &mut Option<&mut Children<'_, usize>>) {
        let Some(fuel) = self.fuel.get().checked_sub(1) else {
            return;
        };
        self.fuel.set(fuel);
        let target = |target: usize| self.targets.borrow()[target];
        match *op {
            Op::Admit { target: to, script } => drop(self.d.admit(target(to), || script).err()),
            Op::Cancel { target: to } => drop(self.d.reserve(target(to))),
            Op::Publish { script } => {
                self.d
                    .publication(|| self.script(script, children.as_deref_mut()));
            }
            Op::Tell { script } => self.d.publish(ALL, &script),
            Op::TellFirst { script } => self.d.publish(FIRST, &script),
            Op::Independent { script } => {
                self.d
                    .independent(|| self.script(script, children.as_deref_mut()));
            }
            Op::Send { script } => self.sender.send(script),
            Op::Child { script } => {
                if let Some(children) = children {
                    children.capture(script);
                }
            }
            Op::Panic => std::panic::panic_any(Planned),
            Op::Restart { target: to } => {
                if self.d.stop(target(to)).is_ok() {
                    self.d.start(target(to)).expect("it was stopped just now");
                }
            }
            Op::Drain { budget } => {
                let result = self.d.boundary(budget);
                self.log.borrow_mut().push(Entry::Drained {
                    result: told(result),
                });
            }
            Op::DrainCommands => {
                self.commands.drain(|script, children| {
                    let root = self.d.active_root();
                    self.log.borrow_mut().push(Entry::Command { script, root });
                    self.script(script, Some(children));
                });
            }
        }
    }
}

fn told(result: Result<bool, DispatchError>) -> Result<bool, Option<Halt>> {
    result.map_err(|error| match error {
        DispatchError::Fatal(Fatal::Overflow) => Some(Halt::Overflow),
        DispatchError::Fatal(Fatal::Runaway { .. }) => Some(Halt::Runaway),
        DispatchError::Fatal(Fatal::PublicationUnwound) => Some(Halt::PublicationUnwound),
        DispatchError::Active => None,
        other => panic!("no program can do that: {other}"),
    })
}

/// Roots as numbers of their first appearance.
fn renumbered(log: &[Entry]) -> Vec<Entry> {
    let mut numbers = HashMap::new();
    let mut number = |root: Option<u64>| {
        root.map(|root| {
            let next = numbers.len() as u64;
            *numbers.entry(root).or_insert(next)
        })
    };
    log.iter()
        .map(|entry| match *entry {
            Entry::Callback {
                target,
                script,
                root,
            } => Entry::Callback {
                target,
                script,
                root: number(root),
            },
            Entry::Command { script, root } => Entry::Command {
                script,
                root: number(root),
            },
            ref other => other.clone(),
        })
        .collect()
}

fn op(scripts: usize) -> impl Strategy<Value = Op> {
    let script = 0..scripts;
    let target = 0..TARGETS;
    prop_oneof![
        6 => (target.clone(), script.clone())
            .prop_map(|(target, script)| Op::Admit { target, script }),
        1 => target.clone().prop_map(|target| Op::Cancel { target }),
        4 => script.clone().prop_map(|script| Op::Publish { script }),
        3 => script.clone().prop_map(|script| Op::Tell { script }),
        3 => script.clone().prop_map(|script| Op::TellFirst { script }),
        2 => script.clone().prop_map(|script| Op::Independent { script }),
        3 => script.clone().prop_map(|script| Op::Send { script }),
        2 => script.prop_map(|script| Op::Child { script }),
        1 => Just(Op::Panic),
        1 => target.prop_map(|target| Op::Restart { target }),
        1 => (0_usize..3).prop_map(|budget| Op::Drain { budget }),
        1 => Just(Op::DrainCommands),
    ]
}

const SCRIPTS: usize = 8;

fn program() -> impl Strategy<Value = Program> {
    let scripts: Vec<_> = (0..SCRIPTS)
        .map(|_| prop::collection::vec(op(SCRIPTS), 0..5))
        .collect();
    let top = prop_oneof![
        3 => op(SCRIPTS),
        2 => (0_usize..12).prop_map(|budget| Op::Drain { budget }),
        1 => Just(Op::DrainCommands),
    ];
    (
        scripts,
        prop::collection::vec(top, 1..30),
        4_usize..60,
        3_u32..40,
        any::<bool>(),
    )
        .prop_map(|(mut scripts, top, units, deliveries, is_watched)| {
            for (at, script) in scripts.iter_mut().enumerate() {
                script.retain(|op| match op {
                    Op::Publish { script } | Op::Independent { script } => *script > at,
                    Op::DrainCommands => at == SCRIPTS - 1,
                    _ => true,
                });
            }
            Program {
                scripts,
                top,
                units,
                deliveries,
                is_watched,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_programs_run_like_the_plain_model(program in program()) {
        hush();
        let real = Real::new(&program);
        let mut plain = PlainDispatcher::new(&program);
        for op in &program.top {
            let unwound = catch_unwind(AssertUnwindSafe(|| real.op(op, &mut None))).is_err();
            prop_assert_eq!(unwound, plain.op_unwinds(op), "{:?}", op);
            prop_assert_eq!(renumbered(&real.log.borrow()), renumbered(&plain.log));
            let positions: Vec<_> =
                real.d.positions().iter().map(|at| (at.publication, at.admission)).collect();
            prop_assert_eq!(positions, plain.positions());
            prop_assert_eq!(real.commands.len(), plain.commands());
            prop_assert_eq!(real.d.failure().is_some(), plain.halted().is_some());
            prop_assert_eq!(real.d.active_root(), None);
        }
        // Everything can be given up: the commands first, then the rest.
        real.commands.discard();
        prop_assert_eq!(real.d.clear(), Ok(()));
        prop_assert_eq!(real.d.retained(), (0, 0));
        // The players know the dispatcher that knows them.
        for id in real.d.components() {
            drop(real.d.retire(id));
        }
    }
}

#[test]
fn the_random_programs_reach_what_they_are_for() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut callbacks, mut commands, mut nested, mut unwound) = (0, 0, 0, 0);
    let mut halts = [0; 3];
    for _ in 0..1_000 {
        let program = program()
            .new_tree(&mut runner)
            .expect("no filter")
            .current();
        let mut plain = PlainDispatcher::new(&program);
        for op in &program.top {
            unwound += u32::from(plain.op_unwinds(op));
            let positions = plain.positions();
            nested += u32::from(positions.windows(2).any(|two| two[0].1 > two[1].1));
        }
        for entry in &plain.log {
            callbacks += u32::from(matches!(entry, Entry::Callback { .. }));
            commands += u32::from(matches!(entry, Entry::Command { .. }));
        }
        match plain.halted() {
            Some(Halt::Overflow) => halts[0] += 1,
            Some(Halt::Runaway) => halts[1] += 1,
            Some(Halt::PublicationUnwound) => halts[2] += 1,
            None => {}
        }
    }
    println!(
        "{callbacks} callbacks, {commands} commands, {nested} overtaken, {unwound} unwound, {halts:?}"
    );
    assert!(callbacks > 4_000 && commands > 5_000 && nested > 100 && unwound > 100);
    assert!(halts.iter().all(|count| *count > 10), "{halts:?}");
}
