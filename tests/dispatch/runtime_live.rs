//! The live loop: passes between inputs, stops, failures, disposal (R73, R78 to R84,
//! T24 to T29).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use pitlane::dispatch::runtime::{LiveLoop, LiveNode, LoopError, Pause, Startup};
use pitlane::dispatch::{
    CommandQueue, CommandSender, DispatchError, Dispatcher, EventReceiver, EventSender, Fatal,
    Hold, Lifecycle, Needs, Resource, channel,
};
use pitlane::time::Nanos;

use crate::rig::{Event, Recorder, Rig, on_drop};

type Input = Box<dyn FnOnce(&mut Node)>;

/// A shard in small: a channel, a command queue, inputs that a test scripts, and a
/// trace of what the loop asked of it.
struct Node {
    rig: Rig,
    inputs: VecDeque<Input>,
    receiver: Option<EventReceiver<&'static str>>,
    sender: EventSender<&'static str>,
    commands: CommandQueue<&'static str>,
    command_sender: CommandSender<&'static str>,
    stop: Rc<Cell<bool>>,
    now: Rc<Cell<u64>>,
    on_stop: Box<dyn FnMut(&Rig)>,
    fails_at: Option<Startup>,
    holds: Vec<Hold>,
    idle_stops: bool,
}

impl Node {
    fn new(rig: &Rig) -> Self {
        let (sender, receiver) = channel(&rig.d, 64);
        let commands = CommandQueue::new(&rig.d);
        Self {
            rig: rig.clone(),
            inputs: VecDeque::new(),
            receiver: Some(receiver),
            sender,
            command_sender: commands.sender(),
            commands,
            stop: Rc::default(),
            now: Rc::default(),
            on_stop: Box::new(|_| ()),
            fails_at: None,
            holds: Vec::new(),
            idle_stops: true,
        }
    }

    fn input(&mut self, input: impl FnOnce(&mut Self) + 'static) {
        self.inputs.push_back(Box::new(input));
    }

    fn messages(&mut self) -> usize {
        let mut handled = 0;
        while let Some(message) = self.receiver.as_ref().and_then(EventReceiver::try_recv) {
            message.dispatch(|name| self.rig.note(&format!("message {name}")));
            handled += 1;
        }
        handled
            + self
                .commands
                .drain(|name, _| self.rig.note(&format!("command {name}")))
    }
}

impl LiveNode<Event> for Node {
    fn startup(&mut self, step: Startup, _: &Dispatcher<Event>) -> Result<(), String> {
        self.rig.note(&format!("{step:?}"));
        self.rig.run_script(&format!("{step:?}"));
        if self.fails_at == Some(step) {
            return Err("the venue refused the logon".into());
        }
        Ok(())
    }

    fn inputs(&mut self, _: &Dispatcher<Event>) -> usize {
        let messages = self.messages();
        let Some(input) = self.inputs.pop_front() else {
            return messages;
        };
        input(self);
        messages + 1
    }

    fn stop_requested(&self) -> bool {
        self.stop.get()
    }

    fn stop(&mut self, d: &Dispatcher<Event>) {
        self.rig.note(&format!("stop with {} slots", d.queued()));
        (self.on_stop)(&self.rig);
    }

    fn residual(&mut self, _: &Dispatcher<Event>) -> usize {
        self.messages()
    }

    fn discard(&mut self) {
        self.rig.note("discard");
        self.commands.discard();
        self.receiver = None;
    }

    fn dispose(&mut self, _: &Dispatcher<Event>) {
        self.rig.note("dispose");
    }

    fn pause(&mut self, pause: Pause) {
        self.rig.note(&format!("{pause:?}"));
        if self.idle_stops && pause == Pause::Idle {
            self.stop.set(true);
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }
}

/// Runs of equal entries as `entry×n`, callbacks as `callback`.
fn shape(log: Vec<String>) -> Vec<String> {
    let mut shape: Vec<(String, usize)> = Vec::new();
    for entry in log {
        let entry = if entry.starts_with("cb") {
            "callback".into()
        } else {
            entry
        };
        match shape.last_mut() {
            Some((last, count)) if *last == entry => *count += 1,
            _ => shape.push((entry, 1)),
        }
    }
    shape
        .into_iter()
        .map(|(entry, n)| {
            if n == 1 {
                entry
            } else {
                format!("{entry}×{n}")
            }
        })
        .collect()
}

const STARTED: [&str; 5] = [
    "Instruments",
    "Connect",
    "Subscriptions",
    "Components",
    "SystemDispatch",
];

fn run(node: &mut Node) -> Result<(), LoopError> {
    let d = Rc::clone(&node.rig.d);
    LiveLoop::new().run(&d, node)
}

fn after_start(rig: &Rig) -> Vec<String> {
    let log = rig.log();
    assert_eq!(log[..5], STARTED);
    shape(log[5..].to_vec())
}

#[test]
fn t24_r78_passes_of_64_with_yields_and_no_message_to_resume() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    for slot in 0..130 {
        rig.admit(&format!("cb{slot}"));
    }
    assert_eq!(run(&mut node), Ok(()));
    let expected = [
        "callback×64",
        "Yield",
        "callback×64",
        "Yield",
        "callback×2",
        "Idle",
        "stop with 0 slots",
    ];
    assert_eq!(after_start(&rig), expected);
}

