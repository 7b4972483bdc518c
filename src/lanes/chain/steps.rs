//! The steps of a chain: each one's engine call, its hook, and what is undone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::time::Nanos;
use crate::types::AccountId;

use super::super::key::LaneKey;
use super::super::operation::fenced;
use super::super::pre_trade::PreTradeDriver;
use super::outcome::ChainError;
use super::result::{
    Adjusted, Checked, Decision, Followed, HookError, HookResult, Reserved, Settled,
};
use super::source::Source;
use super::wait::WaitStep;

/// Why no later step runs.
pub(super) enum Stop<E> {
    Rejected,
    Failed(ChainError<E>),
}

/// Whether the next step runs.
pub(super) type StepEnd<E> = Result<(), Stop<E>>;

/// A step, which the lane runs once.
pub(super) enum Step<D: PreTradeDriver, S> {
    Call(CallStep<D, S>),
    Wait(WaitStep<D, S>),
}

/// An engine call, or caller's work, with its hooks.
pub(super) type CallStep<D, S> = Box<
    dyn FnOnce(&Source<D>, &mut Engine<'_, D>, &mut S) -> StepEnd<<D as PreTradeDriver>::Error>
        + Send,
>;

/// The engine, as steps call it: fenced, and watched for changes of state.
pub(super) struct Engine<'a, D: PreTradeDriver> {
    pub(super) driver: &'a mut D,
    pub(super) key: LaneKey,
    pub(super) now: Nanos,
    pub(super) retry_unsafe: bool,
}

impl<D: PreTradeDriver> Engine<'_, D> {
    /// A call that changes nothing, or ends what has changed something.
    fn call<T>(
        &mut self,
        call: impl FnOnce(&mut D, Nanos) -> Result<T, D::Error>,
    ) -> Result<T, Stop<D::Error>> {
        match catch_unwind(AssertUnwindSafe(|| call(self.driver, self.now))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Stop::Failed(ChainError::Driver(error))),
            Err(panic) => {
                fenced(|| drop(panic));
                // A driver that panics here has been told; nothing more to do.
                fenced(|| self.driver.panicked(Some(self.key)));
                Err(Stop::Failed(ChainError::DriverPanicked))
            }
        }
    }

    /// A call that can change state: marked before it is entered.
    fn change<T>(
        &mut self,
        call: impl FnOnce(&mut D, Nanos) -> Result<T, D::Error>,
    ) -> Result<T, Stop<D::Error>> {
        self.retry_unsafe = true;
        self.call(call)
    }

    /// Ends a reservation as its hook decided; one whose hook failed, or
    /// answered nothing, is rolled back. A rollback that fails is the failure.
    fn decide(
        &mut self,
        mut reservation: D::Reservation,
        decision: Result<Decision, Stop<D::Error>>,
    ) -> StepEnd<D::Error> {
        let stop = match decision {
            Ok(Decision::Commit) => {
                let committed = self.call(|driver, now| driver.commit(&mut reservation, now));
                fenced(|| drop(reservation));
                return committed;
            }
            Ok(Decision::Rollback) => Stop::Rejected,
            Err(stop) => stop,
        };
        let undone = self.call(|driver, now| driver.rollback(&mut reservation, now));
        fenced(|| drop(reservation));
        undone.and(Err(stop))
    }
}

/// Runs caller's code: an error or a panic of it fails the chain.
pub(super) fn hook<T, E>(call: impl FnOnce() -> HookResult<T>) -> Result<T, Stop<E>> {
    caller(call, ChainError::Hook).map_err(Stop::Failed)
}

/// Runs caller's code.
pub(super) fn caller<T, E>(
    call: impl FnOnce() -> HookResult<T>,
    error: impl FnOnce(HookError) -> ChainError<E>,
) -> Result<T, ChainError<E>> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer.map_err(error),
        Err(panic) => {
            fenced(|| drop(panic));
            Err(ChainError::HookPanicked)
        }
    }
}

/// The order of a chain that the types say has one.
fn order<D: PreTradeDriver>(source: &Source<D>) -> &D::Order {
    match source {
        Source::Order(order) => order,
        Source::Account(_) | Source::Group(_) => {
            unreachable!("order steps are methods of order chains alone")
        }
    }
}

/// The account of a chain that the types say has one.
fn account(key: LaneKey) -> AccountId {
    match key {
        LaneKey::Account(account) => account,
        LaneKey::Group(_) | LaneKey::Engine => {
            unreachable!("account steps are methods of order and account chains alone")
        }
    }
}

