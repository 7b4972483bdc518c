//! Execution reports: what happened at the venue settles the hold that was
//! made for it, and is never refused (rule K28).

use super::engine::RiskEngine;
use super::order_table::Status;
use super::token::{ReservationToken, TokenError};
use crate::time::Nanos;
use crate::types::{
    AccountId, Amount, AssetId, FillId, InstrumentId, Price, Quantity, RejectCode, Side,
};

/// What a venue says about an order: a trade, the order's end, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionReport {
    /// The order; `None` for a trade of an order that the engine never saw.
    pub token: Option<ReservationToken>,
    /// Whose order.
    pub account: AccountId,
    /// What it trades.
    pub instrument: InstrumentId,
    /// Buy or sell.
    pub side: Side,
    /// The execution; a repeated one is ignored and counted.
    pub fill_id: Option<FillId>,
    /// The trade's price; of no meaning where `quantity` is zero.
    pub price: Price,
    /// What was traded; zero in a report without a trade.
    pub quantity: Quantity,
    /// What the account pays; negative is a rebate. Needs no trade.
    pub fee: Amount,
    /// What the fee is paid in; the settlement asset where it is left out.
    pub fee_asset: Option<AssetId>,
    /// Profit that the trade realized, before the fee.
    pub pnl: Amount,
    /// The order is over: what is left of its hold is released.
    pub is_final: bool,
}

/// What a report did beside its booking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportOutcome {
    /// The fill was booked before; nothing was changed.
    pub duplicate: bool,
    /// The report blocked the account, for this.
    pub blocked: Option<RejectCode>,
    /// A person should look.
    pub alarms: Alarms,
    /// What of the order still works; zero when it is over.
    pub leaves: Quantity,
}

/// What a person should look at; several at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alarms(u16);

impl Alarms {
    /// More was filled than was left.
    pub const OVERFILL: Self = Self(1);
    /// The order was over, or none of ours.
    pub const NO_ORDER: Self = Self(2);
    /// A leg did not fit its balance and is in quarantine.
    pub const OVERFLOW: Self = Self(4);
    /// The account was not known; it was opened.
    pub const UNKNOWN_ACCOUNT: Self = Self(8);
    /// Too many executions in the window.
    pub const REPEATED_EXECUTION: Self = Self(16);
    /// The realized profit or loss left its bounds.
    pub const PNL: Self = Self(32);
    /// The instrument was not known; the fill is in quarantine.
    pub const UNKNOWN_INSTRUMENT: Self = Self(64);
    /// A custom policy failed.
    pub const POLICY_FAILED: Self = Self(128);
    /// The token and the report name different orders.
    pub const MISMATCH: Self = Self(256);

    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `other` is in it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn raise(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl RiskEngine {
    /// Books what happened.
    ///
    /// # Errors
    /// The token is of another shard, or was never committed; nothing was
    /// booked, and the report must go where it belongs. Any other fault is
    /// booked and alarmed: it happened.
    pub fn apply_execution_report(
        &mut self,
        report: &ExecutionReport,
        _now: Nanos,
    ) -> Result<ReportOutcome, TokenError> {
        self.settle_dropped();
        let mut outcome = ReportOutcome::default();
        let Some(token) = report.token else {
            outcome.alarms.raise(Alarms::NO_ORDER);
            return Ok(outcome);
        };
        match self.entry(token).map(|entry| entry.status) {
            Ok(Status::Working) => {}
            Ok(_) => return Err(TokenError::NotCommitted),
            Err(TokenError::Stale) => {
                outcome.alarms.raise(Alarms::NO_ORDER);
                return Ok(outcome);
            }
            Err(error) => return Err(error),
        }
        if report.is_final {
            self.forget(token.index);
        }
        Ok(outcome)
    }
}
