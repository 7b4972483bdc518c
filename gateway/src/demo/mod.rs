//! A first look: a gateway on loopback, driven over TCP, and what came of it.
//!
//! Everything is real: sockets, frames, sessions, risk, the simulated venue's
//! book. The journal is on, unless it is switched off. Two runs:
//! [`run_workload`] sends a seeded two-sided flow, [`run_flow`] sends recorded
//! order flow and compares the fills.

mod error;
mod flow_run;
mod ledger;
mod outcome;
mod setup;
mod traffic;
mod workload;
mod workload_run;

pub use error::DemoError;
pub use flow_run::{FlowSettings, run_flow};
pub use outcome::{FlowOutcome, LatencyOutcome, Outcome};
pub use setup::DemoSettings;
pub use workload_run::run_workload;
