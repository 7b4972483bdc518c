//! A rate limit between the flows of one shard.
//!
//! It promises at most `max` entries in each window, first in, first out; that
//! windows follow one another without a gap while there is work; and that its
//! timer stops when a window passes without any. It does not give a slot back,
//! and it does not span shards.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::rc::{Rc, Weak};
use std::time::Duration;

use super::super::error::{StepError, codes};
use super::super::event_loop::{EventLoop, TaskHandle};
use super::contract::{Admission, Entry, StepSync};
use super::mutex::at_home;
use super::wait_queue::WaitQueue;

/// Lets at most `max` flows in per period, in fixed windows (rule S13).
///
/// Works between the flows of **one shard** only; it does not span shards.
/// Clones are the same throttle. Entering again from inside counts again.
#[derive(Clone, Debug)]
pub struct Throttle(Rc<ThrottleState>);

impl Throttle {
    /// The period that [`Self::new`] takes.
    pub const PERIOD: Duration = Duration::from_secs(1);

    /// `max` entries a second, any number waiting.
    #[must_use]
    pub fn new(max: NonZeroU32) -> Self {
        Self::with_period(max, Self::PERIOD)
    }

    /// `max` entries per `period`, any number waiting.
    #[must_use]
    pub fn with_period(max: NonZeroU32, period: Duration) -> Self {
        Self::made(max, period, None)
    }

    /// `max` entries per `period` and `max_queue` waiting; one more fails with
    /// `DefenseRejected`. With 0, none waits.
    #[must_use]
    pub fn with_queue(max: NonZeroU32, period: Duration, max_queue: u32) -> Self {
        Self::made(max, period, Some(max_queue))
    }

    fn made(max: NonZeroU32, period: Duration, max_queue: Option<u32>) -> Self {
        Self(Rc::new_cyclic(|me| ThrottleState {
            core: RefCell::new(ThrottleCore::new(max, period, max_queue)),
            me: me.clone(),
        }))
    }

    /// Flows that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.core.borrow().queue.len()
    }

    /// Whether no window is open: the timer is stopped.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.core.borrow().timer.is_none()
    }

    pub(super) fn state(&self) -> Rc<dyn StepSync> {
        self.0.clone()
    }
}

#[derive(Debug)]
struct ThrottleState {
    core: RefCell<ThrottleCore>,
    me: Weak<Self>,
}

impl Ticking for ThrottleState {
    fn tick(&self, event_loop: &EventLoop) {
        let opened = self
            .core
            .borrow_mut()
            .open_window(event_loop, self.me.clone());
        if let Err(error) = opened {
            while let Some(entry) = self.core.borrow_mut().pop() {
                event_loop.reject(entry, error.clone());
            }
        }
    }
}

impl StepSync for ThrottleState {
    fn enter(&self, event_loop: &EventLoop, entry: Entry) -> Result<Admission, StepError> {
        let mut core = self.core.borrow_mut();
        core.enter(event_loop, entry, "throttle queue", || self.me.clone())
    }

    fn leave(&self, _event_loop: &EventLoop, entry: Entry) {
        self.core.borrow_mut().queue.remove(entry);
    }
}

/// Who owns a throttle's windows, and is called at the end of each.
pub(super) trait Ticking: 'static {
    fn tick(&self, event_loop: &EventLoop);
}

/// The window and who waits for the next; the caller wakes who is let in.
#[derive(Debug)]
pub(super) struct ThrottleCore {
    max: u32,
    period: Duration,
    max_queue: Option<u32>,
    used: u32,
    queue: WaitQueue,
    /// Set while a window is open.
    timer: Option<TaskHandle>,
    home: Option<u32>,
}

impl ThrottleCore {
    pub(super) fn new(max: NonZeroU32, period: Duration, max_queue: Option<u32>) -> Self {
        Self {
            max: max.get(),
            // An empty window would open the next for ever in the same turn.
            period: period.max(Duration::from_nanos(1)),
            max_queue,
            used: 0,
            queue: WaitQueue::default(),
            timer: None,
            home: None,
        }
    }

    pub(super) fn enter<S: Ticking>(
        &mut self,
        event_loop: &EventLoop,
        entry: Entry,
        queue_name: &'static str,
        owner: impl FnOnce() -> Weak<S>,
    ) -> Result<Admission, StepError> {
        at_home(&mut self.home, entry)?;
        if self.timer.is_none() {
            self.used = 0;
            self.timer = Some(self.arm(event_loop, owner())?);
        }
        if self.used < self.max {
            self.used += 1;
            return Ok(Admission::Entered);
        }
        if self
            .max_queue
            .is_some_and(|max| self.queue.len() >= max as usize)
        {
            return Err(StepError::new(codes::DEFENSE_REJECTED).with_info(queue_name));
        }
        self.queue.push(entry);
        Ok(Admission::Queued)
    }

    /// The window is over: opens the next, if anybody waits or came lately.
    ///
    /// It is measured from now, not from when the last one should have ended:
    /// a late turn does not let two windows' entries in at once.
    ///
    /// # Errors
    /// No timer could be set: nobody who waits would ever be let in, so the
    /// caller refuses them.
    pub(super) fn open_window<S: Ticking>(
        &mut self,
        event_loop: &EventLoop,
        owner: Weak<S>,
    ) -> Result<(), StepError> {
        self.timer = None;
        if self.used == 0 {
            return Ok(());
        }
        self.used = 0;
        self.timer = Some(self.arm(event_loop, owner)?);
        while self.used < self.max
            && let Some(entry) = self.queue.pop()
        {
            self.used += 1;
            event_loop.admit(entry);
        }
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        self.queue.pop()
    }

    pub(super) fn remove(&mut self, entry: Entry) -> bool {
        self.queue.remove(entry)
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn arm<S: Ticking>(
        &self,
        event_loop: &EventLoop,
        owner: Weak<S>,
    ) -> Result<TaskHandle, StepError> {
        let home = event_loop.downgrade();
        let tick = move || {
            if let (Some(owner), Some(event_loop)) = (owner.upgrade(), home.upgrade()) {
                owner.tick(&event_loop);
            }
        };
        event_loop
            .deferred(self.period, tick)
            .map_err(|full| StepError::internal(format!("throttle: {full}")))
    }
}
