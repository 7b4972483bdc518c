//! A chain in its lane: begin, the steps, and the last hook (rules L31, L34).

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::time::Nanos;

use super::super::desk::Desk;
use super::super::error::Failure;
use super::super::future::Outcome;
use super::super::key::LaneKey;
use super::super::operation::{Operation, fenced};
use super::super::pre_trade::PreTradeDriver;
use super::super::slab::Slot;
use super::builder::{ChainRunner, Parts};
use super::outcome::{ChainEnd, ChainError, ChainOutcome};
use super::result::HookResult;
use super::source::Source;
use super::steps::{Engine, Step, Stop, caller};

/// The last hook.
pub(super) type Finally<D, S> =
    Box<dyn FnOnce(&mut S, &ChainOutcome<<D as PreTradeDriver>::Error>) -> HookResult + Send>;

/// A chain whose state is made.
pub(super) struct Started<D: PreTradeDriver, S> {
    key: LaneKey,
    source: Source<D>,
    steps: std::vec::IntoIter<Step<D, S>>,
    finally: Option<Finally<D, S>>,
    state: S,
    retry_unsafe: bool,
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
                state,
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

    /// Runs the steps that are left.
    fn advance(&mut self, driver: &mut D, now: Nanos) -> ChainEnd<D::Error> {
        let mut engine = Engine {
            driver,
            key: self.key,
            now,
            retry_unsafe: self.retry_unsafe,
        };
        let mut end = ChainEnd::Completed;
        for step in self.steps.by_ref() {
            let (source, state) = (&self.source, &mut self.state);
            // Engine and hooks are fenced one by one; this is for what hooks
            // hold and drop.
            let ran = catch_unwind(AssertUnwindSafe(|| step(source, &mut engine, state)));
            let ran = ran.unwrap_or_else(|panic| {
                fenced(|| drop(panic));
                Err(Stop::Failed(ChainError::HookPanicked))
            });
            match ran {
                Ok(()) => {}
                Err(Stop::Rejected) => {
                    end = ChainEnd::Rejected;
                    break;
                }
                Err(Stop::Failed(error)) => {
                    end = ChainEnd::Failed(error);
                    break;
                }
            }
        }
        self.retry_unsafe = engine.retry_unsafe;
        end
    }

    /// Runs the last hook; the outcome with it. A failure that was there before
    /// stays the one that is told.
    fn finish(mut self, end: ChainEnd<D::Error>) -> ChainOutcome<D::Error> {
        let mut outcome = ChainOutcome {
            end,
            retry_unsafe: self.retry_unsafe,
        };
        if let Some(finally) = self.finally.take() {
            let last = caller(|| finally(&mut self.state, &outcome), ChainError::Finally);
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
        desk: &mut Desk<D>,
        now: Nanos,
        _slot: Slot,
    ) -> Outcome<Self::Value, Self::Error, Self> {
        let parts = *self.parts;
        let Some(key) = parts.source.key() else {
            return Err(Failure::without_payload(
                crate::lanes::LaneError::MissingAccountId,
            ));
        };
        Ok(match Started::begin(parts, key) {
            Ok(mut started) => {
                let end = started.advance(&mut desk.driver, now);
                started.finish(end)
            }
            Err(outcome) => outcome,
        })
    }

    fn abort(self) -> Option<Self> {
        Some(self)
    }
}
