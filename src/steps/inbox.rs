//! The way in from other threads: completions of waiting steps, and wakes.
//!
//! It promises that a sender never blocks, that a full inbox is told to the
//! sender together with its values, and that what was accepted is delivered at
//! the owner's next turns. It does not promise that the step still waits when
//! the completion arrives: one that is late changes nothing.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use crossbeam_queue::ArrayQueue;

use super::erased::SendPassed;
use super::error::StepError;
use super::event_loop::WaitHandle;
use super::values::Values;
use super::wake_set::WakeSet;

/// Tells a parked shard that something arrived; called from any thread.
pub(super) type Unpark = Box<dyn Fn() + Send + Sync>;

pub(super) struct Message {
    pub(super) handle: WaitHandle,
    pub(super) outcome: Result<SendPassed, StepError>,
}

/// What an event loop shares with other threads.
pub(super) struct Shared {
    pub(super) wakes: WakeSet,
    pub(super) inbox: ArrayQueue<Message>,
    closed: AtomicBool,
    unpark: Option<Unpark>,
}

impl Shared {
    pub(super) fn new(inbox: usize, futures: u32, unpark: Option<Unpark>) -> Self {
        Self {
            wakes: WakeSet::new(futures),
            inbox: ArrayQueue::new(inbox.max(1)),
            closed: AtomicBool::new(false),
            unpark,
        }
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    fn tell(&self, must: bool) {
        if must && let Some(unpark) = &self.unpark {
            unpark();
        }
    }
}

/// Wakes one future slot of an event loop.
pub(super) struct SlotWaker {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: u32,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.shared.tell(self.shared.wakes.wake(self.slot));
    }
}

/// Completes one waiting step from any thread (rule S10).
///
/// Got from [`EventLoop::remote`](super::EventLoop::remote).
#[derive(Clone)]
pub struct RemoteHandle {
    pub(super) shared: Arc<Shared>,
    pub(super) handle: WaitHandle,
}

/// Why a completion could not be posted; what was to be posted comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostError<T> {
    /// The inbox is full: try again after the event loop's next turn.
    Full(T),
    /// The event loop is gone.
    Closed(T),
}

impl<T> fmt::Display for PostError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the event loop's inbox is full: try again after its next turn",
            Self::Closed(_) => "the event loop is gone",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for PostError<T> {}

impl RemoteHandle {
    /// Completes the step with values, at the event loop's next turn.
    ///
    /// # Errors
    /// [`PostError`], with the values.
    pub fn complete<V: Values + Send>(&self, values: V) -> Result<(), PostError<V>> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(PostError::Closed(values));
        }
        self.post(Ok(SendPassed::new(values))).map_err(|outcome| {
            let values = outcome.map(|values| V::take(&mut values.into_passed()));
            match values {
                Ok(Ok(values)) => PostError::Full(values),
                _ => unreachable!("the message that was just packed"),
            }
        })
    }

    /// Fails the step with an error, at the event loop's next turn.
    ///
    /// # Errors
    /// [`PostError`], with the error.
    pub fn fail(&self, error: StepError) -> Result<(), PostError<StepError>> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(PostError::Closed(error));
        }
        self.post(Err(error)).map_err(|outcome| match outcome {
            Err(error) => PostError::Full(error),
            Ok(_) => unreachable!("the message that was just packed"),
        })
    }

    fn post(
        &self,
        outcome: Result<SendPassed, StepError>,
    ) -> Result<(), Result<SendPassed, StepError>> {
        let message = Message {
            handle: self.handle,
            outcome,
        };
        self.shared
            .inbox
            .push(message)
            .map_err(|message| message.outcome)?;
        self.shared.tell(self.shared.wakes.signal());
        Ok(())
    }
}

impl fmt::Debug for RemoteHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteHandle").field(&self.handle).finish()
    }
}
