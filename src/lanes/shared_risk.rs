//! The risk engine for the dynamic strategy (rule L1): any worker may call it
//! for any account.
//!
//! ```text
//!  lane of account A ─┐ hash  ┌─ engine 0 ── its accounts ─┐
//!  lane of account B ─┼──────▶├─ engine 1 ── its accounts ─┼─ SharedLimits
//!  lane of group G  ──┘ all   └─ …                         ┘
//! ```
//!
//! A few engines with a lock each, rather than one for each account: what spans
//! engines has a bounded number of seats, and an engine has tables that serve
//! thousands of accounts. A lock is held for one call, which does not block.
#![allow(unsafe_code)]

use core::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::limits::SHARDS_MAX;
use crate::risk::{
    Adjustment, Balance, BlockError, ConfigError, DropCopy, ExecutionReport, Rejects,
    ReportOutcome, RequestToken, ReservationToken, RiskConfig, RiskEngine, SharedLimits,
};
use crate::time::Nanos;
use crate::types::{AccountId, AssetId, Order, RejectCode, ShardId};

use super::change::{Change, ChangeOf, ControlDriver};
use super::key::LaneKey;
use super::pre_trade::PreTradeDriver;
use super::risk_driver::RiskError;
use super::sync::Mutex;
use super::wake::{MutexGuard, lock};

/// The risk engines of one dynamic engine; a clone is the same ones. Give it to
/// [`DynamicBuilder::build_shared`](super::DynamicBuilder::build_shared).
///
/// Accounts are spread over `engines` of them, and calls for accounts of
/// different ones run in parallel. What spans accounts by the configuration
/// holds for all of them. Custom policies stay with one thread, so it has none.
#[derive(Clone)]
pub struct SharedRisk {
    engines: Arc<[CachePadded<Mutex<Movable>>]>,
    /// Held while a change goes through all of them, so that all see the same
    /// order of changes.
    sequence: Arc<Mutex<()>>,
}

/// An engine that goes from thread to thread.
struct Movable(RiskEngine);

// SAFETY: of an engine only its custom policies, what those registered, and the
// list that owners of reservations share with it stay with one thread
// (risk/engine.rs checks that the rest is `Send`). This one is never seen
// outside of this file, which adds no policy and makes no owner.
unsafe impl Send for Movable {}

impl SharedRisk {
    /// Engines of this configuration: 1 to [`SHARDS_MAX`], for as many calls at
    /// once; twice the workers will seldom wait for each other.
    ///
    /// # Errors
    /// The configuration's first fault, or a number out of range.
    pub fn new(config: &RiskConfig, engines: u16) -> Result<Self, ConfigError> {
        if engines == 0 || usize::from(engines) > SHARDS_MAX {
            return Err(ConfigError::Value {
                place: "engines".into(),
                problem: format!("1 to {SHARDS_MAX}"),
            });
        }
        let shared = Arc::new(SharedLimits::new(config)?);
        let made = (0..engines).map(|number| {
            let shard = ShardId(number);
            let mine = |account| LaneKey::Account(account).shard(engines) == shard;
            let engine = RiskEngine::with_accounts(config, shard, Arc::clone(&shared), mine)?;
            Ok(CachePadded::new(Mutex::new(Movable(engine))))
        });
        Ok(Self {
            engines: made.collect::<Result<_, ConfigError>>()?,
            sequence: Arc::default(),
        })
    }

    /// What an account has of an asset.
    #[must_use]
    pub fn balance(&self, account: AccountId, asset: AssetId) -> Balance {
        self.of(account).0.balance(account, asset)
    }

    /// Why an account's orders are refused, if they are.
    ///
    /// # Errors
    /// The account is not known.
    pub fn block_of(&self, account: AccountId) -> Result<Option<RejectCode>, BlockError> {
        self.of(account).0.block_of(account)
    }

    /// Blocks everything, before it returns (rule K7).
    pub fn block_all(&self, cause: RejectCode) {
        // What all engines share.
        self.at(ShardId(0)).0.block_all(cause);
    }

    fn of(&self, account: AccountId) -> MutexGuard<'_, Movable> {
        // At most `SHARDS_MAX`.
        let engines = u16::try_from(self.engines.len()).unwrap_or(u16::MAX);
        self.at(LaneKey::Account(account).shard(engines))
    }

    /// A token of another broker's engines may name a shard that these do not
    /// have; whichever engine is asked refuses it.
    fn at(&self, shard: ShardId) -> MutexGuard<'_, Movable> {
        lock(&self.engines[usize::from(shard.0) % self.engines.len()])
    }

    fn each(
        &self,
        mut change: impl FnMut(&mut RiskEngine) -> Result<(), RiskError>,
    ) -> Result<(), RiskError> {
        let _sequence = lock(&self.sequence);
        self.engines
            .iter()
            .try_for_each(|engine| change(&mut lock(engine).0))
    }
}

