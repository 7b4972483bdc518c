//! The tickets of one shard: taken only while more than one ring is live.

use crossbeam_utils::CachePadded;

use super::sync::{AtomicBool, AtomicU64, Ordering};

/// A counter, and whether it is in use.
#[derive(Debug)]
pub(crate) struct Tickets {
    next: CachePadded<AtomicU64>,
    /// More than one ring is live, so order needs tickets.
    many: CachePadded<AtomicBool>,
}

impl Tickets {
    pub(crate) fn new() -> Self {
        Self {
            next: CachePadded::new(AtomicU64::new(1)),
            many: CachePadded::new(AtomicBool::new(false)),
        }
    }

    /// How many rings are live now; called with the registration locked.
    pub(crate) fn set_live(&self, rings: usize) {
        // Rising: the registration waits for pushes that may have missed this,
        // so they are all in sight before the new ring is. Falling: everything
        // that other submitters sent has run, so the one that is left is
        // ordered by its ring alone.
        self.many.store(rings > 1, Ordering::Relaxed);
    }

    /// The first of `count` tickets for messages that have room, or none while
    /// one submitter is alone.
    #[inline]
    pub(crate) fn take(&self, count: u64) -> Option<u64> {
        // Relaxed: a submit that follows another submit sees the flag and the
        // counter at least as late as that one did, by coherence.
        if self.many.load(Ordering::Relaxed) {
            Some(self.next.fetch_add(count, Ordering::Relaxed))
        } else {
            None
        }
    }

    /// A ticket for a node, which always has one.
    pub(crate) fn take_always(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}