/// A refusal: the hook hears of it, and the chain ends.
fn refused<D: PreTradeDriver, S>(
    state: &mut S,
    rejects: &D::Rejects,
    on_rejected: impl FnOnce(&mut S, &D::Rejects) -> HookResult,
) -> StepEnd<D::Error> {
    if D::is_malformed(rejects) {
        return Err(Stop::Failed(ChainError::DriverResult));
    }
    hook(|| on_rejected(state, rejects))?;
    Err(Stop::Rejected)
}

pub(super) fn then<D: PreTradeDriver, S>(
    work: impl FnOnce(&mut S) -> HookResult + Send + 'static,
) -> CallStep<D, S> {
    Box::new(|_, _, state| hook(|| work(state)))
}

pub(super) fn check_order<D: PreTradeDriver, S>(
    on_checked: impl FnOnce(&mut S, Checked<'_, D>) -> HookResult + Send + 'static,
) -> CallStep<D, S> {
    Box::new(|source, engine, state| {
        let order = order(source);
        let verdict = engine.call(|driver, now| driver.check_order(order, now))?;
        if verdict.as_ref().is_err_and(D::is_malformed) {
            return Err(Stop::Failed(ChainError::DriverResult));
        }
        hook(|| on_checked(state, Checked { order, verdict }))
    })
}

pub(super) fn execute_pre_trade<D: PreTradeDriver, S>(
    on_reserved: impl FnOnce(&mut S, Reserved<'_, D>) -> HookResult<Decision> + Send + 'static,
    on_rejected: impl FnOnce(&mut S, &D::Rejects) -> HookResult + Send + 'static,
) -> CallStep<D, S> {
    Box::new(|source, engine, state| {
        let order = order(source);
        let reservation = match engine.change(|driver, now| driver.execute_pre_trade(order, now))? {
            Ok(reservation) => reservation,
            Err(rejects) => return refused::<D, S>(state, &rejects, on_rejected),
        };
        let decision = engine
            .call(|driver, _| Ok(driver.view(&reservation)))
            .and_then(|view| {
                let view = &view;
                hook(|| on_reserved(state, Reserved { order, view }))
            });
        engine.decide(reservation, decision)
    })
}

pub(super) fn apply_drop_copy<D: PreTradeDriver, S>(
    on_applied: impl FnOnce(&mut S, Followed<'_, D>) -> HookResult<Decision> + Send + 'static,
    on_rejected: impl FnOnce(&mut S, &D::Rejects) -> HookResult + Send + 'static,
) -> CallStep<D, S> {
    Box::new(|source, engine, state| {
        let order = order(source);
        let (reservation, view) =
            match engine.change(|driver, now| driver.apply_drop_copy(order, now))? {
                Ok(applied) => applied,
                Err(rejects) => return refused::<D, S>(state, &rejects, on_rejected),
            };
        let view = &view;
        let decision = hook(|| on_applied(state, Followed { order, view }));
        engine.decide(reservation, decision)
    })
}

pub(super) fn apply_execution_report<D: PreTradeDriver, S>(
    report: impl FnOnce(&mut S) -> HookResult<D::Report> + Send + 'static,
    on_settled: impl FnOnce(&mut S, Settled<'_, D>) -> HookResult + Send + 'static,
) -> CallStep<D, S> {
    Box::new(|_, engine, state| {
        let report = &hook(|| report(state))?;
        if D::report_account(report) != Some(account(engine.key)) {
            return Err(Stop::Failed(ChainError::OtherAccount));
        }
        let settled = &engine.change(|driver, now| driver.apply_execution_report(report, now))?;
        hook(|| on_settled(state, Settled { report, settled }))
    })
}

pub(super) fn apply_account_adjustment<D: PreTradeDriver, S>(
    adjustments: impl FnOnce(&mut S) -> HookResult<D::Adjustments> + Send + 'static,
    on_adjusted: impl FnOnce(&mut S, Adjusted<'_, D>) -> HookResult + Send + 'static,
) -> CallStep<D, S> {
    Box::new(|_, engine, state| {
        let adjustments = &hook(|| adjustments(state))?;
        let account = account(engine.key);
        let adjusted = &engine
            .change(|driver, now| driver.apply_account_adjustment(account, adjustments, now))?;
        let result = Adjusted {
            adjustments,
            adjusted,
        };
        hook(|| on_adjusted(state, result))
    })
}

pub(super) fn retire_account<D: PreTradeDriver, S>(
    on_retired: impl FnOnce(&mut S) -> HookResult + Send + 'static,
) -> CallStep<D, S> {
    Box::new(|_, engine, state| {
        let account = account(engine.key);
        engine.change(|driver, now| driver.retire_account(account, now))?;
        hook(|| on_retired(state))
    })
}
