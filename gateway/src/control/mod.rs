//! The control plane: an executor on a thread of its own, and HTTP in front of it.
//!
//! ```text
//!  HTTP thread             executor thread              venue's thread
//!  token ▸ route ─bounded─▶ requests ▸ turn ─▶ journal ─▶ orders
//!        ◀──── answers, when they are durable ◀── events ◀┘
//! ```

mod asks;
mod executor_thread;
pub mod http;
pub(crate) mod outbox;
mod sweep;

pub use asks::{ExecutorHandle, ExecutorReport, Unavailable};
pub use executor_thread::{Due, ExecutorSetup, ExecutorStart, ExecutorThread, VenueWay};
