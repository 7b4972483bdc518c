//! Orders on their way to a venue and back.

mod identity;
mod index;
pub mod venue;

pub use identity::{IdentitySource, NoEntropy, RandomIdentity};
pub use index::SlotIndex;
