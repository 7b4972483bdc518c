//! What a worker published and must look at once more: whether somebody wished
//! for it at that very moment (rule L21).
//!
//! A worker looks for wishes right after it published a result. A wish that was
//! made at the same time may not be in sight then, and its maker may not have
//! seen the result: the look after a fence finds it. The fence serves all that
//! was published before it, so it costs next to nothing for each operation. A
//! waiter that met its result head-on is woken at the end of the run of
//! messages, of 64 at most.
#![allow(unsafe_code)]

use arrayvec::ArrayVec;

use super::completion::Generation;
use super::slab::Slot;
use super::sync::{Ordering, fence};

/// As many as messages are taken from a ring at once.
pub(crate) const LOOKS_MAX: usize = 64;

/// Drops the result in a slot and recycles it.
type DropUnwanted = unsafe fn(Slot);

/// What was published since the last fence. Whoever has it has a share of every
/// slab that is meant.
pub(crate) struct Looks(ArrayVec<Published, LOOKS_MAX>);

#[derive(Clone, Copy)]
struct Published {
    slot: Slot,
    generation: Generation,
    drop: DropUnwanted,
}

impl Looks {
    pub(crate) fn new() -> Self {
        Self(ArrayVec::new())
    }

    /// Publishes the result that was written to a slot.
    #[inline]
    pub(crate) fn publish(&mut self, slot: Slot, drop: DropUnwanted) {
        if self.0.is_full() {
            self.finish();
        }
        let published = Published {
            generation: slot.publish(),
            slot,
            drop,
        };
        published.look();
        self.0.push(published);
    }

    /// The look after a fence.
    #[inline]
    pub(crate) fn finish(&mut self) {
        // Pairs with the fence of a future that makes a wish.
        fence(Ordering::SeqCst);
        for published in self.0.drain(..) {
            published.look();
        }
    }
}

impl Published {
    /// Does what is wished for. A wish is granted once, so a second look, or
    /// one at a slot that is used again, finds nothing.
    #[inline]
    fn look(&self) {
        // SAFETY: published by this worker, which has a share of the slab.
        if unsafe { self.slot.look(self.generation) } {
            // SAFETY: made for the result in this slot, which is the worker's.
            unsafe { (self.drop)(self.slot) };
        }
    }
}
