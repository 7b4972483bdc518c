//! What steps allocate: exact counts, flat memory, and nothing in steady state.
//! Behaviours 73, 112 and 120, and rule S16.

#[path = "support/counting_allocator.rs"]
mod counting_allocator;
#[path = "support/steps_lab.rs"]
mod lab;

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;

use counting_allocator::{CountingAllocator, counted};
use lab::{Lab, ms};
use pitlane::steps::{AsyncSteps, Compose, Mutex, StepError, Throttle};
use pitlane::types::AccountId;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Says its name when it is dropped.
struct Loud(lab::Log, &'static str);

impl Drop for Loud {
    fn drop(&mut self) {
        self.0.say(self.1);
    }
}

#[test]
fn c073_a_million_iterations_leave_memory_flat() {
    let lab = Lab::new();
    let run = |count: u64| {
        let mut root = AsyncSteps::new(&lab.event_loop).expect("there is room");
        root.repeat(count, |step, n| {
            if n % 4 == 0 {
                step.alloc(n)?;
                step.add(|_, ()| Ok(()));
            }
            Ok(())
        });
        lab.run(&mut root);
    };
    run(100);
    let ((), counts) = counted(|| run(1_000_000));
    assert_eq!((counts.allocations, counts.bytes), (0, 0));
    lab.assert_empty();
}

#[test]
fn s18_a_million_flows_leave_memory_flat() {
    let lab = Lab::new();
    let flow = |n: u32| {
        let mut root = AsyncSteps::new(&lab.event_loop).expect("there is room");
        root.add_or(
            move |step, ()| {
                if n.is_multiple_of(3) {
                    return Err("Third".into());
                }
                step.success((n,))
            },
            |step, _| step.success((0u32,)),
        )
        .add(|_, (_,): (u32,)| Ok(()));
        root.execute().expect("once");
        root
    };
    let round = || {
        let roots: [AsyncSteps; 8] =
            std::array::from_fn(|n| flow(u32::try_from(n).expect("small")));
        lab.turn();
        drop(roots);
    };
    round();
    let ((), counts) = counted(|| (0..125_000).for_each(|_| round()));
    assert_eq!((counts.allocations, counts.bytes), (0, 0));
    lab.assert_empty();
}

/// Two frames more, with an error handler that does not fit its place.
#[test]
fn c112_allocation_counts_are_exact() {
    let lab = Lab::new();
    let warm = || {
        let mut root = AsyncSteps::new(&lab.event_loop).expect("there is room");
        root.add(|_, ()| Ok(())).add(|_, ()| Ok(()));
        lab.run(&mut root);
    };
    warm();
    let boxes = |bytes_body: bool, handler: bool, values: bool| {
        let ((), counts) = counted(|| {
            let mut root = AsyncSteps::new(&lab.event_loop).expect("there is room");
            let large = [7u8; 65];
            let handled = [7u8; 49];
            if bytes_body {
                root.add(move |_, ()| {
                    assert_eq!(large[64], 7);
                    Ok(())
                });
            }
            if handler {
                root.add_or(
                    |_, ()| Err("Bad".into()),
                    move |step, _| {
                        assert_eq!(handled[48], 7);
                        step.success(())
                    },
                );
            }
            if values {
                root.add(move |step, ()| step.success((large,)))
                    .add(|_, (large,): ([u8; 65],)| {
                        assert_eq!(large[64], 7);
                        Ok(())
                    });
            }
            lab.run(&mut root);
        });
        assert_eq!(counts.bytes, counts.bytes_freed);
        (counts.allocations, counts.frees)
    };
    assert_eq!(boxes(false, false, false), (0, 0));
    assert_eq!(boxes(true, false, false), (1, 1), "65 bytes are boxed");
    assert_eq!(boxes(false, true, false), (1, 1), "49 of a handler, too");
    assert_eq!(boxes(false, false, true), (2, 2), "the body and its values");
    // Sixty-four bytes, of an alignment of 16, keep their place.
    let ((), counts) = counted(|| {
        let mut root = AsyncSteps::new(&lab.event_loop).expect("there is room");
        let amounts = [1i128; 4];
        root.add(move |step, ()| step.success((amounts,)))
            .add(|_, (amounts,): ([i128; 4],)| {
                assert_eq!(amounts.iter().sum::<i128>(), 4);
                Ok(())
            });
        lab.run(&mut root);
    });
    assert_eq!(counts.allocations, 0);
}

#[test]
fn s16_allocated_values_are_freed_last_in_first_out_and_before_the_parents_handler() {
    let lab = Lab::new();
    let mut root = lab.root();
    let log = lab.log.clone();
    root.add_or(
        move |step, ()| {
            let outer = step.alloc(Loud(log.clone(), "free outer 1"))?;
            step.alloc(Loud(log.clone(), "free outer 2"))?;
            let inner = log.clone();
            step.add_or(
                move |step, ()| {
                    step.with(outer, |loud| loud.0.say("outer is in reach"))?;
                    step.alloc(Loud(inner.clone(), "free inner"))?;
                    Err("Bad".into())
                },
                log.handler("inner handler"),
            );
            Ok(())
        },
        lab.log.recovery("outer handler"),
    )
    .add(lab.log.body("next"));
    assert_eq!(
        lab.story(&mut root),
        [
            "outer is in reach",
            "inner handler:Bad",
            "free inner",
            "outer handler:Bad",
            "free outer 2",
            "free outer 1",
            "next"
        ]
    );

    drop(root);

    // A handle that outlives its step reaches nothing, also when its place is
    // in use again.
    let mut root = lab.root();
    let kept = Rc::new(Cell::new(None));
    let place = kept.clone();
    root.add(move |step, ()| {
        place.set(Some(step.alloc(1u32)?));
        let own = place.get().expect("just set");
        step.with(own, |n| *n += 1)?;
        assert_eq!(step.with(own, |n| *n)?, 2);
        Ok(())
    })
    .add(move |step, ()| {
        step.alloc(5u32)?;
        let old = kept.get().expect("set by the step before");
        let error = step.with(old, |n| *n).expect_err("it is freed");
        Err(error)
    });
    assert_eq!(
        lab.story(&mut root),
        ["unhandled:InternalError: an allocated value is gone, or in use"]
    );
    drop(root);
    lab.assert_empty();
}

/// One of everything, round after round.
#[test]
fn c120_in_steady_state_nothing_is_allocated() {
    let lab = Lab::new();
    let mutex = Mutex::new();
    let throttle = Throttle::with_period(NonZeroU32::new(2).expect("not zero"), ms(1));
    let handle = Rc::new(Cell::new(None));
    let woken = Rc::new(RefCell::new(None));
    let round = || {
        let mut root = AsyncSteps::with_state(&lab.event_loop, 0u64).expect("there is room");
        root.on_account(AccountId(7));
        let place = handle.clone();
        let (inner, limit) = (mutex.clone(), throttle.clone());
        root.add_or(
            move |step, ()| {
                step.set_timeout(ms(5))?;
                step.set_cancel(|_| ())?;
                step.state().set("key", 5u64)?;
                let local = step.alloc([1u64; 8])?;
                step.sync(&inner, move |step, ()| step.with(local, |n| n[0] += 1))
                    .sync(&limit, |step, ()| step.success((1u64, 2u64)))
                    .add(|step, (a, b): (u64, u64)| {
                        *step.state().root::<u64>()? += a + b;
                        Ok(())
                    })
                    .repeat(3, |step, _| step.continue_loop())
                    .label("outer")
                    .relinquish();
                step.parallel()
                    .add(|_, ()| Ok(()))
                    .add_or(|_, ()| Err("Bad".into()), |step, _| step.success(()));
                step.add(move |step, ()| {
                    place.set(Some(step.wait_external()?));
                    Ok(())
                });
                Ok(())
            },
            |step, _| step.success(()),
        );
        let wakers = woken.clone();
        let mut polls = 0;
        root.await_future(std::future::poll_fn(move |context| {
            polls += 1;
            if polls == 2 {
                return std::task::Poll::Ready(Ok::<_, StepError>((3u64,)));
            }
            *wakers.borrow_mut() = Some(context.waker().clone());
            std::task::Poll::Pending
        }))
        .add(|step, (n,): (u64,)| {
            *step.state().root::<u64>()? += n;
            Err("Timeout".into())
        });
        let mut second = AsyncSteps::new(&lab.event_loop).expect("there is room");
        second.on_account(AccountId(7)).add(|_, ()| Ok(()));
        root.execute().expect("once");
        second.execute().expect("once");
        let timer = lab
            .event_loop
            .deferred(ms(2), || ())
            .expect("there is room");
        lab.event_loop.immediate(|| ()).expect("there is room");
        lab.advance(ms(1));
        let handle = handle.take().expect("it waits");
        lab.event_loop.remote(handle).complete(()).expect("room");
        lab.settle();
        let waker: std::task::Waker = woken.take().expect("the future waits");
        assert!(second.is_valid(), "the account's lane is taken");
        waker.wake();
        lab.settle();
        assert!(!root.is_valid() && !second.is_valid());
        assert_eq!(*root.state().root::<u64>().expect("a number"), 6);
        lab.event_loop.cancel(timer);
        lab.advance(ms(10));
    };
    (0..3).for_each(|_| round());
    let ((), counts) = counted(|| (0..100).for_each(|_| round()));
    assert_eq!((counts.allocations, counts.frees), (0, 0));
    lab.assert_empty();
}

/// The tests above would pass with a leak that `usage` does not see.
#[test]
fn a_leak_of_one_frame_is_seen() {
    let lab = Lab::new();
    let mut root = lab.root();
    root.add(|step, ()| step.wait_external().map(|_| ()));
    lab.run(&mut root);
    let usage = lab.event_loop.usage();
    assert_eq!((usage.frames, usage.extras, usage.flows), (2, 1, 1));
    assert_eq!(usage.roots, 1);
    drop(root);
    lab.assert_empty();
}
