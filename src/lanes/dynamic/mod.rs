//! The dynamic strategy: a queue for each key, and a pool that runs them
//! (rules L2 and L3).
//!
//! ```text
//!  DynamicSubmitter ─┐            ┌─ queue of key A ─┐  ready   ┌─ worker
//!  DynamicSubmitter ─┼─▶ table ───┼─ queue of key B ─┼────────▶ ├─ worker
//!  DynamicSubmitter ─┘            └─ queue of key C ─┘   ▲      └─ …
//!                                        retires ── monitor ── grows
//! ```
//!
//! Operations of one key run one at a time and in submission order, across
//! submitters too; operations of different keys run in parallel, and a slow one
//! delays no other while workers remain. Submits take short locks (a queue's,
//! and the ready list's when the queue was idle); no lock is held while an
//! operation runs. The sharded strategy takes none, and is the faster one.

mod builder;
mod cell;
mod core;
mod engine;
mod monitor;
mod pool;
mod queue;
mod submitter;
mod table;
mod worker;

pub use builder::DynamicBuilder;
pub use cell::SharedDriver;
pub use engine::DynamicEngine;
pub use submitter::DynamicSubmitter;
