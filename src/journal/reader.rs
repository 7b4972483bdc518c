//! Reads a journal from its oldest segment, or from a place in it, to its end.
//!
//! A group is shown when all of it is right, never a part. Memory is bounded by
//! a few windows and the longest group, however long the journal is.

use std::io;

use crossbeam_channel::bounded;

use super::scan::{Batch, Scan};
use super::segment::{FORMAT, Owner, segment_number};
use super::storage::Storage;
use super::unit::{Header, RecordKind, UNIT_BYTES, Unit, body};
use crate::limits::JOURNAL_BATCHES;
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
    /// The first record that was due: 1, unless older segments are not there any
    /// more.
    pub first: u64,
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
    /// The segment that a reader stood in is gone.
    #[error("segment {segment} is gone, and with it what was not read of it")]
    Gone {
        /// Number of the segment.
        segment: u64,
    },
    /// The records before the oldest segment are nowhere.
    #[error(
        "the oldest segment begins with record {sequence}, and no whole snapshot has what \
         was before it: bring back the segments that were moved away, or a snapshot"
    )]
    Missing {
        /// The first record that is there.
        sequence: u64,
    },
    /// A segment is larger than one can be.
    #[error("segment {segment} has {bytes} bytes, more than a segment can have")]
    TooLarge {
        /// Number of the segment.
        segment: u64,
        /// Its size.
        bytes: u64,
    },
}

/// Reads everything; each whole record is shown once, in order. A thread reads
/// and checks ahead of what is shown.
///
/// # Errors
/// Damage, foreign files, and the system's.
pub fn read<S: Storage>(
    storage: &S,
    show: &mut dyn FnMut(&RecordView<'_>),
) -> Result<Summary, ReadError> {
    read_ahead(storage, None, show)
}

/// Like [`read`], from a place: the end of an earlier reading, or where a
/// snapshot ends. On this thread alone: for one that follows a live journal.
///
/// # Errors
/// Also where the place's segment is gone.
pub fn read_from<S: Storage>(
    storage: &S,
    from: Option<Place>,
    show: &mut dyn FnMut(&RecordView<'_>),
) -> Result<Summary, ReadError> {
    scan(storage, from, &mut |batch| {
        each_record(&batch, show);
        batch.into_units()
    })
}

/// The same as [`read_from`], with a thread that reads and checks ahead.
pub(super) fn read_ahead<S: Storage>(
    storage: &S,
    from: Option<Place>,
    show: &mut dyn FnMut(&RecordView<'_>),
) -> Result<Summary, ReadError> {
    let (full, batches) = bounded::<Batch>(JOURNAL_BATCHES);
    let (empty, used) = bounded::<Vec<Unit>>(JOURNAL_BATCHES);
    for _ in 0..JOURNAL_BATCHES {
        // There is room for all of them.
        let _ = empty.send(Vec::new());
    }
    let storage = storage.clone();
    let work = move || {
        scan(&storage, from, &mut |batch| {
            // Where nobody shows any more, the rest is read for nothing.
            let _ = full.send(batch);
            used.recv().unwrap_or_default()
        })
    };
    std::thread::scope(|scope| {
        let ahead = std::thread::Builder::new().name("journal-read".into());
        let ahead = ahead
            .spawn_scoped(scope, work)
            .map_err(|error| ReadError::System {
                file: "a thread to read ahead".into(),
                error,
            })?;
        for batch in batches {
            each_record(&batch, show);
            let _ = empty.send(batch.into_units());
        }
        match ahead.join() {
            Ok(summary) => summary,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// What looked damaged while it was being written is looked at once more.
fn scan<S: Storage>(
    storage: &S,
    from: Option<Place>,
    exchange: &mut dyn FnMut(Batch) -> Vec<Unit>,
) -> Result<Summary, ReadError> {
    let mut scan = Scan::new(storage, from)?;
    let mut doubted = None;
    loop {
        match scan.run(exchange) {
            Err(ReadError::Damaged { place, .. }) if doubted != Some(place) => {
                doubted = Some(place);
                scan.again()?;
            }
            ended => return ended,
        }
    }
}

/// Shows the records of a batch's whole groups.
fn each_record(batch: &Batch, show: &mut dyn FnMut(&RecordView<'_>)) {
    for (first_unit, header, units) in batch.groups() {
        let mut unit = first_unit;
        for record in Records(units) {
            let head = Header::read(&record[0]);
            show(&RecordView {
                sequence: head.sequence,
                kind: head.kind,
                version: head.version,
                body: body(record),
                wall: header.wall,
                segment: batch.segment(),
                offset: (unit * UNIT_BYTES) as u64,
                group: header.first,
            });
            unit += record.len();
        }
    }
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

/// Splits units into records by their lengths; one that is too long for what is
/// left is cut, and so not whole.
pub(super) struct Records<'a>(pub(super) &'a [Unit]);

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
