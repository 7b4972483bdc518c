//! Pitlane's gateway: clients come in over TCP with SBE frames.

pub mod config;
pub mod flow;
pub mod session;
pub mod wire;
