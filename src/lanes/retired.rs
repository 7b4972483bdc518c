//! Slabs whose submitter is gone and whose slots are not all back: futures may
//! be held for as long as anybody likes.
//!
//! A slot's last touch is the store that frees it, so that no count has to be
//! kept for each operation. Who frees a slot of a retired slab looks here
//! afterwards whether it was the last. One that was about to free a slot at
//! the very moment of the retirement does not; then the next submitter's
//! making, or the next slab, finds it.

use super::slab::Remains;
use super::sync::Mutex;
use super::wake::lock;

/// Few, and mostly none; bounded by the submitters that futures outlive.
type Slabs = Mutex<Vec<Remains>>;

#[cfg(not(loom))]
static RETIRED: Slabs = Mutex::new(Vec::new());
#[cfg(loom)]
loom::lazy_static! {
    static ref RETIRED: Slabs = Mutex::new(Vec::new());
}

/// Keeps a slab until its slots are back.
pub(crate) fn keep(slab: Remains) {
    if slab.is_over() {
        return;
    }
    lock(&RETIRED).push(slab);
    // A slot that came back meanwhile found no slab here.
    sweep();
}

/// Frees the slabs whose slots are all back.
pub(crate) fn sweep() {
    let free: Vec<_> = {
        let mut slabs = lock(&RETIRED);
        slabs.extract_if(.., |slab| slab.is_over()).collect()
    };
    // Outside of the lock: a waker that is dropped may do anything.
    drop(free);
}
