//! Loops: behaviours 57 to 72. The millionth iteration is among the memory tests.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pitlane::steps::{Compose, Step, StepResult};

use crate::lab::{Lab, Log};

/// A loop body that says its number.
fn counting(log: &Log, text: &'static str) -> impl FnMut(&mut Step<'_>, u64) -> StepResult + use<> {
    let log = log.clone();
    move |_, n| {
        log.say(format!("{text}{n}"));
        Ok(())
    }
}

#[test]
fn c057_repeat_counts_from_zero() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.repeat(3, counting(&lab.log, "#"))
        .add(lab.log.body("after"));
    assert_eq!(lab.story(&mut root), ["#0", "#1", "#2", "after"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c058_repeat_zero_runs_nothing() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.success_step((1,))
        .repeat(0, counting(&lab.log, "#"))
        .add(lab.log.body("after"));
    assert_eq!(lab.story(&mut root), ["after"]);
}

#[test]
fn c059_break_ends_the_loop() {
    let lab = Lab::new();
    let mut root = lab.root();
    let (log, n) = (lab.log.clone(), Cell::new(0));
    root.loop_until_break(move |step| {
        log.say(format!("#{}", n.get()));
        n.set(n.get() + 1);
        if n.get() == 3 {
            return step.break_loop();
        }
        Ok(())
    })
    .add(lab.log.body("after"));
    assert_eq!(lab.story(&mut root), ["#0", "#1", "#2", "after"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c060_continue_skips_the_rest_of_the_iteration() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.repeat(3, move |step, n| {
        if n == 1 {
            step.add(log.body("never"));
            return step.continue_loop();
        }
        log.say(format!("#{n}"));
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["#0", "#2"]);
}

#[test]
fn c061_an_error_ends_the_loop_and_goes_on() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            let log = log.clone();
            step.repeat(3, move |_, n| {
                log.say(format!("#{n}"));
                if n == 1 { Err("Bad".into()) } else { Ok(()) }
            });
            Ok(())
        },
        lab.log.recovery("outer"),
    );
    assert_eq!(lab.story(&mut root), ["#0", "#1", "outer:Bad"]);
}

#[test]
fn c062_nested_labels_break_the_loop_they_name() {
    for (label, story) in [
        (
            "inner",
            vec!["o0", "i0", "after inner", "o1", "i0", "after inner"],
        ),
        ("outer", vec!["o0", "i0"]),
    ] {
        let lab = Lab::new();
        let mut root = lab.root();
        let log = lab.log.clone();
        root.repeat(2, move |step, n| {
            log.say(format!("o{n}"));
            let inner = log.clone();
            step.repeat(2, move |step, n| {
                inner.say(format!("i{n}"));
                step.break_label(label)
            })
            .label("inner")
            .add(log.body("after inner"));
            Ok(())
        })
        .label("outer");
        assert_eq!(lab.story(&mut root), story, "{label}");
    }
}

#[test]
fn c063_a_labelled_break_leaves_an_unlabelled_inner_loop() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.repeat(5, move |step, n| {
        log.say(format!("o{n}"));
        step.loop_until_break(|step| step.break_label("outer"))
            .add(log.body("never"));
        Ok(())
    })
    .label("outer")
    .add(lab.log.body("after"));
    assert_eq!(lab.story(&mut root), ["o0", "after"]);
}

#[test]
fn c064_a_labelled_continue_goes_on_with_the_loop_it_names() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.repeat(2, move |step, n| {
        log.say(format!("o{n}"));
        step.loop_until_break(|step| step.continue_label("outer"))
            .label("inner")
            .add(log.body("never"));
        Ok(())
    })
    .label("outer")
    .add(lab.log.body("after"));
    assert_eq!(lab.story(&mut root), ["o0", "o1", "after"]);
}

#[test]
fn c065_for_each_over_a_list_gives_index_and_value() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.for_each(vec!["a", "b"], move |_, index, value| {
        log.say(format!("{index}{value}"));
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["0a", "1b"]);
}

#[test]
fn c066_for_each_over_a_map_gives_key_and_value_in_key_order() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    let map = BTreeMap::from([("z", 1), ("a", 2), ("m", 3)]);
    root.for_each_entry(map, move |_, key, value| {
        log.say(format!("{key}{value}"));
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["a2", "m3", "z1"]);
}

#[test]
fn c067_empty_lists_and_maps_run_nothing() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.for_each(Vec::<u8>::new(), |_, _, _| unreachable!("it is empty"))
        .for_each_entry(BTreeMap::<u8, u8>::new(), |_, _, _| {
            unreachable!("it is empty")
        })
        .add(lab.log.body("after"));
    assert_eq!(lab.story(&mut root), ["after"]);
}

#[test]
fn c068_sub_steps_end_before_the_next_iteration() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.repeat(2, move |step, n| {
        let inner = log.clone();
        step.relinquish().add(move |step, ()| {
            step.add(inner.body("deep"));
            Ok(())
        });
        log.say(format!("#{n}"));
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["#0", "deep", "#1", "deep"]);
}

#[test]
fn c069_after_a_break_a_later_error_is_handled() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.loop_until_break(|step| step.break_loop())
                .add(log.failing("later", "Bad"));
            Ok(())
        },
        lab.log.recovery("outer"),
    );
    assert_eq!(lab.story(&mut root), ["later", "outer:Bad"]);
}

#[test]
fn c070_a_handler_inside_a_loop_sees_the_break() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.repeat(3, move |step, n| {
        step.add_or(|step, ()| step.break_label("me"), {
            let log = log.clone();
            move |step, error| {
                log.say(format!("#{n} {error}"));
                // The first is swallowed, the second goes on.
                if n == 0 { step.success(()) } else { Ok(()) }
            }
        });
        Ok(())
    })
    .label("me");
    assert_eq!(
        lab.story(&mut root),
        ["#0 LoopBreak: me", "#1 LoopBreak: me"]
    );
}

#[test]
fn c071_a_break_outside_of_loops_is_unhandled() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(|step, ()| step.break_label("nowhere"));
    assert_eq!(lab.story(&mut root), ["unhandled:LoopBreak: nowhere"]);
    let mut root = lab.root();
    root.repeat(2, |step, _| step.continue_label("nowhere"));
    assert_eq!(lab.story(&mut root), ["unhandled:LoopCont: nowhere"]);
}

#[test]
fn c072_an_iterations_memory_is_freed_with_it() {
    struct Counted(Rc<Cell<i32>>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    let lab = Lab::new();
    let mut root = lab.root();
    let (live, log) = (Rc::new(Cell::new(0)), lab.log.clone());
    let event_loop = lab.event_loop.clone();
    root.repeat(3, move |step, _| {
        log.say(format!("{} {}", live.get(), event_loop.usage().frames));
        live.set(live.get() + 1);
        step.alloc(Counted(live.clone()))?;
        let (inner, live) = (log.clone(), live.clone());
        step.add(move |_, ()| {
            inner.say(format!("inside {}", live.get()));
            Ok(())
        });
        Ok(())
    });
    assert_eq!(
        lab.story(&mut root),
        ["0 3", "inside 1", "0 3", "inside 1", "0 3", "inside 1"],
        "root, loop and iteration; nothing of the one before"
    );
    drop(root);
    lab.assert_empty();
}
