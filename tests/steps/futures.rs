//! Futures and new instances: behaviours 106 to 111.

use std::cell::{Cell, RefCell};
use std::future::{Future, IntoFuture, poll_fn, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use pitlane::steps::{AsyncSteps, Compose, StepError, codes};

use crate::lab::{Lab, ms};

/// A future that somebody else makes ready.
#[derive(Clone, Default)]
struct Promise(Rc<RefCell<Promised>>);

#[derive(Default)]
struct Promised {
    result: Option<Result<(i32,), StepError>>,
    waker: Option<Waker>,
    polls: u32,
}

impl Promise {
    fn settle(&self, result: Result<(i32,), StepError>) {
        let waker = {
            let mut inner = self.0.borrow_mut();
            inner.result = Some(result);
            inner.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn polls(&self) -> u32 {
        self.0.borrow().polls
    }
}

impl Future for Promise {
    type Output = Result<(i32,), StepError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut inner = self.0.borrow_mut();
        inner.polls += 1;
        if let Some(result) = inner.result.take() {
            return Poll::Ready(result);
        }
        inner.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

#[test]
fn c106_a_futures_value_reaches_the_next_step() {
    let lab = Lab::new();
    let mut root = lab.root();
    let promise = Promise::default();
    let log = lab.log.clone();
    root.await_future(promise.clone())
        .add(move |_, (n,): (i32,)| {
            log.say(n.to_string());
            Ok(())
        });
    lab.run(&mut root);
    lab.advance(ms(10));
    assert_eq!(promise.polls(), 1, "not polled without a wake");
    // Woken by another thread.
    std::thread::scope(|scope| {
        let waker = promise.0.borrow_mut().waker.take().expect("it waits");
        promise.0.borrow_mut().result = Some(Ok((5,)));
        scope.spawn(move || waker.wake());
    });
    lab.settle();
    assert_eq!(lab.log.take(), ["5"]);
    drop(root);
    lab.assert_empty();
}

#[test]
fn c107_a_futures_error_unwinds() {
    let lab = Lab::new();
    let mut root = lab.root();
    let promise = Promise::default();
    root.await_future_or(promise.clone(), lab.log.recovery("own"))
        .await_future(async { Err::<(), _>("Other") });
    lab.run(&mut root);
    promise.settle(Err(StepError::new("Bad").with_info("far away")));
    lab.settle();
    assert_eq!(
        lab.log.take(),
        ["own:Bad: far away", "unhandled:Other"],
        "errors that are no `StepError` are converted"
    );
}

#[test]
fn c108_cancelling_drops_the_future() {
    let lab = Lab::new();
    for way in ["cancel", "time limit", "never polled"] {
        let alive = Rc::new(Cell::new(true));
        let guard = Guard(alive.clone());
        let mut root = lab.root();
        root.add(move |step, ()| {
            step.set_timeout(ms(10))?;
            if way == "never polled" {
                step.add(|step, ()| step.wait_external().map(|_| ()));
            }
            step.await_future(async move {
                let _guard = guard;
                std::future::pending::<Result<(), StepError>>().await
            });
            Ok(())
        });
        lab.run(&mut root);
        assert!(alive.get(), "{way}");
        if way == "cancel" {
            root.cancel();
        } else {
            lab.advance(ms(10));
        }
        assert!(!alive.get(), "{way}");
        drop(root);
        lab.assert_empty();
    }
}

struct Guard(Rc<Cell<bool>>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

#[test]
fn c109_a_future_that_is_ready_before_its_step_runs_does_not_wait() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    let large = [7u8; 1_000];
    root.await_future(ready(Ok::<_, StepError>((3,))))
        .await_future(async move {
            let sum: u32 = large.iter().map(|n| u32::from(*n)).sum();
            Ok::<_, StepError>((sum,))
        })
        .add(move |_, (n,): (u32,)| {
            log.say(n.to_string());
            Ok(())
        });
    root.execute().expect("once");
    lab.turn();
    assert_eq!(lab.log.take(), ["7000"], "one turn, a large one too");
}

/// An instance awaited by another, and by a plain executor.
#[test]
fn c110_a_flow_is_a_future_and_awaits_one() {
    let lab = Lab::new();
    let mut inner = lab.root();
    let promise = Promise::default();
    inner.await_future(promise.clone());
    let mut outer = lab.root();
    let log = lab.log.clone();
    outer
        .await_future(inner.into_future_of::<(i32,)>())
        .add(move |_, (n,): (i32,)| {
            log.say(format!("got {n}"));
            Ok(())
        });
    lab.run(&mut outer);
    promise.settle(Ok((8,)));
    lab.settle();
    assert_eq!(lab.log.take(), ["got 8"]);

    // By hand, as an executor would.
    let mut failing = lab.root();
    failing.add(|_, ()| Err("Bad".into()));
    let mut future = Box::pin(failing.into_future());
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    lab.settle();
    assert_eq!(
        future.as_mut().poll(&mut context),
        Poll::Ready(Err("Bad".into()))
    );
    assert!(
        lab.log.take().is_empty(),
        "the future took the error: nothing is unhandled"
    );

    // Dropping the future cancels.
    let mut waiting = lab.root();
    let log = lab.log.clone();
    waiting.add(move |step, ()| step.set_cancel(log.cancelled("cancelled")));
    let future = waiting.into_future();
    lab.settle();
    drop(future);
    assert_eq!(lab.log.take(), ["cancelled"]);
    drop(outer);

    // It counts as `execute`, and an empty one is ready.
    let empty = AsyncSteps::new(&lab.event_loop).expect("there is room");
    let mut future = Box::pin(empty.into_future());
    assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    drop(future);
    let mut executed = lab.root();
    executed.add(|step, ()| step.wait_external().map(|_| ()));
    executed.execute().expect("once");
    let mut future = Box::pin(executed.into_future());
    let Poll::Ready(Err(error)) = future.as_mut().poll(&mut context) else {
        panic!("it was executed before");
    };
    assert!(error.is(codes::INTERNAL_ERROR));
}

#[test]
fn c111_a_new_instance_inherits_handlers_and_no_state() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.set_catch_trace(move |error| log.say(format!("trace:{error}")));
    let log = lab.log.clone();
    root.set_cancel_handler(move || log.say("instance cancelled"));
    root.state().set("key", 1u8).expect("there is room");
    let place: Rc<RefCell<Vec<AsyncSteps>>> = Rc::default();
    let made = place.clone();
    root.add(move |step, ()| {
        for _ in 0..2 {
            made.borrow_mut().push(step.new_instance()?);
        }
        Ok(())
    });
    lab.run(&mut root);
    drop(root);
    let mut made = place.take();
    assert!(!made[0].state().contains("key").expect("not borrowed"));
    made[0].add(|_, ()| Err("Bad".into()));
    made[1].add(|step, ()| step.wait_external().map(|_| ()));
    made[0].execute().expect("once");
    made[1].execute().expect("once");
    lab.settle();
    made[1].cancel();
    assert_eq!(
        lab.log.take(),
        ["trace:Bad", "unhandled:Bad", "instance cancelled"]
    );
}

/// A waker of a slot that another future uses now wakes that one once more,
/// which a future must bear, and nothing else.
#[test]
fn s14_a_waker_may_outlive_its_future() {
    let lab = Lab::new();
    let kept: Rc<RefCell<Option<Waker>>> = Rc::default();
    let place = kept.clone();
    let mut first = lab.root();
    first.await_future(poll_fn(move |context| {
        *place.borrow_mut() = Some(context.waker().clone());
        Poll::<Result<(), StepError>>::Pending
    }));
    lab.run(&mut first);
    drop(first);
    let old = kept.take().expect("it was polled");
    old.wake_by_ref();
    lab.settle();
    let promise = Promise::default();
    let mut second = lab.root();
    second
        .await_future(promise.clone())
        .add(|_, (_,): (i32,)| Ok(()));
    lab.run(&mut second);
    assert_eq!(promise.polls(), 1);
    old.wake();
    lab.settle();
    assert_eq!(promise.polls(), 2);
    promise.settle(Ok((1,)));
    lab.settle();
    assert!(!second.is_valid());
    drop(second);
    lab.assert_empty();
}
