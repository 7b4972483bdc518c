//! Concurrency and rate together, between the flows of one shard.
//!
//! It promises what a mutex around a throttle does: who enters holds a place of
//! the mutex while waiting for the rate. It does not span shards.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::rc::{Rc, Weak};
use std::time::Duration;

use super::super::error::StepError;
use super::super::event_loop::EventLoop;
use super::contract::{Admission, Entry, StepSync};
use super::mutex::MutexCore;
use super::throttle::{ThrottleCore, Ticking};

/// What a [`Limiter`] limits. The default is one flow at a time, one a second,
/// and no queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterOptions {
    /// Flows inside at once.
    pub concurrent: NonZeroU32,
    /// Flows that wait for a place inside; 0 means that none waits.
    pub max_queue: u32,
    /// Entries per period.
    pub rate: NonZeroU32,
    /// The length of the windows that the rate is counted in.
    pub period: Duration,
    /// Flows inside that wait for the rate; 0 means that none waits.
    pub burst: u32,
}

impl Default for LimiterOptions {
    fn default() -> Self {
        Self {
            concurrent: NonZeroU32::MIN,
            max_queue: 0,
            rate: NonZeroU32::MIN,
            period: Duration::from_secs(1),
            burst: 0,
        }
    }
}

/// A mutex around a throttle (rule S13): overflow fails with `DefenseRejected`
/// and the info `concurrency queue` or `rate queue`.
///
/// Works between the flows of **one shard** only; it does not span shards.
/// Clones are the same limiter. Entering again from inside takes no further
/// place, but counts for the rate.
#[derive(Clone, Debug)]
pub struct Limiter(Rc<LimiterState>);

impl Limiter {
    /// A limiter with these options.
    #[must_use]
    pub fn new(options: LimiterOptions) -> Self {
        let LimiterOptions {
            concurrent,
            max_queue,
            rate,
            period,
            burst,
        } = options;
        Self(Rc::new_cyclic(|me| LimiterState {
            mutex: RefCell::new(MutexCore::new(concurrent, Some(max_queue))),
            throttle: RefCell::new(ThrottleCore::new(rate, period, Some(burst))),
            me: me.clone(),
        }))
    }

    /// Flows that are inside, waiting for the rate or running.
    #[must_use]
    pub fn inside(&self) -> usize {
        self.0.mutex.borrow().inside()
    }

    /// Flows that wait: for a place inside, and for the rate.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        let rate = self.0.throttle.borrow().waiting();
        (self.0.mutex.borrow().waiting(), rate)
    }

    pub(super) fn state(&self) -> Rc<dyn StepSync> {
        self.0.clone()
    }
}

#[derive(Debug)]
struct LimiterState {
    mutex: RefCell<MutexCore>,
    throttle: RefCell<ThrottleCore>,
    me: Weak<Self>,
}

impl LimiterState {
    fn enter_throttle(&self, event_loop: &EventLoop, entry: Entry) -> Result<Admission, StepError> {
        let mut throttle = self.throttle.borrow_mut();
        throttle.enter(event_loop, entry, "rate queue", || self.me.clone())
    }

    /// Takes an entry out of the mutex, and sees those who follow to the rate.
    fn leave_mutex(&self, event_loop: &EventLoop, entry: Entry) {
        let mut leaving = entry;
        loop {
            let next = self.mutex.borrow_mut().leave(leaving);
            let Some(next) = next else { return };
            match self.enter_throttle(event_loop, next) {
                Ok(Admission::Entered) => return event_loop.admit(next),
                Ok(Admission::Queued) => return,
                Err(error) => event_loop.reject(next, error),
            }
            leaving = next;
        }
    }
}

impl Ticking for LimiterState {
    fn tick(&self, event_loop: &EventLoop) {
        let opened = self
            .throttle
            .borrow_mut()
            .open_window(event_loop, self.me.clone());
        if let Err(error) = opened {
            while let Some(entry) = self.throttle.borrow_mut().pop() {
                event_loop.reject(entry, error.clone());
                self.leave_mutex(event_loop, entry);
            }
        }
    }
}

impl StepSync for LimiterState {
    fn enter(&self, event_loop: &EventLoop, entry: Entry) -> Result<Admission, StepError> {
        let admission = self
            .mutex
            .borrow_mut()
            .enter(event_loop, entry, "concurrency queue")?;
        if admission == Admission::Queued {
            return Ok(admission);
        }
        let admission = self.enter_throttle(event_loop, entry);
        if admission.is_err() {
            self.leave_mutex(event_loop, entry);
        }
        admission
    }

    fn leave(&self, event_loop: &EventLoop, entry: Entry) {
        self.throttle.borrow_mut().remove(entry);
        self.leave_mutex(event_loop, entry);
    }
}
