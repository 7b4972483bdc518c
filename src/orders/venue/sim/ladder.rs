//! One side of a book: its price levels, sorted, the best at the end.
//!
//! Most orders come and go near the best price, where adding or removing a
//! level moves few others. Orders between the ends of a queue never touch it.

use super::order_slab::NO_SLOT;
use super::order_slab::OrderSlab;
use crate::types::Side;

/// The queue of one price.
#[derive(Clone, Copy)]
pub(super) struct Level {
    /// The price, negated on the sell side: greater is better.
    key: i64,
    /// The oldest order.
    head: u32,
    /// The newest order.
    tail: u32,
}

pub(super) struct Ladder {
    /// Sorted by `key`, none twice, none empty.
    levels: Vec<Level>,
    side: Side,
}

/// Levels that fit before the table first grows.
const LEVELS_AT_START: usize = 1_024;

impl Ladder {
    pub(super) fn new(side: Side, orders_max: usize) -> Self {
        Self {
            levels: Vec::with_capacity(orders_max.min(LEVELS_AT_START)),
            side,
        }
    }

    /// The best price, raw.
    pub(super) fn best(&self) -> Option<i64> {
        self.levels.last().map(|level| self.key(level.key))
    }

    /// The order with the best price and, among those, the best time.
    pub(super) fn first(&self) -> Option<u32> {
        self.levels.last().map(|level| level.head)
    }

    /// Prices, raw, and oldest orders of the levels, best first.
    pub(super) fn levels(&self) -> impl Iterator<Item = (i64, u32)> + '_ {
        self.levels
            .iter()
            .rev()
            .map(|level| (self.key(level.key), level.head))
    }

    /// Puts an order behind all others of its price.
    pub(super) fn append(&mut self, slot: u32, orders: &mut OrderSlab) {
        let key = self.key(orders.get(slot).price);
        let at = self.position(key);
        let tail = match self.levels.get_mut(at) {
            Some(level) if level.key == key => {
                let tail = level.tail;
                level.tail = slot;
                orders.get_mut(tail).behind = slot;
                tail
            }
            _ => {
                let level = Level {
                    key,
                    head: slot,
                    tail: slot,
                };
                self.levels.insert(at, level);
                NO_SLOT
            }
        };
        let order = orders.get_mut(slot);
        order.ahead = tail;
        order.behind = NO_SLOT;
    }

    /// Takes an order out of its queue, and the level out if it was the last.
    pub(super) fn unlink(&mut self, slot: u32, orders: &mut OrderSlab) {
        let order = orders.get(slot);
        let (ahead, behind, price) = (order.ahead, order.behind, order.price);
        if ahead != NO_SLOT {
            orders.get_mut(ahead).behind = behind;
        }
        if behind != NO_SLOT {
            orders.get_mut(behind).ahead = ahead;
        }
        if ahead != NO_SLOT && behind != NO_SLOT {
            return;
        }
        let at = self.position(self.key(price));
        let level = &mut self.levels[at];
        match (ahead, behind) {
            (NO_SLOT, NO_SLOT) => {
                self.levels.remove(at);
            }
            (NO_SLOT, _) => level.head = behind,
            _ => level.tail = ahead,
        }
    }

    /// Where the level of `key` is, or would be.
    fn position(&self, key: i64) -> usize {
        match self.levels.last() {
            Some(best) if best.key == key => self.levels.len() - 1,
            Some(best) if best.key < key => self.levels.len(),
            _ => self.levels.partition_point(|level| level.key < key),
        }
    }

    /// From a price to its key, and back. Prices are positive, so that the
    /// negation cannot overflow.
    const fn key(&self, price: i64) -> i64 {
        match self.side {
            Side::Buy => price,
            Side::Sell => -price,
        }
    }
}
