//! What a shard writes into its journal: images of what changed, each as it is
//! after the turn (rule J5).
//!
//! An image is the whole of one thing: an order, an account in one instrument,
//! a block, a decision's hold. What was last written of each is the state; a replay sets it and
//! calculates nothing. `docs/journal.md` draws the bytes.

mod account;
mod block;
mod bytes;
mod decision;
mod effect;
mod hold;
mod order;
mod report;
mod start;
mod told;

pub use account::AccountRecord;
pub use block::BlockRecord;
pub use decision::DecisionRecord;
pub use effect::{DecodeError, Effect, decode};
pub use hold::{HoldRecord, HoldStanding};
pub use order::{OrderRecord, OrderStanding};
pub use start::{AdjustmentKind, AdjustmentRecord, ConfigRecord};
pub use told::{ToldKind, ToldOutcome, ToldRecord, VenueName};

pub(super) use effect::{EFFECT_VERSION, Glance, encode, encode_long, glance};
pub(super) use report::ReportMark;
pub(super) use told::venue_name;
