//! The life of one completion slot as one atomic word: who may touch what.
//!
//! ```text
//!          claim             complete           recycle
//!   free ────────▶ pending ───────────▶ done ───────────▶ free, next generation
//!                    │ abandon                              ▲
//!                    └────▶ pending+abandoned ── complete ──┘ (by the worker)
//! ```
//!
//! Four parties meet here: the submitter claims, the worker completes, the
//! future's owner registers a waiter, takes the result or abandons it, and a
//! submitter that goes away marks every slot as an orphan. Each move is one
//! atomic step on this word; whoever makes the last one recycles the slot. No
//! move waits for another party.

use super::sync::{AtomicU32, Ordering};

const CLAIMED: u32 = 1;
const DONE: u32 = 1 << 1;
/// A waiter stands in the slot's waiter cell. Set by the future only while not
/// done, so a completed slot that has it was completed by a worker that saw it.
const WAITER: u32 = 1 << 2;
const ABANDONED: u32 = 1 << 3;
/// The submitter is gone: whoever recycles the slot must count it as returned.
const ORPHAN: u32 = 1 << 4;
/// The worker is done with the waiter cell.
const WOKEN: u32 = 1 << 5;
/// The future is done with the slot while the worker may still be waking.
const RELEASED: u32 = 1 << 6;
/// The result is a wrapper, which keeps the slot to be finalized through.
const KEPT: u32 = 1 << 7;
/// A plain commit or rollback of the slot's wrapper is under way.
const FINALIZING: u32 = 1 << 8;
const GENERATION_SHIFT: u32 = 10;

/// One slot's word: flags in the low 10 bits, generation in the high 22.
#[derive(Debug)]
pub(crate) struct Completion(AtomicU32);

/// Which use of a slot a future means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u32);

/// What the worker still has to do after it completed a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completed {
    /// Nothing: the future finds the result.
    Delivered,
    /// Take the waiter out of its cell, call [`Completion::woken`], wake it.
    Wake,
    /// Nobody wants the result: drop it, and the waiter if `waiter`, then
    /// recycle.
    Abandoned {
        /// A waiter stands in the cell.
        waiter: bool,
    },
}

impl Completion {
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Takes a free slot; only the submitter that owns the slab may.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Generation> {
        // Acquire pairs with the release in `recycle`: what the last user did
        // to the cells is over.
        let word = self.0.load(Ordering::Acquire);
        if word & CLAIMED != 0 {
            return None;
        }
        // No other party touches a free slot, so a plain store does; the ring
        // publishes it to the worker.
        self.0.store(word | CLAIMED, Ordering::Relaxed);
        Some(Generation(word >> GENERATION_SHIFT))
    }

    /// Whether the result of this use stands in the slot.
    #[inline]
    pub(crate) fn is_done(&self, generation: Generation) -> bool {
        // Acquire pairs with `complete`.
        let word = self.0.load(Ordering::Acquire);
        assert!(
            word >> GENERATION_SHIFT == generation.0 && word & CLAIMED != 0,
            "a completion slot was recycled under its future"
        );
        word & DONE != 0
    }

    /// The worker's move, after it wrote the result.
    #[inline]
    pub(crate) fn complete(&self) -> Completed {
        // Release publishes the result; acquire takes over the waiter cell.
        let word = self.0.fetch_or(DONE, Ordering::AcqRel);
        debug_assert!(word & (CLAIMED | DONE) == CLAIMED);
        if word & ABANDONED != 0 {
            Completed::Abandoned {
                waiter: word & WAITER != 0,
            }
        } else if word & WAITER != 0 {
            Completed::Wake
        } else {
            Completed::Delivered
        }
    }

    /// The worker's mark, before it completes: the result is a wrapper.
    pub(crate) fn keep(&self) {
        self.0.fetch_or(KEPT, Ordering::Relaxed);
    }