#[test]
fn t24_r78_a_stop_raised_in_the_first_pass_is_handled_with_66_slots_left() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let stop = Rc::clone(&node.stop);
    rig.on("cb5", move |_| stop.set(true));
    for slot in 0..130 {
        rig.admit(&format!("cb{slot}"));
    }
    assert_eq!(run(&mut node), Ok(()));
    let log = after_start(&rig);
    assert_eq!(log[..3], ["callback×64", "Yield", "stop with 66 slots"]);
    // A component that was not stopped is told of everything all the same.
    assert_eq!(log[3..], ["callback×64", "Yield", "callback×2"]);
}

#[test]
fn t24_channel_only_runs_schedule_as_they_would_without_callbacks() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    for name in ["1", "2"] {
        node.input(move |node| node.rig.note(name));
    }
    assert_eq!(run(&mut node), Ok(()));
    assert_eq!(after_start(&rig), ["1", "2", "Idle", "stop with 0 slots"]);
}

#[test]
fn r78_one_pass_precedes_each_batch_of_inputs_first_after_the_start() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    for step in ["Components", "SystemDispatch"] {
        rig.on(step, move |rig| rig.admit(&format!("cb of {step}")));
    }
    node.input(|node| {
        node.rig.note("input");
        node.rig.admit("cb of input");
    });
    assert_eq!(run(&mut node), Ok(()));
    let expected = [
        "callback×2",
        "input",
        "Yield",
        "callback",
        "Idle",
        "stop with 0 slots",
    ];
    assert_eq!(after_start(&rig), expected);
}

#[test]
fn t25_r81_instruments_reach_the_cache_before_connect_and_subscription_commands() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let cache = Rc::new(Cell::new(false));
    let (writes, reads) = (Rc::clone(&cache), Rc::clone(&cache));
    let sender = node.command_sender.clone();
    rig.on("Instruments", move |rig| {
        writes.set(true);
        rig.note("cache write");
    });
    rig.on("Connect", move |rig| {
        assert!(reads.get());
        rig.note("connect");
    });
    rig.on("Subscriptions", move |_| sender.send("subscribe"));
    assert_eq!(run(&mut node), Ok(()));
    let log = rig.log();
    let expected = [
        "Instruments",
        "cache write",
        "Connect",
        "connect",
        "Subscriptions",
    ];
    assert_eq!(log[..5], expected);
    assert_eq!(log[7], "command subscribe");
}

#[test]
fn r79_a_failed_start_stops_the_node_and_drops_its_messages() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    node.fails_at = Some(Startup::Connect);
    node.command_sender.send("never");
    let error = run(&mut node).expect_err("it cannot connect");
    assert_eq!(
        error.to_string(),
        "the start failed at Connect: the venue refused the logon"
    );
    assert_eq!(
        rig.log(),
        ["Instruments", "Connect", "stop with 0 slots", "discard"]
    );
    assert!(node.commands.is_empty());
}

#[test]
fn t26_r79_r80_a_latch_ends_the_loop_and_disposal_releases_and_clears() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    node.input(|node| {
        let sender = node.sender.clone();
        node.rig
            .d
            .publication(|| sender.send("rooted"))
            .expect("room");
        node.rig.d.halt(Fatal::Overflow);
    });
    let fatal = DispatchError::Fatal(Fatal::Overflow);
    let d = Rc::clone(&rig.d);
    // A bare turn keeps the channel, and the message in it.
    let mut live = LiveLoop::new();
    assert!(live.turn(&d, &mut node).is_ok());
    assert_eq!(live.turn(&d, &mut node), Err(fatal));
    assert_eq!(node.receiver.as_ref().map(EventReceiver::len), Some(1));
    assert_eq!(rig.d.clear(), Err(DispatchError::Active));
    assert_eq!(live.dispose(&d, &mut node), Ok(Some(Fatal::Overflow)));
    assert_eq!(
        rig.log(),
        ["dispose", "discard"],
        "the message was not delivered"
    );
    assert_eq!(rig.d.failure(), None);
}

