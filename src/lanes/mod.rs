//! Lanes: one worker per shard, and every account's operations in order.
//!
//! ```text
//!  Submitter ─ ring ─┐                          ┌─ LocalDriver (owned, may be !Send)
//!  Submitter ─ ring ─┼─▶ merge ▸ Lane::turn ────┤
//!  Submitter ─ ring ─┘   (submission order)     └─ results ─▶ completion slots ─▶ futures
//! ```
//!
//! An [`AsyncEngine`] routes each operation by its [`LaneKey`] to a shard, whose
//! worker runs it on its [`LocalDriver`]. It promises that operations of one
//! account run one at a time and in submission order, across submitters too;
//! that every accepted operation resolves exactly once; and that in steady
//! state a submit takes no lock, allocates nothing and makes no system call,
//! unless it must wake a sleeping worker. It does not persist anything, and
//! promises no order between accounts of different shards.

mod barrier;
mod batch;
mod builder;
mod chain;
mod change;
mod change_calls;
mod change_future;
mod completion;
mod desk;
mod desk_calls;
mod driver;
mod dynamic;
mod engine;
mod entry;
mod error;
mod flows;
mod future;
mod gate;
mod handles;
mod hdr;
mod inbox;
mod key;
mod lane;
mod lane_waits;
mod looks;
mod merge;
mod message;
mod node;
mod observer;
#[cfg(feature = "openpit")]
pub mod openpit;
mod operation;
#[cfg(all(test, not(loom)))]
mod order_test;
mod pre_trade;
mod prefetch;
mod reentry;
mod registry;
mod retired;
mod risk_driver;
mod sequencer;
mod shared;
mod shared_future;
mod shared_risk;
mod slab;
mod spread;
mod stop;
mod submitter;
mod sync;
mod tickets;
mod waits;
mod wake;
mod wrapper;

pub use batch::Batch;
pub use builder::{EngineBuilder, Here, Inline};
pub use chain::{
    AccountSteps, Adjusted, Chain, ChainEnd, ChainError, ChainFuture, ChainOutcome, ChainRunner,
    ChainSource, CheckVerdict, Checked, Decision, Followed, FromOrder, Heard, HookError,
    HookResult, OfAccount, OfGroup, OfOrder, Reserved, RunsChains, Settled, Source, WaitLimit,
    chain,
};
pub use change::{Change, ChangeOf, ControlDriver};
pub use change_future::{ChangeFuture, ChangeOutcome};
pub use desk::Desk;
pub use desk_calls::{CallFuture, OrderFuture, Wait};
pub use driver::{LocalDriver, Rest};
pub use dynamic::{DynamicBuilder, DynamicEngine, DynamicSubmitter, SharedDriver};
pub use engine::{AsyncEngine, LaneSeed};
pub use error::{BuildError, Failure, LaneError, Refused, SubmitterError};
pub use future::{LaneFuture, Outcome};
pub use hdr::{HdrObserver, LaneSnapshot};
pub use key::LaneKey;
#[doc(hidden)]
pub use lane::SentNode;
pub use lane::{Lane, Progress};
pub use observer::{Hooks, NoopObserver, Observer, Place};
pub use pre_trade::PreTradeDriver;
pub use risk_driver::RiskError;
pub use sequencer::{Everywhere, Sequencer};
pub use shared_future::SharedFuture;
pub use shared_risk::SharedRisk;
pub use stop::{StopError, StopReport};
pub use submitter::{Class, Submitter};
#[doc(hidden)]
pub use wrapper::QueueHome;
pub use wrapper::{
    AsyncDropCopy, AsyncRequest, AsyncReservation, CloseFuture, ExecuteFuture, Verdict,
};
