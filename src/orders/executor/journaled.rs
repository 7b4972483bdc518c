//! The executor's log on a journal: what it writes down is a record group there,
//! and counts as durable when the journal says so (rules O18, O29, J3).
//!
//! Nothing here waits for the disk. Groups that the journal has no room for wait
//! in order, and while any does, the executor takes no new orders and no events.

use std::collections::VecDeque;

use super::log::{IntentLog, LogFailed, Room};
use super::record::Record;
use crate::journal::storage::Storage;
use crate::journal::{
    self, BODY_BYTES_MAX, Bell, Condition, Journal, JournalConfig, JournalFault, JournalPort,
    OpenError, OpenedJournal, Owner, RecordKind, RecordView, Recovered, Summary, UNIT_BYTES,
};
use crate::limits::JOURNAL_GROUP_UNITS_MAX;
use crate::types::ShardId;

/// What an executor's record is in a journal.
const KIND: RecordKind = RecordKind(0x0101);
/// The layout of its body: the record as JSON, then zeros.
const VERSION: u8 = 1;
/// An executor is not divided by accounts.
const OWNER: Owner = Owner {
    shard: ShardId(0),
    shards: 1,
};

/// A journal as an executor's log; dropped, it ends as after a crash, with what
/// the journal was given.
pub struct JournalLog {
    // Before the journal: its thread sees the end of the ring.
    port: JournalPort,
    journal: Journal,
    /// Groups that the journal had no room for, as the bodies of their records.
    waiting: VecDeque<Vec<Vec<u8>>>,
    /// The last record of each group that is not durable yet.
    handed: VecDeque<u64>,
    /// Groups that were taken since it was opened.
    appended: u64,
    /// How many of them are durable.
    durable: u64,
}

/// A log that was opened, and what it had.
pub struct OpenedLog {
    /// The log.
    pub log: JournalLog,
    /// Every record, oldest first.
    pub records: Vec<Record>,
    /// What the journal found. Its number names the log in what is told
    /// to an authorizer.
    pub recovered: Recovered,
}

/// Why a journal cannot be an executor's log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenLogError {
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// It has a record that is none of an executor's, or of a newer program.
    #[error(
        "record {sequence} (segment {segment}, byte {offset}) is none that this executor reads: \
         {what}; start the program that wrote it, or give the executor a folder of its own"
    )]
    Record {
        /// Its place in the journal.
        sequence: u64,
        /// The segment that it is in.
        segment: u64,
        /// Where in the segment.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
}

impl OpenLogError {
    const fn at(view: &RecordView<'_>, what: String) -> Self {
        Self::Record {
            sequence: view.sequence,
            segment: view.segment,
            offset: view.offset,
            what,
        }
    }
}

impl JournalLog {
    /// Opens the log in a folder of its own, or makes it. `number` names a new
    /// journal and is drawn at random; `bell` is called on the journal's thread
    /// when more is durable, and should wake the executor's.
    ///
    /// # Errors
    /// The journal's, or a record that cannot be read: nothing is skipped.
    pub fn open<S: Storage>(
        storage: &S,
        config: &JournalConfig,
        number: u64,
        bell: Bell,
    ) -> Result<OpenedLog, OpenLogError> {
        let mut records = Vec::new();
        let mut wrong = None;
        let opened = Journal::open(storage, config, OWNER, number, bell, &mut |view| {
            if wrong.is_some() {
                return;
            }
            match read(view.kind, view.version, view.body) {
                Ok(record) => records.push(record),
                Err(what) => wrong = Some(OpenLogError::at(view, what)),
            }
        })?;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let OpenedJournal {
            journal,
            port,
            recovered,
        } = opened;
        Ok(OpenedLog {
            log: Self {
                port,
                journal,
                waiting: VecDeque::new(),
                handed: VecDeque::new(),
                appended: 0,
                durable: 0,
            },
            records,
            recovered,
        })
    }

    /// Shows every record of a log, live or dead, without a lock.
    ///
    /// # Errors
    /// The journal's, or a record that cannot be read: nothing is skipped.
    pub fn read<S: Storage>(
        storage: &S,
        show: &mut dyn FnMut(Record),
    ) -> Result<Summary, OpenLogError> {
        let mut wrong = None;
        let whole = journal::read(storage, &mut |view| {
            if wrong.is_none() {
                match read(view.kind, view.version, view.body) {
                    Ok(record) => show(record),
                    Err(what) => wrong = Some(OpenLogError::at(view, what)),
                }
            }
        });
        match wrong {
            Some(wrong) => Err(wrong),
            None => Ok(whole.map_err(OpenError::Read)?),
        }
    }

    /// Why the journal ended, if it did by a failure.
    #[must_use]
    pub fn fault(&self) -> Option<JournalFault> {
        self.journal.fault()
    }

    /// Hands over what waits, as far as there is room.
    fn hand_over(&mut self) -> Result<(), LogFailed> {
        while !self.waiting.is_empty() && self.port.takes_work() {
            let Some(group) = self.waiting.pop_front() else {
                break;
            };
            for body in &group {
                self.port
                    .append(KIND, VERSION, body)
                    .map_err(|_| LogFailed)?;
            }
            self.handed.push_back(self.port.commit());
        }
        Ok(())
    }
}

impl IntentLog for JournalLog {
    fn append(&mut self, group: &[Record]) -> Result<u64, LogFailed> {
        if self.port.condition() == Condition::Failed {
            return Err(LogFailed);
        }
        let bodies: Result<Vec<_>, _> = group.iter().map(serde_json::to_vec).collect();
        let bodies = bodies.map_err(|_| LogFailed)?;
        let units = bodies.iter().map(|body| body.len() / UNIT_BYTES + 2);
        // What the journal could never take must not wait in front of the rest.
        if bodies.iter().any(|body| body.len() > BODY_BYTES_MAX)
            || units.sum::<usize>() > JOURNAL_GROUP_UNITS_MAX
        {
            return Err(LogFailed);
        }
        self.waiting.push_back(bodies);
        self.appended += 1;
        self.hand_over()?;
        Ok(self.appended)
    }

    fn durable(&mut self) -> Result<u64, LogFailed> {
        if self.port.condition() == Condition::Failed {
            return Err(LogFailed);
        }
        let durable = self.port.durable();
        while self.handed.front().is_some_and(|&last| last <= durable) {
            self.handed.pop_front();
            self.durable += 1;
        }
        self.hand_over()?;
        Ok(self.durable)
    }

    fn room(&self) -> Room {
        match (self.port.condition(), self.waiting.is_empty()) {
            (Condition::Running, true) => Room::Plenty,
            (Condition::Running, false) => Room::Behind,
            (Condition::SpaceLow, true) => Room::Reserved,
            (Condition::SpaceLow, false) | (Condition::Failed, _) => Room::Gone,
        }
    }
}

fn read(kind: RecordKind, version: u8, body: &[u8]) -> Result<Record, String> {
    if kind != KIND {
        return Err(format!("its kind is {}", kind.0));
    }
    if version != VERSION {
        return Err(format!("its layout is version {version}"));
    }
    let end = body.iter().rposition(|&byte| byte != 0);
    let text = &body[..end.map_or(0, |end| end + 1)];
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
