//! Admission: reservations, registrations and eligibility (R7 to R13, R16).

use pitlane::dispatch::{DispatchError, Fatal, Limits, MaintenanceRule};

use crate::rig::{Event, Recorder, Rig};

#[test]
fn r07_a_refused_reservation_builds_no_capture() {
    let rig = Rig::with_limits(Limits {
        units: 1,
        ..Limits::default()
    });
    let mut built = 0;
    let mut admit = || {
        rig.d.admit(rig.first, || {
            built += 1;
            assert_eq!(rig.d.retained().0, 1, "counted before it is built");
            Event::new("a")
        })
    };
    assert_eq!(admit(), Ok(()));
    assert_eq!(admit(), Err(DispatchError::Fatal(Fatal::Overflow)));
    assert_eq!(built, 1);
}

#[test]
fn r07_the_bytes_that_a_capture_owns_are_reserved_before_it_is_built() {
    let rig = Rig::new();
    let (_, before) = rig.d.retained();
    let admitted = rig.d.admit_with_heap(rig.first, 1_000, || {
        assert!(rig.d.retained().1 - before >= 1_000);
        Event::new("a")
    });
    assert_eq!(admitted, Ok(()));
}

#[test]
fn r08_a_granted_reservation_takes_its_capture_after_a_latch() {
    let rig = Rig::new();
    let reservation = rig.d.reserve(rig.first).expect("room");
    rig.d.halt(Fatal::PublicationUnwound);
    assert!(rig.d.reserve(rig.first).is_err());
    let dropped = std::rc::Rc::new(std::cell::Cell::new(false));
    let flag = std::rc::Rc::clone(&dropped);
    reservation.commit(Event::dropping("a", move || flag.set(true)));
    assert!(!dropped.get(), "taken and kept");
    assert_eq!(rig.d.queued(), 1);
    assert_eq!(rig.d.clear(), Ok(()));
    assert!(dropped.get());
}

#[test]
fn t10_r09_r21_an_open_reservation_blocks_what_is_behind_it() {
    let rig = Rig::new();
    rig.admit("a");
    let reservation = rig.d.reserve(rig.first).expect("room");
    rig.admit("c");
    assert_eq!(rig.d.boundary(3), Err(DispatchError::Active));
    assert_eq!(rig.log(), ["a"], "what was before it ran");
    assert_eq!(rig.d.failure(), None);
    assert_eq!(rig.d.clear(), Err(DispatchError::Active));
    reservation.commit(Event::new("b"));
    rig.drain_all();
    assert_eq!(rig.log(), ["b", "c"]);
}

#[test]
fn r10_a_cancelled_slot_stays_until_a_drain_or_a_clear() {
    let rig = Rig::new();
    rig.d.reserve(rig.first).expect("room").cancel();
    drop(rig.d.reserve(rig.first).expect("room"));
    assert_eq!(rig.d.queued(), 2);
    assert_eq!(rig.d.retained().0, 2);
    assert_eq!(rig.d.boundary(1), Ok(true));
    assert_eq!((rig.d.queued(), rig.d.retained().0), (1, 1));
    assert_eq!(rig.d.clear(), Ok(()));
    assert_eq!((rig.d.queued(), rig.d.retained().0), (0, 0));
}

#[test]
fn t20_r11_a_re_registered_component_skips_what_was_queued_before_and_is_charged() {
    let rig = Rig::new();
    let charge = rig.d.publication(|| {
        rig.admit("old");
        rig.d.retain::<()>(0).expect("room")
    });
    let same = rig
        .d
        .retire(rig.first)
        .expect("registered")
        .expect("in its place");
    let again = rig.d.register(same).expect("room");
    rig.d.start(again).expect("registered");
    assert_ne!(again, rig.first);
    rig.d.admit(again, || Event::new("new")).expect("room");
    assert_eq!(rig.d.boundary(64), Ok(false));
    assert_eq!(rig.log(), ["new"]);
    assert_eq!(charge.deliveries(), 1, "the skipped one");
}

