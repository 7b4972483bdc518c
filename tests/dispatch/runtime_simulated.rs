//! The simulated loop: everything settles before time moves (R74 to R77, T18, T23).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use pitlane::dispatch::runtime::{SimError, SimLoop, SimNode};
use pitlane::dispatch::{CommandQueue, CommandSender, DispatchError, Dispatcher, Fatal, Timers};
use pitlane::time::Nanos;

use crate::rig::{Event, Rig, on_drop};

struct Node {
    rig: Rig,
    data: CommandQueue<&'static str>,
    trading: CommandQueue<&'static str>,
    timers: Rc<RefCell<Timers<&'static str>>>,
    inputs: VecDeque<(u64, &'static str)>,
    now: Rc<Cell<u64>>,
    /// A simulated venue that must not be borrowed while callbacks run.
    venue: Rc<RefCell<u32>>,
    fails: bool,
}

impl Node {
    fn new(rig: &Rig) -> Self {
        Self {
            rig: rig.clone(),
            data: CommandQueue::new(&rig.d),
            trading: CommandQueue::new(&rig.d),
            timers: Rc::default(),
            inputs: VecDeque::new(),
            now: Rc::default(),
            venue: Rc::default(),
            fails: false,
        }
    }

    fn senders(&self) -> (CommandSender<&'static str>, CommandSender<&'static str>) {
        (self.data.sender(), self.trading.sender())
    }

    fn timer(&self, at: u64, key: &'static str) {
        self.timers
            .borrow_mut()
            .register(Nanos(at), key)
            .expect("room");
    }

    fn process(&self, queue: &CommandQueue<&'static str>) -> usize {
        queue.drain(|name, _| {
            self.rig.note(name);
            *self.venue.borrow_mut() += 1;
            self.rig.run_script(name);
        })
    }
}

impl SimNode<Event> for Node {
    fn start(&mut self, _: &Dispatcher<Event>) -> Result<(), String> {
        self.rig.run_script("start");
        if self.fails {
            Err("no market data".into())
        } else {
            Ok(())
        }
    }

    fn data_commands(&mut self, _: &Dispatcher<Event>) -> usize {
        self.process(&self.data)
    }

    fn trading_commands(&mut self, _: &Dispatcher<Event>) -> usize {
        self.process(&self.trading)
    }

    fn next_timer(&mut self) -> Option<Nanos> {
        self.timers.borrow_mut().next_due()
    }

    fn next_input(&mut self) -> Option<Nanos> {
        self.inputs.front().map(|(at, _)| Nanos(*at))
    }

    fn fire_timer(&mut self, d: &Dispatcher<Event>) {
        let firing = self
            .timers
            .borrow_mut()
            .pop_due(Nanos(self.now.get()))
            .expect("due");
        firing.deliver(d, Some, |name, _| {
            self.rig.note(name);
            let _borrowed = self.venue.borrow_mut();
            self.rig.run_script(name);
        });
    }

    fn input(&mut self, d: &Dispatcher<Event>) {
        let (_, name) = self.inputs.pop_front().expect("there is one");
        d.independent(|| {
            self.rig.note(name);
            self.rig.run_script(name);
        });
    }

    fn advance(&mut self, to: Nanos) {
        self.rig.note(&format!("advance to {}", to.0));
        self.now.set(to.0);
    }

    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    fn stop(&mut self, _: &Dispatcher<Event>) {
        self.rig.note("stop");
        self.rig.run_script("stop");
    }

    fn discard(&mut self) {
        self.data.discard();
        self.trading.discard();
    }
}

fn run(node: &mut Node) -> Result<(), SimError> {
    let d = Rc::clone(&node.rig.d);
    SimLoop::new().run(&d, node)
}

#[test]
fn t23_r74_the_start_settles_data_commands_and_leaves_trading_commands() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let (data, trading) = node.senders();
    rig.on("start", move |_| {
        data.send("D");
        trading.send("X");
    });
    rig.on("D", |rig| rig.admit("d"));
    node.inputs
        .extend([(10, "first input"), (20, "second input")]);
    assert_eq!(run(&mut node), Ok(()));
    let expected = [
        "D",
        "d",
        "advance to 10",
        "first input",
        "X",
        "advance to 20",
        "second input",
        "stop",
    ];
    assert_eq!(rig.log(), expected);
}

