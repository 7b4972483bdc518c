//! How a thread waits for work: spin, then yield, then sleep.
//!
//! Spinning answers in half a microsecond and keeps a core; a sleep costs ten
//! to wake from. With fewer cores than hot threads a spinner keeps the very
//! thread off the core that it waits for, so it spins a little and yields.

use std::hint::spin_loop;
use std::thread;

/// How long to spin and to yield before it is time to sleep; counts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleStrategy {
    spins: u32,
    yields: u32,
    spins_left: u32,
    yields_left: u32,
}

impl IdleStrategy {
    /// Spins `spins` times, yields `yields` times, then asks for a sleep.
    #[must_use]
    pub const fn new(spins: u32, yields: u32) -> Self {
        Self {
            spins,
            yields,
            spins_left: spins,
            yields_left: yields,
        }
    }

    /// For a machine on which every hot thread has a core of its own.
    #[must_use]
    pub const fn dedicated() -> Self {
        Self::new(2_000, 16)
    }

    /// For fewer cores than hot threads: yields soon, never spins for long.
    #[must_use]
    pub const fn shared() -> Self {
        Self::new(20, 64)
    }

    /// Never asks for a sleep at once: for a quiet machine where latency is
    /// worth whole cores. Yields between spins, so that it never starves the
    /// thread that it waits for.
    #[must_use]
    pub const fn busy() -> Self {
        Self::new(20_000, u32::MAX)
    }

    /// Picks one of the above by how many hot threads share how many CPUs.
    #[must_use]
    pub const fn for_threads(hot_threads: usize, cpus: usize) -> Self {
        if hot_threads <= cpus {
            Self::dedicated()
        } else {
            Self::shared()
        }
    }

    /// Waits a moment; `false` when it is time to sleep.
    #[inline]
    pub fn pause(&mut self) -> bool {
        if self.spins_left > 0 {
            self.spins_left -= 1;
            spin_loop();
            return true;
        }
        if self.yields_left > 0 {
            self.yields_left -= 1;
            thread::yield_now();
            return true;
        }
        false
    }

    /// There was work: begins anew.
    #[inline]
    pub const fn reset(&mut self) {
        self.spins_left = self.spins;
        self.yields_left = self.yields;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f42_it_spins_then_yields_then_asks_for_a_sleep_until_there_is_work() {
        let mut idle = IdleStrategy::new(3, 2);
        for round in 0..2 {
            for step in 0..5 {
                assert!(idle.pause(), "round {round}, step {step}");
            }
            assert!(!idle.pause(), "after spins and yields it is time to sleep");
            assert!(!idle.pause(), "and stays so");
            idle.reset();
        }
        assert_eq!(IdleStrategy::for_threads(3, 2), IdleStrategy::shared());
        assert_eq!(IdleStrategy::for_threads(2, 2), IdleStrategy::dedicated());
    }
}
