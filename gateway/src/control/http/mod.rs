//! HTTP in front of an executor (rules O31 to O33), on a thread of its own.

mod access;
mod metrics;
mod orders;
mod problem;
mod router;
mod server;

pub use access::{Access, AgentAccess, Caller};
pub use problem::{HttpCode, Problem};
pub use server::{HttpError, HttpServer, HttpSetup, SessionsReader};
