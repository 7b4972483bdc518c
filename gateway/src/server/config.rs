//! How a server is set up.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;

use pitlane::limits;

use super::ServerError;
use crate::session::Timing;

/// Which reactor the I/O threads use (rule G15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoChoice {
    /// io_uring, or epoll where that is refused.
    #[default]
    Auto,
    /// io_uring, or an error.
    Uring,
    /// epoll.
    Epoll,
}

/// How a server is set up; the defaults serve a few hundred clients.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where it listens; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Whether `listen` may be an address that other machines can reach.
    pub allow_public: bool,
    /// I/O threads, from 1; each has its own listener and its own path.
    pub threads: u16,
    /// Which reactor.
    pub io: IoChoice,
    /// Which gateway this is; clients sign it at logon.
    pub gateway_id: u64,
    /// The sessions' deadlines.
    pub timing: Timing,
    /// Connections at once, over all threads, up to 65,536 for each of them;
    /// more are closed at once.
    pub connections_max: usize,
    /// Connections at once that have not logged on; more are closed at once.
    pub pre_logon_max: usize,
    /// Bytes that may wait for one client; at more its session ends (rule G12).
    pub outbound_max: usize,
    /// Bytes of each connection's read buffer.
    pub read_buffer: usize,
    /// Entries of each thread's submission queue, where it is io_uring.
    pub ring_entries: u32,
    /// How often deadlines are looked at; they are late by as much.
    pub tick: Duration,
    /// How long accepting pauses when descriptors are exhausted (rule G17).
    pub accept_pause: Duration,
    /// Reports that are taken from the path at once.
    pub report_budget: usize,
}

impl Default for ServerConfig {
    /// Loopback, any port, one thread, 1,024 connections.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            allow_public: false,
            threads: 1,
            io: IoChoice::Auto,
            gateway_id: 1,
            timing: Timing::default(),
            connections_max: 1_024,
            pre_logon_max: 128,
            outbound_max: 1 << 20,
            read_buffer: 64 * 1_024,
            ring_entries: 1_024,
            tick: Duration::from_millis(20),
            accept_pause: Duration::from_millis(100),
            report_budget: limits::BATCH_MAX,
        }
    }
}

impl ServerConfig {
    /// Whether a server can be set up like this.
    ///
    /// # Errors
    /// The first setting that it cannot, and what would do.
    pub fn check(&self) -> Result<(), ServerError> {
        let refuse = |setting, problem| Err(ServerError::Config { setting, problem });
        if !self.listen.ip().is_loopback() && !self.allow_public {
            return Err(ServerError::PublicAddress {
                address: self.listen,
            });
        }
        if self.threads == 0 || usize::from(self.threads) > limits::SUBMITTERS_MAX {
            return refuse("threads", "must be from 1 to 64");
        }
        if self.connections_max == 0 {
            return refuse("connections_max", "must be at least 1");
        }
        if self.pre_logon_max == 0 {
            return refuse("pre_logon_max", "must be at least 1");
        }
        if self.outbound_max < 2 * limits::FRAME_MAX {
            return refuse("outbound_max", "must be at least 2,048 bytes, two frames");
        }
        if self.read_buffer < limits::READ_BUFFER_MIN {
            return refuse("read_buffer", "must be at least 16,384 bytes");
        }
        if self.tick.is_zero() {
            return refuse("tick", "must be above zero");
        }
        if self.report_budget == 0 {
            return refuse("report_budget", "must be at least 1");
        }
        self.timing.check().map_err(ServerError::Timing)
    }
}
