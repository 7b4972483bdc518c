//! The throttle and the limiter: behaviours 95 to 105.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::rc::Rc;

use pitlane::steps::{
    AsyncSteps, Compose, Limiter, LimiterOptions, Step, StepResult, SyncRef, Throttle,
};

use crate::lab::{Lab, ms};

fn of(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("not zero")
}

struct Crowd {
    passed: Rc<Cell<u32>>,
    roots: Vec<AsyncSteps>,
}

/// `count` flows that each pass once, executed.
fn crowd<S>(lab: &Lab, object: &S, count: u32) -> Crowd
where
    for<'a> SyncRef: From<&'a S>,
{
    let passed = Rc::new(Cell::new(0));
    let mut roots = Vec::new();
    for _ in 0..count {
        let mut root = lab.root();
        let passed = passed.clone();
        root.sync(SyncRef::from(object), move |_, ()| {
            passed.set(passed.get() + 1);
            Ok(())
        });
        root.execute().expect("once");
        roots.push(root);
    }
    lab.settle();
    Crowd { passed, roots }
}

#[test]
fn c095_three_of_ten_per_window() {
    let lab = Lab::new();
    let throttle = Throttle::new(of(3));
    let crowd = crowd(&lab, &throttle, 10);
    let mut seen = vec![crowd.passed.get()];
    for _ in 0..4 {
        lab.advance(ms(999));
        seen.push(crowd.passed.get());
        lab.advance(ms(1));
        seen.push(crowd.passed.get());
    }
    assert_eq!(seen, [3, 3, 6, 6, 9, 9, 10, 10, 10]);
    drop(crowd.roots);
    lab.advance(ms(1_000));
    lab.assert_empty();
}

#[test]
fn c096_ten_per_100_ms_pass_fifty_by_450_ms() {
    let lab = Lab::new();
    let throttle = Throttle::with_period(of(10), ms(100));
    let crowd = crowd(&lab, &throttle, 100);
    lab.advance(ms(450));
    assert_eq!(crowd.passed.get(), 50);
    lab.advance(ms(450));
    assert_eq!(crowd.passed.get(), 100);
}

#[test]
fn c097_a_queue_of_33_lets_43_pass_and_refuses_57() {
    let lab = Lab::new();
    let throttle = Throttle::with_queue(of(10), ms(100), 33);
    let crowd = crowd(&lab, &throttle, 100);
    let refused = lab.log.take();
    assert_eq!(refused.len(), 57);
    assert!(
        refused
            .iter()
            .all(|line| line == "unhandled:DefenseRejected: throttle queue")
    );
    lab.advance(ms(1_000));
    assert_eq!(crowd.passed.get(), 43);
}

#[test]
fn c098_entering_again_counts_again() {
    let lab = Lab::new();
    let throttle = Throttle::with_period(of(2), ms(100));
    let mut root = lab.root();
    let (inner, log) = (throttle.clone(), lab.log.clone());
    root.sync(&throttle, move |step, ()| {
        log.say("first");
        let (third, last) = (inner.clone(), log.clone());
        step.sync(&inner, move |step, ()| {
            last.say("second");
            step.sync(&third, last.body("third"));
            Ok(())
        });
        Ok(())
    });
    lab.run(&mut root);
    assert_eq!(lab.log.take(), ["first", "second"]);
    lab.advance(ms(100));
    assert_eq!(lab.log.take(), ["third"]);
}

#[test]
fn c099_an_idle_throttle_stops_its_timer() {
    let lab = Lab::new();
    let throttle = Throttle::with_period(of(1), ms(100));
    let first = crowd(&lab, &throttle, 1);
    assert_eq!(first.passed.get(), 1);
    assert_eq!(lab.event_loop.usage().timers, 1);
    lab.advance(ms(100));
    assert!(!throttle.is_idle(), "a window without entries comes first");
    lab.advance(ms(100));
    assert!(throttle.is_idle());
    assert_eq!(lab.event_loop.usage().timers, 0);
    lab.advance(ms(50));
    // The next window begins with the next entry.
    let next = crowd(&lab, &throttle, 2);
    assert_eq!(next.passed.get(), 1);
    lab.advance(ms(99));
    assert_eq!(next.passed.get(), 1);
    lab.advance(ms(1));
    assert_eq!(next.passed.get(), 2);
}

#[test]
fn c100_a_cancelled_waiter_leaves_the_throttle() {
    let lab = Lab::new();
    let throttle = Throttle::with_queue(of(1), ms(100), 2);
    let mut crowd = crowd(&lab, &throttle, 3);
    assert_eq!((crowd.passed.get(), throttle.waiting()), (1, 2));
    crowd.roots[1].cancel();
    assert_eq!(throttle.waiting(), 1);
    lab.advance(ms(100));
    assert_eq!(crowd.passed.get(), 2, "the other takes the slot");
    assert!(lab.log.take().is_empty());
}

