//! Draining: budgets, boundaries, busy heads, runaways (R19 to R27, R31 to R33).

use std::cell::RefCell;
use std::rc::Rc;

use pitlane::dispatch::{DispatchError, Fatal, Limits};

use crate::rig::{Event, Recorder, Rig};

#[test]
fn t05_a_budget_bounds_each_pass_and_the_order_goes_on() {
    let rig = Rig::new();
    for (from, to) in [("n0", "n1"), ("n1", "n2"), ("n2", "n3")] {
        rig.on(from, move |rig| rig.publish(&[to]));
    }
    rig.publish(&["a", "b", "c", "n0"]);
    for (names, pending) in [
        (&["a", "b"][..], true),
        (&["c", "n0"], true),
        (&["n1", "n2"], true),
        (&["n3"], false),
    ] {
        assert_eq!(rig.d.boundary(2), Ok(pending));
        assert_eq!(rig.log(), names);
    }
}

#[test]
fn t06_r19_r23_cancelled_slots_take_budget_and_an_exhausted_budget_is_success() {
    let rig = Rig::new();
    rig.d.reserve(rig.first).expect("room").cancel();
    rig.admit("a");
    rig.admit("b");
    let passes = [0, 1, 1, 1].map(|budget| rig.d.boundary(budget));
    assert_eq!(passes, [Ok(true), Ok(true), Ok(true), Ok(false)]);
    assert_eq!(rig.log(), ["a", "b"]);
}

#[test]
fn t07_r32_a_runaway_latches_before_the_callback_over_the_limit() {
    let rig = Rig::with_limits(Limits {
        deliveries: 3,
        ..Limits::default()
    });
    rig.on("k", |rig| rig.publish(&["k"]));
    rig.publish(&["k"]);
    rig.publish(&["other"]);
    for name in ["k", "other", "k", "k"] {
        assert_eq!(rig.d.boundary(1), Ok(true));
        assert_eq!(rig.log(), [name]);
    }
    for _ in 0..2 {
        let error = rig.d.boundary(1).expect_err("the limit is reached");
        assert!(
            matches!(error, DispatchError::Fatal(Fatal::Runaway { .. })),
            "{error}"
        );
        assert_eq!(rig.log(), [""; 0]);
    }
    assert_eq!(rig.d.queued(), 1, "the blocked callback stays");
}

#[test]
fn r31_completed_deliveries_charge_one_and_nothing_else_charges() {
    let rig = Rig::new();
    let other = rig.add(Recorder::new(&rig, ""));
    let kept = rig.d.publication(|| {
        rig.admit("a");
        rig.d.reserve(rig.first).expect("room").cancel();
        rig.d.admit(other, || Event::new("busy")).expect("room");
        rig.d.retain::<()>(0).expect("room")
    });
    let loan = rig.d.lend(other).expect("in its place");
    assert_eq!(rig.d.drain(64), Ok(true));
    assert_eq!(rig.d.drain(64), Ok(true));
    assert_eq!(
        kept.deliveries(),
        1,
        "not the cancelled one, nor the busy one"
    );
    drop(loan);
    assert_eq!(rig.d.drain(64), Ok(false));
    assert_eq!(kept.deliveries(), 2);
    assert_eq!(rig.log(), ["a", "busy"]);
}

#[test]
fn t08_r22_r24_r25_a_busy_head_stalls_a_boundary_even_after_progress() {
    let rig = Rig::new();
    let z = rig.add(Recorder::new(&rig, ""));
    rig.admit("a");
    rig.d.admit(z, || Event::new("z")).expect("room");
    rig.admit("b");
    let loan = rig.d.lend(z).expect("in its place");
    let stalled = DispatchError::Fatal(Fatal::Stalled { target: z });
    assert_eq!(rig.d.boundary(3), Err(stalled));
    assert_eq!(rig.log(), ["a"]);
    assert_eq!(rig.d.boundary(3), Err(stalled));
    assert_eq!(rig.try_admit("refused"), Err(stalled));
    assert_eq!(rig.d.queued(), 2);
    // Ending the access mends nothing: repeating is no recovery.
    drop(loan);
    assert_eq!(rig.d.boundary(3), Err(stalled));
    assert_eq!(rig.d.clear(), Ok(()));
    assert_eq!(rig.log(), [""; 0]);
}

#[test]
fn t09_a_busy_head_beyond_the_budget_is_not_attempted() {
    let rig = Rig::new();
    let z = rig.add(Recorder::new(&rig, ""));
    rig.admit("a");
    rig.d.admit(z, || Event::new("z")).expect("room");
    let _loan = rig.d.lend(z).expect("in its place");
    assert_eq!(rig.d.boundary(1), Ok(true));
    assert_eq!(rig.d.failure(), None);
    let stalled = DispatchError::Fatal(Fatal::Stalled { target: z });
    assert_eq!(rig.d.boundary(1), Err(stalled));
}