#[test]
fn r11_a_component_retired_while_it_runs_is_dropped_by_its_delivery() {
    let rig = Rig::new();
    let doomed = rig.add(Recorder::new(&rig, "doomed:"));
    rig.on("end", move |rig| {
        assert!(
            rig.d.retire(doomed).expect("registered").is_none(),
            "it is in use"
        );
    });
    rig.d.admit(doomed, || Event::new("end")).expect("room");
    rig.d.admit(doomed, || Event::new("never")).expect("room");
    rig.drain_all();
    assert_eq!(rig.log(), ["doomed:end"]);
    assert_eq!(rig.d.lifecycle(doomed), None);
    assert_eq!(rig.d.components(), [rig.first]);
}

#[test]
fn r12_author_code_needs_eligibility_at_arrival_and_at_delivery() {
    let rig = Rig::new();
    // Not running at arrival, running at delivery.
    rig.d.stop(rig.first).expect("registered");
    rig.admit("while stopped");
    rig.d.start(rig.first).expect("registered");
    rig.drain_all();
    assert_eq!(rig.log(), [""; 0]);
    // Running at arrival, stopped at delivery.
    rig.admit("before the stop");
    rig.d.stop(rig.first).expect("registered");
    rig.drain_all();
    assert_eq!(rig.log(), [""; 0]);
    rig.d.start(rig.first).expect("registered");
    rig.admit("both");
    rig.drain_all();
    assert_eq!(rig.log(), ["both"]);
    // A reset in between.
    rig.admit("before the reset");
    rig.d.reset(rig.first).expect("registered");
    rig.d.start(rig.first).expect("registered");
    rig.drain_all();
    assert_eq!(rig.log(), [""; 0]);
}

#[test]
fn t22_r16_after_a_restart_maintenance_runs_by_its_rule_and_the_author_is_silent() {
    for (rule, expected) in [
        (
            MaintenanceRule::WhileRegistered,
            vec!["maintain(old)", "maintain(new)", "new"],
        ),
        (MaintenanceRule::WhileRunning, vec!["maintain(new)", "new"]),
    ] {
        let rig = Rig::new();
        let id = rig.add(Recorder {
            maintains: true,
            rule,
            ..Recorder::new(&rig, "")
        });
        rig.d.admit(id, || Event::new("old")).expect("room");
        rig.d.stop(id).expect("registered");
        rig.d.start(id).expect("registered");
        rig.d.admit(id, || Event::new("new")).expect("room");
        rig.drain_all();
        assert_eq!(rig.log(), expected, "{rule:?}");
    }
}

#[test]
fn r12_maintenance_that_resets_another_component_silences_what_waits_for_it() {
    let rig = Rig::new();
    let id = rig.add(Recorder {
        maintains: true,
        ..Recorder::new(&rig, "m:")
    });
    rig.on("m:maintain(a)", |rig| {
        rig.d.reset(rig.first).expect("registered");
    });
    rig.d.admit(id, || Event::new("a")).expect("room");
    rig.admit("silenced");
    rig.drain_all();
    assert_eq!(rig.log(), ["m:maintain(a)", "m:a"]);
}

#[test]
fn r13_a_delivery_has_its_component_alone() {
    let rig = Rig::new();
    let first = rig.first;
    rig.on("a", move |rig| {
        let error = rig
            .d
            .try_with(first, |_: &mut Recorder| ())
            .expect_err("it runs");
        assert_eq!(
            error.to_string(),
            "with: component 0.2 is in use; end that use first"
        );
        assert!(rig.d.lend(first).is_err());
        rig.note("asked");
    });
    rig.admit("a");
    rig.drain_all();
    assert_eq!(rig.log(), ["a", "asked"]);
}

#[test]
fn a06_a_wrong_address_halts_and_leaves_the_capture_owned() {
    let rig = Rig::new();
    let picky = rig.add(Recorder {
        takes: |name| name == "mine",
        ..Recorder::new(&rig, "")
    });
    rig.d.admit(picky, || Event::new("mine")).expect("room");
    rig.d.admit(picky, || Event::new("not mine")).expect("room");
    let fatal = Fatal::InvalidDestination { target: picky };
    assert_eq!(rig.d.boundary(64), Err(fatal.into()));
    assert_eq!(rig.d.failure(), Some(fatal));
    assert_eq!(rig.log(), ["mine"]);
    assert_eq!(rig.d.queued(), 1);
    assert_eq!(rig.d.clear(), Ok(()));
}
