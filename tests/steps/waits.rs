//! Waiting, cancelling and time: behaviours 41 to 56.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use pitlane::steps::{
    AsyncSteps, Compose, EventLoop, LoopLimits, PostError, Step, StepError, StepResult, WaitHandle,
};
use pitlane::time::SystemClock;

use crate::lab::{Lab, Log, ms};

#[derive(Clone, Default)]
struct Place(Rc<RefCell<Option<WaitHandle>>>);

impl Place {
    fn waiting(&self) -> impl FnOnce(&mut Step<'_>, ()) -> StepResult + use<> {
        let place = self.0.clone();
        move |step, ()| {
            *place.borrow_mut() = Some(step.wait_external()?);
            Ok(())
        }
    }

    fn handle(&self) -> WaitHandle {
        self.0.borrow().expect("the step waits")
    }
}

/// Three levels deep, each with both handlers, the innermost waiting.
fn three_levels(log: &Log) -> impl FnOnce(&mut Step<'_>, ()) -> StepResult + use<> {
    let log = log.clone();
    move |step, ()| {
        step.set_cancel(log.cancelled("cancel 1"))?;
        step.add_or(
            {
                let log = log.clone();
                move |step, ()| {
                    step.set_cancel(log.cancelled("cancel 2"))?;
                    step.add_or(
                        {
                            let log = log.clone();
                            move |step, ()| step.set_cancel(log.cancelled("cancel 3"))
                        },
                        log.handler("error 3"),
                    );
                    Ok(())
                }
            },
            log.handler("error 2"),
        );
        Ok(())
    }
}

#[test]
fn c041_a_step_waits_until_it_is_completed() {
    let lab = Lab::new();
    let mut root = lab.root();
    let place = Place::default();
    let log = lab.log.clone();
    root.add(place.waiting()).add(move |_, (n,): (i32,)| {
        log.say(n.to_string());
        Ok(())
    });
    lab.run(&mut root);
    lab.advance(ms(10_000));
    assert!(lab.log.take().is_empty(), "it waits");
    lab.event_loop
        .complete(place.handle(), (11,))
        .expect("it waits");
    assert!(lab.log.take().is_empty(), "not within the call");
    lab.settle();
    assert_eq!(lab.log.take(), ["11"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c042_an_external_error_unwinds() {
    let lab = Lab::new();
    let mut root = lab.root();
    let place = Place::default();
    root.add_or(place.waiting(), lab.log.recovery("own"))
        .add(lab.log.body("next"));
    lab.run(&mut root);
    let error = StepError::new("Refused").with_info("by peer");
    lab.event_loop
        .fail(place.handle(), error)
        .expect("it waits");
    lab.settle();
    assert_eq!(lab.log.take(), ["own:Refused: by peer", "next"]);
}

#[test]
fn c043_success_does_not_call_the_cancel_handler() {
    let lab = Lab::new();
    let mut root = lab.root();
    let place = Place::default();
    let (log, waiting) = (lab.log.clone(), place.waiting());
    root.add(move |step, ()| {
        step.set_cancel(log.cancelled("cancelled"))?;
        waiting(step, ())
    });
    lab.run(&mut root);
    lab.event_loop
        .complete(place.handle(), ())
        .expect("it waits");
    lab.settle();
    assert!(!root.is_valid());
    drop(root);
    assert!(lab.log.take().is_empty());
    lab.assert_empty();
}

#[test]
fn c044_cancel_goes_through_three_levels_inside_out() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(three_levels(&lab.log), lab.log.handler("error 1"))
        .add(lab.log.body("never"));
    lab.run(&mut root);
    root.cancel();
    lab.settle();
    assert_eq!(lab.log.take(), ["cancel 3", "cancel 2", "cancel 1"]);
    assert!(!root.is_valid());
    drop(root);
    lab.assert_empty();
}

#[test]
fn c045_cancel_before_the_first_turn_runs_nothing() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(lab.log.body("never"), lab.log.handler("never"));
    root.execute().expect("once");
    root.cancel();
    assert_eq!(lab.event_loop.turn(100).work, 0, "the turn was cancelled");
    drop(root);
    assert!(lab.log.take().is_empty());
    lab.assert_empty();
}

#[test]
fn c046_cancel_kills_the_timers() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(
        |step, ()| {
            step.set_timeout(ms(10))?;
            step.add(|step, ()| step.set_timeout(ms(20)));
            Ok(())
        },
        lab.log.handler("never"),
    );
    lab.run(&mut root);
    assert_eq!(lab.event_loop.usage().timers, 2);
    root.cancel();
    assert_eq!(lab.event_loop.usage().timers, 0);
    lab.advance(ms(100));
    assert!(lab.log.take().is_empty());
}

