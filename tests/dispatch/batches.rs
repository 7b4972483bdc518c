//! Batches: prepared as a whole, run one by one, each value under its root
//! (R37, R40, R41).

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pitlane::dispatch::{BatchError, DispatchError, Fatal, Limits};

use crate::rig::{OnDrop, Rig, on_drop};

/// A value whose destructor writes down the root that is then active.
fn logged(rig: &Rig, name: &'static str) -> Rc<OnDrop> {
    let there = rig.clone();
    on_drop(move || there.note(name))
}

#[test]
fn r37_each_value_has_the_root_of_its_own_admission() {
    let rig = Rig::new();
    let mut first = rig.d.retain::<()>(0).expect("room");
    let mut second = rig.d.retain::<()>(0).expect("room");
    let ran = rig.d.invoke_batch(
        0,
        |batch| {
            first.with_chain(|_| batch.push(0, || "a"))?;
            second.with_chain(|_| batch.push(0, || "b"))?;
            first.with_chain(|_| batch.push(0, || "c"))?;
            batch.push(0, || "of its own")
        },
        |value: &str| {
            rig.note(value);
            rig.admit(value);
        },
    );
    assert_eq!(ran, Ok::<_, BatchError<DispatchError>>(()));
    let expected = ["a@R1", "b@R2", "c@R1", "of its own@R3"];
    assert_eq!(rig.log_with_roots(), expected);
    rig.drain_all();
    assert_eq!(rig.log_with_roots(), expected);
    assert_eq!(
        first.deliveries(),
        2,
        "invoking charged nothing, delivering did"
    );
}

#[test]
fn r40_values_that_are_not_invoked_drop_under_their_own_roots() {
    let rig = Rig::new();
    let mut first = rig.d.retain::<()>(0).expect("room");
    let mut second = rig.d.retain::<()>(0).expect("room");
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        rig.d.invoke_batch::<_, DispatchError>(
            0,
            |batch| {
                first.with_chain(|_| batch.push(0, || logged(&rig, "a")))?;
                second.with_chain(|_| batch.push(0, || logged(&rig, "b")))?;
                first.with_chain(|_| batch.push(0, || logged(&rig, "c")))
            },
            |_| panic!("at the first"),
        )
    }));
    assert!(unwound.is_err());
    assert_eq!(rig.log_with_roots(), ["a@R1", "b@R2", "c@R1"]);
    assert_eq!(rig.d.active_root(), None);
    drop((first, second));
    assert!(!rig.d.has_pending(), "units and roots are given back");
}

#[test]
fn r41_captures_outlive_the_guards_of_a_preparation_that_refuses_or_panics() {
    let rig = Rig::new();
    for panics in [false, true] {
        let events = Rc::new(RefCell::new(Vec::new()));
        let note = |what: &'static str| {
            let events = Rc::clone(&events);
            on_drop(move || events.borrow_mut().push(what))
        };
        let result = catch_unwind(AssertUnwindSafe(|| {
            rig.d.invoke_batch(
                2,
                |batch| {
                    let _guard = note("guard");
                    batch.push(0, || note("capture")).expect("room");
                    assert!(!panics, "in a preparation");
                    Err("refused")
                },
                |_| panic!("not prepared"),
            )
        }));
        assert_eq!(
            result.ok(),
            (!panics).then_some(Err(BatchError::Refused("refused")))
        );
        assert_eq!(*events.borrow(), ["guard", "capture"]);
    }
    assert!(!rig.d.has_pending());
}

#[test]
fn r41_room_is_reserved_before_a_capture_is_built() {
    let rig = Rig::with_limits(Limits {
        units: 1,
        ..Limits::default()
    });
    let mut built = 0;
    let result = rig.d.invoke_batch(
        1,
        |batch| {
            batch.push(0, || built += 1)?;
            batch.push(0, || built += 1)
        },
        |()| (),
    );
    let overflow = DispatchError::Fatal(Fatal::Overflow);
    assert_eq!(result, Err(BatchError::Refused(overflow)));
    assert_eq!(built, 1);
    assert_eq!(rig.d.failure(), Some(Fatal::Overflow));
}
