//! A snapshot: what a journal's records up to the end of a segment come to, in a
//! file beside the segments (rule J7).
//!
//! It is written under another name, synced, renamed, and its name synced, so
//! that it is there as a whole or not at all; a checksum over all of it tells
//! rot. What is in it is its caller's: entries like a journal's records.
//!
//! ```text
//!  ┌──────┬───────┬───────┬───┐   the header is a unit, with the checksum of
//!  │header│ entry │ entry │ … │   everything behind it; an entry is laid out
//!  └──────┴───────┴───────┴───┘   as a journal's record is
//! ```

use std::io;

use super::port::BodyTooLong;
use super::reader::Place;
use super::segment::{Owner, snapshot_name, snapshot_number, unfinished_snapshot_name};
use super::storage::{Storage, StorageFile, read_full_at, write_all_at};
use super::unit::{
    HEADER_BYTES, Header, RecordKind, Seed, UNIT_BYTES, Unit, body, body_mut, u16_at, u32_at,
    u64_at, units_for,
};
use crate::limits::{JOURNAL_RECORD_UNITS_MAX, JOURNAL_WINDOW_UNITS};
use crate::types::ShardId;

/// The version of the layout that this page of code writes.
const FORMAT: u16 = 1;
const MAGIC: [u8; 8] = *b"PITLANES";

/// What a snapshot says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotHead {
    /// Whose journal.
    pub owner: Owner,
    /// The number of the journal.
    pub journal: u64,
    /// Where the first record is that is not in it.
    pub behind: Place,
    /// How many entries it has.
    pub entries: u64,
}

