//! Puts groups onto the disk, one after the other: checksums, one write, one
//! sync. It blocks, and knows no thread.
//!
//! The first failure is final: from then on every call gives the same fault
//! (rule J8). A full disk is none: the call can be repeated (rule J9).

use super::fault::JournalFault;
use super::segment::{FORMAT, GroupHeader, Owner, SegmentHeader};
use super::storage::{Storage, StorageFile, write_all_at};
use super::supply::{NoSegment, Supply};
use super::unit::{Header, Seed, UNIT_BYTES, Unit};
use crate::time::UnixNanos;

/// Units in front of a group's records: the segment's header, where the group
/// begins one, and the group's own.
const HEADERS: usize = 2;

/// Records on their way to the disk as one group.
pub(super) struct GroupBuffer {
    units: Vec<Unit>,
}

impl GroupBuffer {
    pub(super) fn with_capacity(units: usize) -> Self {
        let mut buffer = Self {
            units: Vec::with_capacity(HEADERS + units),
        };
        buffer.clear();
        buffer
    }

    pub(super) fn clear(&mut self) {
        self.units.clear();
        self.units.resize(HEADERS, Unit::ZERO);
    }

    pub(super) fn extend(&mut self, records: &[Unit]) {
        self.units.extend_from_slice(records);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.units.len() == HEADERS
    }

    /// Units of the records.
    pub(super) fn len_units(&self) -> usize {
        self.units.len() - HEADERS
    }

    fn records(&mut self) -> &mut [Unit] {
        &mut self.units[HEADERS..]
    }
}

/// Where a journal goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The number of the journal, drawn at random.
    pub(super) journal: u64,
    /// The segment that is being filled; zero for none yet.
    pub(super) segment: u64,
    /// The first free unit in it.
    pub(super) unit: u64,
    /// Sequence of the next record.
    pub(super) next: u64,
}

/// Why a group is not on the disk.
#[derive(Debug)]
pub(super) enum AppendError {
    /// There is no room now; call again with the same group.
    Full,
    /// Never again.
    Failed(JournalFault),
}

struct Current<F> {
    number: u64,
    file: F,
    /// The first free unit.
    unit: u64,
}

/// The end of a journal that is being written.
pub(super) struct Writer<S: Storage> {
    owner: Owner,
    journal: u64,
    seed: Seed,
    segment_units: u64,
    supply: Supply<S>,
    current: Option<Current<S::File>>,
    next: u64,
    /// The last sequence that is on the disk for sure.
    durable: u64,
    fault: Option<JournalFault>,
}

impl<S: Storage> Writer<S> {
    /// Goes on at a position; `file` is the segment that it names.
    pub(super) fn new(
        owner: Owner,
        segment_units: u64,
        supply: Supply<S>,
        position: Position,
        file: Option<S::File>,
    ) -> Self {
        Self {
            owner,
            journal: position.journal,
            seed: Seed::of(position.journal),
            segment_units,
            supply,
            current: file.map(|file| Current {
                number: position.segment,
                file,
                unit: position.unit,
            }),
            next: position.next,
            durable: position.next - 1,
            fault: None,
        }
    }

    /// Writes a group; with `sync`, it and all before it are durable afterwards.
    /// The last sequence in it.
    pub(super) fn append(
        &mut self,
        group: &mut GroupBuffer,
        wall: UnixNanos,
        sync: bool,
    ) -> Result<u64, AppendError> {
        self.check()?;
        let records = match self.seal(group.records()) {
            Ok(records) => records,
            Err(fault) => return Err(self.fail(fault)),
        };
        let units = group.units.len() as u64;
        let begins = match &self.current {
            Some(current) => current.unit + units - 1 > self.segment_units,
            None => true,
        };
        if begins {
            self.rotate(sync)?;
            group.units[0] = SegmentHeader {
                format: FORMAT,
                owner: self.owner,
                number: self.current.as_ref().map_or(0, |current| current.number),
                journal: self.journal,
                first: self.next,
            }
            .write();
        }
        group.units[1] = GroupHeader {
            first: self.next,
            records,
            units: u32::try_from(units).unwrap_or(u32::MAX) - 2,
            wall,
            durable: self.durable,
            journal: self.journal,
        }
        .write();
        self.put(&group.units[usize::from(!begins)..])?;
        self.next += u64::from(records);
        if sync {
            self.sync()?;
        }
        Ok(self.next - 1)
    }

    /// The last sequence that is on the disk for sure.
    pub(super) const fn durable(&self) -> u64 {
        self.durable
    }

    /// Makes all that was written durable.
    pub(super) fn sync(&mut self) -> Result<(), AppendError> {
        self.check()?;
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        if let Err(error) = current.file.sync() {
            let fault = JournalFault::Sync {
                segment: current.number,
                error: error.to_string(),
            };
            return Err(self.fail(fault));
        }
        self.durable = self.next - 1;
        Ok(())
    }

    fn check(&self) -> Result<(), AppendError> {
        match &self.fault {
            Some(fault) => Err(AppendError::Failed(fault.clone())),
            None => Ok(()),
        }
    }

    fn fail(&mut self, fault: JournalFault) -> AppendError {
        self.fault = Some(fault.clone());
        AppendError::Failed(fault)
    }

    /// Puts the checksums in, and counts the records.
    fn seal(&self, mut units: &mut [Unit]) -> Result<u32, JournalFault> {
        let mut records = 0;
        while let Some(first) = units.first() {
            let header = Header::read(first);
            let expected = self.next + u64::from(records);
            let length = usize::from(header.units);
            // A pair of this stands in the reader: what may not be read back is
            // not written.
            if header.sequence != expected || length == 0 || length > units.len() {
                return Err(JournalFault::OutOfOrder {
                    expected,
                    found: header.sequence,
                });
            }
            let (record, rest) = units.split_at_mut(length);
            self.seed.seal(record);
            records += 1;
            units = rest;
        }
        Ok(records)
    }

    /// Goes on in the next segment. The one before has been synced, but for
    /// records that nobody was promised yet.
    fn rotate(&mut self, synced: bool) -> Result<(), AppendError> {
        if !synced {
            self.sync()?;
        }
        match self.supply.take() {
            Ok(spare) => {
                self.current = Some(Current {
                    number: spare.number,
                    file: spare.file,
                    unit: 0,
                });
                Ok(())
            }
            Err(NoSegment::Full) => Err(AppendError::Full),
            Err(NoSegment::Failed(fault)) => Err(self.fail(fault)),
        }
    }

    fn put(&mut self, units: &[Unit]) -> Result<(), AppendError> {
        let Some(current) = &mut self.current else {
            return Err(AppendError::Full);
        };
        let offset = current.unit * UNIT_BYTES as u64;
        let written = match current.unit + units.len() as u64 {
            end if end > self.segment_units => Err(std::io::ErrorKind::FileTooLarge.into()),
            end => {
                current.unit = end;
                write_all_at(&mut current.file, bytemuck::cast_slice(units), offset)
            }
        };
        if let Err(error) = written {
            let fault = JournalFault::Write {
                segment: current.number,
                offset,
                error: error.to_string(),
            };
            return Err(self.fail(fault));
        }
        Ok(())
    }
}
