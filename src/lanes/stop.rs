//! Ending an engine: gracefully, hard, with a deadline, and never twice
//! (rules L25 to L27).

use std::time::{Duration, Instant};

use crate::time::{Clock, IdleStrategy};

use super::driver::LocalDriver;
use super::entry::Phase;
use super::observer::Observer;
use super::reentry;
use super::shared::Core;

/// What became of everything that was accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopReport {
    /// Operations that a submit, or a lane's own thread, put in.
    pub accepted: u64,
    /// Ran to their end.
    pub completed: u64,
    /// Resolved `Stopped` without running.
    pub aborted: u64,
    /// Resolved `TaskFailed`: they panicked.
    pub panicked: u64,
    /// Panics of the observer; it is disabled by the first.
    pub observer_panics: u64,
}

impl StopReport {
    /// Whether counts in equal counts out (rule L27).
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        self.accepted == self.completed + self.aborted + self.panicked
    }
}

/// Why an engine is not stopped yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StopError {
    /// The deadline passed; drivers that are still needed are not released.
    /// New work stays refused; call either stop again to go on.
    #[error("the deadline passed before every lane was done; stop again, or hard")]
    DeadlinePassed,
    /// Called on one of the engine's own workers, which would wait for itself.
    #[error("an engine cannot be stopped from inside one of its lanes")]
    ReentrantLane,
}

/// Raises the phase, lets submits in progress end, and waits for the lanes.
pub(crate) fn stop<D: LocalDriver, O: Observer, C: Clock>(
    core: &Core<D, O, C>,
    phase: Phase,
    timeout: Duration,
) -> Result<StopReport, StopError> {
    if reentry::in_engine(core.id) {
        return Err(StopError::ReentrantLane);
    }
    let deadline = Instant::now().checked_add(timeout);
    core.raise(phase);
    for shard in 0..core.shards() {
        if !core.seal(shard, deadline) {
            return Err(StopError::DeadlinePassed);
        }
    }
    let mut idle = IdleStrategy::shared();
    while !core.gates.iter().all(|gate| gate.is_finished()) {
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        if left.is_zero() {
            return Err(StopError::DeadlinePassed);
        }
        if !idle.pause() {
            let nanos = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            core.stopper
                .sleep(nanos, || core.gates.iter().all(|gate| gate.is_finished()));
        }
    }
    Ok(report(core))
}

pub(crate) fn report<D: LocalDriver, O: Observer, C: Clock>(core: &Core<D, O, C>) -> StopReport {
    let counts = core.counts();
    StopReport {
        accepted: counts.accepted,
        completed: counts.completed,
        aborted: counts.aborted,
        panicked: counts.panicked,
        observer_panics: core.observer_health.panics(),
    }
}
