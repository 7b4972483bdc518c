//! The engine: its workers, its submitters and its end (rules L1, L2, L5, L25).

use core::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::host::PinOutcome;
use crate::time::{Clock, SystemClock};
use crate::types::ShardId;

use super::driver::LocalDriver;
use super::entry::Phase;
use super::error::SubmitterError;
use super::key::LaneKey;
use super::lane::Lane;
use super::observer::{NoopObserver, Observer};
use super::reentry;
use super::shared::Core;
use super::stop::{self, StopError, StopReport};
use super::submitter::Submitter;
use super::sync::Mutex;
use super::wake::lock;

/// Runs the operations of many accounts on a few workers, each account's in
/// submission order, without a lock.
///
/// Movable, `Send + Sync`. Dropping it stops hard and joins its workers; on one
/// of those workers it signals the stop and leaves the joining to another
/// thread.
///
/// ```
/// use pitlane::lanes::{EngineBuilder, LaneKey, LocalDriver};
/// use pitlane::time::Nanos;
/// use pitlane::types::AccountId;
///
/// #[derive(Default)]
/// struct Sum(u64);
///
/// impl LocalDriver for Sum {
///     type Command = u64;
///     fn key(_: &u64) -> LaneKey {
///         LaneKey::Account(AccountId(7))
///     }
///     fn command(&mut self, add: &u64, _: Nanos) {
///         self.0 += add;
///     }
/// }
///
/// let engine = EngineBuilder::new().shards(1).build(|_shard| Sum::default())?;
/// let mut submitter = engine.submitter()?;
/// submitter.try_send(40)?;
/// submitter.try_send(2)?;
/// let mut sum = submitter.submit(AccountId(7), |driver: &mut Sum| driver.0);
/// assert_eq!(sum.wait()?, 42);
///
/// let report = engine.stop_graceful(std::time::Duration::from_secs(5))?;
/// assert!(report.is_balanced());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AsyncEngine<
    D: LocalDriver,
    O: Observer = NoopObserver,
    C: Clock + Send + Sync + 'static = SystemClock,
> {
    core: Arc<Core<D, O, C>>,
    workers: Mutex<Vec<JoinHandle<()>>>,
    pins: Vec<PinOutcome>,
}

impl<D: LocalDriver, O: Observer, C: Clock + Send + Sync + 'static> AsyncEngine<D, O, C> {
    pub(crate) fn new(
        core: Arc<Core<D, O, C>>,
        workers: Vec<JoinHandle<()>>,
        pins: Vec<PinOutcome>,
    ) -> Self {
        Self {
            core,
            workers: Mutex::new(workers),
            pins,
        }
    }

    /// A submitter for one thread. Costs one ring per shard; it takes a lock,
    /// so make it once, not for each order. Its place in the order of submits
    /// is fixed before this returns (rule L7).
    ///
    /// # Errors
    /// [`SubmitterError::TooMany`] when
    /// [`SUBMITTERS_MAX`](crate::limits::SUBMITTERS_MAX) exist,
    /// [`SubmitterError::Stopped`] after a stop.
    pub fn submitter(&self) -> Result<Submitter<D, O, C>, SubmitterError> {
        let parts = self.core.register()?;
        Ok(Submitter::new(Arc::clone(&self.core), parts))
    }

    /// The shard that runs a key's operations.
    #[must_use]
    pub fn shard_of(&self, key: impl Into<LaneKey>) -> ShardId {
        ShardId(self.core.shard(key.into()))
    }

    /// How many shards there are.
    #[must_use]
    pub fn shards(&self) -> u16 {
        self.core.shards()
    }

    /// What pinning each worker came to, by shard; empty in `inline` mode.
    #[must_use]
    pub fn pins(&self) -> &[PinOutcome] {
        &self.pins
    }

    /// Counts so far. While operations are in flight they do not balance.
    #[must_use]
    pub fn report(&self) -> StopReport {
        stop::report(&self.core)
    }

    /// Refuses new work, runs all that was accepted, releases the drivers.
    ///
    /// A producer that is blocked on a full ring gets in if there is room
    /// before the deadline. `inline` lanes must be turned by their owners
    /// meanwhile, on other threads; on the same thread use
    /// [`refuse_new_work`](Self::refuse_new_work) and turn them until
    /// [`Finished`](super::Progress::Finished).
    ///
    /// # Errors
    /// [`StopError::DeadlinePassed`]; calling either stop again goes on.
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

    /// The first part of a graceful stop, without waiting: new work is refused,
    /// and once no submit is in progress (then it answers `true`) lanes finish
    /// when their rings are empty.
    #[must_use = "false: a submit is still in progress, ask again"]
    pub fn refuse_new_work(&self) -> bool {
        self.core.raise(Phase::Graceful);
        let now = Some(std::time::Instant::now());
        (0..self.core.shards()).all(|shard| self.core.seal(shard, now))
    }

    fn stop(&self, phase: Phase, timeout: Duration) -> Result<StopReport, StopError> {
        let report = stop::stop(&self.core, phase, timeout)?;
        // They have released their drivers, so they are about to end.
        for worker in lock(&self.workers).drain(..) {
            let _ = worker.join();
        }
        Ok(report)
    }
}

