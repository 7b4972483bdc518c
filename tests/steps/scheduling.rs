//! The event loop and state: behaviours 113 to 119.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use pitlane::steps::{Compose, LoopFull, LoopLimits, StepError, codes};

use crate::lab::{Lab, ms};

#[test]
fn c113_immediate_callbacks_run_first_in_first_out() {
    let lab = Lab::new();
    for name in ["a", "b", "c"] {
        let (log, event_loop) = (lab.log.clone(), lab.event_loop.clone());
        lab.event_loop
            .immediate(move || {
                log.say(name);
                let inner = log.clone();
                event_loop
                    .immediate(move || inner.say(format!("{name}2")))
                    .expect("there is room");
            })
            .expect("there is room");
    }
    assert!(lab.log.take().is_empty(), "not within the call");
    assert!(lab.turn());
    assert_eq!(lab.log.take(), ["a", "b", "c"]);
    assert!(!lab.turn());
    assert_eq!(lab.log.take(), ["a2", "b2", "c2"]);
    lab.assert_empty();
}

#[test]
fn c114_a_cancelled_immediate_does_not_run() {
    let lab = Lab::new();
    let say = |name: &'static str| {
        let log = lab.log.clone();
        lab.event_loop
            .immediate(move || log.say(name))
            .expect("there is room")
    };
    let (_a, b, _c) = (say("a"), say("b"), say("c"));
    lab.event_loop.cancel(b);
    lab.event_loop.cancel(b);
    lab.settle();
    lab.event_loop.cancel(b);
    assert_eq!(lab.log.take(), ["a", "c"]);
    lab.assert_empty();
}

#[test]
fn c115_deferred_callbacks_run_by_due_time_then_by_order() {
    let lab = Lab::new();
    let say = |after: u64, name: &'static str| {
        let (log, event_loop) = (lab.log.clone(), lab.event_loop.clone());
        lab.event_loop
            .deferred(ms(after), move || {
                log.say(format!("{name}@{}", event_loop.now().0 / 1_000_000));
            })
            .expect("there is room")
    };
    say(30, "c");
    say(10, "a");
    say(20, "b1");
    let cancelled = say(20, "never");
    say(20, "b2");
    say(0, "now");
    lab.event_loop.cancel(cancelled);
    lab.advance(ms(100));
    assert_eq!(lab.log.take(), ["now@0", "a@10", "b1@20", "b2@20", "c@30"]);
    lab.assert_empty();
}

#[test]
fn c116_handles_are_valid_until_fired_cancelled_or_ended() {
    let lab = Lab::new();
    let event_loop = &lab.event_loop;
    let seen = Rc::new(Cell::new(None));
    let immediate = event_loop.immediate(|| ()).expect("there is room");
    let deferred = event_loop.deferred(ms(5), || ()).expect("there is room");
    let cancelled = event_loop.deferred(ms(5), || ()).expect("there is room");
    event_loop.cancel(cancelled);
    let valid = |handles: [_; 3]| handles.map(|handle| event_loop.is_valid(handle));
    assert_eq!(valid([immediate, deferred, cancelled]), [true, true, false]);
    // Within its own callback it has fired.
    let own = Rc::new(Cell::new(None));
    let (handle, inner, place) = (own.clone(), event_loop.clone(), seen.clone());
    own.set(Some(
        event_loop
            .immediate(move || place.set(handle.get().map(|handle| inner.is_valid(handle))))
            .expect("there is room"),
    ));
    lab.settle();
    assert_eq!(seen.get(), Some(false));
    assert_eq!(
        valid([immediate, deferred, cancelled]),
        [false, true, false]
    );
    lab.advance(ms(5));
    assert!(!event_loop.is_valid(deferred));
    // A reused place does not revive old handles.
    let next = event_loop.immediate(|| ()).expect("there is room");
    assert_eq!(valid([immediate, deferred, next]), [false, false, true]);
    assert!(!Lab::new().event_loop.is_valid(next), "another loop's");

    let mut root = lab.root();
    assert!(root.is_valid());
    root.add(|step, ()| step.set_timeout(ms(5)));
    lab.run(&mut root);
    assert!(root.is_valid());
    lab.advance(ms(5));
    assert!(!root.is_valid());
}

#[test]
fn c117_250_steps_take_three_turns() {
    let lab = Lab::new();
    let mut root = lab.root();
    for _ in 0..250 {
        root.add(lab.log.body("step"));
    }
    root.execute().expect("once");
    let mut turns = Vec::new();
    loop {
        let before = lab.log.len();
        let more = lab.turn();
        turns.push(lab.log.len() - before);
        if !more {
            break;
        }
    }
    assert_eq!(turns, [100, 100, 50]);
}

