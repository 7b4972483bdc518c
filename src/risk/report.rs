//! Execution reports: what happened at the venue settles the hold that was
//! made for it, and is never refused (rule K28).

use super::account::Account;
use super::custom::RiskEvent;
use super::engine::RiskEngine;
use super::exposure::incoming_asset;
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
    /// The configuration asks for the cancel of what works: of the account, or
    /// of everyone where [`SharedLimits::halted`](super::SharedLimits::halted)
    /// says so.
    pub cancel_working: bool,
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
    /// The token and the report name different orders, or the report trades less
    /// than nothing.
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
        now: Nanos,
    ) -> Result<ReportOutcome, TokenError> {
        self.settle_dropped();
        let order = match report.token {
            None => None,
            Some(token) => match self.entry(token).map(|entry| entry.status) {
                Ok(Status::Working) => Some(token.index),
                Ok(_) => return Err(TokenError::NotCommitted),
                Err(TokenError::Stale) => None,
                Err(error) => return Err(error),
            },
        };
        let mut outcome = ReportOutcome::default();
        if report
            .fill_id
            .is_some_and(|id| !self.fills.first_time(id.0))
        {
            self.duplicate_fills += 1;
            outcome.duplicate = true;
            outcome.leaves = order.map_or(Quantity::ZERO, |index| self.leaves(index));
            return Ok(outcome);
        }
        let order = order.filter(|index| {
            let entry = self.orders.get(*index);
            let same = entry.order.account == report.account
                && entry.order.instrument == report.instrument
                && entry.order.side == report.side;
            if !same {
                outcome.alarms.raise(Alarms::MISMATCH);
            }
            same
        });
        let account = self.account_of_fact(report.account, &mut outcome);
        let Some(instrument) = self.rules.instruments.find(report.instrument) else {
            outcome.alarms.raise(Alarms::UNKNOWN_INSTRUMENT);
            self.quarantine_report(account, report);
            self.block_for(account, RejectCode::UnknownInstrument, &mut outcome);
            return Ok(outcome);
        };
        if report.quantity.is_negative() {
            // No trade is; a bust is a command of its own.
            outcome.alarms.raise(Alarms::MISMATCH);
            self.quarantine_report(account, report);
            self.block_for(account, RejectCode::InvalidFieldValue, &mut outcome);
            return Ok(outcome);
        }
        if order.is_none() && (!report.quantity.is_zero() || !report.is_final) {
            outcome.alarms.raise(Alarms::NO_ORDER);
        }
        if !report.quantity.is_zero() {
            self.book_trade(account, instrument, order, report, now, &mut outcome);
        }
        self.book_fee(account, instrument, report, &mut outcome);
        self.book_pnl(account, instrument, report, &mut outcome);
        if let Some(index) = order {
            if report.is_final {
                self.release_hold(index);
                self.forget(index);
            } else {
                outcome.leaves = self.leaves(index);
            }
        }
        let event = RiskEvent::Report(report);
        if !self.custom.is_empty() && self.tell_custom(Some(report.account), &event) {
            outcome.alarms.raise(Alarms::POLICY_FAILED);
        }
        Ok(outcome)
    }

    /// Reports that were ignored because their fill was booked before (K28).
    #[must_use]
    pub const fn duplicate_fills(&self) -> u64 {
        self.duplicate_fills
    }

    /// What of an order still works; of one by volume, in the base asset at its
    /// lock price.
    fn leaves(&self, index: u32) -> Quantity {
        let entry = self.orders.get(index);
        let total = match entry.order.quantity {
            Some(quantity) => quantity.raw(),
            None => return Quantity::from_raw(entry.hold.counted),
        };
        Quantity::from_raw(total.saturating_sub(entry.hold.filled).max(0))
    }

    /// A fact's account; one that is not known is opened, and blocked.
    fn account_of_fact(&mut self, id: AccountId, outcome: &mut ReportOutcome) -> u32 {
        if let Some(number) = self.accounts.find(id.0) {
            return number;
        }
        outcome.alarms.raise(Alarms::UNKNOWN_ACCOUNT);
        let number = self.accounts.insert(Account::new(id.0, 0, false));
        self.block_for(number, RejectCode::UnknownAccount, outcome);
        number
    }

    fn block_for(&mut self, account: u32, cause: RejectCode, outcome: &mut ReportOutcome) {
        if self.latch(account, cause) {
            outcome.blocked = Some(cause);
        }
    }

    fn book_trade(
        &mut self,
        account: u32,
        instrument: u32,
        order: Option<u32>,
        report: &ExecutionReport,
        now: Nanos,
        outcome: &mut ReportOutcome,
    ) {
        if let Some(index) = order
            && self.settle_order(index, report)
        {
            outcome.alarms.raise(Alarms::OVERFILL);
            self.block_for(account, RejectCode::RiskLimitExceeded, outcome);
        }
        let (base, settlement) = self.assets_of(instrument);
        let paid = report.price.notional(report.quantity).raw();
        let units = report.quantity.amount().raw();
        let (of_settlement, of_base) = match report.side {
            Side::Buy => (-paid, units),
            Side::Sell => (paid, -units),
        };
        for (asset, delta) in [(settlement, of_settlement), (base, of_base)] {
            self.book(account, asset, delta, report.fill_id, outcome);
        }
        self.book_position(account, instrument, report, outcome);
        let profile = self.profile_of(account);
        if let Some(rate) = self.rules.profile_at(profile).repeated {
            let meter = self.meters.fills(account, instrument);
            if !self.pool.hit(&mut meter.orders, now, rate) {
                outcome.alarms.raise(Alarms::REPEATED_EXECUTION);
                self.block_for(account, RejectCode::RepeatedExecution, outcome);
            }
        }
    }

    /// Releases a trade's share of the order's hold; whether more was traded
    /// than was left.
    fn settle_order(&mut self, index: u32, report: &ExecutionReport) -> bool {
        let entry = *self.orders.get(index);
        let (base, settlement) = self.assets_of(entry.instrument);
        let traded = report.quantity;
        let units = traded.amount().raw();
        let at_lock = Price::from_raw(entry.hold.lock_price)
            .notional(traded)
            .raw();
        let mut hold = entry.hold;
        let from_settlement = at_lock.saturating_abs().min(hold.settlement);
        if from_settlement != 0 {
            hold.settlement -= from_settlement;
            self.unreserve(entry.account, settlement, from_settlement);
        }
        let from_base = units.min(hold.base);
        if from_base != 0 {
            hold.base -= from_base;
            self.unreserve(entry.account, base, from_base);
        }
        let expected = match entry.order.side {
            Side::Buy => units,
            Side::Sell => at_lock.max(0),
        }
        .min(hold.incoming);
        if expected != 0 {
            hold.incoming -= expected;
            let asset = incoming_asset(entry.order.side, base, settlement);
            self.holdings.of(entry.account, asset).incoming -= expected;
        }
        let counted = traded.raw().min(hold.counted);
        hold.counted -= counted;
        self.uncount(entry.account, entry.instrument, entry.order.side, counted);
        let credit = at_lock.saturating_abs().min(hold.credit);
        hold.credit -= credit;
        self.return_credit(entry.account, entry.instrument, credit);
        let over = match entry.order.quantity {
            Some(quantity) => {
                let total = quantity.raw().max(hold.replacing);
                traded.raw() > total.saturating_sub(hold.filled)
            }
            None => report.price.notional(traded).raw() > hold.volume,
        };
        hold.filled = hold.filled.saturating_add(traded.raw());
        hold.volume = hold
            .volume
            .saturating_sub(report.price.notional(traded).raw());
        self.orders.get_mut(index).hold = hold;
        over
    }

    /// Books one leg; one that does not fit goes to quarantine (K9).
    fn book(
        &mut self,
        account: u32,
        asset: AssetId,
        delta: i128,
        fill_id: Option<FillId>,
        outcome: &mut ReportOutcome,
    ) {
        let holding = self.holdings.of(account, asset);
        match holding.available.checked_add(delta) {
            Some(available) => holding.available = available,
            None => {
                outcome.alarms.raise(Alarms::OVERFLOW);
                self.quarantine(account, asset, delta, fill_id);
                self.block_for(account, RejectCode::ArithmeticOverflow, outcome);
            }
        }
    }

    fn book_position(
        &mut self,
        account: u32,
        instrument: u32,
        report: &ExecutionReport,
        outcome: &mut ReportOutcome,
    ) {
        let any_credit = self.rules.any_credit;
        let position = self.positions.of(account, instrument);
        let before = position.value();
        let delta = match report.side {
            Side::Buy => i128::from(report.quantity.raw()),
            Side::Sell => -i128::from(report.quantity.raw()),
        };
        match position.net.checked_add(delta) {
            Some(net) => position.net = net,
            None => {
                outcome.alarms.raise(Alarms::OVERFLOW);
                self.block_for(account, RejectCode::ArithmeticOverflow, outcome);
                return;
            }
        }
        position.last_price = report.price.raw();
        let after = position.value();
        if any_credit && after != before {
            self.change_credit(account, instrument, after.saturating_sub(before));
        }
    }

    fn book_fee(
        &mut self,
        account: u32,
        instrument: u32,
        report: &ExecutionReport,
        outcome: &mut ReportOutcome,
    ) {
        if report.fee.is_zero() {
            return;
        }
        let (_, settlement) = self.assets_of(instrument);
        let asset = report.fee_asset.unwrap_or(settlement);
        // The smallest amount has no opposite; it cannot be a fee's.
        let delta = report.fee.raw().checked_neg().unwrap_or(i128::MAX);
        self.book(account, asset, delta, report.fill_id, outcome);
    }

    fn book_pnl(
        &mut self,
        account: u32,
        instrument: u32,
        report: &ExecutionReport,
        outcome: &mut ReportOutcome,
    ) {
        let (_, settlement) = self.assets_of(instrument);
        let in_settlement = report.fee_asset.is_none_or(|asset| asset == settlement);
        let fee = if in_settlement { report.fee.raw() } else { 0 };
        let delta = report.pnl.raw().saturating_sub(fee);
        // Without bounds there is nothing to do; with them a report that changes
        // nothing is still one at which an account is found out of bounds.
        if delta == 0 && !self.rules.any_pnl {
            return;
        }
        let Some(broken) = self.add_pnl(account, instrument, delta) else {
            outcome.alarms.raise(Alarms::OVERFLOW);
            self.quarantine(account, settlement, delta, report.fill_id);
            return self.block_for(account, RejectCode::ArithmeticOverflow, outcome);
        };
        if broken.account {
            outcome.alarms.raise(Alarms::PNL);
            self.block_for(account, RejectCode::PnlKillSwitchTriggered, outcome);
        }
        if broken.broker {
            outcome.alarms.raise(Alarms::PNL);
            self.shared.halt(RejectCode::PnlKillSwitchTriggered);
        }
        outcome.cancel_working =
            (broken.account || broken.broker) && self.rules.config.pnl.cancel_working;
    }
}
