//! One cancels the other: two orders that share one quantity.
//!
//! What one leg trades, the other is reduced by; when the quantity is traded, what
//! is left of the other is cancelled. A leg that ends otherwise (refused, cancelled
//! by someone) takes the other with it. Fills that cross at the venue before it has
//! the change are booked: [`OcoPair::excess`] tells how much traded beyond.

use super::leg::{Leg, LegState, refused};
use super::port::OrderPort;
use crate::dispatch::{Component, Context, ShardEvent};
use crate::types::{Order, Quantity, Report};

/// Two orders, one quantity.
#[derive(Debug)]
pub struct OcoPair {
    port: OrderPort,
    quantity: i64,
    legs: [Leg; 2],
    /// A leg ended before the quantity was traded.
    broken: bool,
}

impl OcoPair {
    /// A pair of orders of `quantity`, above zero, each at its own side and price; the
    /// quantities in the orders do not count.
    #[must_use]
    pub const fn new(port: OrderPort, quantity: Quantity, first: Order, second: Order) -> Self {
        let legs = [Leg::new(first), Leg::new(second)];
        Self {
            port,
            quantity: quantity.raw(),
            legs,
            broken: false,
        }
    }

    /// Sends both orders.
    pub fn submit(&mut self) {
        self.steer(None);
    }

    /// Takes a report in, and sends what follows from it; false where it is about
    /// another order.
    pub fn take(&mut self, report: &Report) -> bool {
        let Self { port, legs, .. } = self;
        if !legs.iter_mut().any(|leg| leg.take(report, port)) {
            return false;
        }
        self.steer(Some(report));
        true
    }

    fn steer(&mut self, report: Option<&Report>) {
        let traded = self.legs.each_ref().map(Leg::cumulative);
        let left = |other: i64| self.quantity.saturating_sub(other).max(0);
        let is_done = i128::from(traded[0]) + i128::from(traded[1]) >= i128::from(self.quantity);
        self.broken |= !is_done && self.legs.iter().any(Leg::is_over);
        for (leg, other) in self.legs.iter_mut().zip([traded[1], traded[0]]) {
            if self.broken {
                leg.want_no_more();
            } else {
                leg.want(left(other));
            }
            leg.steer(&self.port, report.and_then(refused));
        }
    }

    /// What each leg has traded.
    #[must_use]
    pub fn traded(&self) -> [Quantity; 2] {
        self.legs
            .each_ref()
            .map(|leg| Quantity::from_raw(leg.cumulative()))
    }

    /// Where each leg is.
    #[must_use]
    pub fn states(&self) -> [LegState; 2] {
        self.legs.each_ref().map(Leg::state)
    }

    /// What traded beyond the quantity, because fills crossed; zero normally.
    #[must_use]
    pub fn excess(&self) -> Quantity {
        let [first, second] = self.legs.each_ref().map(|leg| i128::from(leg.cumulative()));
        let excess = (first + second - i128::from(self.quantity)).max(0);
        Quantity::from_raw(i64::try_from(excess).unwrap_or(i64::MAX))
    }

    /// Both legs are over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.legs.iter().all(Leg::is_over)
    }
}

/// An [`OcoPair`] as a component: started, it sends its orders; it then needs the
/// topic of reports.
#[derive(Debug)]
pub struct Oco {
    pair: OcoPair,
}

impl Oco {
    /// A component of this pair.
    #[must_use]
    pub const fn new(pair: OcoPair) -> Self {
        Self { pair }
    }

    /// The pair.
    #[must_use]
    pub const fn pair(&self) -> &OcoPair {
        &self.pair
    }
}

impl Component<ShardEvent> for Oco {
    fn name(&self) -> &str {
        "one cancels the other"
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        if let Some(report) = event.report() {
            self.pair.take(report);
        }
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {}

    fn on_start(&mut self, _: &Context<'_, ShardEvent>) {
        self.pair.submit();
    }
}
