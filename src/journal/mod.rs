//! The journal: what a shard did, on the disk before anybody is told of it.
//!
//! One journal for each shard, of numbered segments; what a turn did is one
//! group of records, which after a crash is there as a whole or not at all.
//! Effects are written, not inputs, so that a replay asks no policy and no
//! clock. This module knows bytes, files and threads, and nothing of orders.

mod config;
mod fault;
mod follow;
mod memory;
mod port;
mod reader;
mod recovery;
mod repair;
mod retention;
mod scan;
mod segment;
mod snapshot;
pub mod storage;
mod supply;
mod sync;
mod thread;
mod unit;
mod watermark;
mod window;
mod writer;

#[cfg(test)]
mod following_tests;
#[cfg(test)]
pub(crate) mod small;
#[cfg(test)]
mod tests;

pub use config::{Durability, JournalConfig};
pub use fault::{ConfigError, JournalFault, OpenError};
pub use follow::{Closed, Follower, Step};
pub use memory::MemoryJournal;
pub use port::{BodyTooLong, JournalPort};
pub use reader::{Place, ReadError, RecordView, Summary, Tail, read, read_from};
pub use recovery::{Intake, Recovered};
pub use repair::{RepairError, Repaired, repair};
pub use retention::{OldSegments, RetentionError, tidy};
pub use segment::{FORMAT, Owner};
pub use snapshot::{
    EntryView, SnapshotError, SnapshotHead, SnapshotWriter, check_snapshot, newest_snapshot,
    read_snapshot, snapshots,
};
pub use thread::{Bell, Durable, Journal, OpenedJournal};
pub use unit::{BODY_BYTES_MAX, RecordKind, UNIT_BYTES, Unit};
pub use watermark::Condition;
