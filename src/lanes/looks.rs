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

use super::operation::fenced;
use super::slab::{Published, Slot};
use super::sync::{Ordering, fence};

/// As many as messages are taken from a ring at once.
pub(crate) const LOOKS_MAX: usize = 64;

/// Drops the result in a slot and recycles it.
type DropUnwanted = unsafe fn(Slot);

/// What was published since the last fence. Whoever has it has a share of every
/// slab that is meant.
pub(crate) struct Looks(ArrayVec<(Published, DropUnwanted), LOOKS_MAX>);

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
        let published = slot.publish();
        look(published, drop);
        self.0.push((published, drop));
    }

    /// The look after a fence.
    #[inline]
    pub(crate) fn finish(&mut self) {
        if self.0.is_empty() {
            return;
        }
        // Pairs with the fence of a future that makes a wish.
        fence(Ordering::SeqCst);
        for &(published, drop) in &self.0 {
            look(published, drop);
        }
        self.0.clear();
    }
}

/// Does what is wished for.
#[inline]
fn look(published: Published, drop: DropUnwanted) {
    // SAFETY: published by this worker, which has a share of the slab.
    if unsafe { published.is_wished() } {
        grant(published, drop);
    }
}

/// A waker that panics is its owner's fault, and others wait behind it.
#[cold]
#[inline(never)]
fn grant(published: Published, drop: DropUnwanted) {
    fenced(|| {
        // SAFETY: as above; the function was made for the result in this slot.
        unsafe {
            if published.grant() {
                drop(published.slot());
            }
        }
    });
}
