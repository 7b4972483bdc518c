//! Chains: several engine calls and the caller's own work as one task of a lane
//! (rules L31 to L36).
//!
//! A chain is built on the caller's thread, travels to the lane of its source,
//! and runs there on a state that its `begin` makes. It promises that nothing
//! else of its account runs in between, that no reservation outlives the hook
//! that was to decide on it, and that it resolves once, with what became of it.
//! It is not atomic: what a step did before a later one failed stays done, and
//! [`retry_unsafe`](ChainOutcome::retry_unsafe) says that there may be such.

mod builder;
mod outcome;
mod result;
mod run;
mod source;
mod steps;
mod wait;
mod waiting;

pub use builder::{Chain, ChainFuture, ChainRunner, RunsChains, chain};
pub use outcome::{ChainEnd, ChainError, ChainOutcome};
pub use result::{
    Adjusted, CheckVerdict, Checked, Decision, Followed, HookError, HookResult, Reserved, Settled,
};
pub use source::{AccountSteps, ChainSource, FromOrder, OfAccount, OfGroup, OfOrder, Source};
pub use wait::{Heard, WaitLimit};
