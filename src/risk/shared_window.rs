//! An exact sliding window that every shard counts in (rule K14): lock-free,
//! and never more than the limit passes, whatever the threads do.
//!
//! A log of the last attempts, in one order. An attempt claims the next place
//! by a compare-and-swap of the place itself, then moves the head on; whoever
//! finds the head behind moves it, so that a stalled thread delays nobody.
//!
//! A place holds `time << 1 | lap bit`. The lap bit tells whether the place
//! was claimed in the head's lap; zero is a place never used, so times count
//! from 1. Times never fall
//! from one place to the next, for each is at least its predecessor's; so the
//! place `limit` before an attempt's own is the latest time of every attempt
//! that far back, and an attempt passes only if that is a whole window ago.

use crossbeam_utils::CachePadded;

use super::sync::{AtomicU64, Ordering};
use crate::time::Nanos;

/// See the module.
pub struct SharedWindow {
    /// Attempts that were logged so far.
    head: CachePadded<AtomicU64>,
    /// A power of two of them.
    places: Box<[AtomicU64]>,
}

impl SharedWindow {
    /// Room for limits of up to `slots`, rounded up to a power of two.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        let slots = slots.max(1).next_power_of_two();
        Self {
            head: CachePadded::new(AtomicU64::new(0)),
            places: (0..slots).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// The largest limit that the log can judge.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.places.len()
    }

    #[allow(clippy::cast_possible_truncation)] // Masked to the log's length.
    fn place(&self, attempt: u64) -> &AtomicU64 {
        &self.places[attempt as usize & (self.places.len() - 1)]
    }

    fn lap_bit(&self, attempt: u64) -> u64 {
        // The first lap's bit is set, so that zero is not claimed.
        1 ^ ((attempt >> self.places.len().trailing_zeros()) & 1)
    }

    /// Logs an attempt at `now`; whether it is one of at most `limit` in the
    /// `window_ns` that end with it. A limit beyond the capacity passes
    /// nothing, as cannot be judged; configuration refuses it before.
    #[inline]
    pub fn hit(&self, now: Nanos, limit: u32, window_ns: u64) -> bool {
        loop {
            // Acquire pairs with the release below: the places before the head
            // are seen as they were claimed.
            let attempt = self.head.load(Ordering::Acquire);
            let place = self.place(attempt);
            let found = place.load(Ordering::Acquire);
            let bit = self.lap_bit(attempt);
            if found != 0 && found & 1 == bit {
                // Claimed, and the head not yet moved: help.
                let _ = self.head.compare_exchange(
                    attempt,
                    attempt + 1,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                continue;
            }
            // A head read a whole lap ago would make the claim of that lap look
            // like the one before it. Whoever claimed a place had read the head
            // there, so an unchanged head shows that `found` is of this lap.
            if self.head.load(Ordering::Acquire) != attempt {
                continue;
            }
            let passes = self.admits(attempt, now, limit, window_ns);
            let before = match attempt.checked_sub(1) {
                Some(previous) => self.place(previous).load(Ordering::Acquire) >> 1,
                None => 0,
            };
            // The head having moved shows as a failed exchange: a claimed place
            // has the other lap bit, and its next lap's time is later.
            let claim = stamp(now).max(before) << 1 | bit;
            if place
                .compare_exchange(found, claim, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                let _ = self.head.compare_exchange(
                    attempt,
                    attempt + 1,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                return passes;
            }
        }
    }

    /// What [`hit`](Self::hit) would answer, without logging.
    #[must_use]
    pub fn peek(&self, now: Nanos, limit: u32, window_ns: u64) -> bool {
        loop {
            let attempt = self.head.load(Ordering::Acquire);
            let found = self.place(attempt).load(Ordering::Acquire);
            if found != 0 && found & 1 == self.lap_bit(attempt) {
                let _ = self.head.compare_exchange(
                    attempt,
                    attempt + 1,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                continue;
            }
            let passes = self.admits(attempt, now, limit, window_ns);
            if self.head.load(Ordering::Acquire) == attempt {
                return passes;
            }
        }
    }

    fn admits(&self, attempt: u64, now: Nanos, limit: u32, window_ns: u64) -> bool {
        if limit == 0 || limit as usize > self.places.len() {
            return false;
        }
        match attempt.checked_sub(u64::from(limit)) {
            None => true,
            Some(oldest) => {
                let time = self.place(oldest).load(Ordering::Acquire) >> 1;
                stamp(now) >= time.saturating_add(window_ns)
            }
        }
    }
}

/// Counts from 1, and leaves the bit that the lap takes.
const fn stamp(now: Nanos) -> u64 {
    let time = now.0.saturating_add(1);
    if time > u64::MAX >> 1 {
        u64::MAX >> 1
    } else {
        time
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The oracle keeps every attempt and counts; the log wraps many times.
        #[test]
        fn k14_shared_window_is_exact(
            steps in prop::collection::vec(0u64..40, 1..300),
            limit in 0u32..9,
            window_ns in 1u64..200,
        ) {
            let window = SharedWindow::new(limit);
            let mut oracle = Vec::new();
            let mut now = 0;
            for delta in steps {
                now += delta;
                oracle.push(now);
                let recent = oracle.iter().filter(|at| now - **at < window_ns).count();
                let expected = recent <= limit as usize;
                prop_assert_eq!(window.peek(Nanos(now), limit, window_ns), expected);
                prop_assert_eq!(window.hit(Nanos(now), limit, window_ns), expected);
            }
        }
    }

    #[test]
    fn k14_time_zero_claims_a_place_in_every_lap() {
        let window = SharedWindow::new(1);
        let passed = (0..10).filter(|_| window.hit(Nanos(0), 1, 5)).count();
        assert_eq!(passed, 1);
        assert!(window.hit(Nanos(5), 1, 5));
    }
}
