//! Chance that follows from a seed.

use std::ops::RangeInclusive;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub(super) struct Dice(ChaCha12Rng);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha12Rng::seed_from_u64(seed))
    }

    pub(super) fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// One of the range, each nearly as likely: the ranges here are small beside
    /// what is drawn from.
    pub(super) fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let count = (range.end() - range.start()).saturating_add(1);
        range.start() + self.0.next_u64() % count
    }

    /// Whether something happens that does so `percent` times in a hundred.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.0.next_u64() % 100 < percent
    }
}
