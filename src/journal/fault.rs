//! Why a journal cannot be written any more, or cannot be opened.

use std::io;

use super::reader::ReadError;
use super::snapshot::SnapshotError;
use super::storage::LockError;
use crate::limits::{JOURNAL_GROUPS_MAX, JOURNAL_SEGMENT_BYTES_MAX, JOURNAL_SEGMENT_BYTES_MIN};

/// What ended a journal (rule J8). The process reports it and stops; a restart
/// recovers what is durable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalFault {
    /// A write failed.
    #[error("writing at byte {offset} of segment {segment} failed: {error}")]
    Write {
        /// Number of the segment.
        segment: u64,
        /// Where in its file.
        offset: u64,
        /// The system's words.
        error: String,
    },
    /// A sync failed; it is not tried again.
    #[error("syncing segment {segment} failed: {error}; it is not known what is on the disk")]
    Sync {
        /// Number of the segment.
        segment: u64,
        /// The system's words.
        error: String,
    },
    /// The next segment could not be made.
    #[error("preparing segment {segment} failed: {error}")]
    Prepare {
        /// Number of the segment.
        segment: u64,
        /// The system's words.
        error: String,
    },
    /// Records that do not follow one another: a fault of this program, which
    /// must not reach the disk.
    #[error("record {found} came where record {expected} was due")]
    OutOfOrder {
        /// The sequence that was due.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// The disk stayed full until the journal was closed: what was not durable
    /// yet is lost, and nobody was told of it.
    #[error("the disk is full, and {records} records could not be written before the end")]
    Full {
        /// Records that were waiting.
        records: u64,
    },
    /// Its thread panicked: a fault of this program.
    #[error("the journal's thread panicked")]
    Panicked,
}

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Another process writes it (rule J10).
    #[error(transparent)]
    Locked(#[from] LockError),
    /// It cannot be read, or is damaged (rule J6).
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The snapshot to begin with cannot be read (rule J7).
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A torn tail could not be cut, or a leftover not be removed.
    #[error("mending {file} failed: {error}")]
    Mend {
        /// Which file.
        file: String,
        /// The system's words.
        error: io::Error,
    },
    /// A thread could not be started.
    #[error("the journal's thread cannot be started: {0}")]
    Thread(io::Error),
}

/// What is wrong with a journal's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The size of a segment.
    #[error(
        "a segment of {0} bytes: give a multiple of 4096 from {JOURNAL_SEGMENT_BYTES_MIN} \
         to {JOURNAL_SEGMENT_BYTES_MAX}"
    )]
    SegmentBytes(u64),
    /// The bound of groups that are not durable yet.
    #[error("{0} unreleased groups: give 1 to {JOURNAL_GROUPS_MAX}")]
    Groups(usize),
    /// The time between two syncs.
    #[error("a sync every {0} ms: give 1 to 60000")]
    SyncEvery(u128),
}
