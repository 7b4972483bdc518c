//! Building a chain, and sending it (rules L31 and L32).

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

use crate::steps::StepResult;
use crate::time::Clock;

use super::super::desk::Desk;
use super::super::desk_calls::Wait;
use super::super::dynamic::DynamicSubmitter;
use super::super::error::{Failure, LaneError, Refused};
use super::super::future::LaneFuture;
use super::super::key::LaneKey;
use super::super::observer::Observer;
use super::super::pre_trade::PreTradeDriver;
use super::super::submitter::{Class, Submitter};
use super::outcome::ChainOutcome;
use super::result::{Adjusted, Checked, Decision, Followed, HookResult, Reserved, Settled};
use super::run::Finally;
use super::source::{AccountSteps, ChainSource, OfOrder, Source};
use super::steps::{self, CallStep, Step};
use super::wait::{Heard, WaitLimit, WaitStep};

/// The future of a chain. An error means that no code of the chain ran, and
/// the chain is its payload, to run again.
pub type ChainFuture<D, S> =
    LaneFuture<ChainOutcome<<D as PreTradeDriver>::Error>, Infallible, ChainRunner<D, S>>;

pub(super) type Begin<S> = Box<dyn FnOnce() -> HookResult<S> + Send>;

pub(super) struct Parts<D: PreTradeDriver, S> {
    pub(super) source: Source<D>,
    pub(super) begin: Begin<S>,
    pub(super) steps: Vec<Step<D, S>>,
    pub(super) finally: Option<Finally<D, S>>,
}

/// A chain that is being built: steps run in the order in which they are added.
///
/// Every hook runs in the lane, on the state that `begin` made there; the state
/// need not be `Send`. Hooks see that state and what their own call came to,
/// never the engine. From inside a hook, whatever is sent to the hook's own lane
/// is refused with [`ReentrantLane`](LaneError::ReentrantLane), and so is
/// waiting on a future of the engine (rule L36).
///
/// An account has no order steps, which does not compile:
///
/// ```compile_fail,E0599
/// use pitlane::lanes::chain;
/// use pitlane::risk::RiskEngine;
/// use pitlane::types::AccountId;
///
/// chain::<RiskEngine, _, _>(AccountId(7), || Ok(())).check_order(|_, _| Ok(()));
/// ```
///
/// and a group has no account to adjust:
///
/// ```compile_fail,E0599
/// use pitlane::lanes::chain;
/// use pitlane::risk::RiskEngine;
/// use pitlane::types::GroupId;
///
/// let group = GroupId::new(7).unwrap();
/// chain::<RiskEngine, _, _>(group, || Ok(())).retire_account(|_| Ok(()));
/// ```
///
/// An order has both:
///
/// ```
/// use pitlane::lanes::{FromOrder, chain};
/// use pitlane::risk::RiskEngine;
/// # fn of(order: pitlane::types::Order) {
/// chain::<RiskEngine, _, _>(FromOrder(order), || Ok(()))
///     .check_order(|_, _| Ok(()))
///     .retire_account(|_| Ok(()));
/// # }
/// ```
#[must_use = "a chain does nothing until it is run"]
pub struct Chain<D: PreTradeDriver, S, K> {
    parts: Box<Parts<D, S>>,
    kind: PhantomData<fn() -> K>,
}

/// A chain to run in the lane of `source`, on the state that `begin` makes
/// there. `begin` runs first; if it fails, nothing else of the chain runs.
pub fn chain<D: PreTradeDriver, S: 'static, T: ChainSource<D>>(
    source: T,
    begin: impl FnOnce() -> HookResult<S> + Send + 'static,
) -> Chain<D, S, T::Kind> {
    Chain {
        parts: Box::new(Parts {
            source: source.into_source(),
            begin: Box::new(begin),
            steps: Vec::new(),
            finally: None,
        }),
        kind: PhantomData,
    }
}

