//! Orders on their way to a venue and back.

mod code;
pub mod decision;
pub mod executor;
mod identity;
mod index;
pub mod lifecycle;
mod realized;
mod table;
pub mod venue;

pub use code::{Code, Refusal};
pub use identity::{IdentitySource, NoEntropy, RandomIdentity};
pub use index::SlotIndex;
pub use realized::{CostImage, OutOfRange, RealizedPnl};
pub use table::{OpenError, OpenOrder, OrderKey, OrderTable, PendingCancel, PendingReplace};