#[test]
fn c101_values_pass_through_a_throttle() {
    let lab = Lab::new();
    let throttle = Throttle::with_period(of(1), ms(100));
    let mut root = lab.root();
    let (inner, log) = (throttle.clone(), lab.log.clone());
    root.success_step((1,))
        .sync(&throttle, |step, (n,): (i32,)| step.success((n + 1,)))
        .sync(&inner, |step, (n,): (i32,)| step.success((n + 1,)))
        .add(move |_, (n,): (i32,)| {
            log.say(n.to_string());
            Ok(())
        });
    lab.run(&mut root);
    assert!(lab.log.take().is_empty());
    lab.advance(ms(100));
    assert_eq!(lab.log.take(), ["3"]);
}

#[test]
fn c102_a_default_limiter_lets_one_in_a_second_and_none_wait() {
    let lab = Lab::new();
    let limiter = Limiter::new(LimiterOptions::default());
    let first = crowd(&lab, &limiter, 2);
    assert_eq!(first.passed.get(), 1);
    assert_eq!(
        lab.log.take(),
        ["unhandled:DefenseRejected: rate queue"],
        "the first had left; the second was in time for no rate"
    );
    lab.advance(ms(999));
    assert_eq!(crowd(&lab, &limiter, 1).passed.get(), 0);
    lab.advance(ms(1));
    assert_eq!(crowd(&lab, &limiter, 1).passed.get(), 1);
    lab.log.take();

    let mut holder = lab.root();
    lab.advance(ms(2_000));
    holder.sync(&limiter, |step, ()| step.wait_external().map(|_| ()));
    lab.run(&mut holder);
    assert_eq!(crowd(&lab, &limiter, 1).passed.get(), 0);
    assert_eq!(
        lab.log.take(),
        ["unhandled:DefenseRejected: concurrency queue"]
    );
}

#[test]
fn c103_of_100_flows_83_are_refused() {
    let lab = Lab::new();
    let limiter = Limiter::new(LimiterOptions {
        concurrent: of(20),
        max_queue: 77,
        rate: of(5),
        period: ms(100),
        burst: 12,
    });
    let passed = Rc::new(Cell::new(0));
    let mut roots = Vec::new();
    for _ in 0..100 {
        let mut root = lab.root();
        let passed = passed.clone();
        // Each gives way inside, so that all have come before one leaves.
        root.sync(&limiter, move |step: &mut Step<'_>, ()| -> StepResult {
            passed.set(passed.get() + 1);
            step.relinquish();
            Ok(())
        });
        root.execute().expect("once");
        roots.push(root);
    }
    lab.advance(ms(1_000));
    let refused = lab.log.take();
    assert_eq!((passed.get(), refused.len()), (17, 83));
    // Whoever the rate refuses leaves at once, so that the next is refused by
    // the rate, too: seventeen places inside are the most that are taken.
    let by_rate = |line: &&String| line.ends_with("rate queue");
    assert_eq!(refused.iter().filter(by_rate).count(), 83);
    assert_eq!((limiter.inside(), limiter.waiting()), (0, (0, 0)));
    drop(roots);
    lab.assert_empty();
}

#[test]
fn c104_entering_a_limiter_again_takes_no_place_but_counts() {
    let lab = Lab::new();
    let limiter = Limiter::new(LimiterOptions {
        rate: of(2),
        period: ms(100),
        burst: 1,
        ..LimiterOptions::default()
    });
    let mut root = lab.root();
    let (inner, log) = (limiter.clone(), lab.log.clone());
    root.sync(&limiter, move |step, ()| {
        log.say("first");
        let (third, last) = (inner.clone(), log.clone());
        step.sync(&inner, move |step, ()| {
            last.say(format!("second, inside {}", third.inside()));
            step.sync(&third, last.body("third"));
            Ok(())
        });
        Ok(())
    });
    lab.run(&mut root);
    assert_eq!(lab.log.take(), ["first", "second, inside 1"]);
    lab.advance(ms(100));
    assert_eq!(lab.log.take(), ["third"]);
    assert_eq!(limiter.inside(), 0);
}

#[test]
fn c105_concurrency_overflows_before_the_rate_is_asked() {
    let lab = Lab::new();
    let limiter = Limiter::new(LimiterOptions {
        rate: of(2),
        period: ms(100),
        ..LimiterOptions::default()
    });
    let mut holder = lab.root();
    holder.sync(&limiter, |step, ()| step.wait_external().map(|_| ()));
    lab.run(&mut holder);
    crowd(&lab, &limiter, 5);
    let refused = lab.log.take();
    assert_eq!(refused.len(), 5);
    assert!(
        refused
            .iter()
            .all(|line| line == "unhandled:DefenseRejected: concurrency queue")
    );
    holder.cancel();
    assert_eq!(
        crowd(&lab, &limiter, 1).passed.get(),
        1,
        "the five took none of the rate"
    );
}
