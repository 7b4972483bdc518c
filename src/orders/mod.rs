//! Orders on their way to a venue and back.

mod identity;
mod index;
mod realized;
mod table;
pub mod venue;

pub use identity::{IdentitySource, NoEntropy, RandomIdentity};
pub use index::SlotIndex;
pub use realized::{OutOfRange, RealizedPnl};
pub use table::{OpenError, OpenOrder, OrderKey, OrderTable, PendingCancel, PendingReplace};
