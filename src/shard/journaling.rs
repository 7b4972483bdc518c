//! A shard with a journal: what a turn did is one group of records, and nothing
//! of it leaves before the group is durable (rules J2 to J5).
//!
//! During a turn the shard notes what it changes; at its end the image of each
//! of these things is written, once, and the group is handed over. No call
//! waits, allocates or makes a system call, but to wake a sleeping journal.

use super::Admission;
use super::record::{
    AccountRecord, BlockRecord, EFFECT_VERSION, Effect, OrderRecord, OrderStanding, encode,
    encode_long,
};
use crate::journal::{Condition, JournalPort};
use crate::limits::{JOURNAL_GROUP_UNITS_MAX, SHARD_CLOSE_WAIT, SHARD_TOUCHED_FILTER};
use crate::orders::venue::Venue;
use crate::orders::{IdentitySource, OpenOrder};
use crate::risk::HoldImage;
use crate::types::{AccountId, ClientOrderId, InstrumentId, RejectCode, Report};

/// A shard's end of its journal, and what the turn has changed.
pub(super) struct ShardJournal {
    port: JournalPort,
    orders: Vec<ClientOrderId>,
    accounts: Vec<(AccountId, InstrumentId)>,
    /// What was noted lately, to note it once: a collision notes it twice, which
    /// is only longer.
    filter: Box<[Option<(AccountId, InstrumentId)>; SHARD_TOUCHED_FILTER]>,
    /// The firm-wide halt as it was written last.
    halt: Option<RejectCode>,
}

impl ShardJournal {
    pub(super) fn new(port: JournalPort, halt: Option<RejectCode>) -> Self {
        Self {
            port,
            orders: Vec::with_capacity(SHARD_TOUCHED_FILTER),
            accounts: Vec::with_capacity(SHARD_TOUCHED_FILTER),
            filter: Box::new([None; SHARD_TOUCHED_FILTER]),
            halt,
        }
    }

    #[inline]
    fn write(&mut self, effect: &Effect) {
        let encoded = encode(effect);
        let written = self
            .port
            .append(encoded.kind(), EFFECT_VERSION, encoded.body());
        debug_assert!(written.is_ok(), "an effect is shorter than a record");
    }

    fn note_account(&mut self, account: AccountId, instrument: InstrumentId) {
        let place = place_of(account, instrument);
        let key = Some((account, instrument));
        if self.filter[place] != key {
            self.filter[place] = key;
            self.accounts.push((account, instrument));
        }
    }

    /// Whether the shard may take more work.
    pub(super) fn takes_work(&self) -> bool {
        self.port.condition() != Condition::Failed && self.port.takes_work()
    }

    pub(super) fn condition(&self) -> Condition {
        self.port.condition()
    }

    pub(super) fn durable(&self) -> u64 {
        self.port.durable()
    }

    /// Sequence of the last record that was written.
    pub(super) const fn last(&self) -> u64 {
        self.port.last()
    }