    /// Whether a wrapper has the slot.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.load(Ordering::Relaxed) & KEPT != 0
    }

    /// The wrapper's move: the slot is pending again, with the same generation.
    /// `wanted` is whether somebody will take the result.
    pub(crate) fn rearm(&self, wanted: bool) {
        // A worker may be between completing and waking; it is about to be done.
        loop {
            let word = self.0.load(Ordering::Acquire);
            if word & WAITER == 0 || word & WOKEN != 0 {
                break;
            }
            super::sync::yield_now();
        }
        if !wanted {
            self.0.fetch_or(ABANDONED, Ordering::Relaxed);
        }
        let over = DONE | WAITER | WOKEN | RELEASED | KEPT | FINALIZING;
        let over = if wanted { over | ABANDONED } else { over };
        self.0.fetch_and(!over, Ordering::Relaxed);
    }

    /// Marks, or unmarks, a plain finalization.
    pub(crate) fn set_finalizing(&self, finalizing: bool) {
        if finalizing {
            self.0.fetch_or(FINALIZING, Ordering::AcqRel);
        } else {
            self.0.fetch_and(!FINALIZING, Ordering::AcqRel);
        }
    }

    /// Whether a plain finalization is under way.
    pub(crate) fn is_finalizing(&self) -> bool {
        self.0.load(Ordering::Acquire) & FINALIZING != 0
    }

    /// Whether this use of the slot is still pending: not done, not recycled.
    pub(crate) fn is_pending(&self, generation: Generation) -> bool {
        let word = self.0.load(Ordering::Acquire);
        word >> GENERATION_SHIFT == generation.0 && word & DONE == 0
    }

    /// Which use this is; the caller owns the slot.
    pub(crate) fn generation(&self) -> Generation {
        Generation(self.0.load(Ordering::Relaxed) >> GENERATION_SHIFT)
    }

    /// The worker took the waiter out; whether it must recycle the slot because
    /// the future has already let go of it.
    pub(crate) fn woken(&self) -> bool {
        self.0.fetch_or(WOKEN, Ordering::AcqRel) & RELEASED != 0
    }

    /// Announces the waiter that the future wrote into the cell; `false` when
    /// the result came first, and the cell is the future's again.
    pub(crate) fn register(&self) -> bool {
        self.change_unless_done(|word| word | WAITER)
    }

    /// Takes the waiter cell back; `false` when the result came first, and the
    /// cell is the worker's.
    pub(crate) fn unregister(&self) -> bool {
        self.change_unless_done(|word| word & !WAITER)
    }

    fn change_unless_done(&self, change: impl Fn(u32) -> u32) -> bool {
        let mut word = self.0.load(Ordering::Acquire);
        while word & DONE == 0 {
            match self.0.compare_exchange_weak(
                word,
                change(word),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(seen) => word = seen,
            }
        }
        false
    }

    /// The future goes away; `true` when the result came first and is the
    /// future's to drop, with a [`release`](Self::release) after it.
    pub(crate) fn abandon(&self) -> bool {
        self.0.fetch_or(ABANDONED, Ordering::AcqRel) & DONE != 0
    }

    /// The future took the result of a completed slot; whether it must recycle
    /// the slot (else the worker, still waking, will).
    #[inline]
    pub(crate) fn release(&self) -> bool {
        // WAITER cannot change any more once DONE is set.
        if self.0.load(Ordering::Relaxed) & WAITER == 0 {
            return true;
        }
        self.0.fetch_or(RELEASED, Ordering::AcqRel) & WOKEN != 0
    }

    /// Frees the slot for its next use; whether its submitter is gone.
    #[inline]
    pub(crate) fn recycle(&self) -> bool {
        let generation = self.0.load(Ordering::Relaxed) >> GENERATION_SHIFT;
        // Wraps within its bits.
        let next = (generation << GENERATION_SHIFT).wrapping_add(1 << GENERATION_SHIFT);
        // An RMW, so that an orphan mark is never overwritten unseen. Release
        // hands the cells to the next claim; acquire orders the slab's end.
        self.0.swap(next, Ordering::AcqRel) & ORPHAN != 0
    }

    /// The submitter goes away; whether the slot is free, so that nobody else
    /// will return it.
    pub(crate) fn orphan(&self) -> bool {
        self.0.fetch_or(ORPHAN, Ordering::AcqRel) & CLAIMED == 0
    }
}
