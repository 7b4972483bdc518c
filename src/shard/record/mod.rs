//! What a shard writes into its journal: images of what changed, each as it is
//! after the turn (rule J5).
//!
//! An image is the whole of one thing: an order, an account in one instrument,
//! a block. What was last written of each is the state; a replay sets it and
//! calculates nothing. `docs/journal.md` draws the bytes.

mod account;
mod block;
mod bytes;
mod effect;
mod order;
mod report;

pub use account::AccountRecord;
pub use block::BlockRecord;
pub use effect::{DecodeError, Effect, decode};
pub use order::{OrderRecord, OrderStanding};

pub(super) use effect::{EFFECT_VERSION, encode};
