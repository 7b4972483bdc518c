//! A histogram that one thread writes while others read it.
//!
//! Buckets are those of an HDR histogram with two significant digits, so a
//! snapshot loses nothing. Recording is a few instructions and one relaxed
//! store: no lock, no allocation, no read-modify-write. A reader sees each
//! count as it was at some moment of its pass.

use std::sync::atomic::{AtomicU64, Ordering};

use hdrhistogram::Histogram;

/// The largest value that is told apart: 2^36 - 1, 68 seconds in nanoseconds.
pub const VALUE_MAX: u64 = (1 << 36) - 1;

/// Values below this have a bucket each.
const LINEAR: u64 = 256;
const HALF: usize = 128;
/// log2 of `HALF`.
const HALF_BITS: u32 = 7;
const BUCKETS: usize = index(VALUE_MAX) + 1;

/// Counts of values by bucket; single writer.
#[derive(Debug)]
pub struct Counts {
    buckets: Box<[AtomicU64; BUCKETS]>,
    /// Values that were above [`VALUE_MAX`] and counted as it.
    clamped: AtomicU64,
}

impl Counts {
    /// All zero.
    #[must_use]
    pub fn new() -> Self {
        Self {
            buckets: Box::new([const { AtomicU64::new(0) }; BUCKETS]),
            clamped: AtomicU64::new(0),
        }
    }

    /// Counts a value; only one thread may call this. What is above
    /// [`VALUE_MAX`] is counted there, and as clamped.
    #[inline]
    pub fn record(&self, value: u64) {
        if value > VALUE_MAX {
            add(&self.clamped, 1);
        }
        add(&self.buckets[index(value.min(VALUE_MAX))], 1);
    }

    /// Adds these counts to a histogram that covers the same range; how many of
    /// them were clamped.
    pub fn add_to(&self, histogram: &mut Histogram<u64>) -> u64 {
        for (index, bucket) in self.buckets.iter().enumerate() {
            let count = bucket.load(Ordering::Relaxed);
            if count > 0 {
                // Every bucket's value is in the histogram's range.
                histogram.saturating_record_n(lowest(index), count);
            }
        }
        self.clamped.load(Ordering::Relaxed)
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}

fn add(counter: &AtomicU64, count: u64) {
    // One writer, so no RMW.
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// The bucket of a value, at most [`VALUE_MAX`].
const fn index(value: u64) -> usize {
    // Below 2^36 after the shift is below 256, so every cast is exact.
    #[allow(clippy::cast_possible_truncation)]
    if value < LINEAR {
        value as usize
    } else {
        let shift = value.ilog2() - HALF_BITS;
        shift as usize * HALF + (value >> shift) as usize
    }
}

/// The smallest value of a bucket.
const fn lowest(index: usize) -> u64 {
    if index < 2 * HALF {
        return index as u64;
    }
    let shift = index / HALF - 1;
    ((index - shift * HALF) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram() -> Histogram<u64> {
        Histogram::new_with_bounds(1, VALUE_MAX, 2).expect("fixed bounds")
    }

    #[test]
    fn l30_buckets_are_contiguous_and_cover_the_range() {
        for bucket in 0..BUCKETS {
            assert_eq!(index(lowest(bucket)), bucket);
            if bucket > 0 {
                assert_eq!(index(lowest(bucket) - 1), bucket - 1);
            }
        }
        assert_eq!(index(VALUE_MAX), BUCKETS - 1);
    }

    #[test]
    fn l30_what_is_out_of_range_is_clamped_and_counted() {
        let counts = Counts::new();
        counts.record(u64::MAX);
        counts.record(VALUE_MAX);
        let mut histogram = histogram();
        assert_eq!(counts.add_to(&mut histogram), 1);
        assert_eq!(histogram.len(), 2);
    }

    proptest! {
        #[test]
        fn l30_a_snapshot_equals_a_histogram_that_recorded_the_same(
            values in proptest::collection::vec(0..=VALUE_MAX, 0..200),
            small in proptest::collection::vec(0..2_000u64, 0..200),
        ) {
            let counts = Counts::new();
            let mut oracle = histogram();
            for value in values.into_iter().chain(small) {
                counts.record(value);
                oracle.record(value).expect("in range");
            }
            let mut ours = histogram();
            counts.add_to(&mut ours);
            prop_assert_eq!(ours.len(), oracle.len());
            for quantile in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
                prop_assert_eq!(
                    ours.value_at_quantile(quantile),
                    oracle.value_at_quantile(quantile)
                );
            }
        }
    }
}
