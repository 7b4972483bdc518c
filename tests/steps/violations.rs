//! What breaks a rule, and what comes of it: behaviours 33 to 40.

use std::cell::RefCell;
use std::rc::Rc;

use pitlane::steps::{AsyncSteps, Compose, Level, Refusal, StepError, codes};

use crate::lab::{Lab, ms};

/// What the flow failed with.
fn fate(lab: &Lab, root: &mut AsyncSteps) -> String {
    let story = lab.story(root);
    assert_eq!(story.len(), 1, "{story:?}");
    story[0].clone()
}

#[test]
fn c033_success_with_sub_steps_is_an_internal_error() {
    for success_first in [false, true] {
        let lab = Lab::new();
        let mut root = lab.root();
        let log = lab.log.clone();
        root.add(move |step, ()| {
            if success_first {
                step.success(())?;
                step.add(log.body("never"));
            } else {
                step.add(log.body("never"));
                let error = step.success(()).expect_err("it has sub-steps");
                assert!(error.is(codes::INTERNAL_ERROR));
            }
            Ok(()) // The body ignores it; the step fails all the same.
        });
        assert!(fate(&lab, &mut root).starts_with("unhandled:InternalError: "));
        drop(root);
        lab.assert_empty();
    }
}

/// The borrow checker keeps a parent's step out of its child; a handle does not.
#[test]
fn c034_a_parents_handle_used_in_a_child_is_an_internal_error() {
    let lab = Lab::new();
    let mut root = lab.root();
    let seen = Rc::new(RefCell::new(None));
    let place = seen.clone();
    root.add(move |step, ()| {
        let handle = step.wait_external()?;
        step.add(move |step, ()| {
            *place.borrow_mut() = Some(step.event_loop().complete(handle, ()));
            Ok(())
        });
        step.add(|_, ()| unreachable!("the flow fails before"));
        Ok(())
    });
    assert_eq!(
        fate(&lab, &mut root),
        "unhandled:InternalError: a step was completed from outside over its sub-steps"
    );
    assert_eq!(seen.take(), Some(Err(Refusal::NotOnTop)));
}

#[test]
fn c035_a_step_added_to_a_running_root_is_an_internal_error() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(
        |step, ()| step.wait_external().map(|_| ()),
        lab.log.handler("waiting"),
    );
    lab.run(&mut root);
    root.add(lab.log.body("never"));
    lab.settle();
    let error = "InternalError: a step was added to a running instance";
    assert_eq!(
        lab.log.take(),
        [format!("waiting:{error}"), format!("unhandled:{error}")]
    );
    root.add(lab.log.body("never either"));
    lab.settle();
    assert!(lab.log.take().is_empty(), "it is over");
    drop(root);
    lab.assert_empty();
}

#[test]
fn c036_a_late_success_is_stale() {
    let lab = Lab::new();
    let mut root = lab.root();
    let place = Rc::new(RefCell::new(None));
    let handle = place.clone();
    root.add_or(
        move |step, ()| {
            *handle.borrow_mut() = Some(step.wait_external()?);
            step.set_timeout(ms(5))
        },
        lab.log.recovery("own"),
    )
    .add(|step, ()| step.wait_external().map(|_| ()));
    lab.run(&mut root);
    lab.advance(ms(5));
    assert_eq!(lab.log.take(), ["own:Timeout"]);
    let handle = place.take().expect("it waited");
    assert_eq!(lab.event_loop.complete(handle, (1,)), Err(Refusal::Stale));
    lab.settle();
    assert!(root.is_valid(), "the next step waits on, unchanged");
    root.cancel();
    assert_eq!(lab.event_loop.complete(handle, ()), Err(Refusal::Stale));
    drop(root);
    lab.assert_empty();
}

#[test]
fn c037_a_late_error_is_stale() {
    let lab = Lab::new();
    let mut root = lab.root();
    let place = Rc::new(RefCell::new(None));
    let handle = place.clone();
    root.add(move |step, ()| {
        *handle.borrow_mut() = Some(step.wait_external()?);
        Ok(())
    })
    .add(|step, ()| step.wait_external().map(|_| ()));
    lab.run(&mut root);
    let handle = place.take().expect("it waits");
    assert_eq!(lab.event_loop.complete(handle, ()), Ok(()));
    assert_eq!(
        lab.event_loop.fail(handle, "Bad".into()),
        Err(Refusal::Stale),
        "at once, before its flow runs on"
    );
    lab.settle();
    assert_eq!(
        lab.event_loop.fail(handle, "Bad".into()),
        Err(Refusal::Stale)
    );
    assert!(lab.log.take().is_empty());
    assert!(root.is_valid());
}

