//! Our own risk engine behind the typed calls (rule L1).

use std::sync::Arc;

use crate::risk::{
    AdjustError, Adjustment, BlockError, ConfigError, DropCopy, ExecuteError, ExecutionReport,
    LookupError, Rejects, ReportOutcome, RequestToken, ReservationToken, RetireError, RiskConfig,
    RiskEngine, TokenError,
};
use crate::time::Nanos;
use crate::types::{AccountId, AssetId, Order, RejectCode};

use super::change::{Change, ChangeOf, ControlDriver};
use super::pre_trade::PreTradeDriver;

/// The risk engine's own failures; refusals of orders are values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RiskError {
    /// A token that the call needs is of no use.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A batch of adjustments was refused.
    #[error(transparent)]
    Adjust(#[from] AdjustError),
    /// An account cannot be retired.
    #[error(transparent)]
    Retire(#[from] RetireError),
    /// There is no such account, or no such block.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A change names an account that is not known.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A configuration was refused; the old one stays.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl PreTradeDriver for RiskEngine {
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
        // Every id is an account's.
        Some(order.account)
    }

    fn report_account(report: &ExecutionReport) -> Option<AccountId> {
        Some(report.account)
    }

    fn is_malformed(rejects: &Rejects) -> bool {
        rejects.as_slice().is_empty()
    }

    fn start_pre_trade(
        &mut self,
        order: &Order,
        now: Nanos,
    ) -> Result<Result<RequestToken, Rejects>, RiskError> {
        Ok(Self::start_pre_trade(self, order, now))
    }

    fn execute(
        &mut self,
        request: RequestToken,
        now: Nanos,
    ) -> Result<Result<ReservationToken, Rejects>, RiskError> {
        match Self::execute(self, request, now) {
            Ok(reservation) => Ok(Ok(reservation)),
            Err(ExecuteError::Rejected(rejects)) => Ok(Err(rejects)),
            Err(ExecuteError::Token(error)) => Err(error.into()),
        }
    }

    fn execute_pre_trade(
        &mut self,
        order: &Order,
        now: Nanos,
    ) -> Result<Result<ReservationToken, Rejects>, RiskError> {
        Ok(Self::execute_pre_trade(self, order, now))
    }

    fn check_order(&mut self, order: &Order, now: Nanos) -> Result<Result<(), Rejects>, RiskError> {
        Ok(Self::check_order(self, order, now))
    }

    fn apply_drop_copy(
        &mut self,
        order: &Order,
        now: Nanos,
    ) -> Result<Result<(ReservationToken, DropCopy), Rejects>, RiskError> {
        Ok(Self::apply_drop_copy(self, order, now).map(|copy| (copy.token, copy)))
    }

    fn apply_execution_report(
        &mut self,
        report: &ExecutionReport,
        now: Nanos,
    ) -> Result<ReportOutcome, RiskError> {
        Ok(Self::apply_execution_report(self, report, now)?)
    }

    fn apply_account_adjustment(
        &mut self,
        account: AccountId,
        adjustments: &Vec<Adjustment>,
        _now: Nanos,
    ) -> Result<(), RiskError> {
        Ok(self.adjust(account, adjustments)?)
    }

    fn retire_account(&mut self, account: AccountId, _now: Nanos) -> Result<(), RiskError> {
        Ok(self.retire(account)?)
    }

    fn view(&self, reservation: &ReservationToken) -> ReservationToken {
        *reservation
    }

    fn commit(&mut self, reservation: &mut ReservationToken, _now: Nanos) -> Result<(), RiskError> {
        Ok(Self::commit(self, *reservation)?)
    }

    fn rollback(
        &mut self,
        reservation: &mut ReservationToken,
        _now: Nanos,
    ) -> Result<(), RiskError> {
        Ok(Self::rollback(self, *reservation)?)
    }

    fn abandon(&mut self, request: RequestToken) {
        // Stale only where the account went with it; nothing is left then.
        let _ = Self::abandon(self, request);
    }
}

impl ControlDriver for RiskEngine {
    type Cause = RejectCode;
    type Currency = AssetId;
    type Config = Arc<RiskConfig>;

    fn change(&mut self, change: &ChangeOf<Self>) -> Result<(), RiskError> {
        match change {
            Change::BlockAccount(account, cause) => self.block_account(*account, *cause)?,
            Change::ReplaceBlock(account, cause) => self.replace_block(*account, *cause)?,
            Change::UnblockAccount(account) => self.unblock_account(*account)?,
            Change::BlockGroup(group, cause) => self.block_group(*group, *cause),
            Change::ReplaceGroupBlock(group, cause) => self.replace_group_block(*group, *cause)?,
            Change::UnblockGroup(group) => self.unblock_group(*group),
            Change::GroupCurrency(group, currency) => self.set_group_currency(*group, *currency),
            Change::JoinGroup(accounts, group) => {
                for account in accounts {
                    // All are known, or none joins.
                    self.group_of(*account)?;
                }
                for account in accounts {
                    self.register(*account, *group)?;
                }
            }
            Change::LeaveGroup(accounts, group) => {
                for account in accounts {
                    self.group_of(*account)?;
                }
                for account in accounts {
                    if self.group_of(*account)? == Some(*group) {
                        self.unregister(*account)?;
                    }
                }
            }
            Change::UnblockAll => self.unblock_all(),
            Change::Configure(config) => {
                self.reconfigure(config)?;
            }
        }
        Ok(())
    }
}