#[test]
fn c047_cancel_twice_is_cancel_once() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.set_cancel_handler(move || log.say("instance"));
    let log = lab.log.clone();
    root.add(move |step, ()| step.set_cancel(log.cancelled("step")));
    lab.run(&mut root);
    root.cancel();
    root.cancel();
    drop(root);
    lab.settle();
    assert_eq!(lab.log.take(), ["step", "instance"]);
    lab.assert_empty();
}

#[test]
fn c048_a_time_limit_alone_waits_and_raises() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(|step, ()| step.set_timeout(ms(10)), lab.log.handler("own"));
    lab.run(&mut root);
    lab.advance(ms(9));
    assert!(lab.log.take().is_empty(), "not before its time");
    lab.advance(ms(1));
    assert_eq!(lab.log.take(), ["own:Timeout", "unhandled:Timeout"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c049_a_time_limit_over_a_waiting_child_unwinds_the_child_first() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.set_timeout(ms(10))?;
            step.set_cancel(log.cancelled("outer cancel"))?;
            let inner = log.clone();
            step.add_or(
                move |step, ()| step.set_cancel(inner.cancelled("child cancel")),
                log.handler("child error"),
            );
            Ok(())
        },
        lab.log.recovery("outer error"),
    );
    lab.run(&mut root);
    lab.advance(ms(10));
    assert_eq!(
        lab.log.take(),
        [
            "child cancel",
            "child error:Timeout",
            "outer cancel",
            "outer error:Timeout"
        ]
    );
    drop(root);
    lab.assert_empty();
}

#[test]
fn c050_a_limit_that_was_set_again_fires_once_and_by_the_second() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(
        |step, ()| {
            step.set_timeout(ms(5))?;
            step.set_timeout(ms(20))
        },
        lab.log.recovery("own"),
    )
    .add(|step, ()| step.wait_external().map(|_| ()));
    lab.run(&mut root);
    assert_eq!(lab.event_loop.usage().timers, 1);
    lab.advance(ms(19));
    assert!(lab.log.take().is_empty());
    lab.advance(ms(100));
    assert_eq!(lab.log.take(), ["own:Timeout"]);
    assert!(root.is_valid());
}

#[test]
fn c051_the_cancel_handler_comes_before_the_error_handler() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.set_cancel(log.cancelled("cancel"))?;
            Err("Bad".into())
        },
        lab.log.recovery("error"),
    );
    assert_eq!(lab.story(&mut root), ["cancel", "error:Bad"]);
}

#[test]
fn c052_the_shorter_limit_of_a_child_comes_first() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.set_timeout(ms(20))?;
            step.add_or(|step, ()| step.set_timeout(ms(10)), log.recovery("child"))
                .add(|step, ()| step.wait_external().map(|_| ()));
            Ok(())
        },
        lab.log.recovery("parent"),
    );
    lab.run(&mut root);
    lab.advance(ms(10));
    assert_eq!(lab.log.take(), ["child:Timeout"]);
    lab.advance(ms(10));
    assert_eq!(lab.log.take(), ["parent:Timeout"]);
}

