//! The rules S1 to S20 where the behaviours leave something open.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pitlane::steps::{
    AccountLane, Admission, AsyncSteps, Compose, Entry, EventLoop, LoopLimits, Model, Mutex, Step,
    StepError, StepResult, StepSync, WaitHandle, codes,
};
use pitlane::types::AccountId;

use crate::lab::{Lab, Log, ms};

#[test]
fn s01_steps_added_by_a_handler_or_a_child_keep_their_level() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        let inner = log.clone();
        step.add_or(log.failing("1.1", "Bad"), move |step, _| {
            step.add(inner.body("1.1 repaired"));
            Ok(())
        })
        .add(log.body("1.2"));
        Ok(())
    })
    .add(lab.log.body("2"));
    assert_eq!(lab.story(&mut root), ["1.1", "1.1 repaired", "1.2", "2"]);
}

#[test]
fn s02_what_keeps_a_step_from_succeeding_by_itself() {
    type Way = fn(&mut Step<'_>) -> StepResult;
    let ways: [(Way, bool); 5] = [
        (|_| Ok(()), false),
        (|step| step.set_timeout(ms(1_000)), true),
        (|step| step.set_cancel(|_| ()), true),
        (|step| step.wait_external().map(|_| ()), true),
        (
            |step| {
                step.set_timeout(ms(1_000))?;
                step.add(|_, ()| Ok(()));
                Ok(())
            },
            false,
        ),
    ];
    for (number, (way, waits)) in ways.into_iter().enumerate() {
        let lab = Lab::new();
        let mut root = lab.root();
        root.add(move |step, ()| way(step));
        lab.run(&mut root);
        assert_eq!(root.is_valid(), waits, "way {number}");
    }
}

#[test]
fn s03_values_are_consumed_once_and_errors_clear_them() {
    let lab = Lab::new();
    let mut root = lab.root();
    let held = Rc::new(());
    let (first, second) = (held.clone(), held.clone());
    let seen = Rc::new(Cell::new(0));
    let (count, watched) = (seen.clone(), held.clone());
    root.add(move |step, ()| step.success((first,)))
        .add_or(
            move |step, (mine,): (Rc<()>,)| {
                drop(mine);
                step.success((second,))?;
                Err("Bad".into())
            },
            move |step, _| {
                count.set(Rc::strong_count(&watched));
                step.success(())
            },
        )
        .add(|_, ()| Ok(()));
    lab.run(&mut root);
    assert_eq!(seen.get(), 2, "ours and the handler's: none on its way");
}

#[test]
fn s04_a_level_is_unwound_in_this_order_and_each_handler_once() {
    struct Loud(Log, &'static str);
    impl Drop for Loud {
        fn drop(&mut self) {
            self.0.say(self.1);
        }
    }
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    let timers = lab.event_loop.clone();
    root.add_or(
        move |step, ()| {
            step.set_timeout(ms(10))?;
            let (cancelled, timers) = (log.clone(), timers.clone());
            step.set_cancel(move |_| {
                cancelled.say(format!("cancel, timers {}", timers.usage().timers));
            })?;
            let sub_step = Loud(log.clone(), "sub-step dropped");
            step.add(|step, ()| step.wait_external().map(|_| ()));
            step.add(move |_, ()| {
                let _ = &sub_step;
                Ok(())
            });
            Ok(())
        },
        {
            let log = lab.log.clone();
            move |step, error| {
                log.say(format!("error:{error}"));
                step.add(log.failing("repair", "Again"));
                Ok(())
            }
        },
    );
    lab.run(&mut root);
    lab.advance(ms(10));
    assert_eq!(
        lab.log.take(),
        [
            "sub-step dropped",
            "cancel, timers 0",
            "error:Timeout",
            "repair",
            "unhandled:Again"
        ]
    );
}

#[test]
fn s05_a_handler_that_fails_after_adding_drops_what_it_added() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(lab.log.failing("body", "Bad"), move |step, _| {
        step.add(log.body("never"));
        step.error("Worse", "")
    });
    assert_eq!(lab.story(&mut root), ["body", "unhandled:Worse"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn s06_handlers_can_be_read_and_set_while_running() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add(move |step, ()| {
        assert!(step.catch_trace().is_none() && step.cancel_handler().is_none());
        assert!(step.unhandled_error().is_some() && step.last_error().is_none());
        let trace = log.clone();
        step.set_catch_trace(Some(Rc::new(move |error| {
            trace.say(format!("trace:{error}"));
        })));
        let unhandled = log.clone();
        step.set_unhandled_error(Some(Rc::new(move |error| {
            unhandled.say(format!("set later:{error}"));
        })));
        step.set_cancel_handler(Some(Rc::new(|| ())));
        assert!(step.cancel_handler().is_some());
        Err("Bad".into())
    });
    assert_eq!(lab.story(&mut root), ["trace:Bad", "set later:Bad"]);
}

#[test]
fn s07_the_root_state_is_typed_and_outlives_the_flow() {
    let lab = Lab::new();
    let mut root = AsyncSteps::with_state(&lab.event_loop, vec![1]).expect("there is room");
    root.add(|step, ()| {
        step.state().root::<Vec<i32>>()?.push(2);
        Ok(())
    });
    root.parallel().add(|step, ()| {
        step.state().root::<Vec<i32>>()?.push(3);
        Ok(())
    });
    lab.run(&mut root);
    assert_eq!(*root.state().root::<Vec<i32>>().expect("a list"), [1, 2, 3]);
    root.state().root::<u8>().expect_err("it is a list");
    let full = (0..100).try_for_each(|n: u32| {
        let key: &'static str = Box::leak(n.to_string().into_boxed_str());
        root.state().set(key, n)
    });
    assert!(
        full.expect_err("64 keys are the most")
            .is(codes::INTERNAL_ERROR)
    );
}

/// A subtree that was completed in time, but whose flow has not run on, when
/// the limit passes in the same turn.
/// A step with a time limit that waits, and its handle.
fn limited_wait(lab: &Lab) -> (AsyncSteps, WaitHandle) {
    let mut root = lab.root();
    let place = Rc::new(Cell::new(None));
    let handle = place.clone();
    root.add(move |step, ()| {
        step.set_timeout(ms(10))?;
        handle.set(Some(step.wait_external()?));
        Ok(())
    });
    lab.run(&mut root);
    assert_eq!(lab.event_loop.usage().timers, 1);
    (root, place.get().expect("it waits"))
}

#[test]
fn s08_a_completion_from_outside_disarms_the_limit_at_once() {
    let lab = Lab::new();
    let (_root, handle) = limited_wait(&lab);
    lab.event_loop.complete(handle, ()).expect("it waits");
    assert_eq!(lab.event_loop.usage().timers, 0, "not at the next turn");
}

#[test]
fn s08_an_error_from_outside_disarms_the_limit_at_once() {
    let lab = Lab::new();
    let (_root, handle) = limited_wait(&lab);
    lab.event_loop.fail(handle, "Bad".into()).expect("it waits");
    assert_eq!(lab.event_loop.usage().timers, 0, "not at the next turn");
}

#[test]
fn s08_a_completion_before_the_limit_disarms_it() {
    let lab = Lab::new();
    let mut root = lab.root();
    let place = Rc::new(Cell::new(None));
    let handle = place.clone();
    root.add_or(
        move |step, ()| {
            step.set_timeout(ms(10))?;
            step.add(move |step, ()| {
                handle.set(Some(step.wait_external()?));
                Ok(())
            });
            Ok(())
        },
        lab.log.handler("never"),
    )
    .add(lab.log.body("after"));
    lab.run(&mut root);
    lab.clock.advance(ms(10));
    let handle = place.get().expect("it waits");
    lab.event_loop.complete(handle, ()).expect("it waits");
    lab.settle();
    assert_eq!(lab.log.take(), ["after"]);
}

#[test]
fn s09_a_cancel_during_a_body_acts_when_it_returns() {
    let lab = Lab::new();
    let holder: Rc<RefCell<Option<AsyncSteps>>> = Rc::default();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.set_cancel_handler({
        let log = log.clone();
        move || log.say("instance")
    });
    let mine = holder.clone();
    root.add_or(
        move |step, ()| {
            let canceller = log.clone();
            step.set_cancel(move |step| {
                canceller.say("step");
                step.success(()).expect_err("it is being cancelled");
                step.add(|_, ()| unreachable!("it is being cancelled"));
            })?;
            if let Some(root) = mine.borrow_mut().as_mut() {
                root.cancel();
                root.cancel();
            }
            log.say("body ends");
            Err("ignored: the cancel came first".into())
        },
        lab.log.handler("never"),
    );
    root.execute().expect("once");
    *holder.borrow_mut() = Some(root);
    lab.settle();
    assert_eq!(lab.log.take(), ["body ends", "step", "instance"]);
    holder.take();
    lab.assert_empty();
}

#[test]
fn s09_a_cancel_from_an_error_handler_stops_the_unwinding() {
    let lab = Lab::new();
    let holder: Rc<RefCell<Option<AsyncSteps>>> = Rc::default();
    let mut root = lab.root();
    let (mine, log) = (holder.clone(), lab.log.clone());
    root.add_or(
        move |step, ()| {
            step.set_cancel(log.cancelled("outer cancel"))?;
            step.add_or(log.failing("inner", "Bad"), move |_, _| {
                drop(mine.take());
                Ok(())
            });
            Ok(())
        },
        lab.log.handler("never"),
    );
    root.execute().expect("once");
    *holder.borrow_mut() = Some(root);
    lab.settle();
    assert_eq!(lab.log.take(), ["inner", "outer cancel"]);
    lab.assert_empty();
}

#[test]
fn s10_a_handle_of_another_event_loop_is_stale() {
    let (lab, other) = (Lab::new(), Lab::new());
    let place = Rc::new(Cell::new(None));
    let mut roots = Vec::new();
    for (number, lab) in [&lab, &other].into_iter().enumerate() {
        let mut root = lab.root();
        let handle = place.clone();
        root.add(move |step, ()| {
            let made = step.wait_external()?;
            assert_eq!(step.wait_external()?, made, "one wait, one handle");
            if number == 0 {
                handle.set(Some(made));
            }
            Ok(())
        });
        lab.run(&mut root);
        roots.push(root);
    }
    let handle = place.get().expect("it waits");
    other
        .event_loop
        .complete(handle, ())
        .expect_err("it is not its own");
    lab.event_loop.complete(handle, ()).expect("it waits");
}

#[test]
fn s12_labels_only_fit_loops_and_a_loop_passes_no_values() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.repeat(2, |step, n| step.success((n,)))
        .add(|_, (_,): (u64,)| Ok(()));
    let story = lab.story(&mut root);
    assert!(story[0].ends_with("and was passed nothing"), "{story:?}");
    let mut root = lab.root();
    root.add(|step, ()| {
        step.add(|_, ()| Ok(())).label("misplaced");
        Ok(())
    });
    let story = lab.story(&mut root);
    assert!(story[0].contains("InternalError: label"), "{story:?}");
}

/// A synchronizer of the user's own: open or closed.
#[derive(Default)]
struct Gate {
    open: Cell<bool>,
    waiting: RefCell<Vec<Entry>>,
    left: Cell<u32>,
}

impl StepSync for Gate {
    fn enter(&self, _: &EventLoop, entry: Entry) -> Result<Admission, StepError> {
        if self.open.get() {
            return Ok(Admission::Entered);
        }
        self.waiting.borrow_mut().push(entry);
        Ok(Admission::Queued)
    }

    fn leave(&self, _: &EventLoop, _: Entry) {
        self.left.set(self.left.get() + 1);
    }
}

#[test]
fn s13_a_synchronizer_of_ones_own_and_none_spans_event_loops() {
    let lab = Lab::new();
    let gate = Rc::new(Gate::default());
    let mut roots = Vec::new();
    for name in ["admitted", "rejected", "cancelled"] {
        let mut root = lab.root();
        root.sync_or(gate.clone(), lab.log.body(name), lab.log.handler("never"));
        lab.run(&mut root);
        roots.push(root);
    }
    let waiting = gate.waiting.take();
    assert!(waiting[0].number() < waiting[1].number());
    assert_eq!(waiting[0].owner(), waiting[0].root());
    lab.event_loop.admit(waiting[0]);
    lab.event_loop.reject(waiting[1], "Closed".into());
    roots[2].cancel();
    assert_eq!(gate.left.get(), 1, "the cancelled waiter left");
    lab.event_loop.admit(waiting[2]);
    lab.settle();
    assert_eq!(lab.log.take(), ["admitted", "unhandled:Closed"]);
    assert_eq!(gate.left.get(), 2, "and the admitted; not the rejected");

    let mutex = Mutex::new();
    let other = Lab::new();
    let (mut home, mut away) = (lab.root(), other.root());
    home.sync(&mutex, lab.log.body("home"));
    away.sync(&mutex, other.log.body("never"));
    assert_eq!(lab.story(&mut home), ["home"]);
    let story = other.story(&mut away);
    assert!(story[0].contains("does not span shards"), "{story:?}");
}

#[test]
fn s13_an_account_lane_is_held_from_execute_to_the_end() {
    let lab = Lab::new();
    let account = AccountId(42);
    let handles = Rc::new(RefCell::new(Vec::new()));
    let flow = |name: &'static str| {
        let mut root = lab.root();
        root.on_account(account);
        let (log, handles) = (lab.log.clone(), handles.clone());
        root.add(move |step, ()| {
            log.say(format!("{name} begins"));
            handles.borrow_mut().push(step.wait_external()?);
            Ok(())
        });
        // Entering again is free, for parallel children too.
        root.sync(AccountLane(account), lab.log.body("again"));
        root.parallel()
            .sync(AccountLane(account), lab.log.body("child"))
            .sync(AccountLane(account), lab.log.body("child"));
        root.execute().expect("there is room in its queue");
        root
    };
    let mut roots = ["a", "b", "c", "d"].map(flow);
    let mut elsewhere = lab.root();
    elsewhere
        .on_account(AccountId(43))
        .add(lab.log.body("elsewhere"));
    elsewhere.execute().expect("another account");
    lab.settle();
    assert_eq!(lab.log.take(), ["a begins", "elsewhere"]);
    assert_eq!(lab.event_loop.usage().lanes, 1);
    roots[1].cancel(); // A waiter leaves.
    let handle = handles.borrow_mut().pop().expect("a waits");
    lab.event_loop.complete(handle, ()).expect("it waits");
    lab.settle();
    assert_eq!(lab.log.take(), ["again", "child", "child", "c begins"]);
    roots[2].cancel(); // A holder does, within its wait.
    lab.settle();
    assert_eq!(lab.log.take(), ["d begins"]);
    let handle = handles.borrow_mut().pop().expect("d waits");
    lab.event_loop.fail(handle, "Bad".into()).expect("it waits");
    lab.settle();
    assert_eq!(lab.log.take(), ["unhandled:Bad"]);
    drop((roots, elsewhere));
    lab.assert_empty();
}

#[test]
fn s13_a_full_lane_refuses_execute_which_may_be_tried_again() {
    let lab = Lab::with(LoopLimits {
        lane_queue: 1,
        ..LoopLimits::default()
    });
    let flow = |body: fn(&mut Step<'_>) -> StepResult| {
        let mut root = lab.root();
        root.on_account(AccountId(1))
            .add(move |step, ()| body(step));
        root
    };
    let mut holder = flow(|step| step.wait_external().map(|_| ()));
    let (mut waiter, mut refused) = (flow(|_| Ok(())), flow(|_| Ok(())));
    holder.execute().expect("it is free");
    waiter.execute().expect("there is room");
    let error = refused.execute().expect_err("the queue is full");
    assert!(error.is(codes::DEFENSE_REJECTED));
    assert_eq!(error.info(), "account lane queue");
    holder.cancel();
    refused.execute().expect("there is room again");
    lab.settle();
    assert!(!waiter.is_valid() && !refused.is_valid());
    drop((holder, waiter, refused));
    lab.assert_empty();
}

#[test]
fn s15_a_model_is_run_again_and_present_keys_stay() {
    let lab = Lab::new();
    let runs = Rc::new(Cell::new(0));
    let count = runs.clone();
    let log = lab.log.clone();
    let model = Model::new(move |level| {
        count.set(count.get() + 1);
        let log = log.clone();
        level
            .add(|step, ()| step.success((1,)))
            .add(move |step, (n,): (i32,)| {
                let get = |key| {
                    let value = step.state().get::<&str>(key)?;
                    Ok::<_, StepError>(value.map_or("", |value| *value))
                };
                log.say(format!("{n} {} {}", get("x")?, get("y")?));
                Ok(())
            });
    })
    .with("x", "model's")
    .with("y", "model's");
    let mut root = lab.root();
    root.state().set("x", "own").expect("there is room");
    let nested = Rc::new(model);
    root.copy_from(&nested).add(move |step, ()| {
        step.copy_from(&nested);
        Ok(())
    });
    assert_eq!(lab.story(&mut root), ["1 own model's", "1 own model's"]);
    assert_eq!(runs.get(), 2);
}

#[test]
fn s18_a_detached_flow_runs_to_its_end() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(|step, ()| step.set_timeout(ms(5)));
    root.execute().expect("once");
    root.detach();
    let mut unexecuted = lab.root();
    unexecuted.add(lab.log.body("never"));
    unexecuted.detach();
    lab.advance(ms(5));
    assert_eq!(lab.log.take(), ["unhandled:Timeout"]);
    lab.assert_empty();
}

