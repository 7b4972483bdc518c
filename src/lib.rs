//! Pitlane admits orders: the pre-trade risk checks of many accounts at ring
//! speed, every account's operations in submission order without a lock, and
//! each order followed through its venue life.
//!
//! ```text
//!  submitters ── one SPSC ring per (submitter, shard) ──▶ shard worker (pinned)
//!                                                          turn(budget):
//!   types ▸ time ▸ risk ▸ lanes ▸ orders ▸ shard            1 a bounded batch from the rings
//!   (each module uses only those to its left)               2 risk: start ▸ main ▸ reserve
//!                                                           3 orders: identity ▸ venue
//!  reports ◀── one SPSC ring per (shard, I/O thread) ──     4 venue events ▸ fills ▸ reports
//! ```
//!
//! Nothing here knows a socket: the binary gateway is the package
//! `pitlane-gateway`, which has the one binary, `pitlane`.

pub mod dispatch;
pub mod host;
pub mod journal;
pub mod lanes;
pub mod limits;
pub mod orders;
pub mod risk;
pub mod shard;
pub mod simulation;
pub mod steps;
pub mod telemetry;
pub mod time;
pub mod types;
