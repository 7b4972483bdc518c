//! Orders on their way to a venue and back.

mod identity;
mod index;
mod table;
pub mod venue;

pub use identity::{IdentitySource, NoEntropy, RandomIdentity};
pub use index::SlotIndex;
pub use table::{OpenError, OpenOrder, OrderKey, OrderTable, PendingCancel, PendingReplace};