impl PreTradeDriver for SharedRisk {
    type Order = Order;
    type Request = RequestToken;
    type Reservation = ReservationToken;
    /// The token that execution reports of the order name.
    type View = ReservationToken;
    type DropCopyView = DropCopy;
    type Rejects = Rejects;
    type Report = ExecutionReport;
    type Settled = ReportOutcome;
    type Adjustments = Vec<Adjustment>;
    type Adjusted = ();
    type Error = RiskError;

    fn account_of(order: &Order) -> Option<AccountId> {
        Some(order.account)
    }

    fn report_account(report: &ExecutionReport) -> Option<AccountId> {
        Some(report.account)
    }

    fn is_malformed(rejects: &Rejects) -> bool {
        <RiskEngine as PreTradeDriver>::is_malformed(rejects)
    }

    fn start_pre_trade(
        &mut self,
        order: &Order,
        now: Nanos,
    ) -> Result<Result<RequestToken, Rejects>, RiskError> {
        PreTradeDriver::start_pre_trade(&mut self.of(order.account).0, order, now)
    }

    fn execute(
        &mut self,
        request: RequestToken,
        now: Nanos,
    ) -> Result<Result<ReservationToken, Rejects>, RiskError> {
        PreTradeDriver::execute(&mut self.at(request.shard).0, request, now)
    }

    fn execute_pre_trade(
        &mut self,
        order: &Order,
        now: Nanos,
    ) -> Result<Result<ReservationToken, Rejects>, RiskError> {
        PreTradeDriver::execute_pre_trade(&mut self.of(order.account).0, order, now)
    }

    fn check_order(&mut self, order: &Order, now: Nanos) -> Result<Result<(), Rejects>, RiskError> {
        PreTradeDriver::check_order(&mut self.of(order.account).0, order, now)
    }

    fn apply_drop_copy(
        &mut self,
        order: &Order,
        now: Nanos,
    ) -> Result<Result<(ReservationToken, DropCopy), Rejects>, RiskError> {
        PreTradeDriver::apply_drop_copy(&mut self.of(order.account).0, order, now)
    }

    fn apply_execution_report(
        &mut self,
        report: &ExecutionReport,
        now: Nanos,
    ) -> Result<ReportOutcome, RiskError> {
        PreTradeDriver::apply_execution_report(&mut self.of(report.account).0, report, now)
    }

    fn apply_account_adjustment(
        &mut self,
        account: AccountId,
        adjustments: &Vec<Adjustment>,
        now: Nanos,
    ) -> Result<(), RiskError> {
        let engine = &mut self.of(account).0;
        PreTradeDriver::apply_account_adjustment(engine, account, adjustments, now)
    }

    fn retire_account(&mut self, account: AccountId, now: Nanos) -> Result<(), RiskError> {
        PreTradeDriver::retire_account(&mut self.of(account).0, account, now)
    }

    fn view(&self, reservation: &ReservationToken) -> ReservationToken {
        *reservation
    }

    fn commit(&mut self, reservation: &mut ReservationToken, now: Nanos) -> Result<(), RiskError> {
        PreTradeDriver::commit(&mut self.at(reservation.shard).0, reservation, now)
    }

    fn rollback(
        &mut self,
        reservation: &mut ReservationToken,
        now: Nanos,
    ) -> Result<(), RiskError> {
        PreTradeDriver::rollback(&mut self.at(reservation.shard).0, reservation, now)
    }

    fn abandon(&mut self, request: RequestToken) {
        PreTradeDriver::abandon(&mut self.at(request.shard).0, request);
    }
}

impl ControlDriver for SharedRisk {
    type Cause = RejectCode;
    type Currency = AssetId;
    type Config = Arc<RiskConfig>;

    fn change(&mut self, change: &ChangeOf<Self>) -> Result<(), RiskError> {
        match change {
            Change::BlockAccount(account, _)
            | Change::ReplaceBlock(account, _)
            | Change::UnblockAccount(account) => self.of(*account).0.change(change),
            Change::JoinGroup(accounts, _) | Change::LeaveGroup(accounts, _) => {
                let _sequence = lock(&self.sequence);
                for account in accounts {
                    self.of(*account).0.group_of(*account)?;
                }
                let engines = u16::try_from(self.engines.len()).unwrap_or(u16::MAX);
                for (shard, part) in change.by_shard(engines) {
                    self.at(ShardId(shard)).0.change(&part)?;
                }
                Ok(())
            }
            _ => self.each(|engine| engine.change(change)),
        }
    }
}

impl fmt::Debug for SharedRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRisk")
            .field("engines", &self.engines.len())
            .finish_non_exhaustive()
    }
}
