//! Copies what is whole of a damaged journal to a new folder (rule J6). The old
//! one is only read.
//!
//! What lies behind the damage is left: its records follow on ones that are
//! gone, and to act on them would be to invent what those said.

use super::fault::JournalFault;
use super::reader::{Place, ReadError, RecordView, Tail, read};
use super::segment::Owner;
use super::storage::{LockError, Storage};
use super::supply::Supply;
use super::unit::{HEADER_BYTES, Header, UNIT_BYTES, Unit, body_mut};
use super::writer::{AppendError, GroupBuffer, Position, Writer};
use crate::time::UnixNanos;

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Records in the copy.
    pub records: u64,
    /// Where the old journal's whole records end.
    pub stopped: Option<Place>,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The new folder is in use.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The new folder has files.
    #[error("the new folder has files; give one that is empty or not there")]
    NotEmpty,
    /// The old journal cannot be read at all.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The copy cannot be written.
    #[error(transparent)]
    Write(#[from] JournalFault),
}

/// Copies the whole groups of `from`, up to the first damage, to `to`.
///
/// # Errors
/// What is in the way; the old journal is as it was.
pub fn repair<S: Storage, T: Storage>(
    from: &S,
    to: &T,
    owner: Owner,
    number: u64,
    segment_bytes: u64,
) -> Result<Repaired, RepairError> {
    let others = |names: Vec<String>| names.iter().any(|name| name != "lock");
    if to.list().is_ok_and(others) {
        return Err(RepairError::NotEmpty);
    }
    let _lock = to.lock()?;
    let mut copy: Option<Copy<T>> = None;
    let mut failed = None;
    let outcome = read(from, &mut |record| {
        if failed.is_some() {
            return;
        }
        let copy = copy.get_or_insert_with(|| Copy {
            writer: Writer::new(
                owner,
                segment_bytes / UNIT_BYTES as u64,
                Supply::Inline {
                    storage: to.clone(),
                    bytes: segment_bytes,
                    next: 1,
                },
                Position {
                    journal: number,
                    segment: 0,
                    unit: 0,
                    next: record.sequence,
                },
                None,
            ),
            group: GroupBuffer::with_capacity(0),
            first: record.group,
            wall: record.wall,
            records: 0,
        });
        failed = copy.take(record).err();
    });
    if let (None, Some(copy)) = (&failed, &mut copy) {
        failed = copy.flush().err();
    }
    if let Some(fault) = failed {
        return Err(fault.into());
    }
    let stopped = match outcome {
        Ok(summary) => match summary.tail {
            Tail::Clean => None,
            Tail::Torn(place) => Some(place),
        },
        Err(ReadError::Damaged { place, .. }) => Some(place),
        Err(other) => return Err(other.into()),
    };
    Ok(Repaired {
        records: copy.map_or(0, |copy| copy.records),
        stopped,
    })
}

struct Copy<S: Storage> {
    writer: Writer<S>,
    group: GroupBuffer,
    /// The group that is being gathered, as its first record names it.
    first: u64,
    wall: UnixNanos,
    records: u64,
}

impl<S: Storage> Copy<S> {
    fn take(&mut self, record: &RecordView<'_>) -> Result<(), JournalFault> {
        if record.group != self.first {
            self.flush()?;
            self.first = record.group;
        }
        self.wall = record.wall;
        let units = (HEADER_BYTES + record.body.len()) / UNIT_BYTES;
        let mut copy = vec![Unit::ZERO; units];
        Header {
            crc: 0,
            kind: record.kind,
            version: record.version,
            units: u8::try_from(units).unwrap_or(u8::MAX),
            sequence: record.sequence,
        }
        .write(&mut copy[0]);
        body_mut(&mut copy).copy_from_slice(record.body);
        self.group.extend(&copy);
        self.records += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), JournalFault> {
        if self.group.is_empty() {
            return Ok(());
        }
        let written = self.writer.append(&mut self.group, self.wall, true);
        let records = self.group.len_units() as u64;
        self.group.clear();
        match written {
            Ok(_) => Ok(()),
            Err(AppendError::Full) => Err(JournalFault::Full { records }),
            Err(AppendError::Failed(fault)) => Err(fault),
        }
    }
}
