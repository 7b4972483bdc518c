//! What became of every message that was sent: none lost, none answered twice.
//!
//! One cell a message, found by its reference, which counts up from 1.

use hdrhistogram::Histogram;
use pitlane::types::{AccountId, Quantity, ReportKind};

/// The longest latency that is told apart: one minute.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// How far a message has come, as its client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A new order, not answered.
    Sent,
    /// Accepted, and working; its place in the list of open orders.
    Open(u32),
    /// Accepted, working, and asked to be cancelled.
    Leaving,
    /// Rejected, filled or canceled.
    Ended,
    /// A cancel or replace, not answered.
    Asked,
    /// A cancel or replace, answered.
    Answered,
}

struct Cell {
    sent_ns: u64,
    account: AccountId,
    filled: Quantity,
    stage: Stage,
}

/// The client's own books of a run.
pub(super) struct Ledger {
    cells: Vec<Cell>,
    /// Orders that work and that nobody asked to cancel.
    open: Vec<u64>,
    in_flight: u64,
    latency: Histogram<u64>,
    counts: LedgerCounts,
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LedgerCounts {
    /// New orders sent.
    pub(super) submitted: u64,
    /// Orders that risk took.
    pub(super) accepted: u64,
    /// Orders refused, by risk or by the venue.
    pub(super) rejected: u64,
    /// Orders filled in full.
    pub(super) filled: u64,
    /// Orders that ended without being filled in full.
    pub(super) canceled: u64,
    /// Executions.
    pub(super) executions: u64,
    /// Cancels and replaces sent.
    pub(super) changes: u64,
    /// Of them, refused: the order was over, most often.
    pub(super) changes_refused: u64,
    /// Reports that fit no message, or one that was answered: each is a fault.
    pub(super) unexpected: u64,
}

impl LedgerCounts {
    /// Orders that ended: rejected, filled or canceled.
    pub(super) const fn resolved(&self) -> u64 {
        self.rejected + self.filled + self.canceled
    }
}

/// What a report says, as far as the ledger cares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) kind: ReportKind,
    /// Of the message that it answers.
    pub(super) reference: u64,
    /// Of the order, as first sent.
    pub(super) order: u64,
    /// Traded in it; zero where it is no execution.
    pub(super) quantity: Quantity,
    pub(super) cumulative: Quantity,
    pub(super) leaves: Quantity,
}

