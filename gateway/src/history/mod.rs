//! History: what the journals tell, in a SQLite file for people to ask (rule J12).
//!
//! A thread of its own follows each shard's journal, up to what is synced, and
//! writes rows and the place where it stands in one transaction. The shards do
//! not know of it; when it fails, they go on, and old segments stay.

mod file;
mod rows;
mod thread;

pub use file::{HistoryError, HistoryFile};
pub use thread::{HistoryThread, Source};
