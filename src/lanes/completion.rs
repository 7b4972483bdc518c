//! The life of one completion slot: who may touch what, and who waits.
//!
//! ```text
//!  word   free ──claim──▶ pending ──publish──▶ done ──recycle──▶ free, next generation
//!         submitter       worker               future's owner, or the worker
//!
//!  wish   nothing ─┬─▶ waiter ───▶ taking ───▶ closed   the worker wakes
//!                  ├─▶ unwanted ─────────────▶ closed   the worker drops the result
//!                  └─────────────────────────▶ closed   the result came first
//! ```
//!
//! The *word* is a baton: whoever it names owns the slot's result and hands it
//! on with one plain release store. So a result that its owner comes for by
//! itself costs no read-modify-write and no fence. The *wish* lies apart, and
//! is written only by who cannot wait for the baton: a future that sleeps, or
//! that goes away before its result came.
//!
//! A worker meets wishes in one of two ways. One that keeps the slots' memory
//! [publishes](Completion::publish) first, and [looks](Completion::look) once
//! at once, and once more after a fence, which serves many operations; a
//! future writes its wish, fences, and looks at the word: one of the two sees
//! the other. One that keeps nothing [closes](Completion::close) the wish
//! first, and then publishes: the store is its last touch. Wishes carry the
//! generation of their use, so a late look at a slot that is used again finds
//! nothing.

use super::sync::{AtomicU64, Ordering, fence, read_own, yield_now};

const PENDING: u64 = 1;
const DONE: u64 = 1 << 1;
/// The result is a wrapper, which keeps the slot to be finalized through.
const KEPT: u64 = 1 << 2;

/// A waiter stands in the slot's waiter cell, for the worker to take.
const WAITER: u64 = 1;
/// Nobody wants the result.
const UNWANTED: u64 = 2;
/// The worker is taking the waiter out of its cell.
const TAKING: u64 = 3;
/// As `TAKING`, and the future has let go of the slot meanwhile.
const LET_GO: u64 = 4;
/// There is nothing to wish for any more: the result is there, or about to be.
const CLOSED: u64 = 5;

const FLAGS: u64 = 0xF;
const GENERATION: u64 = FLAGS + 1;

/// Who owns a slot: flags in the low 4 bits, generation in the high 60.
#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

/// Who waits for it; flags and generation as in the word.
#[derive(Debug)]
pub(crate) struct Wish(AtomicU64);

/// Which use of a slot a future means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u64);

/// A future's claim on a use of a slot: the generation, and in its lowest bit
/// whether a waiter of the future stands in the cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim(u64);

impl From<Generation> for Claim {
    #[inline]
    fn from(generation: Generation) -> Self {
        Self(generation.0)
    }
}

/// A claim as a plain word, and back.
impl From<u64> for Claim {
    #[inline]
    fn from(word: u64) -> Self {
        Self(word)
    }
}

impl From<Claim> for u64 {
    #[inline]
    fn from(claim: Claim) -> Self {
        claim.0
    }
}

impl Claim {
    #[inline]
    pub(crate) fn generation(self) -> Generation {
        Generation(self.0 & !FLAGS)
    }

    #[inline]
    pub(crate) fn is_waiting(self) -> bool {
        self.0 & FLAGS != 0
    }

    pub(crate) fn set_waiting(&mut self, waiting: bool) {
        self.0 = (self.0 & !FLAGS) | u64::from(waiting);
    }
}

/// One slot's word and wish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion<'a> {
    pub(crate) word: &'a Word,
    pub(crate) wish: &'a Wish,
}

/// What a worker finds that somebody wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wished {
    /// Nothing: the future finds the result.
    Nothing,
    /// Wake the waiter, which stands in its cell.
    Waking,
    /// Nobody wants the result: drop it and recycle.
    Dropping,
}

/// What a future that waited finds when it lets go of a slot with its result
/// taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LetGo {
    /// Its waiter stands in the cell still, and is its own to drop.
    WithWaiter,
    /// The worker has taken the waiter.
    Free,
    /// The worker is taking the waiter, and recycles the slot then.
    ToWorker,
}