#[test]
fn c053_a_child_may_swallow_its_parents_time_limit() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            step.set_timeout(ms(10))?;
            step.add_or(
                |step, ()| step.wait_external().map(|_| ()),
                log.recovery("child"),
            )
            .add(log.body("sibling"));
            Ok(())
        },
        lab.log.handler("never"),
    );
    lab.run(&mut root);
    lab.advance(ms(100));
    assert_eq!(lab.log.take(), ["child:Timeout", "sibling"]);
    assert!(!root.is_valid());
}

#[test]
fn c054_a_time_limit_ends_an_endless_loop_bursting_or_relinquishing() {
    for relinquishing in [false, true] {
        let lab = Lab::new();
        let mut root = lab.root();
        let clock = lab.clock.clone();
        root.add_or(
            move |step, ()| {
                step.set_timeout(ms(50))?;
                step.loop_until_break(move |step| {
                    clock.advance(Duration::from_micros(10));
                    if relinquishing {
                        step.relinquish();
                    }
                    Ok(())
                });
                Ok(())
            },
            lab.log.recovery("outer"),
        );
        lab.run(&mut root);
        assert_eq!(lab.log.take(), ["outer:Timeout"]);
        drop(root);
        lab.assert_empty();
    }
}

#[test]
fn c055_dropping_a_root_cancels_it() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(three_levels(&lab.log), lab.log.handler("error 1"));
    lab.run(&mut root);
    drop(root);
    assert_eq!(lab.log.take(), ["cancel 3", "cancel 2", "cancel 1"]);
    lab.assert_empty();

    // From within its own body: when that returns.
    let holder: Rc<RefCell<Option<AsyncSteps>>> = Rc::default();
    let mut root = lab.root();
    let (mine, log) = (holder.clone(), lab.log.clone());
    root.add(move |step, ()| {
        step.set_cancel(log.cancelled("cancelled"))?;
        drop(mine.take());
        log.say("the body goes on");
        Ok(())
    })
    .add(lab.log.body("never"));
    root.execute().expect("once");
    *holder.borrow_mut() = Some(root);
    lab.settle();
    assert_eq!(lab.log.take(), ["the body goes on", "cancelled"]);
    lab.assert_empty();
}

#[test]
fn c056_another_thread_completes_and_a_full_inbox_gives_the_values_back() {
    let limits = LoopLimits {
        inbox: 2,
        ..LoopLimits::default()
    };
    let (wake, woken) = crossbeam_channel::bounded(16);
    let event_loop = EventLoop::with_unpark(SystemClock::new(), limits, move || {
        let _ = wake.try_send(());
    });
    let mut root = AsyncSteps::new(&event_loop).expect("there is room");
    let place = Place::default();
    let log = Log::default();
    let said = log.clone();
    root.add(place.waiting())
        .add(move |_, (text, n): (String, u64)| {
            said.say(format!("{text} {n}"));
            Ok(())
        });
    root.execute().expect("once");
    event_loop.turn(100);
    let remote = event_loop.remote(place.handle());
    let sender = remote.clone();
    let thread = std::thread::spawn(move || sender.complete(("seven".to_owned(), 7u64)));
    woken.recv().expect("the event loop is told");
    thread
        .join()
        .expect("the thread ends")
        .expect("there is room");
    event_loop.turn(100);
    assert_eq!(log.take(), ["seven 7"]);

    // Late ones are taken and change nothing; a full inbox gives back.
    remote.fail("Late".into()).expect("there is room");
    remote.complete(()).expect("there is room");
    assert_eq!(
        remote.complete((String::from("mine"), 1u8)),
        Err(PostError::Full((String::from("mine"), 1u8)))
    );
    assert_eq!(
        remote.fail("Bad".into()),
        Err(PostError::Full("Bad".into()))
    );
    event_loop.turn(100);
    remote.complete(()).expect("there is room again");
    drop(root);
    drop(event_loop);
    assert_eq!(remote.complete((5,)), Err(PostError::Closed((5,))));
}
