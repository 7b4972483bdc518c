//! Errors and how they unwind: behaviours 16 to 32.

use std::cell::RefCell;
use std::rc::Rc;

use pitlane::steps::{Compose, StepError};

use crate::lab::{Lab, Log, ms};

#[test]
fn c016_a_steps_own_handler_sees_its_error() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(lab.log.failing("body", "Bad"), lab.log.recovery("own"));
    assert_eq!(lab.story(&mut root), ["body", "own:Bad"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c017_without_one_the_parents_handler_does() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.add(log.failing("inner", "Bad"));
            Ok(())
        },
        lab.log.recovery("parent"),
    );
    assert_eq!(lab.story(&mut root), ["inner", "parent:Bad"]);
}

#[test]
fn c018_a_silent_handler_lets_the_error_go_on() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.add_or(log.failing("inner", "Bad"), log.handler("silent"));
            Ok(())
        },
        lab.log.recovery("outer"),
    );
    assert_eq!(lab.story(&mut root), ["inner", "silent:Bad", "outer:Bad"]);
}

#[test]
fn c019_a_changed_code_is_what_the_outside_sees() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.add_or(log.failing("inner", "Bad"), |step, _| {
                step.error("Worse", "by far")
            });
            Ok(())
        },
        lab.log.recovery("outer"),
    );
    assert_eq!(lab.story(&mut root), ["inner", "outer:Worse: by far"]);
}

#[test]
fn c020_a_handlers_success_feeds_the_sibling() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(lab.log.failing("body", "Bad"), |step, _| step.success((5,)))
        .add(move |_, (n,): (i32,)| {
            log.say(n.to_string());
            Ok(())
        });
    assert_eq!(lab.story(&mut root), ["body", "5"]);
}

#[test]
fn c021_a_handler_that_adds_steps_recovers() {
    let lab = Lab::new();
    let mut root = lab.root();
    let (log, result) = (lab.log.clone(), lab.log.clone());
    root.add_or(lab.log.failing("body", "Bad"), move |step, _| {
        step.add(log.body("repair")).success_step((9,));
        Ok(())
    })
    .add(move |_, (n,): (i32,)| {
        result.say(format!("sibling {n}"));
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["body", "repair", "sibling 9"]);
}

#[test]
fn c022_an_error_in_a_recovery_goes_to_the_parent() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            let repair = log.clone();
            step.add_or(log.failing("body", "Bad"), move |step, error| {
                repair.say(format!("handler:{error}"));
                step.add(repair.failing("repair", "Worse"));
                Ok(())
            });
            Ok(())
        },
        lab.log.recovery("parent"),
    );
    assert_eq!(
        lab.story(&mut root),
        ["body", "handler:Bad", "repair", "parent:Worse"]
    );
}

#[test]
fn c023_later_siblings_are_skipped() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.add(log.failing("first", "Bad")).add(log.body("never"));
            Ok(())
        },
        lab.log.recovery("outer"),
    )
    .add(lab.log.body("after"));
    assert_eq!(lab.story(&mut root), ["first", "outer:Bad", "after"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c024_the_info_is_seen() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        |step, ()| step.error("Bad", "row 7"),
        move |step, error| {
            log.say(format!("{}|{}", error.info(), step.error_info()));
            step.set_error_info("row 8");
            log.say(step.error_info());
            step.success(())
        },
    );
    assert_eq!(lab.story(&mut root), ["row 7|row 7", "row 8"]);
}

#[test]
fn c025_the_next_error_has_no_info_of_the_last() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        |step, ()| step.error("Bad", "row 7"),
        |step, _| step.success(()),
    )
    .add_or(
        |_, ()| Err("Other".into()),
        move |step, error| {
            log.say(format!("[{}][{}]", error.info(), step.error_info()));
            step.success(())
        },
    );
    assert_eq!(lab.story(&mut root), ["[][]"]);
}

#[test]
fn c026_the_last_error_is_kept_also_one_from_outside() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    let handle = Rc::new(RefCell::new(None));
    let place = handle.clone();
    root.add_or(lab.log.failing("body", "Bad"), lab.log.recovery("own"))
        .add(move |step, ()| {
            log.say(format!("last {}", step.last_error().expect("one was")));
            *place.borrow_mut() = Some(step.wait_external()?);
            Ok(())
        });
    lab.run(&mut root);
    let handle = handle.take().expect("the step waits");
    let error = StepError::new("Late").with_info("from outside");
    lab.event_loop.fail(handle, error).expect("it waits");
    lab.settle();
    assert_eq!(
        lab.log.take(),
        [
            "body",
            "own:Bad",
            "last Bad",
            "unhandled:Late: from outside"
        ]
    );
    assert_eq!(
        root.last_error().expect("one was").info(),
        "from outside",
        "kept after the end"
    );
}

