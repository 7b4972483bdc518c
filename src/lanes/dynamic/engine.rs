//! The dynamic engine: its submitters and its end (rules L2, L5, L25 to L27).

use core::fmt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::lanes::driver::LocalDriver;
use crate::lanes::entry::Phase;
use crate::lanes::error::SubmitterError;
use crate::lanes::observer::{NoopObserver, Observer};
use crate::lanes::reentry;
use crate::lanes::stop::{StopError, StopReport};
use crate::lanes::wake::lock;
use crate::time::{Clock, SystemClock};

use super::core::Core;
use super::submitter::DynamicSubmitter;
use super::worker::Worker;

/// Runs the operations of each key in submission order, and those of different
/// keys in parallel, on a pool of workers.
///
/// Movable, `Send + Sync`. Dropping it stops hard and joins its workers; on one
/// of those workers it signals the stop and leaves the joining to another
/// thread. For operations that may block (a shared engine's locks, a call to
/// somewhere else); for the lowest latency, and memory that does not grow with
/// the accounts, use the sharded [`AsyncEngine`](crate::lanes::AsyncEngine).
///
/// ```
/// use pitlane::lanes::{DynamicBuilder, LaneKey, LocalDriver};
/// use pitlane::time::Nanos;
/// use pitlane::types::AccountId;
///
/// /// One account's sum.
/// #[derive(Default)]
/// struct Sum(u64);
///
/// impl LocalDriver for Sum {
///     type Command = (AccountId, u64);
///     fn key(command: &(AccountId, u64)) -> LaneKey {
///         LaneKey::Account(command.0)
///     }
///     fn command(&mut self, command: &(AccountId, u64), _: Nanos) {
///         self.0 += command.1;
///     }
/// }
///
/// let engine = DynamicBuilder::new().workers(2).build(|_account| Sum::default())?;
/// let mut submitter = engine.submitter()?;
/// submitter.try_send((AccountId(7), 40))?;
/// submitter.try_send((AccountId(8), 1))?;
/// submitter.try_send((AccountId(7), 2))?;
/// let mut sum = submitter.submit(AccountId(7), |driver: &mut Sum| driver.0);
/// assert_eq!(sum.wait()?, 42);
///
/// let report = engine.stop_graceful(std::time::Duration::from_secs(5))?;
/// assert!(report.is_balanced());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DynamicEngine<
    D: LocalDriver + Send,
    O: Observer = NoopObserver,
    C: Clock + Send + Sync + 'static = SystemClock,
> {
    core: Arc<Core<D, O, C>>,
}

impl<D: LocalDriver + Send, O: Observer, C: Clock + Send + Sync + 'static> DynamicEngine<D, O, C> {
    pub(super) fn new(core: Arc<Core<D, O, C>>) -> Self {
        Self { core }
    }

    /// A submitter for one thread, with its own completion slots; it takes a
    /// lock, so make it once, not for each order.
    ///
    /// # Errors
    /// [`SubmitterError::TooMany`] when
    /// [`SUBMITTERS_MAX`](crate::limits::SUBMITTERS_MAX) exist,
    /// [`SubmitterError::Stopped`] after a stop.
    pub fn submitter(&self) -> Result<DynamicSubmitter<D, O, C>, SubmitterError> {
        let (cell, slab) = self.core.register()?;
        Ok(DynamicSubmitter::new(Arc::clone(&self.core), cell, slab))
    }

    /// Queues that exist now.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.core.table.count()
    }

    /// Workers that live now.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.core.pool.workers()
    }

    /// Counts so far. While operations are in flight they do not balance.
    #[must_use]
    pub fn report(&self) -> StopReport {
        self.core.report()
    }

    /// Refuses new work, runs all that was accepted, releases the drivers. A
    /// producer that is blocked on a full queue gets in if there is room before
    /// the deadline.
    ///
    /// # Errors
    /// [`StopError::DeadlinePassed`]; calling either stop again goes on.
    /// [`StopError::ReentrantLane`] on one of the workers.
    pub fn stop_graceful(&self, timeout: Duration) -> Result<StopReport, StopError> {
        self.stop(Phase::Graceful, timeout)
    }

    /// Refuses new work, aborts what has not started with `Stopped`, waits for
    /// what runs, releases the drivers.
    ///
    /// # Errors
    /// As for [`stop_graceful`](Self::stop_graceful).
    pub fn stop_hard(&self, timeout: Duration) -> Result<StopReport, StopError> {
        self.stop(Phase::Hard, timeout)
    }

    fn stop(&self, phase: Phase, timeout: Duration) -> Result<StopReport, StopError> {
        if reentry::in_engine(self.core.id) {
            return Err(StopError::ReentrantLane);
        }
        end(&self.core, phase, Instant::now().checked_add(timeout))
    }
}

fn end<D: LocalDriver + Send, O: Observer, C: Clock + Send + Sync + 'static>(
    core: &Arc<Core<D, O, C>>,
    phase: Phase,
    deadline: Option<Instant>,
) -> Result<StopReport, StopError> {
    core.raise(phase);
    if !core.seal(deadline) || !core.wait_finished(deadline) {
        return Err(StopError::DeadlinePassed);
    }
    // They have released every driver, so they are about to end.
    for thread in lock(&core.threads).drain(..) {
        let _ = thread.join();
    }
    Ok(core.report())
}

impl<D: LocalDriver + Send, O: Observer, C: Clock + Send + Sync + 'static> Drop
    for DynamicEngine<D, O, C>
{
    fn drop(&mut self) {
        if self.core.pool.workers() == 0 && !self.core.is_finished() && !self.core.pool.is_sealed()
        {
            // No worker ever started.
            self.core.raise(Phase::Hard);
            Worker::new(Arc::clone(&self.core), 0).close();
        }
        if reentry::in_engine(self.core.id) {
            let core = Arc::clone(&self.core);
            core.raise(Phase::Hard);
            let joiner = thread::Builder::new()
                .name("pitlane-join".into())
                .spawn(move || end(&core, Phase::Hard, None));
            // Without a thread to join them, they still end by themselves once
            // sealed; this worker is inside an operation, not inside a submit.
            if joiner.is_err() {
                self.core.seal(Some(Instant::now()));
            }
            return;
        }
        let _ = end(&self.core, Phase::Hard, None);
    }
}

impl<D: LocalDriver + Send, O: Observer, C: Clock + Send + Sync + 'static> fmt::Debug
    for DynamicEngine<D, O, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicEngine")
            .field("core", &self.core)
            .finish_non_exhaustive()
    }
}