#[test]
fn t26_r80_a_root_that_is_owned_outside_rejects_disposal_until_it_ends() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let outside = rig.d.retain::<u8>(0).expect("room");
    rig.d.halt(Fatal::Overflow);
    let d = Rc::clone(&rig.d);
    let mut live = LiveLoop::new();
    let rejected = (Some(Fatal::Overflow), DispatchError::Active);
    assert_eq!(live.dispose(&d, &mut node), Err(rejected));
    assert_eq!(rig.d.failure(), Some(Fatal::Overflow), "no reset is forced");
    drop(outside);
    assert_eq!(live.dispose(&d, &mut node), Ok(Some(Fatal::Overflow)));
}

#[test]
fn t27_r79_a_normal_stop_dispatches_what_it_generates_and_an_abort_drops_it() {
    for fatal in [None, Some(Fatal::Overflow)] {
        let rig = Rig::new();
        let mut node = Node::new(&rig);
        let (sender, commands) = (node.sender.clone(), node.command_sender.clone());
        node.on_stop = Box::new(move |rig| {
            sender.send("of the stop").expect("room");
            commands.send("of the stop");
            let _ = rig.try_admit("cb of the stop");
        });
        node.input(move |node| {
            if let Some(fatal) = fatal {
                node.rig.d.halt(fatal);
            }
        });
        let result = run(&mut node);
        let log = after_start(&rig);
        if fatal.is_none() {
            assert_eq!(result, Ok(()));
            let stopped = [
                "stop with 0 slots",
                "message of the stop",
                "command of the stop",
                "callback",
            ];
            assert_eq!(log, [&["Idle"][..], &stopped].concat());
            assert!(node.receiver.is_some(), "a normal stop closes nothing");
        } else {
            assert_eq!(result, Err(LoopError::Dispatch(Fatal::Overflow.into())));
            assert_eq!(log, ["stop with 0 slots", "discard"]);
            assert_eq!(rig.d.failure(), fatal, "the latch stays");
        }
    }
}

#[test]
fn r79_active_too_ends_the_loop() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let d = Rc::clone(&rig.d);
    let open = d.reserve(rig.first).expect("room");
    assert_eq!(
        run(&mut node),
        Err(LoopError::Dispatch(DispatchError::Active))
    );
    assert_eq!(rig.d.failure(), None);
    drop(open);
}

#[test]
fn r73_f24_a_busy_component_at_the_loops_boundary_stalls() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    rig.admit("never");
    let d = Rc::clone(&rig.d);
    let _loan = d.lend(rig.first).expect("in its place");
    let stalled = Fatal::Stalled { target: rig.first };
    assert_eq!(run(&mut node), Err(LoopError::Dispatch(stalled.into())));
}

#[test]
fn r83_an_abandoned_run_releases_what_it_owned() {
    let rig = Rig::new();
    let dropped = Rc::new(Cell::new(0));
    let counted = |dropped: &Rc<Cell<u32>>| {
        let dropped = Rc::clone(dropped);
        on_drop(move || dropped.set(dropped.get() + 1))
    };
    let commands = CommandQueue::new(&rig.d);
    let mut live = LiveLoop::new();
    let mut node = Node::new(&rig);
    let d = Rc::clone(&rig.d);
    let sender = node.sender.clone();
    rig.d.publication(|| {
        commands.sender().send(counted(&dropped));
        sender.send("rooted").expect("room");
        rig.d
            .admit(rig.first, || Event {
                on_drop: Some(counted(&dropped)),
                ..Event::new("cb")
            })
            .expect("room");
    });
    assert!(node.startup(Startup::Instruments, &d).is_ok());
    // Nobody stops or disposes: loop, node and commands just go.
    drop((commands, node));
    assert_eq!(dropped.get(), 1);
    let mut nobody = Node::new(&rig);
    assert_eq!(live.dispose(&d, &mut nobody), Ok(None));
    assert_eq!(dropped.get(), 2);
    assert!(
        !rig.log().contains(&"cb".to_string()),
        "no delivery is promised, none happens"
    );
}

const CLIENT: Resource = Resource::new(1, "the client");

/// A callback that needs the client, behind a report that holds it: in `inputs` the
/// report goes on, and `end` is how it ends.
fn report_held(
    needs: Needs,
    end: impl FnOnce(&mut Node) + 'static,
) -> (Rig, Result<(), LoopError>, Vec<String>) {
    let rig = Rig::new();
    let id = rig.add(Recorder {
        needs,
        ..Recorder::new(&rig, "")
    });
    let mut node = Node::new(&rig);
    node.input(move |node| {
        node.holds.push(node.rig.d.hold_shared(CLIENT));
        node.rig.note("report held");
        for (target, name) in [
            (node.rig.first, "cb1"),
            (id, "needs"),
            (node.rig.first, "cb2"),
        ] {
            node.rig.d.admit(target, || Event::new(name)).expect("room");
        }
    });
    node.input(|node| node.rig.note("report goes on"));
    node.input(end);
    let result = run(&mut node);
    let log = rig.log()[5..].to_vec();
    (rig, result, log)
}