#[test]
fn c027_the_tracer_is_called_for_the_error_and_its_change() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.set_catch_trace(move |error| log.say(format!("trace:{error}")));
    root.add_or(
        |step, ()| {
            step.add_or(|_, ()| Err("One".into()), |_, _| Ok(()));
            Ok(())
        },
        |_, _| Err("Two".into()),
    );
    assert_eq!(
        lab.story(&mut root),
        ["trace:One", "trace:Two", "unhandled:Two"]
    );
}

#[test]
fn c028_an_unhandled_error_is_told_once() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(lab.log.failing("body", "Bad"))
        .add(lab.log.body("never"));
    assert_eq!(lab.story(&mut root), ["body", "unhandled:Bad"]);
    assert!(!root.is_valid());
    lab.settle();
    assert!(lab.log.take().is_empty());
    assert_eq!(lab.event_loop.usage().frames, 0, "the queue is cleared");
}

#[test]
fn c029_a_returned_error_equals_a_set_one() {
    for returned in [false, true] {
        let lab = Lab::new();
        let mut root = lab.root();
        root.add_or(
            move |step, ()| {
                if returned {
                    return Err(StepError::new("Bad").with_info("info"));
                }
                step.set_error("Bad", "info")
            },
            lab.log.recovery("own"),
        );
        assert_eq!(lab.story(&mut root), ["own:Bad: info"]);
    }
}

/// Everything at once: values, recovery, a change, a cancel handler, a loop.
#[test]
fn c030_a_long_mixed_scenario_runs_in_this_order() {
    fn middle(log: Log) -> impl FnOnce(&mut pitlane::steps::Step<'_>, ()) -> Result<(), StepError> {
        move |step, ()| {
            step.set_cancel(log.cancelled("middle cancels"))?;
            step.set_timeout(ms(50))?;
            step.add(log.body("2.1"))
                .add_or(log.failing("2.2", "First"), {
                    let log = log.clone();
                    move |step, error| {
                        log.say(format!("2.2 handler:{error}"));
                        step.add(log.body("2.2 repair"));
                        Ok(())
                    }
                })
                .repeat(2, {
                    let log = log.clone();
                    move |step, n| {
                        log.say(format!("2.3 #{n}"));
                        step.add(log.body("2.3 inner"));
                        Ok(())
                    }
                })
                .add_or(log.failing("2.4", "Second"), |_, _| Err("Third".into()))
                .add(log.body("never"));
            Ok(())
        }
    }
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.set_catch_trace(move |error| log.say(format!("trace:{error}")));
    let log = lab.log.clone();
    root.add(lab.log.body("1"))
        .add_or(middle(lab.log.clone()), move |step, error| {
            log.say(format!("2 handler:{error}"));
            step.success(("done",))
        })
        .add({
            let log = lab.log.clone();
            move |_, (text,): (&str,)| {
                log.say(format!("3 {text}"));
                Err("Last".into())
            }
        });
    assert_eq!(
        lab.story(&mut root),
        [
            "1",
            "2.1",
            "2.2",
            "trace:First",
            "2.2 handler:First",
            "2.2 repair",
            "2.3 #0",
            "2.3 inner",
            "2.3 #1",
            "2.3 inner",
            "2.4",
            "trace:Second",
            "trace:Third",
            "middle cancels",
            "2 handler:Third",
            "3 done",
            "trace:Last",
            "unhandled:Last",
        ]
    );
    drop(root);
    lab.assert_empty();
}

#[test]
fn c031_a_panic_is_an_internal_error_of_its_flow_alone() {
    let lab = Lab::new();
    let mut root = lab.root();
    let mut other = lab.root();
    root.add_or(
        |_, ()| panic!("at the {}", "disco"),
        lab.log.recovery("body"),
    )
    .add_or(|_, ()| Err("Bad".into()), |_, _| panic!("in the handler"));
    other.add(lab.log.body("other"));
    other.execute().expect("once");
    assert_eq!(
        lab.story(&mut root),
        [
            "other",
            "body:InternalError: panic: at the disco",
            "unhandled:InternalError: panic: in the handler"
        ]
    );
    drop((root, other));
    lab.assert_empty();
}

#[test]
fn c032_an_error_drops_the_sub_steps() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.add(log.body("never"));
            step.parallel()
                .add(log.body("never"))
                .add(log.body("never"));
            Err("Bad".into())
        },
        lab.log.recovery("own"),
    );
    assert_eq!(lab.story(&mut root), ["own:Bad"]);
    drop(root);
    lab.assert_empty();
}
