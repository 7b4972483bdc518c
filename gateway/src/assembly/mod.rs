//! A whole gateway put together from its configuration.
//!
//! ```text
//!  clients ─ server (I/O threads) ─ ShardPath ─ lanes ─ Shard ─ ShardVenue
//!                                  rings, or          risk,    its own, or
//!                                  inline             orders   a hosted one
//! ```

mod births;
mod decisions;
mod error;
mod gateway;
mod journals;
mod keeping;
mod layout;
mod path;
mod settings;
mod shard;
mod strategies;
mod venue_thread;

pub use error::StartError;
pub use gateway::{Gateway, Stopped, check};
pub use journals::Found;
pub use layout::Layout;
pub use strategies::{InstallError, Site, Strategies};
