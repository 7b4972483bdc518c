//! How many connections there may be, over all threads (rule G13).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A count with a bound.
#[derive(Debug)]
pub(super) struct Cap {
    used: AtomicUsize,
    most: usize,
}

/// A place under a cap, given back when dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<Cap>);

impl Cap {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            most,
        })
    }

    /// `None` when it is full.
    pub(super) fn take(self: &Arc<Self>) -> Option<Place> {
        // Nothing is published with the count, so the order does not matter.
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                (used < self.most).then_some(used + 1)
            })
            .ok()
            .map(|_| Place(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::Relaxed);
    }
}
