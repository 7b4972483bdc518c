//! The crate's engine as a lane's driver.
//!
//! SAFETY: what is unsafe here is a promise that its caller makes; place.rs
//! relies on it.
#![allow(unsafe_code)]

use core::borrow::Borrow;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::openpit::param::AccountGroupIdError;
use ::openpit::pretrade::{
    DropCopyOperation, PostTradeResult, PreTradeRequest, PreTradeReservation, Reject, RejectCode,
    RejectScope, Rejects,
};
use ::openpit::{
    AccountAdjustmentBatchError, AccountAdjustmentBatchResult, AccountBlockError,
    AccountGroupError, AccountRetirementError, Engine, EngineTrait, FullSync, HasAccountId, param,
};

use crate::lanes::key::LaneKey;
use crate::lanes::pre_trade::PreTradeDriver;
use crate::time::Nanos;
use crate::types::AccountId;

use super::place::{AtHome, Leased, Place};
use super::view::{OpenpitCopyView, OpenpitView};

/// What a policy that panicked leaves behind.
const PANICKED: &str = "a check panicked";

/// An engine of the crate `openpit`, for a [`Desk`](crate::lanes::Desk) to
/// drive: `E` is the engine itself, one for each shard, or an `Arc` of one
/// full-sync engine that all shards use, for limits that span them.
///
/// Orders and reports travel in boxes, because a user's may be of any size. An
/// order is cloned when it is checked: that engine takes it by value, and a
/// future gives it back where it did not see it. The crate reads its own clock.
///
/// A panic in a check blocks the order's account in the engine. One in a
/// finalizer may have come from any policy and left anything half done, so it
/// halts the engine: orders are refused with `SystemUnavailable` until
/// [`resume`](Self::resume); drop copies and reports pass (rule K7).
pub struct OpenpitDriver<T: EngineTrait, E = Engine<T>, P: Place = AtHome> {
    engine: E,
    halted: Arc<AtomicBool>,
    busy: Busy,
    types: PhantomData<fn() -> (T, P)>,
}

/// What the engine is being asked, to know what a panic means.
#[derive(Clone, Copy, Debug)]
enum Busy {
    No,
    /// A check, a report or an adjustment of this account.
    Account(Option<AccountId>),
    Finalizer,
}

