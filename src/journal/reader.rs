//! Reads a journal from its oldest segment to its end, and judges what is not
//! whole: a torn tail, or damage (rule J6).
//!
//! A group is shown when all of it is right, never a part. Where one is not, the
//! rest is searched for a later group that was written when the damaged one was
//! durable already: if there is one, the damage is no torn tail.

use std::io;

use super::segment::{FORMAT, GroupHeader, Owner, SegmentHeader, segment_number};
use super::storage::{Storage, StorageFile, read_full_at};
use super::unit::{HEADER_BYTES, Header, RecordKind, Seed, UNIT_BYTES, Unit, body};
use crate::limits::JOURNAL_SEGMENT_BYTES_MAX;
use crate::time::UnixNanos;

/// One record, as it is read.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// From 1, without gaps.
    pub sequence: u64,
    /// What it is.
    pub kind: RecordKind,
    /// Version of its body's layout.
    pub version: u8,
    /// What is in it, and zeros up to the end of its last unit.
    pub body: &'a [u8],
    /// When its group was written.
    pub wall: UnixNanos,
    /// The segment that it is in.
    pub segment: u64,
    /// Where in the segment's file it begins, in bytes.
    pub offset: u64,
    /// Sequence of its group's first record.
    pub group: u64,
}

/// A place in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the segment.
    pub segment: u64,
    /// Byte in its file.
    pub offset: u64,
    /// Sequence of the record that is, or was, due there.
    pub sequence: u64,
}

/// What a journal ends with, apart from whole groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    Clean,
    /// A part of a group that was never durable; or, which cannot be told from
    /// it, rot in the last group. A journal that is being written has one
    /// whenever a write is under way.
    Torn(Place),
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Whose journal; `None` for an empty one.
    pub owner: Option<Owner>,
    /// Its number, drawn when it was made; zero for an empty one.
    pub journal: u64,
    /// Segments in use.
    pub segments: u64,
    /// Whole groups.
    pub groups: u64,
    /// Whole records.
    pub records: u64,
    /// Where the next record goes.
    pub end: Place,
    /// What is behind that.
    pub tail: Tail,
}

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system's words.
    #[error("reading {file} failed: {error}")]
    System {
        /// Which file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// Something that was durable is not whole.
    #[error(
        "damage in segment {} at byte {}, where record {} was: record {later} was written \
         when it was durable, so this is no torn tail; nothing is changed. Copy what is \
         whole with `pitlane journal verify --repair NEW_DIR`, and find out what the disk \
         has lost",
        place.segment, place.offset, place.sequence
    )]
    Damaged {
        /// Where.
        place: Place,
        /// A record behind it that proves it.
        later: u64,
    },
    /// A newer program's.
    #[error("segment {segment} has format {found}; this program reads format {FORMAT}")]
    Format {
        /// Number of the segment.
        segment: u64,
        /// Its format.
        found: u16,
    },
    /// A file of another journal lies in the folder.
    #[error("segment {segment} belongs to another journal; move it away")]
    Foreign {
        /// Number of the segment.
        segment: u64,
    },
    /// Another shard's, or of another number of shards (rule J5).
    #[error(
        "the journal is of shard {} of {}, and was opened as shard {} of {}; accounts are \
         divided by the number of shards: start with the old number",
        found.shard, found.shards, wanted.shard, wanted.shards
    )]
    Owner {
        /// Whose it is.
        found: Owner,
        /// As whose it was opened.
        wanted: Owner,
    },
    /// A segment is too large for memory.
    #[error("segment {segment} has {bytes} bytes, more than a segment can have")]
    TooLarge {
        /// Number of the segment.
        segment: u64,
        /// Its size.
        bytes: u64,
    },
}

