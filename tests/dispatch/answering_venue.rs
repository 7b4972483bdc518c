//! A venue in small for one strategy: it keeps orders in a list, does what commands
//! say, fills what a test says, and queues a report for everything it does.
#![allow(dead_code)] // Each test uses the part that it needs.

use std::collections::VecDeque;

use pitlane::types::{
    ClientOrderId, ClientReference, Command, FillId, Order, OrderType, Price, Quantity, RejectCode,
    RejectScope, Report, ReportKind, ShardId, Side,
};

pub(crate) struct Working {
    pub(crate) reference: ClientReference,
    pub(crate) total: i64,
    pub(crate) filled: i64,
    pub(crate) is_live: bool,
    pub(crate) is_market: bool,
    side: Side,
    last: Report,
}

#[derive(Default)]
pub(crate) struct AnsweringVenue {
    pub(crate) orders: Vec<Working>,
    pub(crate) reports: VecDeque<Report>,
    /// The reference of a new order that is refused.
    pub(crate) refuses_new: Option<u64>,
    /// The next cancel or replace is refused, as one that comes too early.
    pub(crate) refuses_change: bool,
    fills: u64,
}

impl AnsweringVenue {
    pub(crate) fn command(&mut self, command: &Command) {
        match *command {
            Command::NewOrder {
                origin,
                reference,
                order,
            } => {
                let report = first_report(&order, origin, reference);
                let is_live = self.refuses_new != Some(reference.0);
                let total = order.quantity.expect("strategies send quantities").raw();
                assert!(total > 0, "nothing to send");
                self.orders.push(Working {
                    reference,
                    total,
                    filled: 0,
                    is_live,
                    is_market: order.order_type == OrderType::Market,
                    side: order.side,
                    last: report,
                });
                let kind = if is_live {
                    ReportKind::Accepted
                } else {
                    ReportKind::Rejected
                };
                self.tell(self.orders.len() - 1, kind, reference);
            }
            Command::Replace {
                reference,
                target,
                quantity,
                ..
            } => {
                let at = self.place(target);
                if self.is_refused(at) || quantity.raw() <= self.orders[at].filled {
                    return self.tell(at, ReportKind::CancelRejected, reference);
                }
                self.orders[at].total = quantity.raw();
                self.tell(at, ReportKind::Replaced, reference);
            }
            Command::Cancel {
                reference, target, ..
            } => {
                let at = self.place(target);
                if self.is_refused(at) {
                    return self.tell(at, ReportKind::CancelRejected, reference);
                }
                self.orders[at].is_live = false;
                self.tell(at, ReportKind::Canceled, reference);
            }
        }
    }

    fn is_refused(&mut self, at: usize) -> bool {
        std::mem::take(&mut self.refuses_change) || !self.orders[at].is_live
    }

    fn place(&self, reference: ClientReference) -> usize {
        self.orders
            .iter()
            .position(|order| order.reference == reference)
            .expect("strategies change their own orders")
    }

    /// Trades at most this much of an order, if it is there and lives.
    pub(crate) fn fill(&mut self, at: usize, quantity: i64) {
        let Some(order) = self.orders.get_mut(at).filter(|order| order.is_live) else {
            return;
        };
        let quantity = quantity.min(order.total - order.filled);
        order.filled += quantity;
        order.is_live = order.filled < order.total;
        let reference = order.reference;
        self.fills += 1;
        self.orders[at].last.fill_id = FillId(self.fills);
        self.tell(at, ReportKind::Executed, reference);
        if let Some(report) = self.reports.back_mut() {
            report.quantity = Quantity::from_raw(quantity);
        }
    }

    /// Ends an order that nobody asked to end.
    pub(crate) fn cancel_unasked(&mut self, at: usize) {
        if let Some(order) = self.orders.get_mut(at).filter(|order| order.is_live) {
            order.is_live = false;
            let reference = order.reference;
            self.tell(at, ReportKind::Canceled, reference);
        }
    }

    /// Says again how an order that lives stands, so that refused changes are retried.
    pub(crate) fn repeat_last_report(&mut self, at: usize) {
        if self.orders[at].is_live {
            let reference = self.orders[at].reference;
            self.tell(at, ReportKind::Replaced, reference);
        }
    }

    fn tell(&mut self, at: usize, kind: ReportKind, reference: ClientReference) {
        let order = &mut self.orders[at];
        let leaves = if order.is_live {
            order.total - order.filled
        } else {
            0
        };
        let refused = matches!(kind, ReportKind::Rejected | ReportKind::CancelRejected);
        order.last = Report {
            kind,
            reference,
            reject: refused.then_some((RejectCode::OrderPending, RejectScope::Order)),
            quantity: Quantity::from_raw(order.total),
            cumulative: Quantity::from_raw(order.filled),
            leaves: Quantity::from_raw(leaves),
            ..order.last
        };
        self.reports.push_back(order.last);
    }

    /// What was bought and what was sold.
    pub(crate) fn traded(&self) -> (i64, i64) {
        let sum = |side| {
            let orders = self.orders.iter().filter(|order| order.side == side);
            orders.map(|order| order.filled).sum()
        };
        (sum(Side::Buy), sum(Side::Sell))
    }

    /// What the sell orders that live are still open for.
    pub(crate) fn could_still_sell(&self) -> i64 {
        let sells = self
            .orders
            .iter()
            .filter(|order| order.is_live && order.side == Side::Sell);
        sells.map(|order| order.total - order.filled).sum()
    }
}

fn first_report(
    order: &Order,
    origin: pitlane::types::Origin,
    reference: ClientReference,
) -> Report {
    Report {
        kind: ReportKind::Accepted,
        side: order.side,
        reject: None,
        shard: ShardId(0),
        origin,
        account: order.account,
        instrument: order.instrument,
        reference,
        order_reference: reference,
        client_order_id: ClientOrderId {
            high: 0,
            low: reference.0,
        },
        sequence: 0,
        fill_id: FillId(0),
        price: order.price.unwrap_or(Price::from_raw(0)),
        quantity: order.quantity.unwrap_or_default(),
        cumulative: Quantity::ZERO,
        leaves: Quantity::ZERO,
    }
}
