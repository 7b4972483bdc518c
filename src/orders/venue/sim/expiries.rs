//! When orders that are good till a date are over.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::time::UnixNanos;

/// By date, and of one date by arrival.
type Key = (UnixNanos, u64);

/// See the module; slots are those of the order slab.
#[derive(Default)]
pub(super) struct Expiries {
    now: UnixNanos,
    due: BTreeMap<Key, u32>,
    keys: HashMap<u32, Key, foldhash::fast::RandomState>,
    arrivals: u64,
}

impl Expiries {
    /// The venue's time.
    pub(super) const fn now(&self) -> UnixNanos {
        self.now
    }

    /// The venue's time is `now`; a time before the last one is taken as that.
    pub(super) fn advance_to(&mut self, now: UnixNanos) {
        self.now = self.now.max(now);
    }

    pub(super) fn insert(&mut self, slot: u32, at: UnixNanos) {
        self.arrivals += 1;
        let key = (at, self.arrivals);
        self.due.insert(key, slot);
        self.keys.insert(slot, key);
    }

    /// The order is over.
    pub(super) fn remove(&mut self, slot: u32) {
        if let Some(key) = self.keys.remove(&slot) {
            self.due.remove(&key);
        }
    }

    /// The order whose time was over first.
    pub(super) fn first_due(&self) -> Option<u32> {
        let ((at, _), slot) = self.due.first_key_value()?;
        (*at <= self.now).then_some(*slot)
    }
}