impl Ledger {
    /// For about this many messages.
    pub(super) fn new(messages: usize) -> Self {
        let latency = Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3);
        Self {
            cells: Vec::with_capacity(messages),
            open: Vec::new(),
            in_flight: 0,
            latency: latency.expect("constant bounds that the histogram takes"),
            counts: LedgerCounts::default(),
        }
    }

    /// Books a new order that is about to be sent; its reference.
    pub(super) fn submit(&mut self, account: AccountId, sent_ns: u64) -> u64 {
        self.counts.submitted += 1;
        self.book(Stage::Sent, account, sent_ns)
    }

    /// Books a replace that is about to be sent; its reference.
    pub(super) fn replace(&mut self, account: AccountId, sent_ns: u64) -> u64 {
        self.counts.changes += 1;
        self.book(Stage::Asked, account, sent_ns)
    }

    /// Books a cancel that is about to be sent; its reference.
    pub(super) fn cancel(&mut self, order: u64, sent_ns: u64) -> u64 {
        let account = self.account(order);
        if let Some(Stage::Open(place)) = self.stage(order) {
            self.leave(place);
            self.set_stage(order, Stage::Leaving);
        }
        self.replace(account, sent_ns)
    }

    fn book(&mut self, stage: Stage, account: AccountId, sent_ns: u64) -> u64 {
        self.in_flight += 1;
        self.cells.push(Cell {
            sent_ns,
            account,
            filled: Quantity::ZERO,
            stage,
        });
        self.cells.len() as u64
    }

    /// Books a report.
    pub(super) fn hear(&mut self, told: &Told, now_ns: u64) {
        if !self.book_report(told, now_ns) {
            self.counts.unexpected += 1;
        }
    }

    /// Whether the report fits what was sent and what was heard before.
    fn book_report(&mut self, told: &Told, now_ns: u64) -> bool {
        let answers_change = told.reference != told.order;
        if answers_change && !self.answer_change(told.reference) {
            return false;
        }
        let Some(stage) = self.stage(told.order) else {
            // Only the refusal of a change may name an order that never was.
            return told.kind == ReportKind::CancelRejected;
        };
        let works = matches!(stage, Stage::Open(_) | Stage::Leaving);
        match told.kind {
            ReportKind::Accepted if stage == Stage::Sent => {
                self.answer_order(told.order, now_ns);
                self.counts.accepted += 1;
                let place = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
                self.open.push(told.order);
                self.set_stage(told.order, Stage::Open(place));
                true
            }
            ReportKind::Rejected if stage == Stage::Sent || works => {
                if stage == Stage::Sent {
                    self.answer_order(told.order, now_ns);
                }
                self.counts.rejected += 1;
                self.end(told.order);
                true
            }
            ReportKind::Executed if works => self.execute(told),
            ReportKind::Canceled if works => {
                self.counts.canceled += 1;
                self.end(told.order);
                true
            }
            ReportKind::Replaced => works && answers_change,
            ReportKind::CancelRejected => {
                self.counts.changes_refused += 1;
                answers_change
            }
            _ => false,
        }
    }

    fn execute(&mut self, told: &Told) -> bool {
        self.counts.executions += 1;
        let Some(cell) = self.cell(told.order) else {
            return false;
        };
        let filled = cell.filled.checked_add(told.quantity);
        let adds_up = filled == Some(told.cumulative);
        cell.filled = told.cumulative;
        if told.leaves.is_zero() {
            self.counts.filled += 1;
            self.end(told.order);
        }
        adds_up
    }

    fn answer_order(&mut self, order: u64, now_ns: u64) {
        self.in_flight -= 1;
        let sent_ns = self.cell(order).map_or(now_ns, |cell| cell.sent_ns);
        let latency = now_ns.saturating_sub(sent_ns).clamp(1, LATENCY_NS_MAX);
        self.latency.saturating_record(latency);
    }

    fn answer_change(&mut self, reference: u64) -> bool {
        let asked = self.stage(reference) == Some(Stage::Asked);
        if asked {
            self.in_flight -= 1;
            self.set_stage(reference, Stage::Answered);
        }
        asked
    }

    fn end(&mut self, order: u64) {
        if let Some(Stage::Open(place)) = self.stage(order) {
            self.leave(place);
        }
        self.set_stage(order, Stage::Ended);
    }

    /// Takes an order out of the list of open ones.
    fn leave(&mut self, place: u32) {
        self.open.swap_remove(place as usize);
        if let Some(&moved) = self.open.get(place as usize) {
            self.set_stage(moved, Stage::Open(place));
        }
    }

    fn cell(&mut self, reference: u64) -> Option<&mut Cell> {
        let index = usize::try_from(reference.checked_sub(1)?).ok()?;
        self.cells.get_mut(index)
    }

    fn stage(&mut self, reference: u64) -> Option<Stage> {
        self.cell(reference).map(|cell| cell.stage)
    }

    fn set_stage(&mut self, reference: u64, stage: Stage) {
        if let Some(cell) = self.cell(reference) {
            cell.stage = stage;
        }
    }

    /// Whose message it is.
    pub(super) fn account(&mut self, reference: u64) -> AccountId {
        self.cell(reference)
            .map_or(AccountId(0), |cell| cell.account)
    }

    /// Orders that work and that nobody asked to cancel, by reference.
    pub(super) fn open(&self) -> &[u64] {
        &self.open
    }

    /// Messages that were not answered.
    pub(super) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Orders that did not end.
    pub(super) const fn unresolved(&self) -> u64 {
        self.counts.submitted - self.counts.resolved()
    }

    /// What the run came to so far.
    pub(super) const fn counts(&self) -> LedgerCounts {
        self.counts
    }

    /// Time from queueing an order to its `Accepted` or `Rejected`.
    pub(super) const fn latency(&self) -> &Histogram<u64> {
        &self.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: ReportKind, reference: u64, order: u64) -> Told {
        let zero = Quantity::ZERO;
        Told {
            kind,
            reference,
            order,
            quantity: zero,
            cumulative: zero,
            leaves: zero,
        }
    }

    fn executed(order: u64, quantity: i64, cumulative: i64, leaves: i64) -> Told {
        Told {
            quantity: Quantity::from_raw(quantity),
            cumulative: Quantity::from_raw(cumulative),
            leaves: Quantity::from_raw(leaves),
            ..told(ReportKind::Executed, order, order)
        }
    }

    #[test]
    fn an_order_resolves_once_and_a_second_end_is_a_fault() {
        let mut ledger = Ledger::new(4);
        let order = ledger.submit(AccountId(1), 10);
        ledger.hear(&told(ReportKind::Accepted, order, order), 20);
        assert_eq!((ledger.open(), ledger.in_flight()), (&[order][..], 0));
        ledger.hear(&executed(order, 2, 2, 1), 30);
        ledger.hear(&executed(order, 1, 3, 0), 40);
        assert_eq!(ledger.counts().unexpected, 0);
        ledger.hear(&told(ReportKind::Canceled, order, order), 50);
        let counts = ledger.counts();
        assert_eq!(
            (counts.filled, counts.canceled, counts.unexpected),
            (1, 0, 1)
        );
        assert_eq!(counts.resolved(), counts.submitted);
        assert_eq!(ledger.latency().max(), 10);
        assert_eq!(ledger.open().len(), 0);
    }

    #[test]
    fn a_cancel_is_answered_once_and_fills_that_do_not_add_up_are_faults() {
        let mut ledger = Ledger::new(4);
        let order = ledger.submit(AccountId(1), 0);
        ledger.hear(&told(ReportKind::Accepted, order, order), 1);
        let cancel = ledger.cancel(order, 2);
        assert_eq!((ledger.open().len(), ledger.in_flight()), (0, 1));
        ledger.hear(&executed(order, 1, 2, 5), 3);
        assert_eq!(ledger.counts().unexpected, 1);
        ledger.hear(&told(ReportKind::Canceled, cancel, order), 4);
        assert_eq!((ledger.counts().canceled, ledger.in_flight()), (1, 0));
        ledger.hear(&told(ReportKind::CancelRejected, cancel, order), 5);
        assert_eq!(ledger.counts().unexpected, 2);
    }

    #[test]
    fn reports_for_orders_never_sent_are_faults_and_lost_ones_stay_unresolved() {
        let mut ledger = Ledger::new(4);
        ledger.hear(&told(ReportKind::Accepted, 0, 0), 1);
        ledger.hear(&told(ReportKind::Accepted, 9, 9), 1);
        ledger.submit(AccountId(1), 0);
        assert_eq!(ledger.counts().unexpected, 2);
        assert_eq!(ledger.counts().submitted - ledger.counts().resolved(), 1);
        assert_eq!(ledger.in_flight(), 1);
    }
}