/// One entry, as it is read.
#[derive(Clone, Copy, Debug)]
pub struct EntryView<'a> {
    /// As it was given.
    pub sequence: u64,
    /// As it was given.
    pub kind: RecordKind,
    /// As it was given.
    pub version: u8,
    /// What is in it, and zeros up to the end of its last unit.
    pub body: &'a [u8],
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The system's words.
    #[error("{file}: {error}")]
    System {
        /// Which file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// A newer program's.
    #[error("{file} has format {found}; this program reads format {FORMAT}")]
    Format {
        /// Which file.
        file: String,
        /// Its format.
        found: u16,
    },
    /// An entry is longer than one can be: a fault of this program.
    #[error(transparent)]
    Entry(#[from] BodyTooLong),
}

/// Writes a snapshot; dropped before its end, it leaves none.
pub struct SnapshotWriter<S: Storage> {
    storage: S,
    file: S::File,
    segment: u64,
    head: SnapshotHead,
    buffer: Vec<Unit>,
    /// Where the buffer goes.
    offset: u64,
    crc: u32,
}

impl<S: Storage> SnapshotWriter<S> {
    /// Begins the snapshot of everything before a segment.
    ///
    /// # Errors
    /// The system's.
    pub fn create(
        storage: &S,
        owner: Owner,
        journal: u64,
        behind: Place,
    ) -> Result<Self, SnapshotError> {
        let segment = behind.segment - 1;
        let name = unfinished_snapshot_name(segment);
        let failed = |error| system(&name, error);
        let file = match storage.create(&name) {
            // Left by a process that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                storage.remove(&name).map_err(failed)?;
                storage.create(&name)
            }
            made => made,
        };
        Ok(Self {
            storage: storage.clone(),
            file: file.map_err(failed)?,
            segment,
            head: SnapshotHead {
                owner,
                journal,
                behind,
                entries: 0,
            },
            buffer: Vec::with_capacity(JOURNAL_WINDOW_UNITS + JOURNAL_RECORD_UNITS_MAX),
            offset: UNIT_BYTES as u64,
            crc: 0,
        })
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The system's; a body that is too long.
    pub fn put(
        &mut self,
        sequence: u64,
        kind: RecordKind,
        version: u8,
        content: &[u8],
    ) -> Result<(), SnapshotError> {
        let units = units_for(content.len());
        let length = u8::try_from(units).map_err(|_| BodyTooLong(content.len()))?;
        let start = self.buffer.len();
        self.buffer.resize(start + units, Unit::ZERO);
        let entry = &mut self.buffer[start..];
        Header {
            crc: 0,
            kind,
            version,
            units: length,
            sequence,
        }
        .write(&mut entry[0]);
        body_mut(entry)[..content.len()].copy_from_slice(content);
        Seed::of(self.head.journal).seal(entry);
        self.head.entries += 1;
        if self.buffer.len() >= JOURNAL_WINDOW_UNITS {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SnapshotError> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.buffer);
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        write_all_at(&mut self.file, bytes, self.offset)
            .map_err(|error| system(&unfinished_snapshot_name(self.segment), error))?;
        self.offset += bytes.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Makes it durable, and then visible.
    ///
    /// # Errors
    /// The system's; there is no snapshot then, or one whose name may be lost.
    pub fn finish(mut self) -> Result<SnapshotHead, SnapshotError> {
        self.flush()?;
        let name = unfinished_snapshot_name(self.segment);
        let failed = |error| system(&name, error);
        let unit = write_head(&self.head, self.crc);
        write_all_at(&mut self.file, &unit.0, 0).map_err(failed)?;
        self.file.sync().map_err(failed)?;
        self.storage
            .rename(&name, &snapshot_name(self.segment))
            .map_err(failed)?;
        self.storage.sync_folder().map_err(failed)?;
        Ok(self.head)
    }
}

/// The segments up to whose ends there are snapshots, newest first, whole or not.
///
/// # Errors
/// The system's.
pub fn snapshots<S: Storage>(storage: &S) -> Result<Vec<u64>, SnapshotError> {
    let names = storage
        .list()
        .map_err(|error| system("the journal's folder", error))?;
    let mut numbers: Vec<_> = names
        .iter()
        .filter_map(|name| snapshot_number(name))
        .collect();
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    Ok(numbers)
}

/// Checks the snapshot up to the end of a segment; `None` where it is not whole.
///
/// # Errors
/// The system's; a newer program's.
pub fn check_snapshot<S: Storage>(
    storage: &S,
    segment: u64,
) -> Result<Option<SnapshotHead>, SnapshotError> {
    go_through(storage, segment, &mut |_| {})
}

/// The newest whole snapshot.
///
/// # Errors
/// As [`check_snapshot`].
pub fn newest_snapshot<S: Storage>(storage: &S) -> Result<Option<SnapshotHead>, SnapshotError> {
    for segment in snapshots(storage)? {
        if let Some(head) = check_snapshot(storage, segment)? {
            return Ok(Some(head));
        }
    }
    Ok(None)
}

/// Shows each entry of a snapshot that was found to be whole.
///
/// # Errors
/// As [`check_snapshot`]; `InvalidData` where it is not whole any more.
pub fn read_snapshot<S: Storage>(
    storage: &S,
    head: &SnapshotHead,
    show: &mut dyn FnMut(&EntryView<'_>),
) -> Result<(), SnapshotError> {
    let segment = head.behind.segment - 1;
    match go_through(storage, segment, show)? {
        Some(found) if found == *head => Ok(()),
        _ => Err(system(
            &snapshot_name(segment),
            io::ErrorKind::InvalidData.into(),
        )),
    }
}

/// Shows entry after entry, and says at the end whether all of it was whole.
fn go_through<S: Storage>(
    storage: &S,
    segment: u64,
    show: &mut dyn FnMut(&EntryView<'_>),
) -> Result<Option<SnapshotHead>, SnapshotError> {
    let name = snapshot_name(segment);
    let failed = |error| system(&name, error);
    let file = storage.open(&name, false).map_err(failed)?;
    let size = file.size().map_err(failed)?;
    let mut first = Unit::ZERO;
    read_full_at(&file, &mut first.0, 0).map_err(failed)?;
    let Some((format, head, crc)) = read_head(&first) else {
        return Ok(None);
    };
    if format != FORMAT {
        return Err(SnapshotError::Format {
            file: name,
            found: format,
        });
    }
    if head.behind.segment != segment + 1 || !size.is_multiple_of(UNIT_BYTES as u64) {
        return Ok(None);
    }
    let seed = Seed::of(head.journal);
    let mut units: Vec<Unit> = Vec::new();
    let (mut offset, mut sum, mut entries) = (UNIT_BYTES as u64, 0, 0);
    while offset < size || !units.is_empty() {
        let kept = units.len();
        let room = (JOURNAL_WINDOW_UNITS * UNIT_BYTES) as u64;
        let more = usize::try_from(room.min(size - offset)).unwrap_or(0) / UNIT_BYTES;
        units.resize(kept + more, Unit::ZERO);
        let target: &mut [u8] = bytemuck::cast_slice_mut(&mut units[kept..]);
        if read_full_at(&file, target, offset).map_err(failed)? < target.len() {
            return Ok(None);
        }
        sum = crc32c::crc32c_append(sum, target);
        offset += target.len() as u64;
        let mut at = 0;
        while let Some(unit) = units.get(at) {
            let header = Header::read(unit);
            let Some(entry) = units.get(at..at + usize::from(header.units)) else {
                break;
            };
            if entry.is_empty() || !seed.holds(entry) {
                return Ok(None);
            }
            show(&EntryView {
                sequence: header.sequence,
                kind: header.kind,
                version: header.version,
                body: body(entry),
            });
            entries += 1;
            at += entry.len();
        }
        if at == 0 && more == 0 {
            return Ok(None);
        }
        units.drain(..at);
    }
    Ok((sum == crc && entries == head.entries).then_some(head))
}

fn write_head(head: &SnapshotHead, crc: u32) -> Unit {
    let mut unit = Unit::ZERO;
    Header {
        crc: 0,
        kind: RecordKind::SNAPSHOT,
        version: 1,
        units: 1,
        sequence: head.behind.sequence,
    }
    .write(&mut unit);
    let content = &mut unit.0[HEADER_BYTES..];
    content[..8].copy_from_slice(&MAGIC);
    content[8..10].copy_from_slice(&FORMAT.to_le_bytes());
    content[10..12].copy_from_slice(&head.owner.shard.0.to_le_bytes());
    content[12..14].copy_from_slice(&head.owner.shards.to_le_bytes());
    content[16..24].copy_from_slice(&head.journal.to_le_bytes());
    content[24..32].copy_from_slice(&head.behind.segment.to_le_bytes());
    content[32..40].copy_from_slice(&head.entries.to_le_bytes());
    content[40..44].copy_from_slice(&crc.to_le_bytes());
    Seed::NONE.seal(core::slice::from_mut(&mut unit));
    unit
}

/// The format, the head, and the checksum of what is behind it.
fn read_head(unit: &Unit) -> Option<(u16, SnapshotHead, u32)> {
    let header = Header::read(unit);
    let one = core::slice::from_ref(unit);
    if header.kind != RecordKind::SNAPSHOT || !Seed::NONE.holds(one) {
        return None;
    }
    let content = body(one);
    if content[..8] != MAGIC {
        return None;
    }
    let head = SnapshotHead {
        owner: Owner {
            shard: ShardId(u16_at(content, 10)),
            shards: u16_at(content, 12),
        },
        journal: u64_at(content, 16),
        behind: Place {
            segment: u64_at(content, 24),
            offset: UNIT_BYTES as u64,
            sequence: header.sequence,
        },
        entries: u64_at(content, 32),
    };
    Some((u16_at(content, 8), head, u32_at(content, 40)))
}

fn system(file: &str, error: io::Error) -> SnapshotError {
    SnapshotError::System {
        file: file.into(),
        error,
    }
}