impl Word {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Takes a free slot; only the submitter that owns the slab may.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Generation> {
        // Acquire pairs with the release in `recycle`: what the last user did
        // to the cells is over.
        let word = self.0.load(Ordering::Acquire);
        if word & FLAGS != 0 {
            return None;
        }
        // Nobody else touches a free slot; the ring publishes this.
        self.0.store(word | PENDING, Ordering::Relaxed);
        Some(Generation(word))
    }

    /// Whether no party has the slot; what the last one did is over.
    pub(crate) fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) & FLAGS == 0
    }

    /// Whether the result of this use stands in the slot.
    #[inline]
    pub(crate) fn is_done(&self, generation: Generation) -> bool {
        // Acquire pairs with `publish`.
        let word = self.0.load(Ordering::Acquire);
        assert!(
            word & !FLAGS == generation.0 && word & FLAGS != 0,
            "a completion slot was recycled under its future"
        );
        word & DONE != 0
    }

    /// Whether this use of the slot is still pending: not done, not recycled.
    pub(crate) fn is_pending(&self, generation: Generation) -> bool {
        let word = self.0.load(Ordering::Acquire);
        word & !FLAGS == generation.0 && word & PENDING != 0
    }

    /// Which use this is; the caller owns the slot.
    #[inline]
    pub(crate) fn generation(&self) -> Generation {
        Generation(read_own(&self.0) & !FLAGS)
    }

    /// The worker's mark, before it publishes: the result is a wrapper.
    pub(crate) fn keep(&self) {
        let word = read_own(&self.0);
        self.0.store(word | KEPT, Ordering::Relaxed);
    }

    /// Whether a wrapper has the slot; asked by who has its result.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        read_own(&self.0) & KEPT != 0
    }

    /// The worker's move, after it wrote the result.
    #[inline]
    pub(crate) fn publish(&self) -> Generation {
        // The worker owns the word until this store.
        let word = read_own(&self.0);
        debug_assert!(word & (PENDING | DONE) == PENDING);
        self.0.store((word & !PENDING) | DONE, Ordering::Release);
        Generation(word & !FLAGS)
    }

    /// Frees the slot for its next use; the last touch of its owner.
    #[inline]
    pub(crate) fn recycle(&self) {
        let word = read_own(&self.0);
        // Release hands the cells to the next claim.
        self.0
            .store((word & !FLAGS).wrapping_add(GENERATION), Ordering::Release);
    }
}

impl Wish {
    pub(crate) fn new() -> Self {
        // Of no generation, so that it means nothing in the first one.
        Self(AtomicU64::new(!FLAGS | CLOSED))
    }

    /// Whether it is for this use.
    #[inline]
    pub(crate) fn is_for(&self, generation: Generation) -> bool {
        self.0.load(Ordering::Relaxed) & !FLAGS == generation.0
    }

