//! The `pitlane` command: what is asked, done, and printed.
//!
//! Exit codes: 0 done, 1 the run did not do what it should, 2 the input is at
//! fault; a message on stderr says what, where and how to mend it.

mod args;
mod config_command;
mod demo_command;
mod dev;
mod journal_command;
mod journal_json;
mod keygen;
mod mcp;
mod orders_command;
mod reports;
mod run;
mod scenario_command;
mod scratch;
mod serve;
mod sign;
mod sim_command;
mod sim_decisions;
mod token;
mod watch;

pub use run::main;
