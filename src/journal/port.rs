//! The shard's end of its journal: records go in, groups go out, and the shard
//! sees how far they are durable.
//!
//! Nothing here waits, locks or makes a system call but to wake a sleeping
//! journal; nothing allocates, unless one group is longer than any should be.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_utils::sync::Unparker;
use rtrb::Producer;

use super::unit::{BODY_BYTES_MAX, Header, RecordKind, Unit, body_mut, units_for};
use super::watermark::{Condition, Watermark};
use crate::limits::JOURNAL_GROUP_UNITS_MAX;

/// A record's body is longer than a record can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record's body of {0} bytes; it can have {BODY_BYTES_MAX}")]
pub struct BodyTooLong(pub usize);

/// Where a shard writes what it did.
pub struct JournalPort {
    ring: Producer<Unit>,
    /// The group that is being gathered.
    gathered: Vec<Unit>,
    /// Sequence of the next record.
    next: u64,
    /// The last record of each group that is not durable yet.
    unreleased: VecDeque<u64>,
    groups_max: usize,
    watermark: Arc<Watermark>,
    writer: Unparker,
}

impl JournalPort {
    pub(super) fn new(
        ring: Producer<Unit>,
        next: u64,
        groups_max: usize,
        watermark: Arc<Watermark>,
        writer: Unparker,
    ) -> Self {
        Self {
            ring,
            gathered: Vec::with_capacity(JOURNAL_GROUP_UNITS_MAX),
            next,
            unreleased: VecDeque::with_capacity(groups_max),
            groups_max,
            watermark,
            writer,
        }
    }

    /// Adds a record to the group that is being gathered; its sequence.
    ///
    /// # Errors
    /// The body is too long; nothing was added.
    ///
    /// # Panics
    /// Where the kind is none of content's: a fault of the caller.
    #[inline]
    pub fn append(
        &mut self,
        kind: RecordKind,
        version: u8,
        body: &[u8],
    ) -> Result<u64, BodyTooLong> {
        assert!(
            kind <= RecordKind::CONTENT_MAX,
            "{kind:?} is the journal's own"
        );
        let units = units_for(body.len());
        let Ok(length) = u8::try_from(units) else {
            return Err(BodyTooLong(body.len()));
        };
        let start = self.gathered.len();
        self.gathered.resize(start + units, Unit::ZERO);
        let record = &mut self.gathered[start..];
        let sequence = self.next;
        Header {
            crc: 0,
            kind,
            version,
            units: length,
            sequence,
        }
        .write(&mut record[0]);
        body_mut(record)[..body.len()].copy_from_slice(body);
        self.next += 1;
        Ok(sequence)
    }

    /// Hands the gathered group over, as one (rule J2); the sequence up to which
    /// it must be durable before what depends on it may leave. Where the ring is
    /// full the group is kept, and goes with the next.
    #[inline]
    pub fn commit(&mut self) -> u64 {
        let last = self.next - 1;
        if self.gathered.is_empty() {
            return last;
        }
        self.release();
        let room = self.unreleased.len() < self.groups_max;
        if room && self.ring.push_entire_slice(&self.gathered).is_ok() {
            self.gathered.clear();
            self.unreleased.push_back(last);
            self.writer.unpark();
        }
        last
    }

    /// Whether the shard may take more work: what it is given can be committed,
    /// and few enough groups wait for the disk (rule J4).
    #[inline]
    #[must_use]
    pub fn takes_work(&self) -> bool {
        let is_released = |last: &u64| *last <= self.watermark.durable();
        (self.unreleased.len() < self.groups_max
            || self.unreleased.front().is_some_and(is_released))
            && self.gathered.len() < JOURNAL_GROUP_UNITS_MAX / 2
            && self.ring.slots() >= JOURNAL_GROUP_UNITS_MAX
    }

    /// Units that are gathered and were not handed over.
    #[inline]
    #[must_use]
    pub const fn gathered_units(&self) -> usize {
        self.gathered.len()
    }

    /// Whether something is gathered that was not handed over.
    #[must_use]
    pub fn has_gathered(&self) -> bool {
        !self.gathered.is_empty()
    }

    /// Everything up to this sequence is durable.
    #[inline]
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.watermark.durable()
    }

    /// Sequence of the last record that was added.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.next - 1
    }

    /// How the journal stands.
    #[inline]
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.watermark.condition()
    }

    fn release(&mut self) {
        let durable = self.watermark.durable();
        while self.unreleased.front().is_some_and(|&last| last <= durable) {
            self.unreleased.pop_front();
        }
    }
}

impl Drop for JournalPort {
    fn drop(&mut self) {
        // What was gathered belongs to a turn that has not ended: it is not
        // handed over. The writer sees the ring's end.
        self.writer.unpark();
    }
}