    fn is_long(&self) -> bool {
        self.port.gathered_units() >= JOURNAL_GROUP_UNITS_MAX / 2
    }
}

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// The order is not as it was.
    #[inline]
    pub(super) fn touch_order(&mut self, id: ClientOrderId) {
        if let Some(journal) = &mut self.journal
            && journal.orders.last() != Some(&id)
        {
            journal.orders.push(id);
        }
    }

    /// What the account has in the instrument is not as it was.
    #[inline]
    pub(super) fn touch_account(&mut self, account: AccountId, instrument: InstrumentId) {
        if let Some(journal) = &mut self.journal {
            journal.note_account(account, instrument);
        }
    }

    /// The account was blocked, or is not any more.
    #[cold]
    pub(super) fn write_block(&mut self, account: AccountId) {
        if let Some(journal) = &mut self.journal {
            journal.write(&Effect::Block(BlockRecord {
                account: Some(account),
                cause: self.risk.own_block(account),
            }));
        }
    }

    /// Writes what is none of an order's.
    pub(super) fn write_effect(&mut self, effect: &Effect) {
        if let Some(journal) = &mut self.journal {
            journal.write(effect);
        }
    }

    /// Writes a decision, which is longer than everything else.
    pub(super) fn write_long(&mut self, effect: &Effect) {
        if let Some(journal) = &mut self.journal {
            let encoded = encode_long(effect);
            let written = journal
                .port
                .append(encoded.kind(), EFFECT_VERSION, encoded.body());
            debug_assert!(written.is_ok(), "an effect is shorter than a record");
        }
    }

    /// The order is over.
    #[inline]
    pub(super) fn write_end(&mut self, open: &OpenOrder, standing: OrderStanding) {
        if let Some(journal) = &mut self.journal {
            let record = order_record(open, standing, HoldImage::default());
            journal.write(&Effect::Order(record));
        }
    }

    #[inline]
    pub(super) fn write_report(&mut self, report: &Report) {
        if let Some(journal) = &mut self.journal {
            journal.write(&Effect::Report(*report));
        }
    }

    /// Why no new order is taken: the disk is full, and what is left of the
    /// journal's room is for cancels and facts (rule J9).
    #[inline]
    pub(super) fn has_no_room_for_orders(&self) -> bool {
        self.journal
            .as_ref()
            .is_some_and(|journal| journal.condition() == Condition::SpaceLow)
    }

    /// Ends the group where it is long enough for one; only between two inputs
    /// (rule J2).
    #[inline]
    pub(super) fn split_group(&mut self) {
        if self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.is_long())
        {
            self.seal();
        }
    }

    /// Writes the images of what has changed, and hands the group over.
    pub(super) fn seal(&mut self) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        for id in journal.orders.drain(..) {
            // One that is over was written when it ended.
            if let Some(open) = self.orders.get_mut(id)
                && let Some(hold) = self.risk.hold_image(open.reservation)
            {
                let record = order_record(open, OrderStanding::Open, hold);
                let encoded = encode(&Effect::Order(record));
                let written = journal
                    .port
                    .append(encoded.kind(), EFFECT_VERSION, encoded.body());
                debug_assert!(written.is_ok(), "an effect is shorter than a record");
            }
        }
        while let Some((account, instrument)) = journal.accounts.pop() {
            journal.filter[place_of(account, instrument)] = None;
            if let Some(image) = self.risk.account_image(account, instrument) {
                let cost = self.realized.cost_image(account, instrument);
                journal.write(&Effect::Account(AccountRecord { image, cost }));
            }
            let cause = self.risk.own_block(account);
            if cause.is_some() {
                let account = Some(account);
                journal.write(&Effect::Block(BlockRecord { account, cause }));
            }
        }
        let halt = self.risk.halted();
        if halt != journal.halt {
            journal.halt = halt;
            journal.write(&Effect::Block(BlockRecord {
                account: None,
                cause: halt,
            }));
        }
        let last = journal.port.commit();
        self.outlet.mark(last);
        self.callbacks.mark_reports(last);
    }

    /// Lets go what is durable; whether anything was.
    pub(super) fn release(&mut self) -> bool {
        let Some(journal) = &self.journal else {
            return false;
        };
        let durable = journal.durable();
        if journal.condition() == Condition::Failed {
            self.callbacks.monitor.journal_failed();
        }
        let sent = self.outlet.release(durable);
        self.callbacks.release_reports(durable) | sent
    }

    /// Whether something has become durable that waits to leave, or somebody has
    /// asked for a decision.
    #[must_use]
    pub fn has_due(&self) -> bool {
        let is_asked = self.authority.as_ref().is_some_and(|desk| desk.is_asked());
        let Some(journal) = &self.journal else {
            return is_asked;
        };
        let durable = journal.durable();
        self.outlet.is_due(durable)
            || self.callbacks.reports_due(durable)
            || self
                .authority
                .as_ref()
                .is_some_and(|desk| desk.is_due(durable))
            || is_asked && journal.takes_work()
    }

    /// Sequence of the last record that was written, durable or not; zero before
    /// the first, and without a journal.
    #[must_use]
    pub fn journaled(&self) -> u64 {
        self.journal.as_ref().map_or(0, |one| one.port.last())
    }

    /// How the journal stands; `None` without one.
    #[must_use]
    pub fn journal_condition(&self) -> Option<Condition> {
        self.journal.as_ref().map(|journal| journal.condition())
    }

    /// Whether something waits for the journal.
    #[must_use]
    pub fn holds_back(&self) -> bool {
        let answers = || {
            self.authority
                .as_ref()
                .is_some_and(|desk| desk.holds_back())
        };
        self.journal.is_some()
            && (!self.outlet.is_empty() || self.callbacks.holds_reports() || answers())
    }

    /// The last turn's group, before the shard is gone: what it did is made
    /// durable and told, unless that takes too long.
    pub(super) fn close_journal(&mut self) {
        if self.journal.is_none() {
            return;
        }
        self.seal();
        let began = std::time::Instant::now();
        while self.holds_back() && began.elapsed() < SHARD_CLOSE_WAIT {
            let failed = self
                .journal
                .as_ref()
                .is_some_and(|journal| journal.condition() == Condition::Failed);
            if failed {
                return;
            }
            if !(self.answer_authority() | self.release()) {
                std::thread::yield_now();
            }
        }
        self.callbacks.flush();
    }
}

/// Whether a report is written down: a refusal for want of room must not take what
/// room there is.
#[inline]
pub(super) const fn is_written(report: &Report) -> bool {
    !matches!(report.reject, Some((RejectCode::JournalFull, _)))
}

/// Where an account is noted in the filter.
const fn place_of(account: AccountId, instrument: InstrumentId) -> usize {
    let both = account.0 ^ (instrument.0 as u64).rotate_left(32);
    let hash = both.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 32) as usize % SHARD_TOUCHED_FILTER
}

fn order_record(open: &OpenOrder, standing: OrderStanding, hold: HoldImage) -> OrderRecord {
    OrderRecord {
        id: open.id,
        standing,
        origin: open.origin,
        reference: open.reference,
        order: open.order,
        cumulative: open.cumulative,
        replacing: open.replacing,
        cancelling: open.cancelling,
        hold,
    }
}
