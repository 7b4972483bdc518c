//! Segments: their names, the unit that each begins with, and the unit that
//! each group of records begins with.

use super::unit::{HEADER_BYTES, Header, RecordKind, Seed, Unit, body, u16_at, u32_at, u64_at};
use crate::time::UnixNanos;
use crate::types::ShardId;

/// The version of the layout that this page of code writes.
pub const FORMAT: u16 = 1;
const MAGIC: [u8; 8] = *b"PITLANEJ";

/// Whose journal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The shard that writes it.
    pub shard: ShardId,
    /// How many shards there are: accounts are divided by it.
    pub shards: u16,
}

/// The first unit of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) format: u16,
    pub(super) owner: Owner,
    pub(super) number: u64,
    /// Drawn at random when the journal is made.
    pub(super) journal: u64,
    /// Sequence of the first record.
    pub(super) first: u64,
}

impl SegmentHeader {
    pub(super) fn write(&self) -> Unit {
        let mut unit = Unit::ZERO;
        control(RecordKind::SEGMENT, self.first).write(&mut unit);
        let content = &mut unit.0[HEADER_BYTES..];
        content[..8].copy_from_slice(&MAGIC);
        content[8..10].copy_from_slice(&self.format.to_le_bytes());
        content[10..12].copy_from_slice(&self.owner.shard.0.to_le_bytes());
        content[12..14].copy_from_slice(&self.owner.shards.to_le_bytes());
        content[16..24].copy_from_slice(&self.number.to_le_bytes());
        content[24..32].copy_from_slice(&self.journal.to_le_bytes());
        Seed::NONE.seal(core::slice::from_mut(&mut unit));
        unit
    }

    /// `None` where the unit is not a whole header.
    pub(super) fn read(unit: &Unit) -> Option<Self> {
        let header = Header::read(unit);
        let one = core::slice::from_ref(unit);
        if header.kind != RecordKind::SEGMENT || !Seed::NONE.holds(one) {
            return None;
        }
        let content = body(one);
        (content[..8] == MAGIC).then(|| Self {
            format: u16_at(content, 8),
            owner: Owner {
                shard: ShardId(u16_at(content, 10)),
                shards: u16_at(content, 12),
            },
            number: u64_at(content, 16),
            journal: u64_at(content, 24),
            first: header.sequence,
        })
    }
}

/// The unit in front of a group: records that are there after a crash together
/// or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupHeader {
    /// Sequence of the first record.
    pub(super) first: u64,
    pub(super) records: u32,
    /// Units of the records.
    pub(super) units: u32,
    /// When the group was written.
    pub(super) wall: UnixNanos,
    /// The last sequence that was durable when this group was written: damage
    /// up to there is no torn tail.
    pub(super) durable: u64,
    pub(super) journal: u64,
}

impl GroupHeader {
    pub(super) fn write(&self) -> Unit {
        let mut unit = Unit::ZERO;
        control(RecordKind::GROUP, self.first).write(&mut unit);
        let content = &mut unit.0[HEADER_BYTES..];
        content[..4].copy_from_slice(&self.records.to_le_bytes());
        content[4..8].copy_from_slice(&self.units.to_le_bytes());
        content[8..16].copy_from_slice(&self.wall.0.to_le_bytes());
        content[16..24].copy_from_slice(&self.durable.to_le_bytes());
        content[24..32].copy_from_slice(&self.journal.to_le_bytes());
        Seed::of(self.journal).seal(core::slice::from_mut(&mut unit));
        unit
    }

    /// `None` where the unit is not a whole header of this journal, or of any
    /// where the journal's number is not known.
    pub(super) fn read(unit: &Unit, journal: Option<u64>) -> Option<Self> {
        let header = Header::read(unit);
        let one = core::slice::from_ref(unit);
        if header.kind != RecordKind::GROUP || header.units != 1 {
            return None;
        }
        let content = body(one);
        let own = u64_at(content, 24);
        if journal.is_some_and(|journal| journal != own) || !Seed::of(own).holds(one) {
            return None;
        }
        Some(Self {
            first: header.sequence,
            records: u32_at(content, 0),
            units: u32_at(content, 4),
            wall: UnixNanos(u64_at(content, 8)),
            durable: u64_at(content, 16),
            journal: own,
        })
    }
}

const fn control(kind: RecordKind, sequence: u64) -> Header {
    Header {
        crc: 0,
        kind,
        version: 1,
        units: 1,
        sequence,
    }
}

/// A segment's file.
pub(super) fn segment_name(number: u64) -> String {
    format!("{number:016}.segment")
}

/// A segment that is being filled with zeros.
pub(super) fn preparing_name(number: u64) -> String {
    format!("{number:016}.preparing")
}

/// The number of a segment's file; `None` for any other file.
pub(super) fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".segment")?;
    (digits.len() == 16).then(|| digits.parse().ok())?
}

/// Whether a file is a segment that was never finished.
pub(super) fn is_preparing(name: &str) -> bool {
    name.ends_with(".preparing")
}

/// The file of the snapshot up to the end of a segment.
pub(super) fn snapshot_name(segment: u64) -> String {
    format!("{segment:016}.snapshot")
}

/// The same while it is written.
pub(super) fn unfinished_snapshot_name(segment: u64) -> String {
    format!("{segment:016}.snapshot-unfinished")
}

/// The segment of a snapshot's file; `None` for any other file.
pub(super) fn snapshot_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".snapshot")?;
    (digits.len() == 16).then(|| digits.parse().ok())?
}

/// Whether a file is a snapshot that was never finished.
pub(super) fn is_unfinished_snapshot(name: &str) -> bool {
    name.ends_with(".snapshot-unfinished")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j01_segments_are_numbered_and_their_headers_read_back() {
        let header = SegmentHeader {
            format: FORMAT,
            owner: Owner {
                shard: ShardId(3),
                shards: 4,
            },
            number: 17,
            journal: 99,
            first: 12_345,
        };
        let unit = header.write();
        assert_eq!(unit.0[16..24], *b"PITLANEJ");
        assert_eq!(SegmentHeader::read(&unit), Some(header));
        assert_eq!(segment_number(&segment_name(17)), Some(17));
        for other in [
            "lock",
            "17.segment",
            "0000000000000017.preparing",
            "x.segment",
        ] {
            assert_eq!(segment_number(other), None, "{other}");
        }
        for byte in 0..64 {
            let mut flipped = unit;
            flipped.0[byte] ^= 0x10;
            assert_eq!(SegmentHeader::read(&flipped), None, "byte {byte}");
        }
    }

    #[test]
    fn j02_a_groups_header_says_what_is_in_it_and_whose_it_is() {
        let header = GroupHeader {
            first: 8,
            records: 3,
            units: 5,
            wall: UnixNanos(77),
            durable: 7,
            journal: 99,
        };
        let unit = header.write();
        assert_eq!(GroupHeader::read(&unit, Some(99)), Some(header));
        assert_eq!(GroupHeader::read(&unit, None), Some(header));
        assert_eq!(GroupHeader::read(&unit, Some(98)), None);
        for byte in 0..64 {
            let mut flipped = unit;
            flipped.0[byte] ^= 0x10;
            assert_eq!(GroupHeader::read(&flipped, Some(99)), None, "byte {byte}");
        }
    }
}