impl<D: PreTradeDriver, S: 'static, K> Chain<D, S, K> {
    fn with(self, step: CallStep<D, S>) -> Self {
        self.add(Step::Call(step))
    }

    fn add(mut self, step: Step<D, S>) -> Self {
        self.parts.steps.push(step);
        self
    }

    /// Adds caller's work; its error fails the chain.
    pub fn then(self, work: impl FnOnce(&mut S) -> HookResult + Send + 'static) -> Self {
        self.with(steps::then(work))
    }

    /// Adds a wait: the steps that `build` adds to its own step are run, for at
    /// most `limit`, while the lane goes on (rule L35). Then `on_end` is told
    /// how they ended: its error fails the chain, and `Ok` goes on, after an
    /// error too. The error of a time that is up is
    /// [`codes::TIMEOUT`](crate::steps::codes::TIMEOUT).
    ///
    /// Meanwhile the account's new orders stand in line behind the chain, and
    /// its reports, adjustments, drop copies and finalizations run. The chain's
    /// state is the root state of the steps:
    /// `step.state().root::<S>()`.
    ///
    /// ```
    /// use pitlane::lanes::{WaitLimit, chain};
    /// use pitlane::risk::RiskEngine;
    /// use pitlane::steps::RemoteHandle;
    /// use pitlane::types::AccountId;
    ///
    /// let nobody = || Ok(None::<RemoteHandle>);
    /// chain::<RiskEngine, _, _>(AccountId(7), nobody).wait_for_steps(
    ///     WaitLimit::millis(50),
    ///     |step| {
    ///         // To another thread, which calls `complete(())`.
    ///         let handle = step.wait_external()?;
    ///         let remote = step.remote(handle);
    ///         *step.state().root::<Option<RemoteHandle>>()? = Some(remote);
    ///         Ok(())
    ///     },
    ///     |_, end| Ok(end?),
    /// );
    /// ```
    ///
    /// There is no wait without a limit:
    ///
    /// ```compile_fail,E0061
    /// use pitlane::lanes::chain;
    /// use pitlane::risk::RiskEngine;
    /// use pitlane::types::AccountId;
    ///
    /// chain::<RiskEngine, _, _>(AccountId(7), || Ok(()))
    ///     .wait_for_steps(|_| Ok(()), |_, _| Ok(()));
    /// ```
    pub fn wait_for_steps(
        self,
        limit: WaitLimit,
        build: impl FnOnce(&mut crate::steps::Step<'_>) -> StepResult + Send + 'static,
        on_end: impl FnOnce(&mut S, StepResult) -> HookResult + Send + 'static,
    ) -> Self {
        self.add(Step::Wait(WaitStep::steps(limit, build, on_end)))
    }

    /// Adds the last hook, which sees how the chain ended: after every step and
    /// every rollback, before the future resolves. It runs once on every end,
    /// unless there is no state, because `begin` failed or the chain never ran:
    /// what must happen in any case cannot be left to it. Its error fails a
    /// chain that had not failed; nothing can be added behind it:
    ///
    /// ```compile_fail,E0599
    /// use pitlane::lanes::chain;
    /// use pitlane::risk::RiskEngine;
    /// use pitlane::types::AccountId;
    ///
    /// chain::<RiskEngine, _, _>(AccountId(7), || Ok(()))
    ///     .finally(|_, _| Ok(()))
    ///     .then(|_| Ok(()));
    /// ```
    pub fn finally(
        mut self,
        last: impl FnOnce(&mut S, &ChainOutcome<D::Error>) -> HookResult + Send + 'static,
    ) -> ChainRunner<D, S> {
        self.parts.finally = Some(Box::new(last));
        ChainRunner { parts: self.parts }
    }

    /// Sends the chain; see [`ChainRunner::run`].
    ///
    /// In the dynamic strategy a chain does not wait: one that comes to a wait
    /// fails there, with [`ChainError::Wait`](super::ChainError::Wait).
    pub fn run(self, submitter: &mut impl RunsChains<D>, wait: Wait) -> ChainFuture<D, S> {
        ChainRunner { parts: self.parts }.run(submitter, wait)
    }
}

