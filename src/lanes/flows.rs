//! The event loop of a lane: what drives the steps of chains that wait
//! (rule L35).
//!
//! It is made when the first chain waits, and costs nothing before. Nothing
//! here blocks: a turn of the lane gives it a turn.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::limits;
use crate::steps::{EventLoop, LoopLimits, Progress, StepError};
use crate::time::Nanos;

use super::waits::WaitId;

/// Waits whose steps are over, for the lane to take.
pub(crate) type Ends = Rc<RefCell<VecDeque<(WaitId, Result<(), StepError>)>>>;

/// What the steps of one lane's waiting chains may hold: a parallel step with
/// some retries for each.
const fn loop_limits() -> LoopLimits {
    let chains = limits::CHAIN_WAITS_MAX;
    LoopLimits {
        frames: chains * 32,
        roots: chains,
        flows: chains * 8,
        tasks: chains * 4,
        timers: chains * 16,
        locals: chains * 8,
        futures: chains * 2,
        inbox: limits::CHAIN_INBOX_MAX,
        lane_queue: limits::STEP_LANE_QUEUE_MAX,
    }
}

/// What drives a lane's steps, and what it last said.
pub(crate) struct Flows {
    make: Box<dyn Fn(LoopLimits) -> EventLoop>,
    event_loop: Option<EventLoop>,
    ends: Ends,
    progress: Progress,
}

impl Flows {
    pub(crate) fn new(make: impl Fn(LoopLimits) -> EventLoop + 'static) -> Self {
        Self {
            make: Box::new(make),
            event_loop: None,
            ends: Ends::default(),
            progress: Progress::default(),
        }
    }

    /// The event loop, and where the end of a wait is told.
    pub(crate) fn open(&mut self) -> (&EventLoop, &Ends) {
        let make = &self.make;
        let event_loop = self.event_loop.get_or_insert_with(|| make(loop_limits()));
        // A wait begins, so there is something to do in the next turn.
        self.progress.more = true;
        (event_loop, &self.ends)
    }

    /// Whether a turn would do anything, now or later.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.event_loop.is_none() || !self.progress.more && self.progress.next_due.is_none()
    }

    /// Runs what is due and ready; whether it is to be called again at once.
    pub(crate) fn turn(&mut self, now: Nanos, budget: usize) -> bool {
        let Some(event_loop) = &self.event_loop else {
            return false;
        };
        self.progress = event_loop.turn_at(now, budget);
        self.progress.more || self.progress.work > 0
    }

    /// A wait whose steps are over.
    pub(crate) fn take_end(&self) -> Option<(WaitId, Result<(), StepError>)> {
        self.ends.borrow_mut().pop_front()
    }

    /// When a turn is due at the latest.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        self.event_loop.as_ref()?;
        self.progress.next_due
    }

    /// Whether another thread has sent something since the last turn.
    pub(crate) fn is_signalled(&self) -> bool {
        self.event_loop
            .as_ref()
            .is_some_and(EventLoop::is_signalled)
    }

    /// Ends whatever still runs there.
    pub(crate) fn close(&mut self) {
        if let Some(event_loop) = self.event_loop.take() {
            event_loop.close();
        }
        self.ends.borrow_mut().clear();
    }
}