    /// Moves from one state of a generation to another, unless it is not in it.
    fn change(&self, generation: Generation, from: u64, to: u64) -> bool {
        let (from, to) = (generation.0 | from, generation.0 | to);
        // AcqRel: the waiter cell changes hands with it.
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

impl Completion<'_> {
    /// What is wished for the use that was published; the worker looks at once,
    /// and once more after a fence. Needs the slot's memory, not the slot.
    pub(crate) fn look(&self, generation: Generation) -> Wished {
        // A future that found its result takes its wish back; one of the two
        // changes it.
        if !self.wish.is_for(generation) {
            Wished::Nothing
        } else if self.wish.change(generation, WAITER, TAKING) {
            Wished::Waking
        } else if self.wish.change(generation, UNWANTED, CLOSED) {
            Wished::Dropping
        } else {
            Wished::Nothing
        }
    }

    /// The worker took the waiter that it found by a look out of its cell;
    /// whether it must recycle the slot, because the future has let go of it.
    pub(crate) fn taken(&self, generation: Generation) -> bool {
        let closed = generation.0 | CLOSED;
        self.wish.0.swap(closed, Ordering::AcqRel) == generation.0 | LET_GO
    }

    /// What was wished for, and the end of wishes: the cells are the worker's,
    /// which publishes then.
    pub(crate) fn close(&self) -> Wished {
        let generation = self.word.generation();
        let closed = generation.0 | CLOSED;
        let wish = self.wish.0.swap(closed, Ordering::AcqRel);
        if wish == generation.0 | WAITER {
            Wished::Waking
        } else if wish == generation.0 | UNWANTED {
            Wished::Dropping
        } else {
            Wished::Nothing
        }
    }

    /// Announces the waiter that the future wrote into the cell; `false` when
    /// the result is there, and the cell is the future's again.
    pub(crate) fn register(&self, generation: Generation) -> bool {
        self.wish_for(generation, WAITER)
    }

    /// Nobody will take the result; `false` when it is there, for the caller to
    /// drop.
    pub(crate) fn abandon(&self, generation: Generation) -> bool {
        self.wish_for(generation, UNWANTED)
    }

    fn wish_for(&self, generation: Generation, what: u64) -> bool {
        let wish = generation.0 | what;
        let closed = generation.0 | CLOSED;
        if self.wish.0.swap(wish, Ordering::AcqRel) == closed {
            // The result is there, or about to be. A worker that looks late may
            // grant the wish all the same.
            if !self.wish.change(generation, what, CLOSED) {
                return true;
            }
            self.await_done(generation);
            return false;
        }
        // Pairs with the fence before a worker's last look: either it sees the
        // wish, or this sees the result.
        fence(Ordering::SeqCst);
        if !self.is_published(generation) {
            return true;
        }
        // The result came meanwhile: whoever changes the wish back is the one
        // that acts on it.
        !self.wish.change(generation, what, CLOSED)
    }

    /// Whether the result was published, of a use that may be over since: what
    /// nobody wants is recycled by the worker.
    fn is_published(&self, generation: Generation) -> bool {
        let word = self.word.0.load(Ordering::Acquire);
        word != generation.0 | PENDING && word != generation.0 | PENDING | KEPT
    }

    /// Takes the waiter cell back; `false` when the result is there, or the
    /// worker is about to wake.
    pub(crate) fn unregister(&self, generation: Generation) -> bool {
        if self.wish.change(generation, WAITER, 0) {
            return true;
        }
        self.await_done(generation);
        false
    }

    /// A worker that closed the wish is about to publish: a few instructions.
    fn await_done(&self, generation: Generation) {
        while !self.word.is_done(generation) {
            yield_now();
        }
    }

    /// A future that announced a waiter has its result, and will recycle the
    /// slot as this says.
    pub(crate) fn let_go(&self, generation: Generation) -> LetGo {
        if self.wish.change(generation, WAITER, CLOSED) {
            LetGo::WithWaiter
        } else if self.wish.change(generation, TAKING, LET_GO) {
            LetGo::ToWorker
        } else {
            LetGo::Free
        }
    }

    /// As [`let_go`](Self::let_go), where a wrapper keeps the slot: waits for
    /// the worker to have taken the waiter; whether it stands in its cell.
    pub(crate) fn settle(&self, generation: Generation) -> bool {
        if self.wish.change(generation, WAITER, CLOSED) {
            return true;
        }
        // A worker between two instructions.
        while self.wish.0.load(Ordering::Acquire) == generation.0 | TAKING {
            yield_now();
        }
        false
    }

    /// The wrapper's move, with the wishes settled: the slot is pending again,
    /// as its next generation. `wanted` is whether somebody will take the
    /// result.
    pub(crate) fn rearm(&self, wanted: bool) -> Generation {
        let next = self.word.generation().0.wrapping_add(GENERATION);
        if !wanted {
            self.wish.0.store(next | UNWANTED, Ordering::Relaxed);
        }
        self.word.0.store(next | PENDING, Ordering::Release);
        Generation(next)
    }
}
