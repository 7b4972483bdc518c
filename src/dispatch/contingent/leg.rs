//! One order of a contingent group, steered towards a wanted total.
//!
//! ```text
//!  Unsent ─submit▶ Sent ─Accepted▶ Working ─leaves 0, Canceled▶ Over
//!                    └──────Rejected──────────────────────────▶ Over
//! ```
//!
//! At most one change is under way, so that no change overtakes another; when it is
//! answered, the leg is steered again. A change that was refused is tried again at
//! the next report of the group, never at once.

use super::port::OrderPort;
use crate::types::{ClientReference, Order, OrderType, Price, Quantity, Report, ReportKind};

/// Where a leg is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegState {
    /// Not sent.
    Unsent,
    /// Sent, not yet accepted.
    Sent,
    /// Accepted; something of it works.
    Working,
    /// Filled, cancelled or refused.
    Over,
}

#[derive(Debug)]
pub(super) struct Leg {
    order: Order,
    reference: ClientReference,
    state: LegState,
    /// As the last report says, fills included; raw units.
    total: i64,
    cumulative: i64,
    /// What the group wants it to be, fills included.
    wanted: i64,
    change: Option<ClientReference>,
}

impl Leg {
    /// A leg of this order; its quantity is set by the group.
    pub(super) const fn new(order: Order) -> Self {
        Self {
            order,
            reference: ClientReference(0),
            state: LegState::Unsent,
            total: 0,
            cumulative: 0,
            wanted: 0,
            change: None,
        }
    }

    pub(super) const fn state(&self) -> LegState {
        self.state
    }

    pub(super) const fn cumulative(&self) -> i64 {
        self.cumulative
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, LegState::Over)
    }

    /// Traded all that it was for.
    pub(super) const fn is_filled(&self) -> bool {
        self.is_over() && self.cumulative >= self.total && self.total > 0
    }

    pub(super) const fn want(&mut self, total: i64) {
        self.wanted = total;
    }

    /// Wants nothing more than what has traded.
    pub(super) const fn want_no_more(&mut self) {
        self.wanted = self.cumulative;
    }

    /// Takes a report in; false where it is about another order.
    pub(super) fn take(&mut self, report: &Report, port: &OrderPort) -> bool {
        if self.state == LegState::Unsent || !port.is_about(report, self.reference) {
            return false;
        }
        match report.kind {
            ReportKind::Accepted => {
                self.state = LegState::Working;
                self.total = report.quantity.raw();
            }
            ReportKind::Rejected | ReportKind::Canceled => self.state = LegState::Over,
            ReportKind::Executed => {
                // Facts may come after the end; a fill never counts down.
                self.cumulative = self.cumulative.max(report.cumulative.raw());
                if report.leaves.is_zero() {
                    self.state = LegState::Over;
                }
            }
            ReportKind::Replaced => self.total = report.quantity.raw(),
            ReportKind::CancelRejected => {}
        }
        let answered = matches!(
            report.kind,
            ReportKind::Replaced | ReportKind::CancelRejected
        );
        if answered && self.change == Some(report.reference) {
            self.change = None;
        }
        true
    }

    /// Sends what brings the order to what is wanted; `refused` where the report that
    /// led here refused a change of this leg.
    pub(super) fn steer(&mut self, port: &OrderPort, refused: Option<ClientReference>) {
        match self.state {
            LegState::Unsent if self.wanted > 0 => {
                self.order.quantity = Some(Quantity::from_raw(self.wanted));
                self.order.volume = None;
                self.total = self.wanted;
                self.reference = port.submit(self.order);
                self.state = LegState::Sent;
            }
            LegState::Working if self.change.is_none() && refused != Some(self.reference) => {
                self.change = self.next_change(port);
            }
            _ => {}
        }
    }

    fn next_change(&self, port: &OrderPort) -> Option<ClientReference> {
        if self.wanted <= self.cumulative {
            return Some(port.cancel(self.reference));
        }
        // A market order has no price to replace it at; it is over before that matters.
        let price = self
            .order
            .price
            .filter(|_| self.order.order_type == OrderType::Limit)?;
        (self.wanted != self.total).then(|| self.replace(port, price))
    }

    fn replace(&self, port: &OrderPort, price: Price) -> ClientReference {
        port.replace(self.reference, price, Quantity::from_raw(self.wanted))
    }
}

/// The order whose change a report refuses.
pub(super) fn refused(report: &Report) -> Option<ClientReference> {
    (report.kind == ReportKind::CancelRejected).then_some(report.order_reference)
}
