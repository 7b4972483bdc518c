//! A chain between two of its steps: what it waits for, and how it goes on
//! (rule L35).
//!
//! The time limit is a step of its own around whatever is waited for; it is
//! that step's handler which sees every end. The chain's outcome is published
//! here, because the task that began the chain has returned long since.
#![allow(unsafe_code)]

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::steps::{AsyncSteps, Compose, StepError, StepResult, codes};

use super::super::desk::Desk;
use super::super::future::Outcome;
use super::super::operation::{Site, fenced, publish, task_failed};
use super::super::pre_trade::PreTradeDriver;
use super::super::slab::Slot;
use super::super::waits::{WaitEnd, WaitId, Waiting, Waits};
use super::builder::ChainRunner;
use super::outcome::{ChainEnd, ChainError, ChainOutcome};
use super::result::Settled;
use super::run::{Next, Started};
use super::steps::caller;
use super::wait::{BuildSteps, Heard, OnEnd, OnReport, OnTimeout, WaitFor, WaitStep};

type ChainResult<D, S> = Outcome<
    ChainOutcome<<D as PreTradeDriver>::Error>,
    core::convert::Infallible,
    ChainRunner<D, S>,
>;

/// Runs a chain until it is done, or waits; then its outcome comes later.
pub(super) fn drive<D: PreTradeDriver, S: 'static>(
    mut started: Started<D, S>,
    site: Site<'_, Desk<D>>,
    slot: Slot,
) -> Option<ChainResult<D, S>> {
    let end = match started.advance(&mut site.driver.driver, site.now) {
        Next::Ended(end) => end,
        Next::Waits(step) => {
            let refused = StepError::internal("chains wait in the sharded strategy alone");
            let Some(waits) = site.waits else {
                let end = ChainEnd::Failed(ChainError::Wait(refused));
                return Some(Ok(started.finish(end)));
            };
            match wait(started, step, slot, waits) {
                Ok(()) => return None,
                Err((chain, error)) => {
                    started = chain;
                    ChainEnd::Failed(ChainError::Wait(error))
                }
            }
        }
    };
    Some(Ok(started.finish(end)))
}

/// A chain that waits.
struct WaitingChain<D: PreTradeDriver, S> {
    slot: Slot,
    chain: Started<D, S>,
    /// Its time limit, and the steps that it waits for.
    root: AsyncSteps,
    what: Awaited<D, S>,
}

/// What the rest of a wait needs.
enum Awaited<D: PreTradeDriver, S> {
    Report {
        on_report: OnReport<D, S>,
        on_timeout: OnTimeout<S>,
        /// A hook's error.
        failed: Option<ChainError<D::Error>>,
    },
    /// The state is the steps'.
    Steps { on_end: OnEnd<S> },
}

/// Begins a wait; gives the chain back where it cannot wait.
#[allow(clippy::result_large_err)] // The chain itself.
fn wait<D: PreTradeDriver, S: 'static>(
    mut chain: Started<D, S>,
    step: WaitStep<D, S>,
    slot: Slot,
    waits: &mut Waits<Desk<D>>,
) -> Result<(), (Started<D, S>, StepError)> {
    let wait = waits.name(chain.key());
    let (build, what) = match step.what {
        WaitFor::Report {
            on_report,
            on_timeout,
        } => {
            let what = Awaited::Report {
                on_report,
                on_timeout,
                failed: None,
            };
            (None, what)
        }
        WaitFor::Steps { build, on_end } => (Some(build), Awaited::Steps { on_end }),
    };
    let takes_state = build.is_some();
    let mut root = match limited(step.limit.as_duration(), build, wait, waits) {
        Ok(root) => root,
        Err(error) => return Err((chain, error)),
    };
    if takes_state && let Some(state) = chain.state.take() {
        root.state().set_root(state);
    }
    if let Err(error) = root.execute() {
        chain.state = chain.state.or_else(|| root.state().take_root());
        return Err((chain, error));
    }
    let chain = WaitingChain {
        slot,
        chain,
        root,
        what,
    };
    waits.begin(wait, Box::new(chain));
    Ok(())
}

