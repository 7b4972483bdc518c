//! The authorizer: decisions from the shards' real risk, signed elsewhere.
//!
//! ```text
//!  HTTP thread ── decide ──▶ ┌ bounded queue ┐      ┌ shard's turn ──────────┐
//!  executor ──── settle ───▶ │ one per shard │ ───▶ │ risk: start ▸ main     │
//!  executor ──── due ──────▶ └───────────────┘      │ hold kept, group sealed│
//!      ▲                                            └───────────┬────────────┘
//!      └── answer, when its record group is durable ◀───────────┘
//! ```
//!
//! There is one way in, whether a shard runs on a worker of its own or inline on
//! an I/O thread: a bounded queue that its turn looks at. It is not the order
//! path; a shard without an authority pays one branch a turn. Signing is done by
//! whoever takes the answer.

mod ask;
mod authorizer;
mod counts;
mod desk;
mod ended;
mod expiry;
mod fills;
mod holds;
mod pending;
mod receiver;
mod request;
mod reserving;
mod serving;
mod settling;
mod state;

pub use ask::{AuthorityEnd, BlockedAccounts};
pub use authorizer::{Authorizer, AuthorizerSettings};
pub use counts::AuthorityCounts;
pub use expiry::Due;
pub use pending::{Answer, Deciding};
pub use receiver::ShardReceiver;
pub use request::{Allowed, Decided, DecisionRequest, Undecided};
pub use state::AuthorityState;

pub(super) use desk::AuthorityDesk;
pub(super) use ended::Left;
