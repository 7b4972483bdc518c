//! Teardown: what it waits for, in which order it releases, and what it resets
//! (R49 to R51).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pitlane::dispatch::{CommandQueue, DispatchError, Fatal};

use crate::rig::{Event, Recorder, Rig};

#[test]
fn r49_a04_storage_is_detached_before_captures_are_released() {
    let rig = Rig::new();
    let seen = Rc::new(RefCell::new(Vec::new()));
    for name in ["a", "b"] {
        let (seen, there) = (Rc::clone(&seen), rig.clone());
        let capture = Event::dropping(name, move || {
            seen.borrow_mut()
                .push((name, there.d.queued(), there.d.retained().0));
        });
        rig.d.admit(rig.first, || capture).expect("room");
    }
    rig.d.halt(Fatal::Overflow);
    assert_eq!(
        rig.d.failure(),
        Some(Fatal::Overflow),
        "reported before it is cleared"
    );
    assert_eq!(rig.d.clear(), Ok(()));
    assert_eq!(*seen.borrow(), [("a", 0, 0), ("b", 0, 0)]);
    assert_eq!(rig.d.failure(), None);
    // The sequence starts again too (A4).
    rig.admit("c");
    assert_eq!(rig.positions(), ["1.1"]);
}

#[test]
fn r50_clear_in_a_scope_or_with_outside_roots_changes_nothing_and_can_be_repeated() {
    let rig = Rig::new();
    rig.admit("a");
    rig.d.halt(Fatal::Overflow);
    let refused = |d: &pitlane::dispatch::Dispatcher<Event>| {
        assert_eq!(d.clear(), Err(DispatchError::Active));
        assert_eq!((d.queued(), d.failure()), (1, Some(Fatal::Overflow)));
    };
    rig.d.publication(|| refused(&rig.d));
    rig.d.independent(|| refused(&rig.d));
    rig.d.with(rig.first, |_: &mut Recorder| refused(&rig.d));
    assert_eq!(rig.d.clear(), Ok(()));
    rig.admit("a");
    let commands = CommandQueue::new(&rig.d);
    let mut kept = rig.d.retain::<u8>(0).expect("room");
    kept.with_chain(|_| commands.sender().send("c"));
    rig.d.halt(Fatal::Overflow);
    refused(&rig.d);
    kept.with_chain(|_| refused(&rig.d));
    drop(kept);
    refused(&rig.d);
    commands.discard();
    assert_eq!(rig.d.clear(), Ok(()));
}

#[test]
fn r50_clear_in_a_callback_or_a_batch_is_refused() {
    let rig = Rig::new();
    rig.on("a", |rig| {
        assert_eq!(rig.d.clear(), Err(DispatchError::Active));
        rig.note("refused");
    });
    rig.admit("a");
    rig.drain_all();
    let invoked = rig.d.invoke_batch::<u8, DispatchError>(
        1,
        |batch| batch.push(0, || 1),
        |_| assert_eq!(rig.d.clear(), Err(DispatchError::Active)),
    );
    assert_eq!(invoked, Ok(()));
    assert_eq!(rig.log(), ["a", "refused"]);
}

#[test]
fn r51_a04_admissions_and_clears_from_destructors() {
    let rig = Rig::new();
    let results = Rc::new(RefCell::new(Vec::new()));
    let again = Rc::new(Cell::new(None));
    for name in ["a", "b"] {
        let (results, again, there) = (Rc::clone(&results), Rc::clone(&again), rig.clone());
        let capture = Event::dropping(name, move || {
            results
                .borrow_mut()
                .push(there.try_admit("from a destructor"));
            let kept = there.d.retain::<u8>(1).map(drop);
            results.borrow_mut().push(kept);
            again.set(Some(there.d.clear()));
        });
        rig.d.admit(rig.first, || capture).expect("room");
    }
    assert_eq!(rig.d.clear(), Ok(()));
    assert_eq!(*results.borrow(), [Err(DispatchError::Active); 4]);
    assert_eq!(again.get(), Some(Ok(())), "does nothing, and says so (A4)");
    assert_eq!(rig.d.queued(), 0);
}
