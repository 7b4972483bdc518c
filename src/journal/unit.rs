//! The unit that everything in a segment is made of, and the record in it.
//!
//! A record takes one or more units of 64 bytes and begins at a unit. All
//! numbers are little-endian. Nothing here does I/O or allocates.
//!
//! ```text
//!  0       4     6   7   8               16                               64
//!  ├───────┼─────┼───┼───┼───────────────┼────────────────────────────────┤
//!  │ crc   │kind │ver│len│ sequence      │ body, the rest filled with 0   │
//!  └───────┴─────┴───┴───┴───────────────┴────────────────────────────────┘
//! ```

use bytemuck::{Pod, Zeroable};

use crate::limits::JOURNAL_RECORD_UNITS_MAX;

/// Bytes of a unit: a cache line.
pub const UNIT_BYTES: usize = 64;
/// Bytes in front of a record's body.
pub(super) const HEADER_BYTES: usize = 16;
/// Bytes of the longest body.
pub const BODY_BYTES_MAX: usize = JOURNAL_RECORD_UNITS_MAX * UNIT_BYTES - HEADER_BYTES;

/// 64 bytes of a segment, aligned as they are on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Unit(pub [u8; UNIT_BYTES]);

impl Unit {
    /// What a preallocated segment is full of.
    pub const ZERO: Self = Self([0; UNIT_BYTES]);

    /// Whether nothing was ever written here.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        bytemuck::cast_ref::<Self, [u64; 8]>(self) == &[0; 8]
    }
}

/// What a record is. Numbers never change their meaning and are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct RecordKind(pub u16);

impl RecordKind {
    /// The first unit of a segment.
    pub(super) const SEGMENT: Self = Self(0x5347);
    /// The first unit of a group of records.
    pub(super) const GROUP: Self = Self(0x5247);
    /// The first unit of a snapshot.
    pub(super) const SNAPSHOT: Self = Self(0x5053);
    /// The largest kind that a record of content may have.
    pub const CONTENT_MAX: Self = Self(0x3fff);
}

/// A record's first 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// CRC32C, begun with the journal's seed, of all bytes behind it.
    pub(super) crc: u32,
    pub(super) kind: RecordKind,
    /// Version of the body's layout for this kind, from 1.
    pub(super) version: u8,
    /// Units, this one included, from 1.
    pub(super) units: u8,
    /// From 1, without gaps.
    pub(super) sequence: u64,
}

impl Header {
    pub(super) fn read(unit: &Unit) -> Self {
        let word = bytemuck::cast_ref::<Unit, [u64; 8]>(unit);
        let first = u64::from_le(word[0]).to_le_bytes();
        Self {
            crc: u32::from_le_bytes([first[0], first[1], first[2], first[3]]),
            kind: RecordKind(u16::from_le_bytes([first[4], first[5]])),
            version: first[6],
            units: first[7],
            sequence: u64::from_le(word[1]),
        }
    }

    pub(super) fn write(&self, unit: &mut Unit) {
        unit.0[..4].copy_from_slice(&self.crc.to_le_bytes());
        unit.0[4..6].copy_from_slice(&self.kind.0.to_le_bytes());
        unit.0[6] = self.version;
        unit.0[7] = self.units;
        unit.0[8..16].copy_from_slice(&self.sequence.to_le_bytes());
    }
}

/// What every checksum of one journal begins with, so that bytes of another
/// journal, or bytes that a client chose, are not taken for this one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seed(u32);

impl Seed {
    /// For the one record that is read before the journal's number is known.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn of(journal: u64) -> Self {
        Self(crc32c::crc32c(&journal.to_le_bytes()))
    }

    fn checksum(self, record: &[Unit]) -> u32 {
        crc32c::crc32c_append(self.0, &bytemuck::cast_slice(record)[4..])
    }

    /// Puts the checksum into a record that is otherwise whole.
    pub(super) fn seal(self, record: &mut [Unit]) {
        let crc = self.checksum(record);
        record[0].0[..4].copy_from_slice(&crc.to_le_bytes());
    }

    /// Whether a record's checksum is right.
    pub(super) fn holds(self, record: &[Unit]) -> bool {
        Header::read(&record[0]).crc == self.checksum(record)
    }
}

/// How many units a body of so many bytes takes.
pub(super) const fn units_for(body_bytes: usize) -> usize {
    (HEADER_BYTES + body_bytes).div_ceil(UNIT_BYTES)
}

/// The body of a record, with the zeros behind it.
pub(super) fn body(record: &[Unit]) -> &[u8] {
    &bytemuck::cast_slice(record)[HEADER_BYTES..]
}

/// The same, to fill.
pub(super) fn body_mut(record: &mut [Unit]) -> &mut [u8] {
    &mut bytemuck::cast_slice_mut(record)[HEADER_BYTES..]
}

/// A number out of a body that is known to be long enough.
pub(super) fn u64_at(body: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&body[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// A number out of a body that is known to be long enough.
pub(super) fn u32_at(body: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&body[at..at + 4]);
    u32::from_le_bytes(bytes)
}

/// A number out of a body that is known to be long enough.
pub(super) fn u16_at(body: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([body[at], body[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> [Unit; 2] {
        let mut record = [Unit::ZERO; 2];
        Header {
            crc: 0,
            kind: RecordKind(7),
            version: 1,
            units: 2,
            sequence: 0x0102_0304_0506_0708,
        }
        .write(&mut record[0]);
        record[1].0[63] = 9;
        record
    }

    #[test]
    fn j01_a_records_first_bytes_are_little_endian_at_fixed_places() {
        let mut record = sample();
        Seed::of(5).seal(&mut record);
        assert_eq!(record[0].0[4..8], [7, 0, 1, 2]);
        assert_eq!(record[0].0[8..16], [8, 7, 6, 5, 4, 3, 2, 1]);
        let header = Header::read(&record[0]);
        assert_eq!((header.kind, header.version), (RecordKind(7), 1));
        assert_eq!(header.sequence, 0x0102_0304_0506_0708);
        assert_eq!(align_of::<Unit>(), 64);
    }

    #[test]
    fn j01_the_checksum_is_crc32c_over_content_and_sequence() {
        // The check value that every description of CRC32C gives.
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        let seed = Seed::of(5);
        let mut record = sample();
        seed.seal(&mut record);
        assert!(seed.holds(&record));
        assert!(!Seed::of(6).holds(&record), "another journal's");
        for byte in 0..2 * UNIT_BYTES {
            let mut flipped = record;
            flipped[byte / UNIT_BYTES].0[byte % UNIT_BYTES] ^= 1;
            assert!(!seed.holds(&flipped), "byte {byte}");
        }
    }

    #[test]
    fn j01_bodies_take_whole_units() {
        assert_eq!(units_for(0), 1);
        assert_eq!(units_for(48), 1);
        assert_eq!(units_for(49), 2);
        assert_eq!(units_for(BODY_BYTES_MAX), JOURNAL_RECORD_UNITS_MAX);
    }
}
