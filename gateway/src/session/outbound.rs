//! A session's bounded queue of bytes for its client (rule G12).

use crate::wire::{Block, FRAME_MAX, write_frame};

/// What waits for a client: the buffer that fills while another is written.
#[derive(Debug)]
pub struct Outbound {
    filling: Vec<u8>,
    /// Bytes of the buffer that is being written.
    writing: usize,
    limit: usize,
    /// Bytes ever queued.
    total: u64,
}

impl Outbound {
    /// A queue that is full at `limit` bytes, what is being written included.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            filling: Vec::new(),
            writing: 0,
            limit,
            total: 0,
        }
    }

    /// Whether one more message, of any kind, fits.
    #[must_use]
    #[inline]
    pub const fn has_room(&self) -> bool {
        self.queued() + FRAME_MAX <= self.limit
    }

    /// Bytes that the operating system has not taken yet.
    #[must_use]
    #[inline]
    pub const fn queued(&self) -> usize {
        self.filling.len() + self.writing
    }

    /// Bytes ever queued.
    #[must_use]
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Whether there is something to write and nothing is being written.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.writing == 0 && !self.filling.is_empty()
    }

    /// Queues a message. Bounded by its callers: reports look at
    /// [`Outbound::has_room`] first, and session messages are few.
    pub(super) fn frame<B: Block>(&mut self, block: &B) {
        self.append(|out| write_frame(out, block));
    }

    #[inline]
    pub(super) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.filling.len();
        write(&mut self.filling);
        self.total = self
            .total
            .wrapping_add(u64::try_from(self.filling.len() - before).unwrap_or(0));
    }

    /// Takes all that waits, to be written; `spare` fills from now on.
    pub fn take(&mut self, mut spare: Vec<u8>) -> Vec<u8> {
        debug_assert_eq!(self.writing, 0, "one write in flight");
        spare.clear();
        let taken = core::mem::replace(&mut self.filling, spare);
        self.writing = taken.len();
        taken
    }

    /// What was taken has been written.
    pub const fn written(&mut self) {
        self.writing = 0;
    }

    /// The bytes that wait, for a writer that takes some at a time.
    #[must_use]
    pub fn waiting(&self) -> &[u8] {
        &self.filling
    }
}