#[test]
fn s17_a_burst_is_cut_at_a_millisecond_read_every_16_steps() {
    let lab = Lab::new();
    let mut root = lab.root();
    for _ in 0..40 {
        let (clock, log) = (lab.clock.clone(), lab.log.clone());
        root.add(move |_, ()| {
            clock.advance(Duration::from_micros(60)); // 17 steps a millisecond.
            log.say("step");
            Ok(())
        });
    }
    root.execute().expect("once");
    let mut turns = Vec::new();
    loop {
        let before = lab.log.len();
        let more = lab.turn();
        turns.push(lab.log.len() - before);
        if !more {
            break;
        }
    }
    assert_eq!(turns, [32, 8], "read after 16 at 0.96 ms, after 32 at 1.92");
}

#[test]
fn s17_an_instance_has_one_burst_for_all_its_flows_and_starves_none() {
    let lab = Lab::new();
    let mut root = lab.root();
    let endless = |name: &'static str| {
        let log = lab.log.clone();
        move |step: &mut pitlane::steps::Step<'_>| -> Result<(), StepError> {
            let _ = step;
            log.say(name);
            Ok(())
        }
    };
    root.parallel()
        .loop_until_break(endless("a"))
        .loop_until_break(endless("b"));
    let mut other = lab.root();
    other.loop_until_break(endless("other"));
    root.execute().expect("once");
    other.execute().expect("once");
    lab.turn();
    lab.log.take();
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..10 {
        lab.turn();
        let said = lab.log.take();
        let of = |name: &str| said.iter().filter(|line| *line == name).count();
        assert_eq!(of("a") + of("b"), 100, "one burst for both");
        assert_eq!(of("other"), 100);
        *counts.entry("a").or_insert(0) += of("a");
        *counts.entry("b").or_insert(0) += of("b");
    }
    assert_eq!((counts["a"], counts["b"]), (500, 500));
}

#[test]
fn s17_a_turn_does_no_more_than_its_budget_and_goes_on_where_it_stopped() {
    let lab = Lab::new();
    let mut roots = Vec::new();
    for name in ["a", "b"] {
        let mut root = lab.root();
        for _ in 0..5 {
            root.add(lab.log.body(name));
        }
        root.execute().expect("once");
        roots.push(root);
    }
    let mut turns = Vec::new();
    loop {
        let progress = lab.event_loop.turn(3);
        assert!(progress.work <= 3);
        turns.push(lab.log.take().concat());
        if !progress.more {
            break;
        }
    }
    assert_eq!(turns, ["aaa", "aab", "bbb", "b"], "and overtakes nobody");
}

#[test]
fn c118_relinquish_lets_another_run() {
    let lab = Lab::new();
    let (mut a, mut b) = (lab.root(), lab.root());
    a.add(lab.log.body("a1"))
        .relinquish()
        .add(lab.log.body("a2"));
    b.add(lab.log.body("b1")).add(lab.log.body("b2"));
    a.execute().expect("once");
    b.execute().expect("once");
    lab.settle();
    assert_eq!(lab.log.take(), ["a1", "b1", "b2", "a2"]);
}

#[test]
fn c119_state_of_another_type_is_an_error() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(
        |step, ()| {
            let state = step.state();
            state.set("n", 7u32)?;
            assert_eq!(*state.get::<u32>("n")?.expect("it is set"), 7);
            assert!(state.get::<u32>("absent")?.is_none());
            let mistyped = state.get::<String>("n").expect_err("it is a number");
            assert!(mistyped.is(codes::INTERNAL_ERROR));
            state
                .get_or_insert("n", String::new)
                .expect_err("it is a number");
            state.root::<u32>().expect_err("there is none");
            let held = state.get::<u32>("n")?;
            state.get::<u32>("n").expect_err("it is borrowed");
            drop(held);
            state.set("n", String::from("replaced"))?;
            state.get::<u32>("n").map(|_| ())
        },
        lab.log.recovery("own"),
    );
    assert_eq!(
        lab.story(&mut root),
        ["own:InternalError: state `n`: it is no u32"]
    );
}

#[test]
fn s19_bounds_answer_and_a_panic_stays_where_it_was() {
    let lab = Lab::with(LoopLimits {
        tasks: 2,
        timers: 1,
        ..LoopLimits::default()
    });
    let event_loop = &lab.event_loop;
    assert!(event_loop.is_same_thread());
    event_loop.deferred(ms(1), || ()).expect("there is room");
    assert_eq!(
        event_loop.deferred(ms(1), || ()),
        Err(LoopFull { max: 1 }),
        "one timer"
    );
    event_loop
        .immediate(|| panic!("in a callback"))
        .expect("there is room");
    assert_eq!(event_loop.immediate(|| ()), Err(LoopFull { max: 2 }));
    let log = lab.log.clone();
    lab.turn();
    assert_eq!(event_loop.panics(), 1);
    event_loop
        .immediate(move || log.say("after"))
        .expect("there is room");
    lab.turn();
    assert_eq!(lab.log.take(), ["after"]);

    // A turn within a turn does nothing.
    let (inner, seen) = (event_loop.clone(), Rc::new(RefCell::new(None)));
    let place = seen.clone();
    event_loop
        .immediate(move || *place.borrow_mut() = Some(inner.turn(10)))
        .expect("there is room");
    lab.turn();
    assert_eq!(seen.take(), Some(pitlane::steps::Progress::default()));
}
