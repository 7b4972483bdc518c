//! An event loop on simulated time, with a log that steps write to.
//!
//! Time stands still but for `advance`, which stops at every timer on its way.
#![allow(dead_code)] // Each test crate uses the part that it needs.
#![allow(unreachable_pub)] // A module of several test crates.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use pitlane::steps::{AsyncSteps, EventLoop, LoopLimits, Step, StepError, StepResult, Usage};
use pitlane::time::{Clock, SimClock};

pub const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

#[derive(Clone, Default)]
pub struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    pub fn say(&self, text: impl Into<String>) {
        self.0.borrow_mut().push(text.into());
    }

    /// What was said so far, and clears it.
    pub fn take(&self) -> Vec<String> {
        self.0.take()
    }

    pub fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// A body that says so and succeeds by itself.
    pub fn body(&self, text: &'static str) -> impl FnOnce(&mut Step<'_>, ()) -> StepResult + use<> {
        let log = self.clone();
        move |_, ()| {
            log.say(text);
            Ok(())
        }
    }

    /// A body that says so and fails.
    pub fn failing(
        &self,
        text: &'static str,
        code: &'static str,
    ) -> impl FnOnce(&mut Step<'_>, ()) -> StepResult + use<> {
        let log = self.clone();
        move |_, ()| {
            log.say(text);
            Err(code.into())
        }
    }

    /// A handler that says so, with the error, and returns silently.
    pub fn handler(
        &self,
        text: &'static str,
    ) -> impl FnOnce(&mut Step<'_>, &StepError) -> StepResult + use<> {
        let log = self.clone();
        move |_, error| {
            log.say(format!("{text}:{error}"));
            Ok(())
        }
    }

    /// A handler that says so, with the error, and succeeds.
    pub fn recovery(
        &self,
        text: &'static str,
    ) -> impl FnOnce(&mut Step<'_>, &StepError) -> StepResult + use<> {
        let log = self.clone();
        move |step, error| {
            log.say(format!("{text}:{error}"));
            step.success(())
        }
    }

    /// A cancel handler that says so.
    pub fn cancelled(&self, text: &'static str) -> impl FnOnce(&mut Step<'_>) + use<> {
        let log = self.clone();
        move |_| log.say(text)
    }
}

pub struct Lab {
    pub clock: SimClock,
    pub event_loop: EventLoop,
    pub log: Log,
}

impl Lab {
    pub fn new() -> Self {
        Self::with(LoopLimits::default())
    }

    pub fn with(limits: LoopLimits) -> Self {
        let clock = SimClock::default();
        Self {
            event_loop: EventLoop::new(clock.clone(), limits),
            clock,
            log: Log::default(),
        }
    }

    /// A root whose unhandled error is said.
    pub fn root(&self) -> AsyncSteps {
        let mut root = AsyncSteps::new(&self.event_loop).expect("there is room");
        let log = self.log.clone();
        root.set_unhandled_error(move |error| log.say(format!("unhandled:{error}")));
        root
    }

    /// Runs turns until nothing is ready.
    pub fn settle(&self) {
        for _ in 0..1_000_000 {
            if !self.event_loop.turn(100_000).more {
                return;
            }
        }
        panic!("still busy after a million turns");
    }

    /// One turn of a large budget.
    pub fn turn(&self) -> bool {
        self.event_loop.turn(100_000).more
    }

    pub fn run(&self, root: &mut AsyncSteps) {
        root.execute().expect("it was not executed before");
        self.settle();
    }

    /// Runs a root, and returns what was said.
    pub fn story(&self, root: &mut AsyncSteps) -> Vec<String> {
        self.run(root);
        self.log.take()
    }

    /// Moves time, and runs what becomes due, each at its time.
    pub fn advance(&self, by: Duration) {
        self.settle();
        let end = self.clock.now().after(by);
        loop {
            let next = self.event_loop.turn(0).next_due;
            let Some(due) = next.filter(|due| *due <= end) else {
                break;
            };
            let gap = due.since(self.clock.now());
            self.clock.advance(Duration::from_nanos(gap));
            self.settle();
        }
        self.clock
            .advance(Duration::from_nanos(end.since(self.clock.now())));
        self.settle();
    }

    /// Nothing is left of anything.
    pub fn assert_empty(&self) {
        assert_eq!(self.event_loop.usage(), Usage::default());
        assert_eq!(self.event_loop.panics(), 0);
    }
}
