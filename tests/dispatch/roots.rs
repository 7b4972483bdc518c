//! Roots: who starts one, who inherits, and when it ends (R28 to R38).

use std::panic::{AssertUnwindSafe, catch_unwind};

use pitlane::dispatch::{Limits, Topic};

use crate::rig::{Event, Rig};

#[test]
fn r28_nested_publications_and_reservations_inherit_the_active_root() {
    let rig = Rig::new();
    let mut kept = rig.d.retain::<()>(0).expect("room");
    let root = kept.root();
    kept.with_chain(|_| {
        assert_eq!(rig.d.active_root(), root);
        rig.publish(&["a"]);
        rig.admit("b");
        rig.d.publication(|| rig.publish(&["c"]));
    });
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), ["a@R1", "b@R1", "c@R1"]);
    assert_eq!(kept.deliveries(), 3);
}

#[test]
fn r29_an_empty_scope_makes_no_root_and_a_first_admission_or_send_does() {
    let rig = Rig::new();
    let bytes = rig.d.retained().1;
    rig.d.publication(|| {
        rig.d.publication(|| ());
        assert_eq!((rig.d.active_root(), rig.d.retained().1), (None, bytes));
    });
    let commands = pitlane::dispatch::CommandQueue::new(&rig.d);
    rig.d.publication(|| {
        commands.sender().send("c");
        assert!(rig.d.active_root().is_some(), "the send made it");
        rig.admit("a");
    });
    commands.drain(|_, _| rig.note("c"));
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), ["c@R1", "a@R1"]);
}

#[test]
fn r30_outside_scopes_each_admission_has_its_own_root_unless_one_is_active() {
    let rig = Rig::new();
    rig.admit("x");
    rig.admit("y");
    let mut kept = rig.d.retain::<()>(0).expect("room");
    kept.with_chain(|_| {
        rig.admit("z1");
        rig.admit("z2");
    });
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), ["x@R1", "y@R2", "z1@R3", "z2@R3"]);
}

#[test]
fn r34_the_last_owner_releases_the_root_and_its_charge() {
    let rig = Rig::new();
    rig.admit("warm up");
    rig.drain_all();
    let bytes = rig.d.retained().1;
    let commands = pitlane::dispatch::CommandQueue::new(&rig.d);
    let mut kept = None;
    rig.d.publication(|| {
        rig.admit("slot");
        commands.sender().send("command");
        kept = rig.d.retain::<()>(0).ok();
    });
    let one_root = rig.d.retained().1;
    assert!(one_root > bytes);
    rig.drain_all();
    assert_eq!(
        rig.d.retained().1,
        one_root,
        "the slot was one owner of three"
    );
    drop(kept);
    assert_eq!(rig.d.retained().1, one_root);
    assert!(rig.d.has_pending());
    commands.discard();
    assert_eq!(rig.d.retained().1, bytes);
    assert!(!rig.d.has_pending());
}

#[test]
fn r35_retain_takes_the_active_root_or_starts_one_and_growth_keeps_it() {
    let rig = Rig::new();
    let mut outside = rig.d.retain::<u64>(1).expect("room");
    let root = outside.root();
    assert!(root.is_some());
    rig.d.publication(|| {
        rig.admit("a");
        let inside = rig.d.retain::<u64>(0).expect("room");
        assert_eq!(inside.root(), rig.d.active_root());
        for value in 0..100 {
            outside.push(0, || value).expect("room");
        }
        assert_eq!(outside.root(), root, "grown under another root");
    });
    assert_eq!(outside.values().len(), 100);
    rig.drain_all();
}

#[test]
fn r36_with_chain_restores_on_return_and_on_unwind_and_charges_nothing() {
    let rig = Rig::new();
    let mut first = rig.d.retain::<()>(0).expect("room");
    let mut second = rig.d.retain::<()>(0).expect("room");
    let roots = (first.root(), second.root());
    first.with_chain(|_| {
        second.with_chain(|_| assert_eq!(rig.d.active_root(), roots.1));
        assert_eq!(rig.d.active_root(), roots.0);
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            second.with_chain(|_| panic!("in a chain"))
        }));
        assert!(unwound.is_err());
        assert_eq!(rig.d.active_root(), roots.0);
    });
    assert_eq!(rig.d.active_root(), None);
    assert_eq!((first.deliveries(), second.deliveries()), (0, 0));
    assert_eq!(rig.d.failure(), None, "a chain is no publication");
}

#[test]
fn r38_reused_storage_and_registrations_transfer_no_root() {
    let rig = Rig::with_limits(Limits {
        deliveries: 2,
        ..Limits::default()
    });
    // Slot and root entry are used again each time; a root that went on would latch.
    for turn in 0..10 {
        rig.admit(&format!("{turn}"));
        rig.drain_all();
    }
    let mut log = rig.log_with_roots();
    log.sort();
    log.dedup_by_key(|entry| entry.split('@').next_back().map(str::to_string));
    assert_eq!(log.len(), 10, "each had a root of its own");
    // The same subscription, publication by publication.
    rig.d.subscribe(Topic(0), rig.first).expect("in range");
    for _ in 0..10 {
        rig.d.publish(Topic(0), &Event::new("e"));
        rig.drain_all();
    }
    assert_eq!(rig.d.failure(), None);
}
