//! The gateway's I/O threads: sockets in front of the sessions.
//!
//! ```text
//!   one thread, one runtime (io_uring, or epoll where that is refused)
//!
//!   accept ──▶ seat ◀── read ── session ── commands ──▶ OrderPath ──▶ core
//!                └───── write ◀── out ◀──── reports ◀──┘
//!   tick: deadlines          pump: reports that come on their own
//! ```
//!
//! All orders of one read are flushed as one chunk; all reports of one drain
//! leave in one write. Each connection has one read and at most one write in
//! flight, and neither is ever dropped: what must end a connection shuts its
//! socket down, and the operations come back (rule G14). Nothing is logged and
//! nothing blocks on these threads.

mod accept;
mod caps;
mod config;
mod epoll;
mod error;
mod handle;
mod path;
mod pump;
mod seat;
mod stats;
mod stop;
mod thread;
mod ticker;
mod uring;
mod worker;

pub use config::{IoChoice, ServerConfig};
pub use error::{IoRefusal, IoRefused, ServerError};
pub use handle::{IoUsed, Server, ServerHandle};
pub use path::OrderPath;
pub use stats::ServerStats;
pub use stop::{Stopper, Summary};

pub use crate::session::Full;
