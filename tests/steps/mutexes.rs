//! The mutex: behaviours 84 to 94.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::rc::Rc;

use pitlane::steps::{AsyncSteps, Compose, Mutex, Step, StepResult};

use crate::lab::{Lab, Log, ms};

fn of(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("not zero")
}

/// Says when it enters and leaves, and gives way twice inside.
fn section(log: &Log, name: &'static str) -> impl FnOnce(&mut Step<'_>, ()) -> StepResult + use<> {
    let log = log.clone();
    move |step, ()| {
        log.say(format!("{name} in"));
        step.relinquish().relinquish().add(move |_, ()| {
            log.say(format!("{name} out"));
            Ok(())
        });
        Ok(())
    }
}

/// `count` flows that each hold the mutex for a few turns; the highest number
/// inside at once, and how many got in.
fn crowd(lab: &Lab, mutex: &Mutex, count: u32) -> (u32, u32) {
    let (inside, most, done) = <(Rc<Cell<u32>>, Rc<Cell<u32>>, Rc<Cell<u32>>)>::default();
    let mut roots: Vec<AsyncSteps> = Vec::new();
    for _ in 0..count {
        let (inside, most, done) = (inside.clone(), most.clone(), done.clone());
        let mut root = lab.root();
        root.sync(mutex, move |step, ()| {
            inside.set(inside.get() + 1);
            most.set(most.get().max(inside.get()));
            step.relinquish().relinquish().add(move |_, ()| {
                inside.set(inside.get() - 1);
                done.set(done.get() + 1);
                Ok(())
            });
            Ok(())
        });
        root.execute().expect("once");
        roots.push(root);
    }
    lab.settle();
    assert_eq!(inside.get(), 0);
    assert_eq!((mutex.inside(), mutex.waiting()), (0, 0));
    (most.get(), done.get())
}

#[test]
fn c084_of_two_flows_one_is_inside() {
    let lab = Lab::new();
    let mutex = Mutex::new();
    let (mut a, mut b) = (lab.root(), lab.root());
    a.sync(&mutex, section(&lab.log, "a"));
    b.sync(&mutex, section(&lab.log, "b"));
    a.execute().expect("once");
    b.execute().expect("once");
    lab.settle();
    assert_eq!(lab.log.take(), ["a in", "a out", "b in", "b out"]);
    drop((a, b));
    lab.assert_empty();
}

#[test]
fn c085_at_most_three_of_ten_are_inside() {
    let lab = Lab::new();
    assert_eq!(crowd(&lab, &Mutex::with_max(of(3)), 10), (3, 10));
}

#[test]
fn c086_a_flow_may_enter_again() {
    let lab = Lab::new();
    let mutex = Mutex::new();
    let (mut root, mut other) = (lab.root(), lab.root());
    let (inner, log) = (mutex.clone(), lab.log.clone());
    root.sync(&mutex, move |step, ()| {
        log.say("outer");
        step.sync(&inner, log.body("inner")).relinquish();
        step.add(log.body("still inside"));
        Ok(())
    });
    other.sync(&mutex, lab.log.body("other"));
    root.execute().expect("once");
    other.execute().expect("once");
    lab.settle();
    assert_eq!(
        lab.log.take(),
        ["outer", "inner", "still inside", "other"],
        "leaving the inner one does not let the other in"
    );
}

#[test]
fn c087_values_pass_in_and_out() {
    let lab = Lab::new();
    let mutex = Mutex::new();
    let (mut holder, mut root) = (lab.root(), lab.root());
    holder.sync(&mutex, section(&lab.log, "holder"));
    holder.execute().expect("once");
    let log = lab.log.clone();
    root.success_step((20,))
        .sync(&mutex, |step, (n,): (i32,)| step.success((n + 1,)))
        .add(move |_, (n,): (i32,)| {
            log.say(n.to_string());
            Ok(())
        });
    assert_eq!(lab.story(&mut root), ["holder in", "holder out", "21"]);
}

#[test]
fn c088_one_inside_one_waiting_the_third_is_refused() {
    let lab = Lab::new();
    let mutex = Mutex::with_queue(of(1), 1);
    let mut roots: Vec<_> = ["a", "b", "c"]
        .map(|name| {
            let mut root = lab.root();
            root.sync_or(&mutex, section(&lab.log, name), lab.log.handler("never"));
            root.execute().expect("once");
            root
        })
        .into();
    lab.settle();
    assert_eq!(
        lab.log.take(),
        [
            "a in",
            "unhandled:DefenseRejected: mutex queue",
            "a out",
            "b in",
            "b out"
        ]
    );
    roots.clear();
    lab.assert_empty();
}

