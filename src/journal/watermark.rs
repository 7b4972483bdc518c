//! What a journal's thread tells its shard: how far it is durable, and whether
//! it can go on.
//!
//! One writer, any readers. A reader never waits.

use super::sync::{AtomicBool, AtomicU64, Ordering};

/// How a journal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All is well.
    Running,
    /// The disk is full: what is left of the reserved space is for cancels,
    /// fills and releases (rule J9). It may pass.
    SpaceLow,
    /// A write or a sync has failed: nothing more becomes durable (rule J8).
    Failed,
}

/// The last durable sequence, and the condition.
#[derive(Debug)]
pub(crate) struct Watermark {
    durable: AtomicU64,
    space_low: AtomicBool,
    failed: AtomicBool,
}

impl Watermark {
    pub(crate) fn new(durable: u64) -> Self {
        Self {
            durable: AtomicU64::new(durable),
            space_low: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Everything up to here has been written and synced.
    pub(crate) fn advance(&self, durable: u64) {
        // Pairs with the load in `durable`: who sees the number may act on what
        // the writer did before it.
        self.durable.store(durable, Ordering::Release);
    }

    pub(crate) fn durable(&self) -> u64 {
        // Pairs with the store in `advance`.
        self.durable.load(Ordering::Acquire)
    }

    pub(crate) fn set_space_low(&self, low: bool) {
        // A hint that guards nothing.
        self.space_low.store(low, Ordering::Relaxed);
    }

    /// Nothing more becomes durable; there is no way back.
    pub(crate) fn fail(&self) {
        // Pairs with the load in `condition`: who sees it sees the last number.
        self.failed.store(true, Ordering::Release);
    }

    pub(crate) fn condition(&self) -> Condition {
        if self.failed.load(Ordering::Acquire) {
            Condition::Failed
        } else if self.space_low.load(Ordering::Relaxed) {
            Condition::SpaceLow
        } else {
            Condition::Running
        }
    }
}