#[test]
fn s19_close_ends_everything() {
    let lab = Lab::new();
    let mut detached = lab.root();
    let log = lab.log.clone();
    detached.add(move |step, ()| {
        // A cycle: the loop holds what holds the loop.
        let cycle = step.event_loop().clone();
        step.set_cancel(move |_| {
            let _ = cycle.usage();
            log.say("cancelled");
        })
    });
    lab.run(&mut detached);
    detached.detach();
    let cycle = lab.event_loop.clone();
    lab.event_loop
        .deferred(ms(1), move || drop(cycle))
        .expect("there is room");
    lab.event_loop.close();
    assert_eq!(lab.log.take(), ["cancelled"]);
    lab.assert_empty();
}

#[test]
fn s20_limits_and_waits_in_an_error_handler_are_internal_errors() {
    type Way = fn(&mut Step<'_>) -> StepResult;
    let ways: [Way; 3] = [
        |step| step.set_timeout(ms(1)),
        |step| step.set_cancel(|_| ()),
        |step| step.wait_external().map(|_| ()),
    ];
    for way in ways {
        let lab = Lab::new();
        let mut root = lab.root();
        root.add_or(lab.log.failing("body", "Bad"), move |step, _| {
            let _ = way(step);
            Ok(())
        });
        let story = lab.story(&mut root);
        assert!(story[1].starts_with("unhandled:InternalError"), "{story:?}");
    }
}

#[test]
fn s20_a_panic_in_a_cancel_handler_becomes_the_error() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add_or(
        |step, ()| {
            step.set_cancel(|_| panic!("while cancelling"))?;
            Err("Bad".into())
        },
        lab.log.recovery("own"),
    );
    let mut cancelled = lab.root();
    cancelled.add(|step, ()| step.set_cancel(|_| panic!("while cancelling")));
    lab.run(&mut cancelled);
    cancelled.cancel();
    assert_eq!(
        lab.event_loop.panics(),
        1,
        "counted: no step can fail by it"
    );
    assert_eq!(
        lab.story(&mut root),
        ["own:InternalError: panic: while cancelling"]
    );
}

