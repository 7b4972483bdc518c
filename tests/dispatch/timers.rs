//! Timers: registration captures nothing, firings are independent (R69, R70).

use std::cell::RefCell;

use pitlane::dispatch::{TimerLease, Timers, channel};
use pitlane::time::Nanos;

use crate::rig::{Event, Rig};

#[test]
fn r69_a_registration_captures_nothing_and_firings_are_independent() {
    let rig = Rig::new();
    let mut timers = Timers::new();
    let mut kept = rig.d.retain::<()>(0).expect("room");
    kept.with_chain(|_| {
        for key in ["t1", "t2"] {
            timers.register(Nanos(5), key).expect("room");
        }
    });
    kept.with_chain(|_| {
        // Even when they fire inside another scope.
        while let Some(firing) = timers.pop_due(Nanos(5)) {
            firing.deliver(&rig.d, Some, |name, _| rig.admit(name));
        }
        rig.admit("of the chain");
    });
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), ["t1@R1", "t2@R2", "of the chain@R3"]);
}

#[test]
fn r69_a_time_event_sent_inside_a_callback_inherits() {
    let rig = Rig::new();
    let (sender, receiver) = channel::<&str, _>(&rig.d, 4);
    rig.on("a", move |_| sender.send("time event").expect("room"));
    rig.admit("a");
    let root = rig.d.publication(|| {
        rig.admit("a");
        rig.d.retain::<()>(0).expect("room")
    });
    rig.drain_all();
    receiver.try_recv().expect("sent").dispatch(|_| {
        assert_ne!(rig.d.active_root(), root.root(), "that of the first a");
        assert!(rig.d.active_root().is_some());
    });
    let second = receiver.try_recv().expect("sent");
    second.dispatch(|_| assert_eq!(rig.d.active_root(), root.root()));
}

#[test]
fn r70_the_scope_is_there_before_the_receiver_is_looked_up() {
    let rig = Rig::new();
    let mut timers = Timers::new();
    timers.register(Nanos(1), 7).expect("room");
    let firing = timers.pop_due(Nanos(1)).expect("due");
    let mut kept = rig.d.retain::<()>(0).expect("room");
    let answer = kept.with_chain(|_| {
        firing.deliver(
            &rig.d,
            |key| {
                rig.admit("from the lookup");
                (key == 7).then_some("found")
            },
            |found, at| {
                rig.admit(found);
                at
            },
        )
    });
    assert_eq!(answer, Some(Nanos(1)));
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), ["from the lookup@R1", "found@R1"]);
    assert_eq!(kept.deliveries(), 0);
}

#[test]
fn r70_a_lease_cancels_its_own_registration_only() {
    let mut timers = Timers::new();
    let first = timers.register(Nanos(3), "first").expect("room");
    assert_eq!(timers.cancel(first), Some("first"));
    assert_eq!(timers.cancel(first), None);
    let second = timers.register(Nanos(2), "second").expect("room");
    assert_eq!(timers.cancel(first), None, "its place is used again");
    assert_eq!(timers.next_due(), Some(Nanos(2)));
    assert!(timers.pop_due(Nanos(1)).is_none());
    assert_eq!(timers.pop_due(Nanos(2)).expect("due").key, "second");
    assert_eq!(timers.cancel(second), None, "it has fired");
    assert_eq!(timers.next_due(), None);
}

#[test]
fn timers_fire_by_time_then_registration_and_are_bounded() {
    let mut timers = Timers::new();
    let leases: Vec<TimerLease> = (0..65_536_u64)
        .map(|key| {
            timers
                .register(Nanos(1_000 - key % 1_000), key)
                .expect("room")
        })
        .collect();
    assert!(timers.register(Nanos(1), 0).is_err());
    for lease in leases.iter().step_by(2) {
        timers.cancel(*lease).expect("has not fired");
    }
    for _ in 0..200_000 {
        // Registering and cancelling for ever takes no more room.
        let lease = timers.register(Nanos(9_999), 0).expect("room");
        timers.cancel(lease);
    }
    let mut expected: Vec<(u64, u64)> = (0..65_536)
        .filter(|key| key % 2 == 1)
        .map(|key| (1_000 - key % 1_000, key))
        .collect();
    expected.sort_unstable();
    let mut fired = Vec::new();
    while let Some(firing) = timers.pop_due(Nanos(u64::MAX)) {
        fired.push((firing.at.0, firing.key));
    }
    assert_eq!(fired, expected);
    assert!(timers.is_empty());
}

#[test]
fn r15_timer_cleanup_is_maintenance_and_precedes_author_code() {
    use pitlane::dispatch::{Component, Context};
    struct Once {
        rig: Rig,
        lease: RefCell<Option<TimerLease>>,
    }
    impl Component<Event> for Once {
        fn name(&self) -> &str {
            "once"
        }
        fn maintain(&mut self, _: &Event, _: &Context<'_, Event>) {
            self.rig.note("cleanup");
            self.lease.take();
        }
        fn on_event(&mut self, _: &Event, _: &Context<'_, Event>) {
            let left = self.lease.borrow().is_some();
            self.rig
                .note(if left { "lease left" } else { "lease gone" });
        }
    }
    let rig = Rig::new();
    let mut timers = Timers::new();
    let lease = RefCell::new(None);
    let id = rig.add(Once {
        rig: rig.clone(),
        lease,
    });
    let registered = timers.register(Nanos(1), id).expect("room");
    rig.d.with(id, |once: &mut Once| {
        *once.lease.borrow_mut() = Some(registered);
    });
    let firing = timers.pop_due(Nanos(1)).expect("due");
    firing.deliver(&rig.d, Some, |id, _| {
        rig.d.admit(id, || Event::new("time")).expect("room");
    });
    rig.drain_all();
    assert_eq!(rig.log(), ["cleanup", "lease gone"]);
}
