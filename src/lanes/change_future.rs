//! A change that is made when every lane that it concerns has made it.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::change::{ChangeOf, ControlDriver};
use super::error::{Failure, LaneError};
use super::future::{LaneFuture, Outcome};

/// What a change resolves with: nothing, or its first failure, with the change
/// where no lane has begun to make it.
pub type ChangeOutcome<D> = Outcome<(), <D as super::PreTradeDriver>::Error, ChangeOf<D>>;

type OfLane<D> = LaneFuture<(), <D as super::PreTradeDriver>::Error, ChangeOf<D>>;

/// The future of a change: resolves when all lanes that it concerns are done
/// with it. Used as a [`LaneFuture`] is; dropping it leaves the change under
/// way.
#[must_use = "a dropped future does not say whether the change was made"]
pub struct ChangeFuture<D: ControlDriver> {
    lanes: Vec<OfLane<D>>,
    /// How many of them have been asked.
    next: usize,
    /// To give back; taken with the outcome.
    change: Option<ChangeOf<D>>,
    begun: bool,
    failed: Option<LaneError<D::Error>>,
}

impl<D: ControlDriver> Unpin for ChangeFuture<D> {}

impl<D: ControlDriver> ChangeFuture<D> {
    pub(super) const fn new(change: ChangeOf<D>, lanes: Vec<OfLane<D>>) -> Self {
        Self {
            lanes,
            next: 0,
            change: Some(change),
            begun: false,
            failed: None,
        }
    }

    /// A change that was refused.
    pub(super) const fn refused(error: LaneError<D::Error>, change: ChangeOf<D>) -> Self {
        Self {
            lanes: Vec::new(),
            next: 0,
            change: Some(change),
            begun: false,
            failed: Some(error),
        }
    }

    /// Whether every lane is done; once taken, it stays so.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.lanes.iter().skip(self.next).all(LaneFuture::is_done)
    }

    /// The outcome, if it is there. Never waits.
    pub fn try_get(&mut self) -> Option<ChangeOutcome<D>> {
        self.is_done().then(|| self.wait())
    }

    /// Waits until every lane is done.
    ///
    /// # Errors
    /// The first failure, by shard; as for [`LaneFuture::wait`].
    pub fn wait(&mut self) -> ChangeOutcome<D> {
        self.wait_until(None)
            .unwrap_or(Err(Failure::without_payload(LaneError::SubmitCancelled)))
    }

    /// Waits at most `timeout`; `None` when it passed, and the change goes on.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    pub fn wait_timeout(&mut self, timeout: Duration) -> Option<ChangeOutcome<D>> {
        self.wait_until(Instant::now().checked_add(timeout))
    }

    fn wait_until(&mut self, deadline: Option<Instant>) -> Option<ChangeOutcome<D>> {
        while let Some(lane) = self.lanes.get_mut(self.next) {
            let outcome = lane.wait_until(deadline)?;
            if let Err(failure) = &outcome
                && matches!(failure.error, LaneError::ReentrantLane)
            {
                // On a worker of the engine; another thread may wait for it yet.
                return Some(Err(Failure::without_payload(LaneError::ReentrantLane)));
            }
            self.note(outcome);
        }
        Some(self.take())
    }

    fn note(&mut self, outcome: ChangeOutcome<D>) {
        self.next += 1;
        match outcome {
            Ok(()) => self.begun = true,
            Err(failure) => {
                self.begun |= failure.payload.is_none();
                self.failed.get_or_insert(failure.error);
            }
        }
    }

    fn take(&mut self) -> ChangeOutcome<D> {
        let Some(change) = self.change.take() else {
            return Err(Failure::without_payload(LaneError::ValueConsumed));
        };
        match self.failed.take() {
            None => Ok(()),
            Some(error) => Err(Failure {
                error,
                payload: (!self.begun).then_some(change),
            }),
        }
    }
}

impl<D: ControlDriver> Future for ChangeFuture<D> {
    type Output = ChangeOutcome<D>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        while let Some(lane) = this.lanes.get_mut(this.next) {
            match Pin::new(lane).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(outcome) => this.note(outcome),
            }
        }
        Poll::Ready(this.take())
    }
}

impl<D: ControlDriver> fmt::Debug for ChangeFuture<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeFuture")
            .field("lanes", &self.lanes.len())
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