/// Reads everything; each whole record is shown once, in order.
///
/// # Errors
/// Damage, foreign files, and the system's.
pub fn read<S: Storage>(
    storage: &S,
    show: &mut dyn FnMut(&RecordView<'_>),
) -> Result<Summary, ReadError> {
    Reading::new(storage)?.run(show)
}

pub(super) fn segments_of<S: Storage>(storage: &S) -> Result<Vec<u64>, ReadError> {
    let names = storage.list().map_err(|error| ReadError::System {
        file: "the journal's folder".into(),
        error,
    })?;
    let mut numbers: Vec<_> = names
        .iter()
        .filter_map(|name| segment_number(name))
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Why a segment's reading stopped.
enum Stop {
    /// Nothing is behind it in this segment.
    End,
    /// Something is, and it is no whole group.
    Broken,
}

struct Reading<'s, S: Storage> {
    storage: &'s S,
    numbers: Vec<u64>,
    /// The segment that is being read.
    units: Vec<Unit>,
    summary: Summary,
    /// Known from the first whole segment header.
    known: bool,
}

impl<'s, S: Storage> Reading<'s, S> {
    fn new(storage: &'s S) -> Result<Self, ReadError> {
        let numbers = segments_of(storage)?;
        let end = Place {
            segment: 0,
            offset: 0,
            sequence: 1,
        };
        Ok(Self {
            storage,
            numbers,
            units: Vec::new(),
            known: false,
            summary: Summary {
                owner: None,
                journal: 0,
                segments: 0,
                groups: 0,
                records: 0,
                end,
                tail: Tail::Clean,
            },
        })
    }

    fn run(mut self, show: &mut dyn FnMut(&RecordView<'_>)) -> Result<Summary, ReadError> {
        let mut index = 0;
        while index < self.numbers.len() {
            let number = self.numbers[index];
            if index > 0 && number != self.numbers[index - 1] + 1 {
                // A segment is missing in between.
                let place = self.summary.end;
                return self.judge(index, 0, place);
            }
            self.load(number)?;
            if self.begins_unused() {
                break;
            }
            if !self.take_header(number)? {
                let readable = self.units.first().and_then(SegmentHeader::read);
                let place = match readable {
                    // It is whole, and follows on records that are lost.
                    Some(_) => self.summary.end,
                    None => self.place(number, 0),
                };
                return self.judge(index, 1, place);
            }
            self.summary.segments += 1;
            let (at, stop) = self.groups(number, show);
            self.summary.end = self.place(number, at);
            if matches!(stop, Stop::Broken) {
                let place = self.summary.end;
                return self.judge(index, at + 1, place);
            }
            index += 1;
        }
        // Behind the end there are only segments that were made ahead; if one is
        // in use, what lies before it was lost.
        self.judge_rest(index)
    }

    /// Whether the segment is one that was made ahead.
    fn begins_unused(&self) -> bool {
        self.units.iter().take(2).all(Unit::is_zero)
    }

    /// Reads the segment's header; `false` where it is damaged.
    fn take_header(&mut self, number: u64) -> Result<bool, ReadError> {
        let Some(header) = self.units.first().and_then(SegmentHeader::read) else {
            return Ok(false);
        };
        if header.format != FORMAT {
            return Err(ReadError::Format {
                segment: number,
                found: header.format,
            });
        }
        if !self.known {
            self.known = true;
            self.summary.owner = Some(header.owner);
            self.summary.journal = header.journal;
            // Older segments may have been archived.
            self.summary.end.sequence = header.first;
        }
        self.check_own(&header, number)?;
        Ok(header.first == self.summary.end.sequence)
    }

    /// Whether a segment is this journal's, and under its own number.
    fn check_own(&self, header: &SegmentHeader, number: u64) -> Result<(), ReadError> {
        let other =
            header.journal != self.summary.journal || Some(header.owner) != self.summary.owner;
        if header.number != number || (self.known && other) {
            return Err(ReadError::Foreign { segment: number });
        }
        Ok(())
    }

    /// Shows the whole groups of the loaded segment; the first unit behind them.
    fn groups(&mut self, segment: u64, show: &mut dyn FnMut(&RecordView<'_>)) -> (usize, Stop) {
        let journal = self.summary.journal;
        let seed = Seed::of(journal);
        let mut at = 1;
        loop {
            let rest = &self.units[at.min(self.units.len())..];
            let Some(first) = rest.first() else {
                return (at, Stop::End);
            };
            if first.is_zero() {
                let all = rest.iter().all(Unit::is_zero);
                return (at, if all { Stop::End } else { Stop::Broken });
            }
            let next = self.summary.end.sequence;
            let Some((header, records)) = whole_group(rest, journal, seed, next) else {
                return (at, Stop::Broken);
            };
            let mut unit = at + 1;
            for record in Records(records) {
                let head = Header::read(&record[0]);
                show(&RecordView {
                    sequence: head.sequence,
                    kind: head.kind,
                    version: head.version,
                    body: body(record),
                    wall: header.wall,
                    segment,
                    offset: bytes(unit),
                    group: next,
                });
                unit += record.len();
            }
            self.summary.groups += 1;
            self.summary.records += u64::from(header.records);
            self.summary.end.sequence += u64::from(header.records);
            at = unit;
        }
    }

    /// Judges what is not whole at `place`: `index` is its segment, and behind
    /// unit `from` of that it may be disproved.
    fn judge(mut self, index: usize, mut from: usize, place: Place) -> Result<Summary, ReadError> {
        for at in index..self.numbers.len() {
            self.load(self.numbers[at])?;
            if let Some(header) = self.units.first().and_then(SegmentHeader::read) {
                self.check_own(&header, self.numbers[at])?;
            }
            if let Some(later) = self.later_group(from, place.sequence) {
                return Err(ReadError::Damaged { place, later });
            }
            from = 0;
        }
        self.summary.tail = Tail::Torn(place);
        Ok(self.summary)
    }

    /// Judges segments behind the end: only what is in use there is of interest.
    fn judge_rest(mut self, index: usize) -> Result<Summary, ReadError> {
        for at in index..self.numbers.len() {
            self.load(self.numbers[at])?;
            if self.units.iter().any(|unit| !unit.is_zero()) {
                let place = self.summary.end;
                return self.judge(at, 0, place);
            }
        }
        Ok(self.summary)
    }

    /// A group behind unit `from` that was written when `sequence` was durable.
    fn later_group(&self, from: usize, sequence: u64) -> Option<u64> {
        let journal = self.known.then_some(self.summary.journal);
        // Where no header is known, neither is the sequence: any durable record
        // proves that this is no new journal.
        let sequence = if self.known { sequence } else { 1 };
        let rest = self.units.get(from..).unwrap_or_default();
        rest.iter()
            .filter(|unit| Header::read(unit).kind == RecordKind::GROUP)
            .filter_map(|unit| GroupHeader::read(unit, journal))
            .find(|group| group.durable >= sequence)
            .map(|group| group.first)
    }

    fn load(&mut self, number: u64) -> Result<(), ReadError> {
        let name = super::segment::segment_name(number);
        let failed = |error| ReadError::System {
            file: name.clone(),
            error,
        };
        let file = self.storage.open(&name, false).map_err(failed)?;
        let size = file.size().map_err(failed)?;
        if size > JOURNAL_SEGMENT_BYTES_MAX {
            return Err(ReadError::TooLarge {
                segment: number,
                bytes: size,
            });
        }
        // A segment has whole units, but for one that somebody has cut.
        let units = usize::try_from(size).unwrap_or(0) / UNIT_BYTES;
        self.units.resize(units, Unit::ZERO);
        let target: &mut [u8] = bytemuck::cast_slice_mut(&mut self.units);
        let filled = read_full_at(&file, target, 0).map_err(failed)?;
        // It was cut while it was read: what is not there is not whole.
        target[filled..].fill(0);
        Ok(())
    }

    const fn place(&self, segment: u64, unit: usize) -> Place {
        Place {
            segment,
            offset: bytes(unit),
            sequence: self.summary.end.sequence,
        }
    }
}

const fn bytes(unit: usize) -> u64 {
    (unit * UNIT_BYTES) as u64
}

/// The group at the beginning of `units`, if all of it is right.
fn whole_group(
    units: &[Unit],
    journal: u64,
    seed: Seed,
    next: u64,
) -> Option<(GroupHeader, &[Unit])> {
    let header = GroupHeader::read(&units[0], Some(journal))?;
    let length = usize::try_from(header.units).ok()?;
    let records = units.get(1..1 + length)?;
    if header.first != next || header.records == 0 {
        return None;
    }
    let mut due = next;
    let mut seen = 0;
    for record in Records(records) {
        let head = Header::read(&record[0]);
        let whole = usize::from(head.units) == record.len() && seed.holds(record);
        if !whole || head.sequence != due {
            return None;
        }
        due += 1;
        seen += record.len();
    }
    let all = seen == length && due - next == u64::from(header.records);
    all.then_some((header, records))
}

/// Splits units into records by their lengths; one that is too long for what is
/// left is cut, and so not whole.
struct Records<'a>(&'a [Unit]);

impl<'a> Iterator for Records<'a> {
    type Item = &'a [Unit];

    fn next(&mut self) -> Option<&'a [Unit]> {
        let first = self.0.first()?;
        let length = usize::from(Header::read(first).units).clamp(1, self.0.len());
        let (record, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(record)
    }
}

const _: () = assert!(HEADER_BYTES < UNIT_BYTES);
