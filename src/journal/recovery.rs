//! Opens a journal to go on writing: reads it, cuts a torn tail, removes what
//! was made ahead (rule J6).
//!
//! Killed at any point, it can be run again: it removes and zeroes only what
//! was never durable, from the end towards the beginning.

use super::fault::OpenError;
use super::reader::ReadError;
use super::reader::{Place, RecordView, Summary, Tail, read_ahead, segments_of};
use super::segment::{Owner, is_preparing, is_unfinished_snapshot, segment_name};
use super::snapshot::{EntryView, SnapshotHead, newest_snapshot, read_snapshot};
use super::storage::{Storage, StorageFile, write_all_at};
use super::unit::UNIT_BYTES;
use super::writer::Position;

/// What a journal had when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// What was read.
    pub summary: Summary,
    /// The journal's number: what it has, or what a new one was given.
    pub number: u64,
    /// Where a torn tail was cut, if there was one.
    pub cut: Option<Place>,
    /// The snapshot that was begun with, if there was one.
    pub snapshot: Option<SnapshotHead>,
}

/// Where to go on, and the segment's file, if one is in use.
pub(super) struct Opened<F> {
    pub(super) recovered: Recovered,
    pub(super) position: Position,
    pub(super) file: Option<F>,
}

/// What takes over what a journal has.
pub trait Intake {
    /// The next entry of a snapshot; all of them come before the first record.
    fn entry(&mut self, entry: &EntryView<'_>);

    /// The next record.
    fn record(&mut self, record: &RecordView<'_>);
}

/// Takes over the newest whole snapshot and the records behind it (rule J7), and
/// makes the journal ready to be written.
pub(super) fn resume<S: Storage>(
    storage: &S,
    owner: Owner,
    journal: u64,
    intake: &mut impl Intake,
) -> Result<Opened<S::File>, OpenError> {
    let head = newest_snapshot(storage)?;
    if let Some(head) = &head {
        read_snapshot(storage, head, &mut |entry| intake.entry(entry))?;
    }
    recover(storage, owner, journal, head, &mut |record| {
        intake.record(record);
    })
}

/// Reads a journal and makes it ready to be written. `journal` is the number
/// that a new one gets.
pub(super) fn recover<S: Storage>(
    storage: &S,
    owner: Owner,
    journal: u64,
    snapshot: Option<SnapshotHead>,
    show: &mut dyn FnMut(&RecordView<'_>),
) -> Result<Opened<S::File>, OpenError> {
    let from = snapshot.map(|head| head.behind);
    let summary = read_ahead(storage, from, show)?;
    check_begin(&summary, snapshot.as_ref())?;
    if let Some(found) = summary.owner
        && found != owner
    {
        return Err(ReadError::Owner {
            found,
            wanted: owner,
        }
        .into());
    }
    let cut = match summary.tail {
        Tail::Clean => None,
        Tail::Torn(place) => Some(place),
    };
    let end = summary.end;
    remove_behind(storage, end.segment)?;
    let file = if end.segment == 0 {
        None
    } else {
        Some(zero_behind(storage, end)?)
    };
    let number = if file.is_some() {
        summary.journal
    } else {
        journal
    };
    Ok(Opened {
        recovered: Recovered {
            summary,
            cut,
            number,
            snapshot,
        },
        position: Position {
            journal: number,
            segment: end.segment,
            unit: end.offset / UNIT_BYTES as u64,
            next: end.sequence,
        },
        file,
    })
}

/// Whether what was read is all that there was: from the first record on, or from
/// where the snapshot ends.
fn check_begin(summary: &Summary, snapshot: Option<&SnapshotHead>) -> Result<(), ReadError> {
    match (snapshot, summary.owner) {
        (None, None) => Ok(()),
        (None, Some(_)) if summary.first == 1 => Ok(()),
        (None, Some(_)) => Err(ReadError::Missing {
            sequence: summary.first,
        }),
        // The snapshot was built when the record behind it was durable.
        (Some(head), None) => Err(ReadError::Damaged {
            place: head.behind,
            later: head.behind.sequence,
        }),
        (Some(head), Some(owner)) if (owner, summary.journal) == (head.owner, head.journal) => {
            Ok(())
        }
        (Some(head), Some(_)) => Err(ReadError::Foreign {
            segment: head.behind.segment,
        }),
    }
}

/// Removes the segments behind the last one in use, newest first, and those
/// that were never finished.
fn remove_behind<S: Storage>(storage: &S, last: u64) -> Result<(), OpenError> {
    let folder = |error| mend("the journal's folder", error);
    let mut changed = false;
    for name in storage.list().map_err(folder)? {
        if is_preparing(&name) || is_unfinished_snapshot(&name) {
            storage.remove(&name).map_err(|error| mend(&name, error))?;
            changed = true;
        }
    }
    let numbers = segments_of(storage)?;
    for &number in numbers.iter().rev().take_while(|&&number| number > last) {
        let name = segment_name(number);
        storage.remove(&name).map_err(|error| mend(&name, error))?;
        // One after the other also on the disk: a gap would look like a loss.
        storage.sync_folder().map_err(folder)?;
        changed = false;
    }
    if changed {
        storage.sync_folder().map_err(folder)?;
    }
    Ok(())
}

/// Zeroes what is behind the end, so that it is as if never written.
fn zero_behind<S: Storage>(storage: &S, end: Place) -> Result<S::File, OpenError> {
    const PART: usize = 64 * 1_024;
    let name = segment_name(end.segment);
    let failed = |error| mend(&name, error);
    let mut file = storage.open(&name, true).map_err(failed)?;
    let size = file.size().map_err(failed)?;
    let mut bytes = vec![0; PART];
    let zeros = vec![0; PART];
    let mut offset = end.offset;
    let mut dirty = false;
    while offset < size {
        let part = usize::try_from(size - offset).unwrap_or(PART).min(PART);
        let read = super::storage::read_full_at(&file, &mut bytes[..part], offset);
        let read = read.map_err(failed)?;
        if !is_zero(&bytes[..read]) {
            write_all_at(&mut file, &zeros[..read], offset).map_err(failed)?;
            dirty = true;
        }
        offset += part as u64;
    }
    if dirty {
        file.sync().map_err(failed)?;
    }
    Ok(file)
}

fn is_zero(bytes: &[u8]) -> bool {
    // By parts without an exit within, which a processor does many at a time.
    let mut parts = bytes.chunks(1_024);
    parts.all(|part| part.iter().fold(0, |all, byte| all | byte) == 0)
}

fn mend(file: &str, error: std::io::Error) -> OpenError {
    OpenError::Mend {
        file: file.into(),
        error,
    }
}