/// The steps of a wait: what `build` makes, or nothing at all, for a time.
fn limited<D: PreTradeDriver>(
    limit: core::time::Duration,
    build: Option<BuildSteps>,
    wait: WaitId,
    waits: &mut Waits<Desk<D>>,
) -> Result<AsyncSteps, StepError> {
    let (event_loop, ends) = waits.flows.open();
    let mut root = AsyncSteps::new(event_loop)?;
    let (failed, over, closed) = (Rc::clone(ends), Rc::clone(ends), Rc::clone(ends));
    root.add_or(
        move |step, ()| {
            step.set_timeout(limit)?;
            match build {
                Some(build) => build(step),
                None => Ok(()),
            }
        },
        move |step, error| {
            failed.borrow_mut().push_back((wait, Err(error.clone())));
            step.success(())
        },
    )
    .add(move |_, ()| {
        // Of a wait that failed, the second end: it is known by then.
        over.borrow_mut().push_back((wait, Ok(())));
        Ok(())
    });
    root.set_cancel_handler(move || {
        let error = StepError::internal("the event loop of the lane was closed");
        closed.borrow_mut().push_back((wait, Err(error)));
    });
    Ok(root)
}

impl<D: PreTradeDriver, S: 'static> Waiting<Desk<D>> for WaitingChain<D, S> {
    fn hear(&mut self, report: &dyn Any, settled: &dyn Any) -> bool {
        let Awaited::Report {
            on_report, failed, ..
        } = &mut self.what
        else {
            return false;
        };
        let (Some(report), Some(settled), Some(state)) = (
            report.downcast_ref::<D::Report>(),
            settled.downcast_ref::<D::Settled>(),
            self.chain.state.as_mut(),
        ) else {
            return false;
        };
        let settled = Settled { report, settled };
        match caller(|| on_report(state, settled), ChainError::Hook) {
            Ok(Heard::Waiting) => false,
            Ok(Heard::Enough) => true,
            Err(error) => {
                *failed = Some(error);
                true
            }
        }
    }

    fn resume(self: Box<Self>, end: WaitEnd, site: Site<'_, Desk<D>>) -> bool {
        let slot = self.slot;
        let gone_on = catch_unwind(AssertUnwindSafe(|| self.go_on(end, site)));
        let outcome = gone_on.unwrap_or_else(|panic| {
            fenced(|| drop(panic));
            Some(task_failed())
        });
        match outcome {
            None => false,
            Some(outcome) => {
                // SAFETY: the chain was moved out of the slot when it began,
                // and the slot is its lane's until this.
                unsafe { publish(slot, outcome, None) };
                true
            }
        }
    }
}

impl<D: PreTradeDriver, S: 'static> WaitingChain<D, S> {
    fn go_on(self, end: WaitEnd, site: Site<'_, Desk<D>>) -> Option<ChainResult<D, S>> {
        let Self {
            slot,
            mut chain,
            mut root,
            what,
        } = self;
        // Before the state is taken back: cancel handlers may use it.
        root.cancel();
        chain.state = chain.state.or_else(|| root.state().take_root());
        drop(root);
        match after(&mut chain, what, end) {
            Ok(()) => drive(chain, site, slot),
            Err(error) => Some(Ok(chain.finish(ChainEnd::Failed(error)))),
        }
    }
}

/// What the end of a wait comes to: whether the chain goes on.
fn after<D: PreTradeDriver, S: 'static>(
    chain: &mut Started<D, S>,
    what: Awaited<D, S>,
    end: WaitEnd,
) -> Result<(), ChainError<D::Error>> {
    let Some(state) = chain.state.as_mut() else {
        // Somebody keeps it borrowed, which the steps' types do not allow.
        return Err(ChainError::HookPanicked);
    };
    match (what, end) {
        (_, WaitEnd::Stopped) => Err(ChainError::Stopped),
        (
            Awaited::Report {
                failed, on_timeout, ..
            },
            end,
        ) => match (failed, end) {
            (Some(error), _) => Err(error),
            (None, WaitEnd::Flow(Err(error))) if error.is(codes::TIMEOUT) => {
                caller(|| on_timeout(state), ChainError::Hook)
            }
            (None, WaitEnd::Flow(Err(error))) => Err(ChainError::Wait(error)),
            (None, _) => Ok(()),
        },
        (Awaited::Steps { on_end }, end) => {
            let end: StepResult = match end {
                WaitEnd::Flow(end) => end,
                WaitEnd::Heard | WaitEnd::Stopped => Ok(()),
            };
            caller(|| on_end(state, end), ChainError::Hook)
        }
    }
}
