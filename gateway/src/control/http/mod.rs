//! HTTP in front of authorizer and executor (rules O31 to O33), on a thread of its own.

mod access;
mod blocks;
mod decisions;
mod metrics;
mod orders;
mod problem;
mod router;
mod server;
mod settlements;

pub use access::{Access, AgentAccess, Caller};
pub use problem::{HttpCode, Problem};
pub use server::{HttpError, HttpServer, HttpSetup, SessionsReader};
