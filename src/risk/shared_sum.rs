//! A sum that spans shards, in whole units (rules K18, K20).
//!
//! Every shard knows its own part exactly and publishes it rounded; the sum is
//! off by less than one unit for each shard, always against the accounts.

use crossbeam_utils::CachePadded;

use super::sync::{AtomicI64, Ordering};

/// The units of all shards together.
pub struct SharedSum {
    units: CachePadded<AtomicI64>,
}

impl Default for SharedSum {
    fn default() -> Self {
        Self::new()
    }
}

impl SharedSum {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            units: CachePadded::new(AtomicI64::new(0)),
        }
    }

    /// Takes `units` if the sum stays within `limit`; all or nothing.
    pub fn take(&self, units: i64, limit: i64) -> bool {
        if units <= 0 {
            self.add(units);
            return true;
        }
        // Relaxed: the sum guards nothing but itself, and a compare-and-swap
        // always sees the latest one.
        let mut sum = self.units.load(Ordering::Relaxed);
        loop {
            let Some(next) = sum.checked_add(units).filter(|next| *next <= limit) else {
                return false;
            };
            match self
                .units
                .compare_exchange(sum, next, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => sum = now,
            }
        }
    }

    /// Adds what happened, whatever the limit; stays at the end of its range.
    pub fn add(&self, units: i64) {
        if units == 0 {
            return;
        }
        let mut sum = self.units.load(Ordering::Relaxed);
        while let Err(now) = self.units.compare_exchange(
            sum,
            sum.saturating_add(units),
            Ordering::Relaxed,
            Ordering::Relaxed,
        ) {
            sum = now;
        }
    }

    /// The sum, as of now.
    #[must_use]
    pub fn get(&self) -> i64 {
        self.units.load(Ordering::Relaxed)
    }
}

/// One shard's exact part of a sum, and what it has published of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    pub(crate) exact: i128,
    published: i64,
}

/// Which way a part is rounded when it is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Up,
    Down,
}

impl Part {
    fn units(exact: i128, unit: i128, round: Round) -> i64 {
        let down = exact.div_euclid(unit);
        let units = match round {
            Round::Up if exact.rem_euclid(unit) != 0 => down + 1,
            Round::Up | Round::Down => down,
        };
        i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX })
    }

    fn change(&self, delta: i128, unit: i128, round: Round) -> Option<(i128, i64)> {
        let exact = self.exact.checked_add(delta)?;
        Some((exact, Self::units(exact, unit, round)))
    }

    /// Whether `delta` more would stay within `limit`, as of now.
    pub(crate) fn has_room(&self, sum: &SharedSum, delta: i128, unit: i128, limit: i128) -> bool {
        self.change(delta, unit, Round::Up)
            .is_some_and(|(_, units)| {
                let more = units.saturating_sub(self.published);
                more <= 0 || sum.get().saturating_add(more) <= Self::units(limit, unit, Round::Down)
            })
    }

    /// Takes `delta` more of `limit`; all or nothing.
    pub(crate) fn take(&mut self, sum: &SharedSum, delta: i128, unit: i128, limit: i128) -> bool {
        let Some((exact, units)) = self.change(delta, unit, Round::Up) else {
            return false;
        };
        let limit = Self::units(limit, unit, Round::Down);
        let taken = sum.take(units.saturating_sub(self.published), limit);
        if taken {
            (self.exact, self.published) = (exact, units);
        }
        taken
    }

    /// Adds what happened; a part out of range stays where it is.
    pub(crate) fn add(&mut self, sum: &SharedSum, delta: i128, unit: i128, round: Round) {
        if let Some((exact, units)) = self.change(delta, unit, round) {
            sum.add(units.saturating_sub(self.published));
            (self.exact, self.published) = (exact, units);
        }
    }
}
