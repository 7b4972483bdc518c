//! Which of a bounded number of things were woken, by any thread.
//!
//! It promises that waking never blocks, allocates or fails; that a wake which
//! returned before a drain began is seen by that drain or announced by the
//! signal; and that a drain yields them by number, lowest first. Two wakes of
//! one thing before a drain are one.

use super::atomic::{AtomicBool, AtomicU64, Ordering};

/// A bit per thing, and a signal that some bit, or something else that the
/// owner must look at, is new.
#[derive(Debug)]
pub struct WakeSet {
    signalled: AtomicBool,
    words: Box<[AtomicU64]>,
}

impl WakeSet {
    /// Room for the numbers below `max`.
    #[must_use]
    pub fn new(max: u32) -> Self {
        Self {
            signalled: AtomicBool::new(false),
            words: (0..max.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Marks `number`. True when the owner must be told: nobody has signalled
    /// since it looked last.
    pub fn wake(&self, number: u32) -> bool {
        if let Some(word) = self.words.get((number / 64) as usize) {
            // Released to the `Acquire` swap in `drain`.
            word.fetch_or(1 << (number % 64), Ordering::Release);
        }
        self.signal()
    }

    /// Says that there is something to look at. True when the owner must be told.
    pub fn signal(&self) -> bool {
        // Pairs with the swap in `take_signal`: what was written before this is
        // seen by who takes the signal, also when it was set already, because a
        // chain of swaps is one release sequence.
        !self.signalled.swap(true, Ordering::AcqRel)
    }

    /// Whether anything was signalled since the last call. Whoever gets `true`
    /// then looks; what is signalled meanwhile is for the next call.
    pub fn take_signal(&self) -> bool {
        // A plain look first: an idle owner keeps the line shared.
        self.is_signalled() && self.signalled.swap(false, Ordering::AcqRel)
    }

    /// Whether there is a signal to take.
    pub fn is_signalled(&self) -> bool {
        self.signalled.load(Ordering::Relaxed)
    }

    /// Takes all marks, and calls `each` for them.
    pub fn drain(&self, mut each: impl FnMut(u32)) {
        for (index, word) in (0u32..).zip(&self.words) {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut marks = word.swap(0, Ordering::Acquire);
            while marks != 0 {
                each(index * 64 + marks.trailing_zeros());
                marks &= marks - 1;
            }
        }
    }
}