#[test]
fn t18_r75_r76_each_timer_settles_before_the_next_at_one_timestamp() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    node.timer(5, "T1");
    node.timer(5, "T2");
    node.inputs.push_back((9, "later"));
    let (_, trading) = node.senders();
    rig.on("T1", |rig| rig.admit("cb(T1)"));
    rig.on("cb(T1)", move |_| trading.send("c1"));
    rig.on("c1", |rig| rig.admit("cb(c1)"));
    let venue = Rc::clone(&node.venue);
    rig.on("cb(c1)", move |_| {
        assert!(venue.try_borrow_mut().is_ok(), "the borrow has ended");
    });
    rig.on("T2", |rig| rig.admit("cb(T2)"));
    assert_eq!(run(&mut node), Ok(()));
    let log = rig.log_with_roots();
    let names: Vec<&str> = log
        .iter()
        .map(|entry| entry.split('@').next().unwrap_or(""))
        .collect();
    let expected = [
        "advance to 5",
        "T1",
        "cb(T1)",
        "c1",
        "cb(c1)",
        "T2",
        "cb(T2)",
        "advance to 9",
        "later",
    ];
    assert_eq!(names[..9], expected);
    assert_eq!(
        (&*log[2], &*log[3], &*log[4]),
        ("cb(T1)@R1", "c1@R1", "cb(c1)@R1")
    );
    assert_eq!(log[6], "cb(T2)@R2", "the roots differ");
    assert_eq!(rig.d.take_alarm(), None);
}

#[test]
fn r75_settlement_repeats_bounded_passes_until_nothing_is_left() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let (_, trading) = node.senders();
    rig.on("input", |rig| {
        for slot in 0..300 {
            rig.admit(&format!("cb{slot}"));
        }
    });
    rig.on("cb299", move |_| trading.send("X"));
    rig.on("X", |rig| rig.admit("last"));
    node.inputs.extend([(1, "input"), (2, "next")]);
    assert_eq!(run(&mut node), Ok(()));
    let log = rig.log();
    assert_eq!(log.len(), 2 + 300 + 2 + 2 + 1);
    assert_eq!(log[302..], ["X", "last", "advance to 2", "next", "stop"]);
}

#[test]
fn r75_a_timer_that_is_set_for_now_fires_before_time_moves() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let timers = Rc::clone(&node.timers);
    rig.on("T1", move |_| {
        timers
            .borrow_mut()
            .register(Nanos(5), "again at once")
            .expect("room");
    });
    node.timer(5, "T1");
    node.inputs.extend([(5, "same time"), (6, "later")]);
    assert_eq!(run(&mut node), Ok(()));
    let expected = [
        "advance to 5",
        "T1",
        "again at once",
        "same time",
        "advance to 6",
        "later",
        "stop",
    ];
    assert_eq!(rig.log(), expected);
}

#[test]
fn r77_an_error_aborts_releases_command_batches_and_clears() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let (_, trading) = node.senders();
    rig.on("input", move |rig| {
        rig.admit("first");
        trading.send("never");
        rig.admit("second");
    });
    rig.on("never", |rig| rig.d.halt(Fatal::Overflow));
    rig.on("stop", |rig| {
        rig.note(&format!("{} slots at the stop", rig.d.queued()));
    });
    node.inputs.push_back((1, "input"));
    let (_, trading) = node.senders();
    rig.on("first", move |rig| {
        trading.send("left over");
        rig.d.halt(Fatal::PublicationUnwound);
    });
    rig.on("never", |_| ());
    assert_eq!(
        run(&mut node),
        Err(SimError::Dispatch(Fatal::PublicationUnwound.into()))
    );
    let expected = [
        "advance to 1",
        "input",
        "never",
        "first",
        "stop",
        "1 slots at the stop",
    ];
    assert_eq!(rig.log(), expected);
    assert_eq!((rig.d.queued(), rig.d.failure()), (0, None), "cleared");
    assert!(node.trading.is_empty(), "its root had to be released first");
}

#[test]
fn r77_a_root_owned_outside_prevents_the_clearing_and_the_latch_stays() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let kept: Rc<RefCell<Option<pitlane::dispatch::Retained<u8>>>> = Rc::default();
    let keeps = Rc::clone(&kept);
    rig.on("input", move |rig| {
        *keeps.borrow_mut() = rig.d.retain(0).ok();
        rig.d.halt(Fatal::Overflow);
    });
    node.inputs.push_back((1, "input"));
    assert_eq!(
        run(&mut node),
        Err(SimError::Dispatch(Fatal::Overflow.into()))
    );
    assert_eq!(rig.d.failure(), Some(Fatal::Overflow));
    assert!(kept.take().is_some());
    let d = Rc::clone(&rig.d);
    SimLoop::new().abort(&d, &mut node);
    assert_eq!(rig.d.failure(), None);
}

