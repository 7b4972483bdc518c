//! Storage limits: what counts, what happens at them, and the real ones (R45 to R48).

use std::cell::Cell;
use std::rc::Rc;

use pitlane::dispatch::{BatchError, DispatchError, Dispatcher, Fatal, HeapBytes, Limits};

use crate::rig::{Event, Rig};

const OVERFLOW: DispatchError = DispatchError::Fatal(Fatal::Overflow);

#[test]
fn t12_r48_overflow_refuses_latches_and_interrupts_nothing() {
    let rig = Rig::with_limits(Limits {
        units: 2,
        ..Limits::default()
    });
    let finished = Cell::new(false);
    rig.d.publication(|| {
        rig.admit("1");
        rig.admit("2");
        assert_eq!(rig.try_admit("3"), Err(OVERFLOW));
        finished.set(true);
    });
    assert!(finished.get());
    assert_eq!(rig.d.queued(), 2, "nothing was dropped");
    assert_eq!(rig.d.boundary(64), Err(OVERFLOW));
    assert_eq!(rig.log(), [""; 0]);
    assert_eq!(rig.d.clear(), Ok(()));
    rig.admit("after");
    rig.drain_all();
    assert_eq!(rig.log(), ["after"]);
}

#[test]
fn r45_slots_batch_captures_and_batch_capacity_share_the_units() {
    let rig = Rig::with_limits(Limits {
        units: 10,
        ..Limits::default()
    });
    rig.admit("1");
    rig.admit("2");
    let d = &rig.d;
    let batch = d.invoke_batch::<u8, DispatchError>(
        5,
        |batch| {
            assert_eq!(d.retained().0, 7);
            for value in 0..5 {
                batch.push(0, || value)?;
            }
            assert_eq!(d.retained().0, 7, "captures fill the capacity");
            let kept = d.retain::<u8>(3)?;
            assert_eq!(d.retained().0, 10);
            assert_eq!(batch.push(0, || 5), Err(OVERFLOW));
            drop(kept);
            Err(OVERFLOW)
        },
        |_| panic!("not prepared"),
    );
    assert_eq!(batch, Err(BatchError::Refused(OVERFLOW)));
    assert_eq!(d.retained().0, 2);
}

#[test]
fn r45_the_real_limit_of_units() {
    let d = Dispatcher::<u64>::new();
    let none = no_one(&d);
    for value in 0..65_536 {
        assert_eq!(d.admit(none, || value), Ok(()), "{value}");
    }
    assert_eq!(d.admit(none, || 65_536), Err(OVERFLOW));
    assert_eq!(d.retained().0, 65_536);
    assert_eq!(d.boundary(1), Err(OVERFLOW));
    assert_eq!(d.clear(), Ok(()));
    assert_eq!(d.retained(), (0, 0));
}

#[test]
fn r45_the_real_limit_of_bytes() {
    let d = Dispatcher::<u64>::new();
    let none = no_one(&d);
    let most = 64 << 20;
    let (_, bytes) = d.retained();
    assert!(
        d.reserve_with_heap(none, most).is_err(),
        "what is there counts too"
    );
    assert_eq!(d.clear(), Ok(()));
    let d = Dispatcher::<u64>::new();
    let none = no_one(&d);
    // Half of it, then all but a root's worth, then one too many.
    d.admit_with_heap(none, most / 2, || 1).expect("half");
    d.admit_with_heap(none, most / 2 - bytes - 1_024, || 2)
        .expect("all but a kilobyte");
    assert!(d.retained().1 <= most);
    assert_eq!(d.admit_with_heap(none, 1_024, || 3), Err(OVERFLOW));
    assert_eq!(d.failure(), Some(Fatal::Overflow));
}

#[test]
fn r32_the_real_limit_of_a_chain() {
    struct Echo {
        d: Rc<Dispatcher<u64>>,
    }
    impl pitlane::dispatch::Component<u64> for Echo {
        fn name(&self) -> &str {
            "echo"
        }
        fn on_event(&mut self, event: &u64, cx: &pitlane::dispatch::Context<'_, u64>) {
            assert_eq!(self.d.queued(), 1, "itself");
            cx.post(cx.component(), event + 1)
                .expect("never more than two");
        }
    }
    let d = Rc::new(Dispatcher::new());
    let echo = d
        .register(Box::new(Echo { d: Rc::clone(&d) }))
        .expect("room");
    d.start(echo).expect("registered");
    d.admit(echo, || 1).expect("room");
    let mut passes = 0;
    let error = loop {
        match d.boundary(1_024) {
            Ok(pending) => assert!(pending),
            Err(error) => break error,
        }
        passes += 1;
    };
    assert_eq!(passes, 1_024, "of 1,024 deliveries each");
    assert!(matches!(error, DispatchError::Fatal(Fatal::Runaway { .. })));
    assert_eq!(d.queued(), 1);
}

