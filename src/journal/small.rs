//! A journal of small segments, for the tests of those that read one.

use super::fault::OpenError;
use super::recovery::{Intake, resume};
use super::segment::Owner;
use super::storage::SimStorage;
use super::supply::Supply;
use super::unit::{Header, RecordKind, Unit, body_mut, units_for};
use super::writer::{GroupBuffer, Writer};
use crate::time::UnixNanos;
use crate::types::ShardId;

pub(crate) const OWNER: Owner = Owner {
    shard: ShardId(1),
    shards: 2,
};

/// One record: its kind, and its body.
pub(crate) type Content = (RecordKind, Vec<u8>);

/// See the module; every group is synced.
pub(crate) struct SmallJournal {
    writer: Writer<SimStorage>,
    next: u64,
}

impl SmallJournal {
    /// Goes on with what a storage has, which is shown.
    pub(crate) fn open(
        storage: &SimStorage,
        segment_units: u64,
        intake: &mut impl Intake,
    ) -> Result<Self, OpenError> {
        let opened = resume(storage, OWNER, 0x5eed, intake)?;
        let supply = Supply::Inline {
            storage: storage.clone(),
            bytes: segment_units * 64,
            next: opened.position.segment + 1,
        };
        Ok(Self {
            next: opened.position.next,
            writer: Writer::new(OWNER, segment_units, supply, opened.position, opened.file),
        })
    }

    /// Writes a group; the last sequence in it, or `None` where the disk fails.
    pub(crate) fn append(&mut self, records: &[Content]) -> Option<u64> {
        let mut group = GroupBuffer::with_capacity(8);
        for (index, (kind, content)) in records.iter().enumerate() {
            let mut units = vec![Unit::ZERO; units_for(content.len())];
            Header {
                crc: 0,
                kind: *kind,
                version: 1,
                units: u8::try_from(units.len()).unwrap(),
                sequence: self.next + index as u64,
            }
            .write(&mut units[0]);
            body_mut(&mut units)[..content.len()].copy_from_slice(content);
            group.extend(&units);
        }
        let last = self.writer.append(&mut group, UnixNanos(9), true).ok()?;
        self.next = last + 1;
        Some(last)
    }

    /// Sequence of the last record.
    pub(crate) const fn last(&self) -> u64 {
        self.next - 1
    }
}