#[test]
fn r77_a_failed_start_stops_and_drops_the_commands() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    node.fails = true;
    node.inputs.push_back((1, "never"));
    let dropped = Rc::new(Cell::new(false));
    let flag = Rc::clone(&dropped);
    let capture = Event {
        on_drop: Some(on_drop(move || flag.set(true))),
        ..Event::new("never")
    };
    let capture = RefCell::new(Some(capture));
    let (data, trading) = node.senders();
    rig.on("start", move |rig| {
        data.send("never");
        trading.send("never");
        let capture = capture.take().expect("started once");
        rig.d.admit(rig.first, || capture).expect("room");
    });
    assert_eq!(
        run(&mut node),
        Err(SimError::Startup("no market data".into()))
    );
    assert_eq!(rig.log(), ["stop"]);
    assert!(node.data.is_empty() && node.trading.is_empty());
    assert!(dropped.get());
}

#[test]
fn r77_a_normal_end_drains_first_what_the_stop_generates_too() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let (_, trading) = node.senders();
    rig.on("stop", move |rig| {
        rig.admit("cb of the stop");
        trading.send("X of the stop");
    });
    assert_eq!(run(&mut node), Ok(()));
    assert_eq!(rig.log(), ["stop", "X of the stop", "cb of the stop"]);
    rig.admit("a");
    assert_eq!(rig.positions(), ["1.1"], "and then it was cleared");
    assert_eq!(rig.d.clear(), Ok(()));
}

#[test]
fn r75_commands_that_only_send_commands_have_an_end() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    node.rig = Rig::new(); // Its log would take a million entries.
    struct Quiet(Node, CommandQueue<()>, u64);
    impl SimNode<Event> for Quiet {
        fn start(&mut self, _: &Dispatcher<Event>) -> Result<(), String> {
            self.1.sender().send(());
            Ok(())
        }
        fn data_commands(&mut self, _: &Dispatcher<Event>) -> usize {
            0
        }
        fn trading_commands(&mut self, _: &Dispatcher<Event>) -> usize {
            let sender = self.1.sender();
            self.2 += 1;
            self.1.drain(|(), _| sender.send(()))
        }
        fn next_timer(&mut self) -> Option<Nanos> {
            None
        }
        fn next_input(&mut self) -> Option<Nanos> {
            None
        }
        fn fire_timer(&mut self, _: &Dispatcher<Event>) {}
        fn input(&mut self, _: &Dispatcher<Event>) {}
        fn advance(&mut self, _: Nanos) {}
        fn now(&self) -> Nanos {
            self.0.now()
        }
        fn stop(&mut self, _: &Dispatcher<Event>) {}
        fn discard(&mut self) {
            self.1.discard();
        }
    }
    let commands = CommandQueue::new(&rig.d);
    let mut node = Quiet(node, commands, 0);
    let error = SimLoop::new().run(&rig.d, &mut node).expect_err("no end");
    assert_eq!(
        error,
        SimError::Unsettled {
            at: Nanos(0),
            rounds: 1 << 20
        }
    );
    assert_eq!(node.2, 1 << 20);
    assert_eq!(rig.d.clear(), Ok(()), "the abort dropped the last command");
}

#[test]
fn r75_a_timer_that_stays_due_has_an_end() {
    struct Stuck(u64);
    impl SimNode<Event> for Stuck {
        fn start(&mut self, _: &Dispatcher<Event>) -> Result<(), String> {
            Ok(())
        }
        fn data_commands(&mut self, _: &Dispatcher<Event>) -> usize {
            0
        }
        fn trading_commands(&mut self, _: &Dispatcher<Event>) -> usize {
            0
        }
        fn next_timer(&mut self) -> Option<Nanos> {
            Some(Nanos(5))
        }
        fn next_input(&mut self) -> Option<Nanos> {
            None
        }
        fn fire_timer(&mut self, _: &Dispatcher<Event>) {}
        fn input(&mut self, _: &Dispatcher<Event>) {}
        fn advance(&mut self, to: Nanos) {
            self.0 = to.0;
        }
        fn now(&self) -> Nanos {
            Nanos(self.0)
        }
        fn stop(&mut self, _: &Dispatcher<Event>) {}
        fn discard(&mut self) {}
    }
    let rig = Rig::new();
    let error = SimLoop::new().run(&rig.d, &mut Stuck(0));
    let unsettled = SimError::Unsettled {
        at: Nanos(5),
        rounds: 1 << 20,
    };
    assert_eq!(error, Err(unsettled));
}

#[test]
fn f29_a_simulated_clock_that_goes_back_stops_with_the_reason() {
    let rig = Rig::new();
    let mut node = Node::new(&rig);
    let now = Rc::clone(&node.now);
    rig.on("input", move |_| now.set(3));
    node.inputs.extend([(5, "input"), (3, "never")]);
    let fatal = Fatal::ClockWentBack {
        last: Nanos(5),
        now: Nanos(3),
    };
    assert_eq!(
        run(&mut node),
        Err(SimError::Dispatch(DispatchError::Fatal(fatal)))
    );
    assert_eq!(rig.log(), ["advance to 5", "input", "stop"]);
}
