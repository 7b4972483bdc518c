//! Decisions and what becomes of them, run from a seed: agents, the authorizer over
//! several shards, an executor, and venues at the end of lines that fail.
//!
//! ```text
//!  agents ── decide ─▶ authorizer ─▶ shards ◀─ own orders ─▶ their venues
//!    │                    ▲  (journals that lose what was not synced)
//!    └── decision ─▶ executor ── orders ─▶ its venue, over a line that loses,
//!                         │                delays, doubles and overtakes
//!                         └── messages ─▶ authorizer
//! ```
//!
//! Processes are killed between any two groups of their journals; clocks disagree;
//! decisions are lost, altered, late, brought twice. After every step the state is
//! compared with a plain model that adds up the journals' records by itself, and in
//! the end with what the venues say happened.

mod acts;
mod checks;
mod config;
mod ending;
mod ledger;
mod line;
mod run;
mod system;

pub use config::{DecisionsConfig, DecisionsSimulated};
pub use run::simulate_decisions;