#[test]
fn t29_r84_shared_access_proceeds_beside_a_pending_report() {
    let (_, result, log) = report_held(Needs::NOTHING.shared(CLIENT), |node| node.holds.clear());
    assert_eq!(result, Ok(()));
    let expected = [
        "report held",
        "Yield",
        "cb1",
        "needs",
        "cb2",
        "report goes on",
        "Idle",
        "stop with 0 slots",
    ];
    assert_eq!(log, expected);
}

#[test]
fn t29_r84_mutable_access_waits_in_order_until_the_report_ends() {
    for how in ["success", "timeout", "shutdown", "abandonment"] {
        let (rig, result, log) = report_held(Needs::NOTHING.exclusive(CLIENT), move |node| {
            node.rig.note(how);
            match how {
                "shutdown" => {
                    node.stop.set(true);
                    let held = std::mem::take(&mut node.holds);
                    let held = RefCell::new(Some(held));
                    node.on_stop = Box::new(move |_| drop(held.take()));
                }
                // Forgotten by whoever fetched it: its future is dropped.
                "abandonment" => drop(node.holds.drain(..)),
                _ => node.holds.clear(),
            }
        });
        assert_eq!(result, Ok(()), "{how}");
        let waited = [
            "report held",
            "Yield",
            "cb1",
            "report goes on",
            "Yield",
            how,
            "Yield",
        ];
        assert_eq!(log[..7], waited, "the report progresses");
        let rest = match how {
            "shutdown" => ["stop with 2 slots", "needs", "cb2"].as_slice(),
            _ => &["needs", "cb2", "Idle", "stop with 0 slots"],
        };
        assert_eq!(log[7..], *rest, "{how}");
        assert_eq!(rig.d.failure(), None);
    }
}

#[test]
fn t29_r84_the_wait_for_a_report_has_an_end() {
    let rig = Rig::new();
    let needs = Needs::NOTHING.exclusive(CLIENT);
    let id = rig.add(Recorder {
        needs,
        ..Recorder::new(&rig, "")
    });
    let mut node = Node::new(&rig);
    node.idle_stops = false;
    let _held = rig.d.hold_shared(CLIENT);
    rig.d.admit(id, || Event::new("never")).expect("room");
    let now = Rc::clone(&node.now);
    for millisecond in (100..=1_000).step_by(100) {
        let now = Rc::clone(&now);
        node.input(move |_| now.set(millisecond * 1_000_000));
    }
    let stalled = Fatal::Stalled { target: id };
    assert_eq!(run(&mut node), Err(LoopError::Dispatch(stalled.into())));
    assert_eq!(now.get(), 1_000_000_000, "a second, and not before");
}

#[test]
fn f29_a_monotonic_clock_that_goes_back_stops_the_loop_with_the_reason() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    for at in [500, 499] {
        node.input(move |node| {
            node.now.set(at);
            node.rig.admit("cb");
        });
    }
    let fatal = Fatal::ClockWentBack {
        last: Nanos(500),
        now: Nanos(499),
    };
    let error = run(&mut node).expect_err("time order is lost");
    assert_eq!(error, LoopError::Dispatch(fatal.into()));
    let text = "dispatch is halted: the monotonic clock went back from Nanos(500) to Nanos(499): \
                time order is lost";
    assert_eq!(error.to_string(), text);
    assert_eq!(rig.d.failure(), Some(fatal));
    assert_eq!(
        rig.d.queued(),
        1,
        "nothing was delivered at a time that cannot be"
    );
}

#[test]
fn t22_r12_a_stop_silences_author_code_for_what_the_loop_drains_afterwards() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let other = rig.add(Recorder::new(&rig, "drop copy:"));
    node.input(move |node| {
        node.rig.admit("strategy");
        node.rig
            .d
            .admit(other, || Event::new("fill"))
            .expect("room");
        node.stop.set(true);
    });
    node.on_stop = Box::new(|rig| rig.d.stop(rig.first).expect("registered"));
    assert_eq!(run(&mut node), Ok(()));
    assert_eq!(rig.d.lifecycle(rig.first), Some(Lifecycle::Stopped));
    assert_eq!(
        after_start(&rig),
        ["Yield", "stop with 2 slots", "drop copy:fill"]
    );
}
