//! A chain in its lane: begin, the steps, and the last hook (rules L31, L34).

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::time::Nanos;

use super::super::desk::Desk;
use super::super::error::{Failure, LaneError};
use super::super::future::Outcome;
use super::super::key::LaneKey;
use super::super::operation::{Operation, Site, fenced, task_failed};
use super::super::pre_trade::PreTradeDriver;
use super::super::slab::Slot;
use super::builder::{ChainRunner, Parts};
use super::outcome::{ChainEnd, ChainError, ChainOutcome};
use super::result::HookResult;
use super::source::Source;
use super::steps::{Engine, Step, Stop, caller};
use super::wait::WaitStep;
use super::waiting::drive;

/// The last hook.
pub(super) type Finally<D, S> =
    Box<dyn FnOnce(&mut S, &ChainOutcome<<D as PreTradeDriver>::Error>) -> HookResult + Send>;

/// A chain whose state is made.
pub(super) struct Started<D: PreTradeDriver, S> {
    key: LaneKey,
    source: Source<D>,
    steps: std::vec::IntoIter<Step<D, S>>,
    finally: Option<Finally<D, S>>,
    /// While the chain waits for steps, it is theirs.
    pub(super) state: Option<S>,
    retry_unsafe: bool,
}

/// Where a chain has come to.
pub(super) enum Next<D: PreTradeDriver, S> {
    Ended(ChainEnd<D::Error>),
    Waits(WaitStep<D, S>),
}

impl<D: PreTradeDriver, S> Started<D, S> {
    /// Makes the state; without one, no hook of the chain runs.
    fn begin(parts: Parts<D, S>, key: LaneKey) -> Result<Self, ChainOutcome<D::Error>> {
        match caller(parts.begin, ChainError::Begin) {
            Ok(state) => Ok(Self {
                key,
                source: parts.source,
                steps: parts.steps.into_iter(),
                finally: parts.finally,
                state: Some(state),
                retry_unsafe: false,
            }),
            Err(error) => {
                fenced(|| drop((parts.source, parts.steps, parts.finally)));
                Err(ChainOutcome {
                    end: ChainEnd::Failed(error),
                    retry_unsafe: false,
                })
            }
        }
    }

    pub(super) const fn key(&self) -> LaneKey {
        self.key
    }

    /// Runs the steps that are left, as far as there is nothing to wait for.
    pub(super) fn advance(&mut self, driver: &mut D, now: Nanos) -> Next<D, S> {
        let mut engine = Engine {
            driver,
            key: self.key,
            now,
            retry_unsafe: self.retry_unsafe,
        };
        let Some(state) = &mut self.state else {
            return Next::Ended(ChainEnd::Failed(ChainError::HookPanicked));
        };
        let mut next = Next::Ended(ChainEnd::Completed);
        for step in self.steps.by_ref() {
            let step = match step {
                Step::Call(step) => step,
                Step::Wait(wait) => {
                    next = Next::Waits(wait);
                    break;
                }
            };
            // Engine and hooks are fenced one by one; this is for what hooks
            // hold and drop.
            let ran = catch_unwind(AssertUnwindSafe(|| step(&self.source, &mut engine, state)));
            let ran = ran.unwrap_or_else(|panic| {
                fenced(|| drop(panic));
                Err(Stop::Failed(ChainError::HookPanicked))
            });
            match ran {
                Ok(()) => {}
                Err(Stop::Rejected) => {
                    next = Next::Ended(ChainEnd::Rejected);
                    break;
                }
                Err(Stop::Failed(error)) => {
                    next = Next::Ended(ChainEnd::Failed(error));
                    break;
                }
            }
        }
        self.retry_unsafe = engine.retry_unsafe;
        next
    }

    /// Runs the last hook; the outcome with it. A failure that was there before
    /// stays the one that is told.
    pub(super) fn finish(mut self, end: ChainEnd<D::Error>) -> ChainOutcome<D::Error> {
        let mut outcome = ChainOutcome {
            end,
            retry_unsafe: self.retry_unsafe,
        };
        if let (Some(finally), Some(state)) = (self.finally.take(), &mut self.state) {
            let last = caller(|| finally(state, &outcome), ChainError::Finally);
            if let Err(error) = last
                && outcome.end.error().is_none()
            {
                outcome.end = ChainEnd::Failed(error);
            }
        }
        // What the caller's state and hooks hold goes here, in the lane.
        fenced(|| drop(self));
        outcome
    }
}

impl<D: PreTradeDriver, S: 'static> Operation<Desk<D>> for ChainRunner<D, S> {
    type Value = ChainOutcome<D::Error>;
    type Error = core::convert::Infallible;
    type Payload = Self;

    fn run(
        self,
        driver: &mut Desk<D>,
        now: Nanos,
        slot: Slot,
    ) -> Outcome<Self::Value, Self::Error, Self> {
        let site = Site {
            driver,
            now,
            waits: None,
        };
        // Without a place to wait it is done at once.
        self.start(site, slot).unwrap_or_else(task_failed)
    }

    fn start(
        self,
        site: Site<'_, Desk<D>>,
        slot: Slot,
    ) -> Option<Outcome<Self::Value, Self::Error, Self>> {
        let parts = *self.parts;
        let Some(key) = parts.source.key() else {
            return Some(Err(Failure::without_payload(LaneError::MissingAccountId)));
        };
        match Started::begin(parts, key) {
            Ok(started) => drive(started, site, slot),
            Err(outcome) => Some(Ok(outcome)),
        }
    }

    fn abort(self) -> Option<Self> {
        Some(self)
    }
}