/// Every bound of the event loop has an answer, and none is a panic.
#[test]
fn s20_bounds_are_internal_errors_of_who_reaches_them() {
    let small = LoopLimits {
        frames: 4,
        roots: 2,
        flows: 2,
        timers: 0,
        locals: 1,
        futures: 0,
        ..LoopLimits::default()
    };
    let lab = Lab::with(small);
    let error = |body: fn(&mut Step<'_>) -> StepResult| {
        let mut root = lab.root();
        root.add(move |step, ()| body(step));
        let story = lab.story(&mut root).concat();
        drop(root);
        lab.assert_empty();
        story
    };
    let full = "unhandled:InternalError: the event loop holds as many";
    assert_eq!(
        error(|step| {
            step.add(|_, ()| Ok(()))
                .add(|_, ()| Ok(()))
                .add(|_, ()| Ok(()));
            Ok(())
        }),
        format!("{full} steps as it may: 4")
    );
    assert_eq!(
        error(|step| {
            step.parallel().add(|_, ()| Ok(()));
            step.add(|_, ()| Ok(()));
            Ok(())
        }),
        format!("{full} steps as it may: 4")
    );
    assert_eq!(
        error(|step| step.set_timeout(ms(1))),
        format!("{full} timers as it may: 0")
    );
    assert_eq!(
        error(|step| {
            step.alloc(1)?;
            step.alloc(2).map(|_| ())
        }),
        format!("{full} allocated values as it may: 1")
    );
    assert_eq!(
        error(|step| {
            step.await_future(async { Ok::<(), StepError>(()) });
            Ok(())
        }),
        format!("{full} futures as it may: 0")
    );
    let mut kept = [lab.root(), lab.root()];
    AsyncSteps::new(&lab.event_loop).expect_err("two roots are the most");
    kept[0]
        .add(|_, ()| Ok(()))
        .add(|_, ()| Ok(()))
        .add(|_, ()| Ok(()));
    kept[0].execute().expect_err("four steps are the most");
}

#[test]
fn s20_children_without_room_are_dropped_and_those_with_are_cancelled() {
    let lab = Lab::with(LoopLimits {
        flows: 3,
        ..LoopLimits::default()
    });
    let mut root = lab.root();
    root.parallel_or(lab.log.recovery("parallel"))
        .add(lab.log.body("never"))
        .add(lab.log.body("never"))
        .add(lab.log.body("never"))
        .add(lab.log.body("never"));
    assert_eq!(
        lab.story(&mut root),
        ["parallel:InternalError: the event loop holds as many flows as it may: 3"]
    );
    drop(root);
    lab.assert_empty();
}
