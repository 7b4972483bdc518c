//! The two sides of one instrument, its phase and its units.

use super::ladder::Ladder;
use super::order_slab::OrderSlab;
use super::{Phase, SimInstrument};
use crate::types::Side;

pub(super) struct Book {
    pub(super) instrument: SimInstrument,
    /// The phase now.
    pub(super) phase: Phase,
    /// The last trade's price, raw; before it, the configured reference.
    pub(super) last: Option<i64>,
    pub(super) bids: Ladder,
    pub(super) asks: Ladder,
}

impl Book {
    pub(super) fn new(instrument: SimInstrument, orders_max: usize) -> Self {
        Self {
            instrument,
            phase: instrument.phase,
            last: instrument.reference.map(crate::types::Price::raw),
            bids: Ladder::new(Side::Buy, orders_max),
            asks: Ladder::new(Side::Sell, orders_max),
        }
    }

    pub(super) const fn side(&self, side: Side) -> &Ladder {
        match side {
            Side::Buy => &self.bids,
            Side::Sell => &self.asks,
        }
    }

    pub(super) const fn side_mut(&mut self, side: Side) -> &mut Ladder {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }

    /// Whether an order of `side` at `limit` (none: at any price) can trade
    /// with the best of the other side.
    pub(super) fn crosses(&self, side: Side, limit: Option<i64>) -> bool {
        let Some(best) = self.side(side.opposite()).best() else {
            return false;
        };
        match (limit, side) {
            (None, _) => true,
            (Some(limit), Side::Buy) => best <= limit,
            (Some(limit), Side::Sell) => best >= limit,
        }
    }

    /// The best bid and ask, raw, where they cross.
    pub(super) fn crossed(&self) -> Option<(i64, i64)> {
        match (self.bids.best(), self.asks.best()) {
            (Some(bid), Some(ask)) if bid >= ask => Some((bid, ask)),
            _ => None,
        }
    }

    pub(super) const fn is_price(&self, raw: i64) -> bool {
        raw > 0 && raw % self.instrument.tick.raw() == 0
    }

    pub(super) const fn is_quantity(&self, raw: i64) -> bool {
        raw > 0 && raw % self.instrument.lot.raw() == 0
    }

    /// Slots of one side, in the order in which they trade.
    pub(super) fn queue<'a>(
        &'a self,
        side: Side,
        orders: &'a OrderSlab,
    ) -> impl Iterator<Item = u32> + 'a {
        self.side(side)
            .levels()
            .flat_map(|(_, head)| level_queue(head, orders))
    }
}

/// Slots of one level from its oldest.
pub(super) fn level_queue(head: u32, orders: &OrderSlab) -> impl Iterator<Item = u32> + '_ {
    core::iter::successors(Some(head), |slot| {
        let behind = orders.get(*slot).behind;
        (behind != super::order_slab::NO_SLOT).then_some(behind)
    })
}