#[test]
fn r22_off_a_boundary_a_busy_head_only_waits() {
    let rig = Rig::new();
    let z = rig.add(Recorder::new(&rig, ""));
    rig.d.admit(z, || Event::new("z")).expect("room");
    rig.admit("b");
    let loan = rig.d.lend(z).expect("in its place");
    assert_eq!(rig.d.drain(3), Ok(true));
    assert_eq!(rig.log(), [""; 0], "nobody overtakes it");
    drop(loan);
    assert_eq!(rig.d.drain(3), Ok(false));
    assert_eq!(rig.log(), ["z", "b"]);
}

#[test]
fn t11_r20_f24_a_drain_inside_a_callback_is_refused_and_latches_nothing() {
    let rig = Rig::new();
    rig.on("a", |rig| {
        assert_eq!(rig.d.boundary(1), Err(DispatchError::Active));
        assert_eq!(rig.d.drain(1), Err(DispatchError::Active));
        rig.note("refused");
    });
    rig.publish(&["a", "b"]);
    rig.drain_all();
    assert_eq!(rig.log(), ["a", "refused", "b"]);
    assert_eq!(rig.d.failure(), None);
}

#[test]
fn r20_no_delivery_starts_in_a_publication_an_access_or_a_clear() {
    let rig = Rig::new();
    rig.admit("a");
    let d = Rc::clone(&rig.d);
    rig.d
        .publication(|| assert_eq!(d.boundary(1), Err(DispatchError::Active)));
    rig.d.with(rig.first, |_: &mut Recorder| {
        assert_eq!(d.boundary(1), Err(DispatchError::Active));
    });
    let seen = Rc::new(RefCell::new(None));
    let (there, rig_there) = (Rc::clone(&seen), rig.clone());
    rig.d
        .admit(rig.first, || {
            Event::dropping("b", move || {
                *there.borrow_mut() = Some(rig_there.d.boundary(1));
            })
        })
        .expect("room");
    assert_eq!(rig.d.clear(), Ok(()));
    assert_eq!(*seen.borrow(), Some(Err(DispatchError::Active)));
    assert_eq!(rig.log(), [""; 0]);
    assert_eq!(rig.d.failure(), None);
}

#[test]
fn r25_the_first_fatal_error_wins_and_stops_the_pass() {
    let rig = Rig::new();
    rig.on("a", |rig| {
        rig.d.halt(Fatal::Overflow);
        rig.d.halt(Fatal::PublicationUnwound);
    });
    rig.publish(&["a", "b"]);
    rig.publish(&["another root"]);
    assert_eq!(rig.d.boundary(64), Err(Fatal::Overflow.into()));
    assert_eq!(rig.log(), ["a"]);
    assert_eq!(rig.d.queued(), 2);
    assert_eq!(rig.d.boundary(64), Err(Fatal::Overflow.into()));
}

#[test]
fn r26_a05_retained_roots_alone_are_no_pending_work() {
    let rig = Rig::new();
    let kept = rig.d.publication(|| {
        rig.admit("a");
        rig.d.retain::<u8>(0).expect("room")
    });
    assert_eq!(rig.d.boundary(64), Ok(false));
    assert!(rig.d.has_pending(), "but not quiescent (A5)");
    drop(kept);
    assert!(!rig.d.has_pending());
}

#[test]
fn r27_releasing_a_guard_never_drains() {
    let rig = Rig::new();
    rig.admit("a");
    drop(rig.d.lend(rig.first).expect("in its place"));
    rig.d.with(rig.first, |_: &mut Recorder| ());
    drop(
        rig.d
            .hold_shared(pitlane::dispatch::Resource::new(0, "cache")),
    );
    rig.d.publication(|| ());
    assert_eq!(rig.log(), [""; 0]);
}

#[test]
fn r33_yields_and_empty_queues_do_not_reset_a_surviving_root() {
    let rig = Rig::with_limits(Limits {
        deliveries: 2,
        ..Limits::default()
    });
    let mut kept = rig.d.publication(|| {
        rig.admit("1");
        rig.d.retain::<u8>(0).expect("room")
    });
    assert_eq!(rig.d.boundary(64), Ok(false));
    kept.with_chain(|_| rig.admit("2"));
    assert_eq!(rig.d.boundary(64), Ok(false), "empty in between");
    assert_eq!(kept.deliveries(), 2);
    kept.with_chain(|_| rig.admit("3"));
    assert!(matches!(
        rig.d.boundary(64),
        Err(DispatchError::Fatal(Fatal::Runaway { .. }))
    ));
    assert_eq!(rig.log(), ["1", "2"]);
}
