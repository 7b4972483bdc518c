//! Pitlane's gateway: clients come in over TCP with SBE frames.

pub mod assembly;
pub mod cli;
pub mod client;
pub mod config;
pub mod control;
pub mod demo;
pub mod flow;
pub mod history;
mod progress;
mod remote;
pub mod scenario;
mod secrets;
pub mod server;
pub mod session;
pub mod wire;
