//! Venue events in: the hold is settled, the order moves, its client is told.
//!
//! A fact is never refused: an execution is booked whatever else is wrong.

use super::admission::{Admission, order_level};
use super::record::OrderStanding;
use crate::orders::venue::{Venue, VenueEvent};
use crate::orders::{IdentitySource, OpenOrder, OutOfRange, PendingCancel};
use crate::risk::{ExecutionReport, ReservationToken};
use crate::time::Nanos;
use crate::types::{
    AccountId, Amount, ClientOrderId, ClientReference, FillId, InstrumentId, Order, Price,
    Quantity, RejectCode, ReportKind, Side,
};

/// One execution, as the venue tells it.
#[derive(Clone, Copy)]
struct Fill {
    id: FillId,
    price: Price,
    quantity: Quantity,
    /// What still works after it; zero in the order's last.
    leaves: Quantity,
}

/// What happened at a venue, to whose account, and to which hold.
#[derive(Clone, Copy)]
pub(super) struct Fact {
    /// The hold; `None`: there is none.
    pub(super) token: Option<ReservationToken>,
    pub(super) account: AccountId,
    pub(super) instrument: InstrumentId,
    pub(super) side: Side,
    /// Its number at this shard's own venue; the same one is booked once.
    pub(super) fill_id: Option<FillId>,
    pub(super) price: Price,
    /// Zero where nothing traded.
    pub(super) quantity: Quantity,
    /// What the account pays beside it.
    pub(super) fee: Amount,
    /// What is left of the hold is free.
    pub(super) is_final: bool,
}

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// Takes at most `budget` events from the venue; how many there were.
    pub fn settle(&mut self, budget: usize, now: Nanos) -> usize {
        for taken in 0..budget {
            let Some(event) = self.outlet.next_event() else {
                return taken;
            };
            self.split_group();
            self.apply(event, now);
        }
        budget
    }

    fn apply(&mut self, event: VenueEvent, now: Nanos) {
        match event {
            VenueEvent::Acknowledged { .. } => {}
            VenueEvent::Rejected { id, code } => self.end_rejected(id, code, now),
            VenueEvent::Executed {
                id,
                fill_id,
                price,
                quantity,
                leaves,
                ..
            } => {
                let fill = Fill {
                    id: fill_id,
                    price,
                    quantity,
                    leaves,
                };
                self.execute(id, fill, now);
            }
            VenueEvent::Canceled { id, .. } | VenueEvent::Expired { id, .. } => {
                self.end_canceled(id, now);
            }
            VenueEvent::Replaced { id, .. } => self.end_replace(id, now),
            VenueEvent::CancelRejected { id, code } => self.refuse_pending(id, code, now),
            // A person undoes what was booked: positions may have moved on.
            VenueEvent::Busted { .. } => self.counts.alarms += 1,
            VenueEvent::Snapshot(ref snapshot) => self.answered(snapshot, now),
            // This shard asks for none.
            VenueEvent::OpenOrders { .. } => {
                self.counts.stray_events += 1;
            }
        }
    }

    fn execute(&mut self, id: ClientOrderId, fill: Fill, now: Nanos) {
        if self.risk.knows_fill(fill.id) {
            // Told again, after a restart or by a venue that repeats itself.
            self.counts.repeated_fills += 1;
            return;
        }
        let Some(order) = self.orders.get_mut(id) else {
            self.counts.stray_events += 1;
            return;
        };
        order.cumulative = order
            .cumulative
            .checked_add(fill.quantity)
            .unwrap_or(Quantity::MAX);
        let open = *order;
        self.counts.executed += 1;
        self.settle_hold(&open, Some(fill), fill.leaves.is_zero(), now);
        let mut report = self.standing(&open, ReportKind::Executed, open.reference, None);
        report.fill_id = fill.id;
        report.price = fill.price;
        report.quantity = fill.quantity;
        report.leaves = fill.leaves;
        self.send(report);
        self.callbacks.mark(open.order.instrument, fill.price);
        if fill.leaves.is_zero() {
            self.close(id, OrderStanding::Filled);
            self.answer_overtaken(&open, None);
        }
    }

    /// The venue, or the way to it, refused the order: it never worked.
    pub(super) fn end_rejected(&mut self, id: ClientOrderId, code: RejectCode, now: Nanos) {
        let Some(open) = self.close(id, OrderStanding::Rejected) else {
            return;
        };
        self.counts.rejected += 1;
        self.settle_hold(&open, None, true, now);
        self.report(
            &open,
            ReportKind::Rejected,
            open.reference,
            Some(order_level(code)),
        );
        self.answer_overtaken(&open, None);
    }

    pub(super) fn end_canceled(&mut self, id: ClientOrderId, now: Nanos) {
        let Some(open) = self.close(id, OrderStanding::Canceled) else {
            return;
        };
        self.settle_hold(&open, None, true, now);
        let asked = open.cancelling.and_then(PendingCancel::reference);
        let reference = asked.unwrap_or(open.reference);
        self.report(&open, ReportKind::Canceled, reference, None);
        self.answer_overtaken(&open, asked);
    }

    fn end_replace(&mut self, id: ClientOrderId, now: Nanos) {
        let Some(order) = self.orders.get_mut(id) else {
            self.counts.stray_events += 1;
            return;
        };
        let pending = order.replacing.take();
        if let Some(pending) = pending {
            order.order = pending.after;
        }
        let open = *order;
        let confirmed = self
            .risk
            .confirm_replace(open.reservation, &open.order, now);
        debug_assert!(
            confirmed.is_ok(),
            "an open order's token names its hold: {confirmed:?}"
        );
        self.touch_order(id);
        self.touch_account(open.order.account, open.order.instrument);
        let reference = pending.map_or(open.reference, |pending| pending.reference);
        self.report(&open, ReportKind::Replaced, reference, None);
    }

    /// A cancel or a replace came too late, or was not possible. A venue answers
    /// in order, so a replace, of which there is at most one, was asked first.
    fn refuse_pending(&mut self, id: ClientOrderId, code: RejectCode, now: Nanos) {
        let Some(order) = self.orders.get_mut(id) else {
            // It ended meanwhile; its end answered what was asked.
            return;
        };
        if let Some(pending) = order.replacing.take() {
            let open = *order;
            self.put_back(&open, &open.order, now);
            self.touch_order(id);
            self.report_refusal(&open, pending.reference, code);
        } else if let Some(pending) = order.cancelling.take() {
            let open = *order;
            self.touch_order(id);
            if let Some(reference) = pending.reference() {
                self.report_refusal(&open, reference, code);
            }
        } else {
            self.counts.stray_events += 1;
        }
    }

    /// The terms before a replace that the venue did not take.
    pub(super) fn put_back(&mut self, open: &OpenOrder, before: &Order, now: Nanos) {
        let back = self.risk.revert_replace(open.reservation, before, now);
        debug_assert!(
            back.is_ok(),
            "an open order's token names its hold: {back:?}"
        );
        self.touch_account(open.order.account, open.order.instrument);
    }

    /// Books what happened to an order's hold.
    fn settle_hold(&mut self, open: &OpenOrder, fill: Option<Fill>, is_final: bool, now: Nanos) {
        let fact = Fact {
            token: Some(open.reservation),
            account: open.order.account,
            instrument: open.order.instrument,
            side: open.order.side,
            fill_id: fill.map(|fill| fill.id),
            price: fill.map_or(Price::ZERO, |fill| fill.price),
            quantity: fill.map_or(Quantity::ZERO, |fill| fill.quantity),
            fee: Amount::ZERO,
            is_final,
        };
        self.book(&fact, now);
        if !is_final {
            self.touch_order(open.id);
        }
    }

    /// Books a fact: funds, position, what it realized, and its hold.
    #[inline]
    pub(super) fn book(&mut self, fact: &Fact, now: Nanos) {
        let pnl = if fact.quantity.is_zero() {
            Amount::ZERO
        } else {
            self.realize(fact)
        };
        let report = ExecutionReport {
            token: fact.token,
            account: fact.account,
            instrument: fact.instrument,
            side: fact.side,
            fill_id: fact.fill_id,
            price: fact.price,
            quantity: fact.quantity,
            fee: fact.fee,
            fee_asset: None,
            pnl,
            is_final: fact.is_final,
        };
        let booked = self.risk.apply_execution_report(&report, now);
        debug_assert!(
            booked.is_ok(),
            "an open order's token names its hold: {booked:?}"
        );
        let outcome = booked.unwrap_or_default();
        self.touch_account(fact.account, fact.instrument);
        if !outcome.alarms.is_empty() {
            self.counts.alarms += 1;
        }
        if outcome.cancel_working {
            self.withdraw_account(fact.account);
        }
    }

    /// What a fill has realized; what cannot be calculated is alarmed, and the
    /// fill is booked without.
    fn realize(&mut self, fact: &Fact) -> Amount {
        self.realized
            .book(
                fact.account,
                fact.instrument,
                fact.side,
                fact.quantity,
                fact.price,
            )
            .unwrap_or_else(|OutOfRange| {
                self.counts.alarms += 1;
                Amount::ZERO
            })
    }

    /// Takes an order out, and answers what was still asked of it: a cancel or
    /// a replace that its end has overtaken (every request resolves once).
    fn close(&mut self, id: ClientOrderId, standing: OrderStanding) -> Option<OpenOrder> {
        let closed = self.orders.close(id);
        match &closed {
            Some(open) => {
                self.write_end(open, standing);
                self.reconciliation.resolve(id);
            }
            None => self.counts.stray_events += 1,
        }
        closed
    }

    fn answer_overtaken(&mut self, open: &OpenOrder, answered: Option<ClientReference>) {
        let asked = [
            open.replacing.map(|pending| pending.reference),
            open.cancelling.and_then(PendingCancel::reference),
        ];
        for reference in asked.into_iter().flatten() {
            if Some(reference) != answered {
                let mut report = self.standing(
                    open,
                    ReportKind::CancelRejected,
                    reference,
                    Some(order_level(RejectCode::UnknownOrder)),
                );
                report.leaves = Quantity::ZERO;
                self.counts.rejected += 1;
                self.send(report);
            }
        }
    }

    fn report_refusal(&mut self, open: &OpenOrder, reference: ClientReference, code: RejectCode) {
        self.counts.rejected += 1;
        self.report(
            open,
            ReportKind::CancelRejected,
            reference,
            Some(order_level(code)),
        );
    }
}
