//! The two sides of one instrument, its phase and its units.

use super::ladder::Ladder;
use super::order_slab::OrderSlab;
use super::stops::Stops;
use super::{Phase, SimInstrument};
use crate::types::{Price, RejectCode, Side};

pub(super) struct Book {
    pub(super) instrument: SimInstrument,
    /// The phase now.
    pub(super) phase: Phase,
    /// The last trade's price, raw; before it, the configured reference.
    pub(super) last: Option<i64>,
    pub(super) bids: Ladder,
    pub(super) asks: Ladder,
    pub(super) stops: Stops,
}

impl Book {
    pub(super) fn new(instrument: SimInstrument, orders_max: usize) -> Self {
        Self {
            instrument,
            phase: instrument.phase,
            last: instrument.reference.map(Price::raw),
            bids: Ladder::new(Side::Buy, orders_max),
            asks: Ladder::new(Side::Sell, orders_max),
            stops: Stops::default(),
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

    /// The raw price of an order that is to have one, and none of one that is
    /// not.
    pub(super) fn price_of(
        &self,
        has_one: bool,
        price: Option<Price>,
    ) -> Result<Option<i64>, RejectCode> {
        match price {
            Some(price) if has_one && self.is_price(price.raw()) => Ok(Some(price.raw())),
            Some(_) => Err(RejectCode::InvalidFieldValue),
            None if has_one => Err(RejectCode::MissingRequiredField),
            None => Ok(None),
        }
    }

    /// Whether an order of `side` would trade now.
    pub(super) fn would_trade(&self, side: Side, limit: Option<i64>) -> bool {
        self.phase == Phase::Continuous && self.crosses(side, limit)
    }

    /// Whether a stop order at `stop`, raw, need not wait.
    pub(super) fn has_reached(&self, stop: i64, side: Side) -> bool {
        let is_there = |last: i64| match side {
            Side::Buy => stop <= last,
            Side::Sell => stop >= last,
        };
        self.phase == Phase::Continuous && self.last.is_some_and(is_there)
    }

    /// Whether an order of `side` for `wanted` can trade all of it at once at
    /// `limit` (none: at any price).
    pub(super) fn fills_whole(
        &self,
        side: Side,
        limit: Option<i64>,
        wanted: i64,
        orders: &OrderSlab,
    ) -> bool {
        let other = side.opposite();
        let takes = |price: i64| match (limit, side) {
            (None, _) => true,
            (Some(limit), Side::Buy) => price <= limit,
            (Some(limit), Side::Sell) => price >= limit,
        };
        let levels = self.side(other).levels();
        let mut left = wanted;
        for (_, head) in levels.take_while(|(price, _)| takes(*price)) {
            for slot in level_queue(head, orders) {
                left = left.saturating_sub(orders.get(slot).leaves);
                if left <= 0 {
                    return true;
                }
            }
        }
        false
    }

    /// The order whose stop price was reached that begins next.
    pub(super) fn triggered(&self) -> Option<u32> {
        self.last.and_then(|last| self.stops.triggered(last))
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
