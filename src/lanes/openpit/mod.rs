//! The public crate `openpit` behind lanes (rule L1; cargo feature `openpit`).
//!
//! ```text
//!  one engine a shard     Desk ▸ OpenpitDriver<T>               !Send, no lock
//!  one engine for all     Desk ▸ OpenpitDriver<T, Arc<Engine>>  full_sync, limits span shards
//!  the same, dynamic      OpenpitDriver::leased                 handles move between workers
//! ```
//!
//! That crate's engine runs on the thread that calls it, and its users put a
//! mutex around it, or shard it by hand. [`OpenpitDriver`] gives them the async
//! engine instead: orders, reports and adjustments are theirs, unchanged, and
//! verdicts come back as futures. What the engine promises about accounts it
//! needs an order for; the lanes keep it.

mod control;
mod driver;
mod place;
mod view;

pub use control::OpenpitConfigure;
pub use driver::{OpenpitDriver, OpenpitError};
pub use place::{AtHome, Leased, Place};
pub use view::{OpenpitCopyView, OpenpitView};
