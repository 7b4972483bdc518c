//! A whole shard, run from a seed: risk, lane, steps, callbacks and a venue at the
//! end of a slow line, on one thread, in simulated time.
//!
//! ```text
//!  client flows (steps) ─▶ outbox ─▶ lane ─▶ shard ─▶ line ─▶ venue's book
//!        ▲                                    │  ▲      ◀──────┘
//!        └───────────── report ring ◀─────────┘  └─ OCO and bracket components
//! ```
//!
//! The same configuration gives the same trace, byte for byte: all chance follows
//! from the seed, and all time from what is due next. Everything that one input
//! causes is done before time moves on (rule R75).

mod arrivals;
mod config;
mod contingents;
mod decisions;
mod dice;
mod flow;
mod node;
mod run;
mod trace;
mod world;

pub use config::{SimulationConfig, SimulationError};
pub use decisions::{DecisionsConfig, DecisionsSimulated, simulate_decisions};
pub use run::{Simulated, simulate};
