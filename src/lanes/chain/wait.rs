//! Waits of a chain: what for, and for how long at most (rule L35).

use std::time::Duration;

use crate::limits::CHAIN_WAIT_MAX;
use crate::steps::{Step as FlowStep, StepResult};

use super::super::pre_trade::PreTradeDriver;
use super::result::{HookResult, Settled};

/// How long a chain may wait at most; there is no wait without.
///
/// From 1 ns to [`CHAIN_WAIT_MAX`], a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitLimit(Duration);

impl WaitLimit {
    /// A limit; `None` for zero, and for more than [`CHAIN_WAIT_MAX`].
    #[must_use]
    pub const fn new(limit: Duration) -> Option<Self> {
        if limit.is_zero() || limit.as_nanos() > CHAIN_WAIT_MAX.as_nanos() {
            return None;
        }
        Some(Self(limit))
    }

    /// So many milliseconds; 1 for zero.
    ///
    /// # Panics
    /// Beyond a day.
    #[must_use]
    pub const fn millis(millis: u32) -> Self {
        let millis = if millis == 0 { 1 } else { millis };
        match Self::new(Duration::from_millis(millis as u64)) {
            Some(limit) => limit,
            None => panic!("a chain waits for a day at most"),
        }
    }

    /// As a duration.
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        self.0
    }
}

/// What a chain that waits makes of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It waits on.
    Waiting,
    /// It is what it waited for: the chain goes on.
    Enough,
}

pub(super) type OnReport<D, S> = Box<dyn FnMut(&mut S, Settled<'_, D>) -> HookResult<Heard> + Send>;
pub(super) type OnTimeout<S> = Box<dyn FnOnce(&mut S) -> HookResult + Send>;
pub(super) type BuildSteps = Box<dyn FnOnce(&mut FlowStep<'_>) -> StepResult + Send>;
pub(super) type OnEnd<S> = Box<dyn FnOnce(&mut S, StepResult) -> HookResult + Send>;

/// A wait that was added to a chain.
pub(super) struct WaitStep<D: PreTradeDriver, S> {
    pub(super) limit: WaitLimit,
    pub(super) what: WaitFor<D, S>,
}

/// What a chain waits for.
pub(super) enum WaitFor<D: PreTradeDriver, S> {
    Report {
        on_report: OnReport<D, S>,
        on_timeout: OnTimeout<S>,
    },
    Steps {
        build: BuildSteps,
        on_end: OnEnd<S>,
    },
}

impl<D: PreTradeDriver, S> WaitStep<D, S> {
    pub(super) fn report(
        limit: WaitLimit,
        on_report: impl FnMut(&mut S, Settled<'_, D>) -> HookResult<Heard> + Send + 'static,
        on_timeout: impl FnOnce(&mut S) -> HookResult + Send + 'static,
    ) -> Self {
        let what = WaitFor::Report {
            on_report: Box::new(on_report),
            on_timeout: Box::new(on_timeout),
        };
        Self { limit, what }
    }

    pub(super) fn steps(
        limit: WaitLimit,
        build: impl FnOnce(&mut FlowStep<'_>) -> StepResult + Send + 'static,
        on_end: impl FnOnce(&mut S, StepResult) -> HookResult + Send + 'static,
    ) -> Self {
        let what = WaitFor::Steps {
            build: Box::new(build),
            on_end: Box::new(on_end),
        };
        Self { limit, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l35_a_wait_has_a_limit_of_a_day_at_most() {
        assert_eq!(WaitLimit::new(Duration::ZERO), None);
        assert_eq!(WaitLimit::new(Duration::MAX), None);
        let more = CHAIN_WAIT_MAX + Duration::from_nanos(1);
        assert_eq!(WaitLimit::new(more), None);
        let most = WaitLimit::new(CHAIN_WAIT_MAX).map(WaitLimit::as_duration);
        assert_eq!(most, Some(CHAIN_WAIT_MAX));
        assert_eq!(WaitLimit::millis(0), WaitLimit::millis(1));
    }
}