impl<D: PreTradeDriver, S: 'static> Chain<D, S, OfOrder> {
    /// Adds a check of the order, which changes nothing. A refusal does not end
    /// the chain: the hook gets the verdict.
    pub fn check_order(
        self,
        on_checked: impl FnOnce(&mut S, Checked<'_, D>) -> HookResult + Send + 'static,
    ) -> Self {
        self.with(steps::check_order(on_checked))
    }

    /// Adds both stages. `on_reserved` decides about an accepted order:
    /// [`Commit`](Decision::Commit) goes on, [`Rollback`](Decision::Rollback)
    /// ends the chain `Rejected`, an error or a panic rolls back and fails it. A
    /// refusal ends it `Rejected`, after `on_rejected`.
    pub fn execute_pre_trade(
        self,
        on_reserved: impl FnOnce(&mut S, Reserved<'_, D>) -> HookResult<Decision> + Send + 'static,
        on_rejected: impl FnOnce(&mut S, &D::Rejects) -> HookResult + Send + 'static,
    ) -> Self {
        self.with(steps::execute_pre_trade(on_reserved, on_rejected))
    }

    /// Adds the following of the order as one placed elsewhere; hooks as for
    /// [`execute_pre_trade`](Self::execute_pre_trade). A blocked account does
    /// not stop it.
    pub fn apply_drop_copy(
        self,
        on_applied: impl FnOnce(&mut S, Followed<'_, D>) -> HookResult<Decision> + Send + 'static,
        on_rejected: impl FnOnce(&mut S, &D::Rejects) -> HookResult + Send + 'static,
    ) -> Self {
        self.with(steps::apply_drop_copy(on_applied, on_rejected))
    }
}

impl<D: PreTradeDriver, S: 'static, K: AccountSteps> Chain<D, S, K> {
    /// Adds the booking of the report that `report` makes of the state. A fact
    /// cannot be undone: if `on_settled` fails, the chain does, and the report
    /// stays booked.
    pub fn apply_execution_report(
        self,
        report: impl FnOnce(&mut S) -> HookResult<D::Report> + Send + 'static,
        on_settled: impl FnOnce(&mut S, Settled<'_, D>) -> HookResult + Send + 'static,
    ) -> Self {
        self.with(steps::apply_execution_report(report, on_settled))
    }

    /// Adds the adjustments that `adjustments` makes of the state; they stay, as
    /// a report does.
    pub fn apply_account_adjustment(
        self,
        adjustments: impl FnOnce(&mut S) -> HookResult<D::Adjustments> + Send + 'static,
        on_adjusted: impl FnOnce(&mut S, Adjusted<'_, D>) -> HookResult + Send + 'static,
    ) -> Self {
        self.with(steps::apply_account_adjustment(adjustments, on_adjusted))
    }

    /// Adds a wait for reports of the source's account, for at most `limit`
    /// (rule L35). `on_report` sees each one that is booked meanwhile, and what
    /// it did: [`Enough`](Heard::Enough) ends the wait, and the chain goes on
    /// before anything else of its account; an error fails the chain, and the
    /// report stays booked. When the time is up, `on_timeout` decides: its error
    /// fails the chain, `Ok` goes on.
    ///
    /// What runs meanwhile is as for [`wait_for_steps`](Self::wait_for_steps).
    pub fn wait_for_report(
        self,
        limit: WaitLimit,
        on_report: impl FnMut(&mut S, Settled<'_, D>) -> HookResult<Heard> + Send + 'static,
        on_timeout: impl FnOnce(&mut S) -> HookResult + Send + 'static,
    ) -> Self {
        self.add(Step::Wait(WaitStep::report(limit, on_report, on_timeout)))
    }

    /// Adds the retirement of the source's account. If `on_retired` fails, the
    /// chain does, and the retirement stands.
    pub fn retire_account(
        self,
        on_retired: impl FnOnce(&mut S) -> HookResult + Send + 'static,
    ) -> Self {
        self.with(steps::retire_account(on_retired))
    }
}

/// A chain that is complete.
#[must_use = "a chain does nothing until it is run"]
pub struct ChainRunner<D: PreTradeDriver, S> {
    pub(super) parts: Box<Parts<D, S>>,
}

impl<D: PreTradeDriver, S: 'static> ChainRunner<D, S> {
    /// Sends the chain to its lane, as one task. The future resolves with the
    /// outcome when everything is done, the last hook included; dropping it, or
    /// a wait that ends, does not end the chain.
    ///
    /// Where the chain does not start, the future fails and has the chain as
    /// its payload: `Full`, `Stopped`, `SubmitCancelled`, `ReentrantLane` inside
    /// the chain's own lane, and at once `MissingAccountId`. No code of the
    /// chain ran then.
    pub fn run(self, submitter: &mut impl RunsChains<D>, wait: Wait) -> ChainFuture<D, S> {
        let Some(key) = self.parts.source.key() else {
            return LaneFuture::ready(Err(Failure {
                error: LaneError::MissingAccountId,
                payload: Some(self),
            }));
        };
        submitter
            .send_chain(key, self, wait)
            .unwrap_or_else(|refused| {
                LaneFuture::ready(Err(Failure {
                    error: refused.error,
                    payload: Some(refused.payload),
                }))
            })
    }
}

type Sent<D, S> = Result<ChainFuture<D, S>, Refused<ChainRunner<D, S>>>;

/// A submitter of either strategy, for chains.
pub trait RunsChains<D: PreTradeDriver>: sealed::Sealed {
    #[doc(hidden)]
    fn send_chain<S: 'static>(
        &mut self,
        key: LaneKey,
        chain: ChainRunner<D, S>,
        wait: Wait,
    ) -> Sent<D, S>;
}

macro_rules! runs_chains {
    ($Submitter:ident $(where $($bound:tt)*)?) => {
        impl<D: PreTradeDriver, O: Observer, C: Clock> sealed::Sealed
            for $Submitter<Desk<D>, O, C> {}

        impl<D: PreTradeDriver, O: Observer, C: Clock> RunsChains<D>
            for $Submitter<Desk<D>, O, C>
        $(where $($bound)*)?
        {
            fn send_chain<S: 'static>(
                &mut self,
                key: LaneKey,
                chain: ChainRunner<D, S>,
                wait: Wait,
            ) -> Sent<D, S> {
                self.operate(key, chain, Class::Order, wait.patience())
            }
        }
    };
}

runs_chains!(Submitter);
runs_chains!(DynamicSubmitter where Desk<D>: Send);

mod sealed {
    pub trait Sealed {}
}

impl<D: PreTradeDriver, S, K> fmt::Debug for Chain<D, S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("steps", &self.parts.steps.len())
            .finish_non_exhaustive()
    }
}

impl<D: PreTradeDriver, S> fmt::Debug for ChainRunner<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainRunner")
            .field("steps", &self.parts.steps.len())
            .finish_non_exhaustive()
    }
}
