//! Parallel steps: behaviours 74 to 83.

use pitlane::steps::{Compose, Step, StepResult};

use crate::lab::{Lab, Log, ms};

/// Says `name` and a number, three times, and gives way in between.
fn talker(log: &Log, name: &'static str) -> impl FnOnce(&mut Step<'_>, ()) -> StepResult + use<> {
    let log = log.clone();
    move |step, ()| {
        step.repeat(3, move |step, n| {
            log.say(format!("{name}{n}"));
            step.relinquish();
            Ok(())
        });
        Ok(())
    }
}

/// Waits for ever, and says when it is cancelled.
fn waiter(log: &Log, name: &'static str) -> impl FnOnce(&mut Step<'_>, ()) -> StepResult + use<> {
    let log = log.clone();
    move |step, ()| step.set_cancel(log.cancelled(name))
}

#[test]
fn c074_three_relinquishing_children_interleave_exactly() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.parallel()
        .add(talker(&lab.log, "a"))
        .add(talker(&lab.log, "b"))
        .add(talker(&lab.log, "c"));
    root.add(lab.log.body("after"));
    assert_eq!(
        lab.story(&mut root),
        [
            "a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2", "after"
        ]
    );
    drop(root);
    lab.assert_empty();
}

#[test]
fn c075_a_parallel_on_an_inner_level() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        step.add(log.body("before"));
        step.parallel()
            .add(talker(&log, "a"))
            .add(talker(&log, "b"));
        step.add(log.body("after"));
        Ok(())
    })
    .add(lab.log.body("end"));
    assert_eq!(
        lab.story(&mut root),
        ["before", "a0", "b0", "a1", "b1", "a2", "b2", "after", "end"]
    );
}

#[test]
fn c076_an_error_cancels_the_siblings() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.parallel_or(lab.log.recovery("parallel"))
        .add(waiter(&lab.log, "a cancelled"))
        .add_or(lab.log.failing("b fails", "Bad"), lab.log.handler("b"))
        .add_or(waiter(&lab.log, "c cancelled"), lab.log.handler("never"))
        .add(lab.log.body("d may not run any more"));
    root.add(lab.log.body("after"));
    assert_eq!(
        lab.story(&mut root),
        ["b fails", "b:Bad", "a cancelled", "parallel:Bad", "after"],
        "c and d had not begun"
    );
    drop(root);
    lab.assert_empty();
}

#[test]
fn c077_the_info_is_kept() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.set_catch_trace({
        let log = lab.log.clone();
        move |error| log.say(format!("trace:{error}"))
    });
    root.parallel_or(move |step, error| {
        log.say(format!("{}|{}", error.info(), step.error_info()));
        step.success(())
    })
    .add(|step, ()| step.error("Bad", "row 7"));
    assert_eq!(
        lab.story(&mut root),
        ["trace:Bad: row 7", "row 7|row 7"],
        "caught once, traced once"
    );
}

#[test]
fn c078_cancelling_the_root_cancels_the_children() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        step.set_cancel(log.cancelled("outer"))?;
        step.parallel_or(log.handler("never"))
            .add({
                let log = log.clone();
                move |step, ()| {
                    step.parallel()
                        .add(waiter(&log, "a1"))
                        .add(waiter(&log, "a2"));
                    Ok(())
                }
            })
            .add(waiter(&log, "b"));
        Ok(())
    });
    lab.run(&mut root);
    root.cancel();
    lab.settle();
    assert_eq!(lab.log.take(), ["a1", "a2", "b", "outer"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c079_an_empty_parallel_succeeds() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.success_step((1,));
    root.parallel_or(lab.log.handler("never"));
    root.add(lab.log.body("after"));
    assert_eq!(lab.story(&mut root), ["after"]);
}

#[test]
fn c080_a_child_may_be_a_loop() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.parallel()
        .repeat(2, move |step, n| {
            log.say(format!("loop{n}"));
            step.relinquish();
            Ok(())
        })
        .add(talker(&lab.log, "a"));
    assert_eq!(lab.story(&mut root), ["loop0", "a0", "loop1", "a1", "a2"]);
}

#[test]
fn c081_a_child_that_recovers_does_not_disturb_the_others() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.parallel_or(lab.log.handler("never"))
        .add_or(lab.log.failing("a fails", "Bad"), lab.log.recovery("a"))
        .add(talker(&lab.log, "b"));
    root.add(lab.log.body("after"));
    assert_eq!(
        lab.story(&mut root),
        ["a fails", "a:Bad", "b0", "b1", "b2", "after"]
    );
}

#[test]
fn c082_a_parallel_inside_a_loop() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.repeat(2, move |step, n| {
        log.say(format!("#{n}"));
        step.parallel().add(log.body("a")).add(log.body("b"));
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["#0", "a", "b", "#1", "a", "b"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c083_children_share_the_state() {
    let lab = Lab::new();
    let mut root = lab.root();
    let adder = |n: u32| {
        move |step: &mut Step<'_>, ()| {
            *step.state().get_or_insert("sum", || 0u32)? += n;
            Ok(())
        }
    };
    root.parallel().add(adder(1)).add(adder(2)).add(adder(3));
    lab.run(&mut root);
    let sum = root.state().get::<u32>("sum").expect("a number");
    assert_eq!(*sum.expect("it is set"), 6);
}

#[test]
fn s11_a_child_that_ends_with_values_is_an_internal_error() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.parallel_or(lab.log.recovery("parallel"))
        .add(waiter(&lab.log, "sibling"))
        .add(|step, ()| step.success((1,)));
    assert_eq!(
        lab.story(&mut root),
        [
            "sibling",
            "parallel:InternalError: a child of a parallel step ended with values"
        ]
    );
    drop(root);
    lab.assert_empty();
}

#[test]
fn s08_a_time_limit_over_a_parallel_raises_there() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        step.set_timeout(ms(10))?;
        step.parallel_or(log.recovery("parallel"))
            .add_or(waiter(&log, "a"), log.handler("never"))
            .add_or(waiter(&log, "b"), log.handler("never"));
        Ok(())
    })
    .add(lab.log.body("after"));
    lab.run(&mut root);
    lab.advance(ms(10));
    assert_eq!(lab.log.take(), ["a", "b", "parallel:Timeout", "after"]);
    drop(root);
    lab.assert_empty();
}
