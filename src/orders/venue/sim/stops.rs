//! Orders that wait for their stop price, of one instrument.
//!
//! They are rarely touched: a trade looks at the two that would begin next.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::types::Side;

/// See the module; slots are those of the order slab.
#[derive(Default)]
pub(super) struct Stops {
    /// By stop price, the lowest first, and then by arrival.
    buys: BTreeMap<(i64, u64), u32>,
    /// By stop price negated, the highest first, and then by arrival.
    sells: BTreeMap<(i64, u64), u32>,
    /// Where each slot stands.
    keys: HashMap<u32, (Side, (i64, u64)), foldhash::fast::RandomState>,
    arrivals: u64,
}

impl Stops {
    /// An order begins to wait for a trade at `stop`, raw, or beyond.
    pub(super) fn insert(&mut self, slot: u32, side: Side, stop: i64) {
        self.arrivals += 1;
        let key = match side {
            Side::Buy => (stop, self.arrivals),
            Side::Sell => (-stop, self.arrivals),
        };
        self.side(side).insert(key, slot);
        self.keys.insert(slot, (side, key));
    }

    /// An order no longer waits.
    pub(super) fn remove(&mut self, slot: u32) {
        if let Some((side, key)) = self.keys.remove(&slot) {
            self.side(side).remove(&key);
        }
    }

    /// The order that a last trade at `last` sets off first: the buy with the
    /// lowest stop or the sell with the highest; of the two, who came first.
    pub(super) fn triggered(&self, last: i64) -> Option<u32> {
        if self.keys.is_empty() {
            return None;
        }
        let buy = self.buys.first_key_value();
        let sell = self.sells.first_key_value();
        let buy = buy.filter(|((stop, _), _)| *stop <= last);
        let sell = sell.filter(|((stop, _), _)| -*stop >= last);
        let first = buy.into_iter().chain(sell);
        first
            .min_by_key(|((_, arrival), _)| *arrival)
            .map(|(_, slot)| *slot)
    }

    /// The slots that wait, in the order in which they came.
    pub(super) fn slots(&self) -> Vec<u32> {
        let waiting = self.buys.iter().chain(&self.sells);
        let mut slots: Vec<_> = waiting
            .map(|((_, arrival), slot)| (*arrival, *slot))
            .collect();
        slots.sort_unstable();
        slots.into_iter().map(|(_, slot)| slot).collect()
    }

    const fn side(&mut self, side: Side) -> &mut BTreeMap<(i64, u64), u32> {
        match side {
            Side::Buy => &mut self.buys,
            Side::Sell => &mut self.sells,
        }
    }
}