#[test]
fn c089_two_inside_five_waiting_of_ten_three_are_refused() {
    let lab = Lab::new();
    assert_eq!(crowd(&lab, &Mutex::with_queue(of(2), 5), 10), (2, 7));
    assert_eq!(lab.log.take().len(), 3);
}

#[test]
fn c090_a_cancelled_holder_lets_the_next_in() {
    let lab = Lab::new();
    let mutex = Mutex::new();
    let (mut a, mut b) = (lab.root(), lab.root());
    a.sync(&mutex, |step, ()| step.wait_external().map(|_| ()));
    b.sync(&mutex, lab.log.body("b"));
    a.execute().expect("once");
    b.execute().expect("once");
    lab.settle();
    assert!(lab.log.take().is_empty());
    a.cancel();
    lab.settle();
    assert_eq!(lab.log.take(), ["b"]);
    assert_eq!(mutex.inside(), 0);
}

#[test]
fn c091_a_waiter_that_timed_out_frees_its_place() {
    let lab = Lab::new();
    let mutex = Mutex::with_queue(of(1), 1);
    let (mut a, mut b, mut c) = (lab.root(), lab.root(), lab.root());
    a.sync(&mutex, |step, ()| step.wait_external().map(|_| ()));
    let (inner, log) = (mutex.clone(), lab.log.clone());
    b.add(move |step, ()| {
        step.set_timeout(ms(10))?;
        step.sync_or(&inner, log.body("never"), log.handler("never"));
        Ok(())
    });
    c.sync(&mutex, lab.log.body("c"));
    a.execute().expect("once");
    b.execute().expect("once");
    lab.advance(ms(10));
    assert_eq!(lab.log.take(), ["unhandled:Timeout"]);
    assert_eq!(mutex.waiting(), 0);
    c.execute().expect("once");
    lab.settle();
    assert_eq!(mutex.waiting(), 1, "the place is reusable");
    a.cancel();
    lab.settle();
    assert_eq!(lab.log.take(), ["c"]);
}

#[test]
fn c092_an_error_calls_the_handler_then_releases() {
    let lab = Lab::new();
    let mutex = Mutex::new();
    let (mut a, mut b) = (lab.root(), lab.root());
    let (seen, log) = (mutex.clone(), lab.log.clone());
    a.sync_or(
        &mutex,
        lab.log.failing("body", "Bad"),
        move |step, error| {
            log.say(format!("handler:{error}, inside {}", seen.inside()));
            step.relinquish().add(log.body("repair"));
            Ok(())
        },
    );
    b.sync(&mutex, lab.log.body("b"));
    a.execute().expect("once");
    b.execute().expect("once");
    lab.settle();
    assert_eq!(
        lab.log.take(),
        ["body", "handler:Bad, inside 1", "repair", "b"]
    );
}

#[test]
fn c093_parallel_children_are_owners_of_their_own() {
    let lab = Lab::new();
    let mutex = Mutex::new();
    let mut root = lab.root();
    root.parallel()
        .sync(&mutex, section(&lab.log, "a"))
        .sync(&mutex, section(&lab.log, "b"));
    assert_eq!(lab.story(&mut root), ["a in", "a out", "b in", "b out"]);
    drop(root);

    // One that would wait for its own parent, which waits for it.
    let mut root = lab.root();
    let (inner, log) = (mutex.clone(), lab.log.clone());
    root.sync(&mutex, move |step, ()| {
        step.parallel().add(move |step, ()| {
            step.sync(&inner, log.body("never"));
            Ok(())
        });
        Ok(())
    });
    assert_eq!(
        lab.story(&mut root),
        ["unhandled:InternalError: a parallel child waits for a mutex that its own parent holds"]
    );
    assert_eq!(mutex.inside(), 0);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c094_waiters_are_let_in_first_in_first_out() {
    let lab = Lab::new();
    let mutex = Mutex::new();
    let mut roots = Vec::new();
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        let mut root = lab.root();
        root.sync(&mutex, section(&lab.log, name));
        root.execute().expect("once");
        roots.push(root);
    }
    // Whoever comes when it is free for a moment does not overtake.
    lab.turn();
    let mut late = lab.root();
    late.sync(&mutex, section(&lab.log, "late"));
    late.execute().expect("once");
    lab.settle();
    let order: Vec<_> = lab
        .log
        .take()
        .into_iter()
        .filter_map(|line| line.strip_suffix(" in").map(str::to_owned))
        .collect();
    assert_eq!(order, ["a", "b", "c", "d", "e", "late"]);
}
