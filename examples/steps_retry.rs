//! A retry with back-off, under a time limit and a throttle.
//!
//! `cargo run --example steps_retry`
//!
//! A request fails three times before it succeeds. Attempts are 10, 20 and 40 ms
//! apart, no more than two per 40 ms whoever makes them, and 200 ms all
//! together. Time is simulated: the example is over at once.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use pitlane::steps::{
    AsyncSteps, Compose, EventLoop, LoopLimits, Step, StepResult, Throttle, codes,
};
use pitlane::time::{Clock, SimClock};

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Adds a step that waits: an otherwise empty one with a time limit, whose
/// passing is no error.
fn pause(step: &mut Step<'_>, length: Duration) {
    step.add_or(
        move |step, ()| step.set_timeout(length),
        |step, error| {
            if error.is(codes::TIMEOUT) {
                return step.success(());
            }
            Ok(())
        },
    );
}

/// Tries `request` until it succeeds, at most `attempts` times.
fn retry(
    step: &mut Step<'_>,
    throttle: &Throttle,
    attempts: u64,
    request: impl Fn() -> StepResult + Clone + 'static,
) {
    let throttle = throttle.clone();
    step.repeat(attempts, move |step, attempt| {
        let last = attempt + 1 == attempts;
        let (request, throttle) = (request.clone(), throttle.clone());
        step.add_or(
            move |step, ()| {
                step.sync(&throttle, move |_, ()| request());
                // Reached when the request succeeded.
                step.add(|step, ()| step.break_loop());
                Ok(())
            },
            move |step, error| {
                // A break, a time limit, and an error of the last attempt go on.
                if last || error.is(codes::LOOP_BREAK) || error.is(codes::TIMEOUT) {
                    return Ok(());
                }
                pause(step, ms(10 << attempt));
                Ok(())
            },
        );
        Ok(())
    });
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = SimClock::default();
    let event_loop = EventLoop::new(clock.clone(), LoopLimits::default());
    let throttle = Throttle::with_period(NonZeroU32::new(2).ok_or("two is not zero")?, ms(40));
    let tries = Rc::new(Cell::new(0));
    let attempts = Rc::new(RefCell::new(Vec::new()));

    let (count, times, time) = (tries.clone(), attempts.clone(), clock.clone());
    let request = move || -> StepResult {
        count.set(count.get() + 1);
        times.borrow_mut().push(time.now().0 / 1_000_000);
        if count.get() < 4 {
            return Err("Unavailable".into());
        }
        Ok(())
    };
    let mut root = AsyncSteps::new(&event_loop)?;
    root.set_catch_trace(|error| println!("caught {error}"));
    root.set_unhandled_error(|error| println!("gave up: {error}"));
    root.add(move |step, ()| {
        step.set_timeout(ms(200))?;
        retry(step, &throttle, 6, request);
        Ok(())
    });
    root.execute()?;

    // Jump from one thing that is due to the next.
    while root.is_valid() {
        let progress = event_loop.turn(1_000);
        if progress.more || !root.is_valid() {
            continue;
        }
        let due = progress.next_due.ok_or("the flow waits for nothing")?;
        clock.advance(Duration::from_nanos(due.since(clock.now())));
    }
    println!("attempts at {:?} ms", attempts.borrow());
    assert_eq!(*attempts.borrow(), [0, 10, 40, 80]);
    Ok(())
}