/// The engine's failures that are not refusals of orders.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenpitError {
    /// A batch of adjustments was refused; none was made.
    #[error(transparent)]
    Adjust(#[from] AccountAdjustmentBatchError),
    /// An account cannot be retired.
    #[error(transparent)]
    Retire(#[from] AccountRetirementError),
    /// A block of an account or a group cannot be changed.
    #[error(transparent)]
    Block(#[from] AccountBlockError),
    /// A change of membership was refused; nobody joined or left.
    #[error(transparent)]
    Group(#[from] AccountGroupError),
    /// The crate keeps this group for itself.
    #[error(transparent)]
    GroupId(AccountGroupIdError),
}

/// A started request, and whose it is.
pub struct Request<T: EngineTrait> {
    request: PreTradeRequest<T::Order>,
    account: Option<AccountId>,
}

/// What is committed or rolled back.
pub enum Reservation {
    /// Of an accepted order.
    Order(PreTradeReservation),
    /// Of an order that was placed elsewhere.
    Copy(DropCopyOperation),
}

impl<T: EngineTrait, E: Borrow<Engine<T>>> OpenpitDriver<T, E> {
    /// A driver of an engine, whose handles stay on its shard's worker.
    pub fn new(engine: E) -> Self {
        Self {
            engine,
            halted: Arc::default(),
            busy: Busy::No,
            types: PhantomData,
        }
    }
}

impl<T: EngineTrait<Sync = FullSync>> OpenpitDriver<T, Arc<Engine<T>>> {
    /// The same driver with handles that move between workers, which the dynamic
    /// strategy needs. An account's handles are used by one worker at a time.
    ///
    /// # Safety
    /// Whatever the engine's policies put into the mutations that they register
    /// is `Send`. The crate's own policies do so over a full-sync engine; it does
    /// not ask it of a policy of yours, so its types do not say it.
    #[must_use]
    pub unsafe fn leased(self) -> OpenpitDriver<T, Arc<Engine<T>>, Leased> {
        OpenpitDriver {
            engine: self.engine,
            halted: self.halted,
            busy: Busy::No,
            types: PhantomData,
        }
    }
}

impl<T: EngineTrait, E: Borrow<Engine<T>>, P: Place> OpenpitDriver<T, E, P> {
    /// The engine, for what has no typed call. Use it in its lane, by `submit`.
    pub fn engine(&self) -> &Engine<T> {
        self.engine.borrow()
    }

    /// Whether a finalizer has panicked, so that orders are refused.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Takes orders again, once what a finalizer left was looked at.
    pub fn resume(&self) {
        self.halted.store(false, Ordering::Release);
    }

    fn check<R>(
        &mut self,
        account: Option<AccountId>,
        call: impl FnOnce(&Engine<T>) -> Result<R, Rejects>,
    ) -> Result<R, Rejects> {
        if self.is_halted() {
            return Err(Rejects::from(Reject::new(
                "pitlane",
                RejectScope::Order,
                RejectCode::SystemUnavailable,
                "a finalizer panicked",
                "orders are refused until the engine is resumed",
            )));
        }
        self.ask(Busy::Account(account), call)
    }

    fn ask<R>(&mut self, what: Busy, call: impl FnOnce(&Engine<T>) -> R) -> R {
        self.busy = what;
        let answer = call(self.engine.borrow());
        self.busy = Busy::No;
        answer
    }
}

fn ours(account: param::AccountId) -> AccountId {
    AccountId(account.as_u64())
}

fn account_of(request: &impl HasAccountId) -> Option<AccountId> {
    request.account_id().ok().map(ours)
}

impl<T, E, P> PreTradeDriver for OpenpitDriver<T, E, P>
where
    T: EngineTrait,
    T::Order: HasAccountId + Clone + Send,
    T::ExecutionReport: HasAccountId + Send,
    T::AccountAdjustment: Send,
    E: Borrow<Engine<T>> + 'static,
    P: Place,
{
    type Order = Box<T::Order>;
    type Request = P::Kept<Request<T>>;
    type Reservation = P::Kept<Reservation>;
    type View = Box<OpenpitView>;
    type DropCopyView = Box<OpenpitCopyView>;
    type Rejects = Rejects;
    type Report = Box<T::ExecutionReport>;
    type Settled = PostTradeResult;
    type Adjustments = Vec<T::AccountAdjustment>;
    type Adjusted = AccountAdjustmentBatchResult;
    type Error = OpenpitError;

    fn account_of(order: &Box<T::Order>) -> Option<AccountId> {
        account_of(&**order)
    }

    fn report_account(report: &Box<T::ExecutionReport>) -> Option<AccountId> {
        account_of(&**report)
    }

    fn is_malformed(rejects: &Rejects) -> bool {
        rejects.is_empty()
    }

    fn start_pre_trade(
        &mut self,
        order: &Box<T::Order>,
        _now: Nanos,
    ) -> Result<Result<Self::Request, Rejects>, OpenpitError> {
        let account = account_of(&**order);
        let started = self.check(account, |engine| {
            engine.start_pre_trade(T::Order::clone(order))
        });
        Ok(started.map(|request| P::keep(Request { request, account })))
    }

    fn execute(
        &mut self,
        request: Self::Request,
        _now: Nanos,
    ) -> Result<Result<Self::Reservation, Rejects>, OpenpitError> {
        let Request { request, account } = P::take(request);
        let executed = self.check(account, |_| request.execute());
        Ok(executed.map(|reservation| P::keep(Reservation::Order(reservation))))
    }

    fn execute_pre_trade(
        &mut self,
        order: &Box<T::Order>,
        _now: Nanos,
    ) -> Result<Result<Self::Reservation, Rejects>, OpenpitError> {
        let executed = self.check(account_of(&**order), |engine| {
            engine.execute_pre_trade(T::Order::clone(order))
        });
        Ok(executed.map(|reservation| P::keep(Reservation::Order(reservation))))
    }

    fn check_order(
        &mut self,
        order: &Box<T::Order>,
        _now: Nanos,
    ) -> Result<Result<(), Rejects>, OpenpitError> {
        let account = account_of(&**order);
        Ok(self.check(account, |engine| {
            let found = engine.execute_pre_trade_dry_run(T::Order::clone(order));
            found.rejects().cloned().map_or(Ok(()), Err)
        }))
    }

    fn apply_drop_copy(
        &mut self,
        order: &Box<T::Order>,
        _now: Nanos,
    ) -> Result<Result<(Self::Reservation, Self::DropCopyView), Rejects>, OpenpitError> {
        let applied = self.ask(Busy::Account(account_of(&**order)), |engine| {
            engine.apply_drop_copy(T::Order::clone(order))
        });
        Ok(applied.map(|copy| {
            let view = Box::new(OpenpitCopyView::of(&copy));
            (P::keep(Reservation::Copy(copy)), view)
        }))
    }

    fn apply_execution_report(
        &mut self,
        report: &Box<T::ExecutionReport>,
        _now: Nanos,
    ) -> Result<PostTradeResult, OpenpitError> {
        Ok(self.ask(Busy::Account(account_of(&**report)), |engine| {
            engine.apply_execution_report(report)
        }))
    }

    fn apply_account_adjustment(
        &mut self,
        account: AccountId,
        adjustments: &Vec<T::AccountAdjustment>,
        _now: Nanos,
    ) -> Result<AccountAdjustmentBatchResult, OpenpitError> {
        let theirs = param::AccountId::from_u64(account.0);
        Ok(self.ask(Busy::Account(Some(account)), |engine| {
            engine.apply_account_adjustment(theirs, adjustments)
        })?)
    }

    fn retire_account(&mut self, account: AccountId, _now: Nanos) -> Result<(), OpenpitError> {
        let theirs = param::AccountId::from_u64(account.0);
        Ok(self.ask(Busy::Finalizer, |engine| engine.retire_account(theirs))?)
    }

    fn view(&self, reservation: &Self::Reservation) -> Box<OpenpitView> {
        Box::new(match P::get(reservation) {
            Reservation::Order(order) => OpenpitView::of(order),
            Reservation::Copy(copy) => OpenpitView::of_copy(copy),
        })
    }

    fn commit(
        &mut self,
        reservation: &mut Self::Reservation,
        _now: Nanos,
    ) -> Result<(), OpenpitError> {
        let reservation = P::get_mut(reservation);
        self.ask(Busy::Finalizer, |_| match reservation {
            Reservation::Order(order) => order.commit(),
            Reservation::Copy(copy) => copy.commit(),
        });
        Ok(())
    }

    fn rollback(
        &mut self,
        reservation: &mut Self::Reservation,
        _now: Nanos,
    ) -> Result<(), OpenpitError> {
        let reservation = P::get_mut(reservation);
        self.ask(Busy::Finalizer, |_| match reservation {
            Reservation::Order(order) => order.rollback(),
            Reservation::Copy(copy) => copy.rollback(),
        });
        Ok(())
    }

    fn abandon(&mut self, request: Self::Request) {
        drop(request);
    }

    fn panicked(&mut self, key: Option<LaneKey>) {
        let account = match core::mem::replace(&mut self.busy, Busy::No) {
            Busy::Finalizer => {
                self.halted.store(true, Ordering::Release);
                return;
            }
            Busy::Account(account) => account,
            // Work of the caller's, which may have used the engine.
            Busy::No => match key {
                Some(LaneKey::Account(account)) => Some(account),
                _ => None,
            },
        };
        if let Some(account) = account {
            let theirs = param::AccountId::from_u64(account.0);
            self.engine().accounts().block(theirs, PANICKED.to_owned());
        }
    }
}

impl<T, P> Clone for OpenpitDriver<T, Arc<Engine<T>>, P>
where
    T: EngineTrait,
    P: Place,
{
    /// Another reference to the same engine, for another shard or account.
    fn clone(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            halted: Arc::clone(&self.halted),
            busy: Busy::No,
            types: PhantomData,
        }
    }
}

impl<T: EngineTrait, E, P: Place> fmt::Debug for OpenpitDriver<T, E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenpitDriver")
            .field("halted", &self.halted)
            .finish_non_exhaustive()
    }
}

impl<T: EngineTrait> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reservation")
    }
}