impl<D: LocalDriver, O: Observer, C: Clock + Send + Sync + 'static> Drop for AsyncEngine<D, O, C> {
    fn drop(&mut self) {
        let workers: Vec<_> = lock(&self.workers).drain(..).collect();
        if workers.is_empty() {
            // Stopped already, or `inline`: those lanes end with their owners.
            self.core.raise(Phase::Hard);
            for shard in 0..self.core.shards() {
                self.core.seal(shard, Some(std::time::Instant::now()));
            }
            return;
        }
        if reentry::in_engine(self.core.id) {
            let core = Arc::clone(&self.core);
            core.raise(Phase::Hard);
            let joiner = thread::Builder::new()
                .name("pitlane-join".into())
                .spawn(move || end(&core, workers));
            // Without a thread to join them, they still end by themselves once
            // sealed; this worker is inside an operation, not inside a submit.
            if joiner.is_err() {
                for shard in 0..self.core.shards() {
                    self.core.seal(shard, Some(std::time::Instant::now()));
                }
            }
            return;
        }
        end(&self.core, workers);
    }
}

/// Stops hard and joins, however long what runs takes.
fn end<D: LocalDriver, O: Observer, C: Clock>(core: &Core<D, O, C>, workers: Vec<JoinHandle<()>>) {
    let _ = stop::stop(core, Phase::Hard, Duration::MAX);
    for worker in workers {
        let _ = worker.join();
    }
}

impl<D: LocalDriver, O: Observer, C: Clock + Send + Sync + 'static> fmt::Debug
    for AsyncEngine<D, O, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncEngine")
            .field("core", &self.core)
            .field("pins", &self.pins)
            .finish_non_exhaustive()
    }
}

/// A lane that is not built yet: takes it to the thread that will own it.
///
/// One that is dropped unbuilt resolves what was sent to it with `Stopped`.
pub struct LaneSeed<D: LocalDriver, O: Observer = NoopObserver, C: Clock = SystemClock> {
    /// Until the lane is built.
    core: Option<Arc<Core<D, O, C>>>,
    shard: ShardId,
    factory: Arc<dyn Fn(ShardId) -> D + Send + Sync>,
}

impl<D: LocalDriver, O: Observer, C: Clock> LaneSeed<D, O, C> {
    pub(crate) fn new(
        core: Arc<Core<D, O, C>>,
        shard: ShardId,
        factory: Arc<dyn Fn(ShardId) -> D + Send + Sync>,
    ) -> Self {
        Self {
            core: Some(core),
            shard,
            factory,
        }
    }

    /// Which shard it will be.
    #[must_use]
    pub fn shard(&self) -> ShardId {
        self.shard
    }

    /// Builds the driver and the lane on this thread, which owns them from now
    /// on.
    ///
    /// # Panics
    /// If the factory does; the shard is then stopped.
    #[must_use]
    pub fn build(mut self) -> Lane<D, O, C> {
        let driver = (self.factory)(self.shard);
        match self.core.take() {
            Some(core) => Lane::new(core, self.shard, Some(driver)),
            None => unreachable!("a seed is built once, by value"),
        }
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> Drop for LaneSeed<D, O, C> {
    fn drop(&mut self) {
        if let Some(core) = self.core.take() {
            drop(Lane::new(core, self.shard, None));
        }
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> fmt::Debug for LaneSeed<D, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneSeed")
            .field("shard", &self.shard)
            .finish_non_exhaustive()
    }
}
