//! Order, nesting and values: behaviours 1 to 15.

use std::cell::RefCell;
use std::rc::Rc;

use pitlane::steps::{Compose, Usage};

use crate::lab::{Lab, ms};

#[test]
fn c001_two_adds_run_in_order() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(lab.log.body("one"));
    root.add(lab.log.body("two"));
    assert_eq!(lab.story(&mut root), ["one", "two"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c002_a_return_runs_the_next_step() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        log.say("first");
        step.success(())
    })
    .add(lab.log.body("after success"))
    .add(lab.log.body("after a plain return"));
    assert_eq!(
        lab.story(&mut root),
        ["first", "after success", "after a plain return"]
    );
}

#[test]
fn c003_a_sub_step_runs_before_the_sibling_and_after_its_parents_body() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        step.add(log.body("inner"));
        log.say("body returns");
        Ok(())
    })
    .add(lab.log.body("sibling"));
    assert_eq!(lab.story(&mut root), ["body returns", "inner", "sibling"]);
}

#[test]
fn c004_three_levels_run_depth_first() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        let inner = log.clone();
        step.add(move |step, ()| {
            step.add(inner.body("1.1.1")).add(inner.body("1.1.2"));
            Ok(())
        })
        .add(log.body("1.2"));
        Ok(())
    })
    .add(lab.log.body("2"));
    assert_eq!(lab.story(&mut root), ["1.1.1", "1.1.2", "1.2", "2"]);
}

#[test]
fn c005_two_values_arrive() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(|step, ()| step.success((1u8, 2u64)))
        .add(move |_, (a, b): (u8, u64)| {
            log.say(format!("{a} {b}"));
            Ok(())
        });
    assert_eq!(lab.story(&mut root), ["1 2"]);
}

#[test]
fn c006_four_values_arrive_and_large_ones_too() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(|step, ()| step.success((1u8, "two".to_owned(), [3u64; 20], 4.0f32)))
        .add(move |_, (a, b, c, d): (u8, String, [u64; 20], f32)| {
            log.say(format!("{a} {b} {} {d}", c.iter().sum::<u64>()));
            Ok(())
        });
    assert_eq!(lab.story(&mut root), ["1 two 60 4"]);
}

/// A tuple of five is no `Values`: it does not compile, which the example in the
/// trait's documentation pins. Here: whatever is no tuple of up to four falls
/// to the trait that is implemented for all.
#[test]
fn c007_five_values_are_refused() {
    trait Refused {
        fn arity(&self) -> &'static str {
            "refused"
        }
    }
    impl<T> Refused for &T {}
    struct Of<T>(std::marker::PhantomData<T>);
    trait Taken {
        fn arity(&self) -> &'static str {
            "taken"
        }
    }
    // Found first, but only where its bound holds.
    impl<T: pitlane::steps::Values> Taken for Of<T> {}

    let four = Of::<(u8, u8, u8, u8)>(std::marker::PhantomData);
    let five = Of::<(u8, u8, u8, u8, u8)>(std::marker::PhantomData);
    let (four, five) = (&four, &five);
    assert_eq!(four.arity(), "taken");
    assert_eq!(five.arity(), "refused");
}

#[test]
fn c008_an_implicit_success_passes_no_values() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(|step, ()| step.success((7,)))
        .add(|_, (_,): (i32,)| Ok(()))
        .add(|_, (_,): (i32,)| Ok(()));
    let story = lab.story(&mut root);
    assert_eq!(story.len(), 1);
    assert!(
        story[0].starts_with("unhandled:InternalError: the step wants (i32,), and was passed"),
        "{story:?}"
    );
}

#[test]
fn c009_an_inner_result_reaches_the_parents_sibling() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(|step, ()| {
        step.add(|step, ()| {
            step.add(|step, ()| step.success((42,)));
            Ok(())
        });
        Ok(())
    })
    .add(move |_, (n,): (i32,)| {
        log.say(n.to_string());
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["42"]);
}

#[test]
fn c010_a_mistyped_value_is_an_internal_error() {
    for wrong_arity in [false, true] {
        let lab = Lab::new();
        let mut root = lab.root();
        if wrong_arity {
            root.add(|step, ()| step.success((1u32, 2u32)));
        } else {
            root.add(|step, ()| step.success((1u64,)));
        }
        root.add(|_, (_,): (u32,)| unreachable!("it wants another type"));
        let story = lab.story(&mut root);
        assert!(
            story[0].starts_with("unhandled:InternalError: the step wants (u32,)"),
            "{story:?}"
        );
    }
}

#[test]
fn c011_a_success_step_first_feeds_its_sibling() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        step.success_step(("a", 1))
            .add(move |_, (s, n): (&str, i32)| {
                log.say(format!("{s}{n}"));
                Ok(())
            });
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["a1"]);
}

#[test]
fn c012_a_success_step_last_feeds_the_next_level() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(|step, ()| {
        step.add(|_, ()| Ok(())).success_step(("b", 2));
        Ok(())
    })
    .add(move |_, (s, n): (&str, i32)| {
        log.say(format!("{s}{n}"));
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["b2"]);
}

#[test]
fn c013_an_empty_execute_is_no_event() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.set_cancel_handler({
        let log = lab.log.clone();
        move || log.say("cancelled")
    });
    root.execute().expect("nothing forbids an empty one");
    assert!(!root.is_valid(), "it is over at once");
    let progress = lab.event_loop.turn(100);
    assert_eq!((progress.work, progress.more), (0, false));
    drop(root);
    assert!(lab.log.take().is_empty());
    lab.assert_empty();
}

#[test]
fn c014_chaining_keeps_the_order() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(lab.log.body("a"))
        .add_or(lab.log.body("b"), lab.log.handler("never"))
        .success_step(())
        .relinquish()
        .repeat(2, {
            let log = lab.log.clone();
            move |_, n| {
                log.say(format!("c{n}"));
                Ok(())
            }
        })
        .add(lab.log.body("d"));
    root.parallel()
        .add(lab.log.body("e"))
        .add(lab.log.body("f"));
    root.add(lab.log.body("g"));
    assert_eq!(
        lab.story(&mut root),
        ["a", "b", "c0", "c1", "d", "e", "f", "g"]
    );
}

#[test]
fn c015_success_after_a_time_limit_leaves_no_timer() {
    let lab = Lab::new();
    let mut root = lab.root();
    let seen = Rc::new(RefCell::new(Usage::default()));
    root.add(|step, ()| {
        step.set_timeout(ms(10))?;
        step.success((1,))
    })
    .add({
        let (event_loop, seen) = (lab.event_loop.clone(), seen.clone());
        move |_, (_,): (i32,)| {
            *seen.borrow_mut() = event_loop.usage();
            Ok(())
        }
    });
    lab.run(&mut root);
    assert_eq!((seen.borrow().timers, seen.borrow().frames), (0, 2));
    lab.advance(ms(100));
    assert!(lab.log.take().is_empty(), "no Timeout");
}