#[test]
fn c038_a_second_completion_in_a_body_is_an_internal_error() {
    type Twice = fn(&mut pitlane::steps::Step<'_>) -> Result<(), StepError>;
    let ways: [Twice; 5] = [
        |step| {
            step.success((1,))?;
            step.success((2,))
        },
        |step| {
            step.set_error("Bad", "")?;
            let _ = step.success(());
            Ok(())
        },
        |step| {
            step.success(())?;
            Err("Bad".into())
        },
        |step| {
            let handle = step.wait_external()?;
            step.event_loop().complete(handle, ()).expect("it waits");
            step.success(())
        },
        |step| {
            let handle = step.wait_external()?;
            step.event_loop().fail(handle, "Bad".into()).expect("waits");
            step.success(())
        },
    ];
    for way in ways {
        let lab = Lab::new();
        let mut root = lab.root();
        root.add(move |step, ()| way(step));
        let fate = fate(&lab, &mut root);
        assert!(
            fate.starts_with("unhandled:InternalError: the step was completed twice"),
            "{fate}"
        );
        drop(root);
        lab.assert_empty();
    }
    // Through a handle, the second is stale, and the first stands.
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(|step, ()| {
        let handle = step.wait_external()?;
        step.success(())?;
        let late = step.event_loop().complete(handle, ());
        assert_eq!(late, Err(Refusal::Stale));
        Ok(())
    })
    .add(lab.log.body("next"));
    assert_eq!(lab.story(&mut root), ["next"]);
}

#[test]
fn c039_execute_twice_is_an_internal_error() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(lab.log.body("once"));
    root.execute().expect("the first time");
    let error = root.execute().expect_err("the second time");
    assert!(error.is(codes::INTERNAL_ERROR), "{error}");
    lab.settle();
    assert_eq!(lab.log.take(), ["once"], "the first is not disturbed");
    root.execute().expect_err("nor after its end");
    let mut cancelled = lab.root();
    cancelled.add(lab.log.body("never"));
    cancelled.cancel();
    cancelled.execute().expect_err("nor after a cancel");
    lab.settle();
    assert!(lab.log.take().is_empty());
}

/// What roots and levels do not have falls to a trait that is implemented for
/// all types; were such a method added, it would be found first.
#[test]
fn c040_builders_have_no_calls_of_running_steps() {
    struct Absent;
    trait Fallback {
        fn success(&mut self, _: ()) -> Absent {
            Absent
        }
        fn error(&mut self, _: &str, _: &str) -> Absent {
            Absent
        }
        fn set_timeout(&mut self, _: std::time::Duration) -> Absent {
            Absent
        }
        fn set_cancel(&mut self, _: fn(&mut pitlane::steps::Step<'_>)) -> Absent {
            Absent
        }
        fn wait_external(&mut self) -> Absent {
            Absent
        }
        fn break_loop(&mut self) -> Absent {
            Absent
        }
    }
    impl Fallback for AsyncSteps {}
    impl Fallback for Level<'_> {}
    let lab = Lab::new();
    let mut root = lab.root();
    let Absent = root.success(());
    let Absent = root.error("", "");
    let Absent = root.set_timeout(ms(1));
    let Absent = root.set_cancel(|_| ());
    let Absent = root.wait_external();
    let Absent = root.break_loop();
    let mut level = root.parallel();
    let Absent = level.success(());
    let Absent = level.error("", "");
    let Absent = level.set_timeout(ms(1));
    let Absent = level.set_cancel(|_| ());
    let Absent = level.wait_external();
    let Absent = level.break_loop();

    // A label without its loop is told by `execute`, and nothing runs.
    let mut root = lab.root();
    root.add(lab.log.body("never")).label("outer");
    let error = root.execute().expect_err("the label is misplaced");
    assert!(error.is(codes::INTERNAL_ERROR), "{error}");
    lab.settle();
    assert!(lab.log.take().is_empty());
}