/// A target that is not there: what is queued for it is skipped when it is delivered.
fn no_one(d: &Dispatcher<u64>) -> pitlane::dispatch::ComponentId {
    struct NoOne;
    impl pitlane::dispatch::Component<u64> for NoOne {
        fn name(&self) -> &str {
            "no one"
        }
        fn on_event(&mut self, _: &u64, _: &pitlane::dispatch::Context<'_, u64>) {}
    }
    let id = d.register(Box::new(NoOne)).expect("room");
    d.retire(id).expect("registered");
    id
}

#[test]
fn r46_heap_charges_are_held_in_flight_and_given_back() {
    let rig = Rig::new();
    let before = rig.d.retained().1;
    let seen = Rc::new(Cell::new(0));
    let there = Rc::clone(&seen);
    rig.on("a", move |rig| there.set(rig.d.retained().1));
    rig.d
        .admit_with_heap(rig.first, 5_000, || Event::new("a"))
        .expect("room");
    let queued = rig.d.retained().1;
    assert!(queued >= before + 5_000);
    rig.drain_all();
    assert_eq!(seen.get(), queued, "still held while it was delivered");
    assert_eq!(rig.d.retained().1, before);
}

#[test]
fn r46_slots_queue_capacity_and_batch_capacity_are_charged() {
    let rig = Rig::with_limits(Limits::default());
    assert_eq!(rig.d.retained().1, 0, "nothing is there yet");
    rig.admit("a");
    let one = rig.d.retained().1;
    assert!(
        one >= 64 * size_of::<Event>(),
        "a slab of 64 slots, values included"
    );
    for _ in 1..64 {
        rig.admit("b");
    }
    let root = (rig.d.retained().1 - one) / 63;
    assert!(root > 0, "only roots were added");
    rig.admit("c");
    assert!(rig.d.retained().1 >= 2 * (one - root), "the slab doubled");
    let before = rig.d.retained().1;
    let kept = rig.d.retain::<[u8; 100]>(50).expect("room");
    assert_eq!(rig.d.retained().1, before + 50 * 100 + root);
    drop(kept);
    assert_eq!(rig.d.retained().1, before);
}

#[test]
fn r46_a_publication_charges_what_its_event_owns() {
    let rig = Rig::new();
    rig.d
        .subscribe(crate::rig::TOPIC, rig.first)
        .expect("in range");
    let before = rig.d.retained().1;
    rig.d.publish(
        crate::rig::TOPIC,
        &Event {
            heap: 7_777,
            ..Event::new("a")
        },
    );
    assert!(rig.d.retained().1 >= before + 7_777);
    rig.drain_all();
    assert_eq!(rig.d.retained().1, before);
}

#[test]
fn r47_visible_capacity_counts_and_shared_payloads_count_at_each_owner() {
    let mut text = String::with_capacity(100);
    text.push('x');
    assert_eq!(text.heap_bytes(), 100);
    assert_eq!("static".heap_bytes(), 0);
    let list = vec![text.clone(), text];
    let visible =
        list.capacity() * size_of::<String>() + list.iter().map(String::capacity).sum::<usize>();
    assert_eq!(list.heap_bytes(), visible);
    assert_eq!((Some(vec![0_u64; 3]), 1_u8).heap_bytes(), 24);
    assert_eq!(Box::<[u32]>::from([1, 2]).heap_bytes(), 8);
    assert_eq!(Box::<str>::from("four").heap_bytes(), 4);
}

#[test]
fn r45_growth_stops_at_the_bytes_and_not_before() {
    // Room for exactly 70 slots and roots of an empty queue: doubling would not fit.
    let probe = Rig::with_limits(Limits::default());
    probe.admit("a");
    let slab = probe.d.retained().1;
    probe.admit("b");
    let root = probe.d.retained().1 - slab;
    let slot = (slab - root) / 64;
    let rig = Rig::with_limits(Limits {
        bytes: 70 * (slot + root),
        ..Limits::default()
    });
    let admitted = (0..100).take_while(|_| rig.try_admit("a").is_ok()).count();
    assert!((64..=70).contains(&admitted), "{admitted}");
    assert!(rig.d.retained().1 <= 70 * (slot + root));
    assert_eq!(rig.d.failure(), Some(Fatal::Overflow));
}
