//! The plain model of one shard: what its journal's records add up to, in whole
//! numbers, without a table, a policy or a hold of the risk engine's.

use std::collections::BTreeMap;

use crate::journal::{MemoryJournal, RecordView};
use crate::orders::decision::Size;
use crate::shard::record::{
    DecisionRecord, Effect, HoldStanding, OrderRecord, OrderStanding, ToldKind, ToldOutcome,
    ToldRecord, decode,
};
use crate::types::{AccountId, ClientOrderId, Price, Quantity, Report, ReportKind, Side};

/// Raw units of an amount in a raw unit of a quantity.
const OF_QUANTITY: i128 = 1_000_000_000;

/// An order that holds something, or did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub(super) account: AccountId,
    pub(super) side: Side,
    pub(super) price: Price,
    pub(super) quantity: i128,
    pub(super) filled: i128,
    pub(super) is_over: bool,
    /// The first record of it.
    pub(super) sequence: u64,
}

impl Kept {
    /// What it must hold of the base and of the settlement asset.
    fn held(&self) -> [i128; 2] {
        let left = (self.quantity - self.filled).max(0);
        match self.side {
            _ if self.is_over => [0, 0],
            Side::Buy => [0, left * i128::from(self.price.raw())],
            Side::Sell => [left * OF_QUANTITY, 0],
        }
    }
}

/// What an account has traded: raw units of a quantity, and of an amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traded {
    pub(super) net: i128,
    pub(super) cash: i128,
}

impl Traded {
    pub(super) fn add(&mut self, side: Side, quantity: i128, price: Price) {
        let signed = if side == Side::Buy {
            quantity
        } else {
            -quantity
        };
        self.net += signed;
        self.cash -= signed * i128::from(price.raw());
    }

    /// The change of the base asset's balance.
    pub(super) const fn base(&self) -> i128 {
        self.net * OF_QUANTITY
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Ledger {
    groups: usize,
    /// Decisions by the identity that they were given.
    pub(super) decisions: BTreeMap<ClientOrderId, Kept>,
    /// What decisions are called, by identity.
    pub(super) names: BTreeMap<ClientOrderId, String>,
    numbers: BTreeMap<u64, ClientOrderId>,
    /// The shard's own orders.
    pub(super) own: BTreeMap<ClientOrderId, Kept>,
    pub(super) traded: BTreeMap<AccountId, Traded>,
    /// Messages of the executor that were taken, by its numbers.
    pub(super) told: BTreeMap<u64, ToldRecord>,
    pub(super) reports: Vec<Report>,
    /// Executions that had no hold.
    pub(super) without_hold: u64,
    /// Records that should never be: repeated, or set aside.
    pub(super) strange: u64,
}

impl Ledger {
    /// Adds what was written since; false if a record cannot be read.
    pub(super) fn follow(&mut self, journal: &MemoryJournal) -> bool {
        let mut is_sound = true;
        let skipped = self.groups;
        let groups = journal.read_from(skipped, &mut |record| is_sound &= self.take(record));
        self.groups = groups;
        is_sound
    }

    /// What all that holds must hold, of an account.
    pub(super) fn held(&self, account: AccountId) -> [i128; 2] {
        let all = self.decisions.values().chain(self.own.values());
        all.filter(|kept| kept.account == account)
            .fold([0; 2], |[base, settlement], kept| {
                let [of_base, of_settlement] = kept.held();
                [base + of_base, settlement + of_settlement]
            })
    }

    pub(super) fn traded(&self, account: AccountId) -> Traded {
        self.traded.get(&account).copied().unwrap_or_default()
    }

    fn take(&mut self, record: &RecordView<'_>) -> bool {
        let Ok(effect) = decode(record.kind, record.version, record.body) else {
            return false;
        };
        match effect {
            Effect::Order(order) => self.take_order(&order, record.sequence),
            Effect::Decision(decision) => return self.take_decision(&decision, record.sequence),
            Effect::Hold(hold) if hold.standing == HoldStanding::Ended => {
                let id = self.numbers.get(&hold.number);
                if let Some(kept) = id.and_then(|id| self.decisions.get_mut(id)) {
                    kept.is_over = true;
                }
            }
            Effect::Told(told) => self.take_told(&told),
            Effect::Report(report) => self.take_report(&report),
            Effect::Hold(_)
            | Effect::Account(_)
            | Effect::Block(_)
            | Effect::Config(_)
            | Effect::Adjustment(_) => {}
        }
        true
    }

    fn take_order(&mut self, order: &OrderRecord, sequence: u64) {
        let terms = &order.order;
        let kept = self.own.entry(order.id).or_insert_with(|| Kept {
            account: terms.account,
            side: terms.side,
            price: terms.price.unwrap_or(Price::ZERO),
            quantity: raw(terms.quantity.unwrap_or(Quantity::ZERO)),
            filled: 0,
            is_over: false,
            sequence,
        });
        kept.filled = raw(order.cumulative);
        kept.is_over |= order.standing != OrderStanding::Open;
    }

    fn take_decision(&mut self, record: &DecisionRecord, sequence: u64) -> bool {
        let decision = &record.decision;
        let (Some(grant), Size::Quantity(quantity)) = (&decision.grant, decision.size) else {
            return false;
        };
        let id = grant.client_order_id;
        let kept = Kept {
            account: decision.account_id,
            side: decision.side,
            price: decision.price.unwrap_or(Price::ZERO),
            quantity: raw(quantity),
            filled: 0,
            is_over: false,
            sequence,
        };
        self.numbers.insert(record.number, id);
        self.names.insert(id, decision.decision_id.clone());
        self.decisions.insert(id, kept).is_none()
    }

    fn take_told(&mut self, told: &ToldRecord) {
        self.told.insert(told.sequence, *told);
        let is_booked = match told.outcome {
            ToldOutcome::Settled => true,
            ToldOutcome::NoHold => {
                self.without_hold += u64::from(told.kind == ToldKind::Execution);
                true
            }
            ToldOutcome::Repeated | ToldOutcome::SetAside => {
                self.strange += 1;
                false
            }
        };
        let (Some(account), Some(side), true) = (told.account, told.side, is_booked) else {
            return;
        };
        let quantity = raw(told.quantity);
        let traded = self.traded.entry(account).or_default();
        match told.kind {
            ToldKind::Execution => traded.add(side, quantity, told.price),
            ToldKind::Reversal => traded.add(side, -quantity, told.price),
            ToldKind::Release => {}
        }
        if told.kind == ToldKind::Execution
            && let Some(kept) = self.decisions.get_mut(&told.client_order_id)
        {
            kept.filled += quantity;
        }
    }

    fn take_report(&mut self, report: &Report) {
        if report.kind == ReportKind::Executed {
            let traded = self.traded.entry(report.account).or_default();
            traded.add(report.side, raw(report.quantity), report.price);
        }
        self.reports.push(*report);
    }
}

pub(super) fn raw(quantity: Quantity) -> i128 {
    i128::from(quantity.raw())
}
