//! What crosses shards: one order for all of them (rule L4).

use core::fmt;

use crate::time::Clock;

use super::driver::LocalDriver;
use super::error::{LaneError, SubmitterError};
use super::future::{LaneFuture, Outcome};
use super::key::LaneKey;
use super::observer::Observer;
use super::operation::Work;
use super::submitter::{Patience, Submitter};
use super::sync::Mutex;
use super::wake::lock;

/// Sends the same work to every shard; all shards run what was sent so, and the
/// changes that submitters send, in one order. It takes a lock, and is for what
/// happens rarely.
pub struct Sequencer<D: LocalDriver, O: Observer, C: Clock> {
    submitter: Mutex<Submitter<D, O, C>>,
}

/// The results of work on every shard, by shard.
#[must_use = "a dropped future drops the results on their lanes"]
pub struct Everywhere<T: Send> {
    futures: Vec<LaneFuture<T>>,
}

impl<D: LocalDriver, O: Observer, C: Clock> Sequencer<D, O, C> {
    pub(super) fn new(submitter: Submitter<D, O, C>) -> Self {
        Self {
            submitter: Mutex::new(submitter),
        }
    }

    /// Runs `work` on every shard's driver, behind everything that was sent
    /// before. Waits for room; may use what is reserved for facts.
    ///
    /// # Errors
    /// [`Stopped`](LaneError::Stopped), and
    /// [`ReentrantLane`](LaneError::ReentrantLane) on one of the workers; no
    /// shard has taken it.
    pub fn everywhere<F, T>(&self, work: F) -> Result<Everywhere<T>, LaneError>
    where
        F: FnOnce(&mut D) -> T + Clone + Send + 'static,
        T: Send + 'static,
    {
        let mut submitter = lock(&self.submitter);
        let shards = 0..submitter.core.shards();
        let operations = shards.map(|shard| (shard, Work(work.clone()))).collect();
        let futures = submitter.spread(LaneKey::Engine, operations, Patience::Until(None))?;
        Ok(Everywhere { futures })
    }
}

impl<T: Send> Everywhere<T> {
    /// Whether every shard has run it.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.futures.iter().all(LaneFuture::is_done)
    }

    /// Waits until every shard has run it; each one's outcome.
    pub fn wait(self) -> Vec<Outcome<T>> {
        self.futures
            .into_iter()
            .map(|mut future| future.wait())
            .collect()
    }
}

impl<D: LocalDriver, O: Observer, C: Clock + Send + Sync + 'static> super::AsyncEngine<D, O, C> {
    /// A sequencer for what crosses shards.
    ///
    /// # Errors
    /// As for [`submitter`](Self::submitter), of which it uses one.
    pub fn sequencer(&self) -> Result<Sequencer<D, O, C>, SubmitterError> {
        self.submitter().map(Sequencer::new)
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> fmt::Debug for Sequencer<D, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequencer").finish_non_exhaustive()
    }
}

impl<T: Send> fmt::Debug for Everywhere<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Everywhere")
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
