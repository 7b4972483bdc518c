//! Scenario files: Markdown tables of orders and what must become of them,
//! run through the risk engine (rule K38).
//!
//! [`run_file`] reads, runs and judges one file. What a table may say is in
//! `docs/risk.md`.

mod book;
mod error;
mod front_matter;
mod names;
mod row;
mod run;
mod table;

pub use error::ScenarioError;
pub use run::{BalanceLine, Outcome, RowResult, run_file, run_text};
