//! Starting and stopping a server.

use core::net::SocketAddr;
use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use pitlane::time::SystemClock;
use tokio::sync::{Notify, watch};

use super::accept::listeners;
use super::caps::Cap;
use super::stats::StatCells;
use super::stop::{Order, Stopper, Summary};
use super::thread::{Setup, run};
use super::ticker::Ticker;
use super::worker::Shared;
use super::{IoRefused, OrderPath, ServerConfig, ServerError, ServerStats};
use crate::session::{Credentials, Rules};

/// Which reactor an I/O thread runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoUsed {
    /// io_uring.
    Uring,
    /// epoll.
    Epoll {
        /// Why it is not io_uring, unless epoll was asked for.
        refused: Option<IoRefused>,
    },
}

/// Starts servers.
#[derive(Debug)]
pub struct Server;

/// A server that runs; dropped, it stops at once.
#[derive(Debug)]
pub struct ServerHandle {
    address: SocketAddr,
    io: Vec<IoUsed>,
    stopper: Stopper,
    threads: Vec<JoinHandle<Summary>>,
    ticker: Option<Ticker>,
    cells: Vec<Arc<StatCells>>,
}

impl Server {
    /// Binds, starts the I/O threads and returns when all of them accept.
    ///
    /// `make_path` is called once on each thread with its number, from 0, which
    /// is the port of its commands' origins; pin the thread there if it is to
    /// be pinned.
    ///
    /// # Errors
    /// A setting out of its range, an address that cannot be had, a reactor
    /// that is refused: each says which, why and how to mend it. Nothing is
    /// left running.
    pub fn start<P, F>(
        config: ServerConfig,
        credentials: Arc<Credentials>,
        make_path: F,
    ) -> Result<ServerHandle, ServerError>
    where
        P: OrderPath + 'static,
        F: Fn(usize) -> P + Send + Sync + 'static,
    {
        config.check()?;
        let listeners = listeners(config.listen, config.threads)?;
        let address = listeners[0]
            .local_addr()
            .map_err(|source| ServerError::Bind {
                address: config.listen,
                source,
            })?;
        let (sender, receiver) = watch::channel(Order::Run);
        let shared = Shared {
            rules: Arc::new(Rules {
                gateway_id: config.gateway_id,
                credentials,
                timing: config.timing,
            }),
            clock: SystemClock::new(),
            connections: Cap::new(config.connections_max),
            logons: Cap::new(config.pre_logon_max),
            config,
        };
        let make_path = Arc::new(make_path);
        let mut handle = ServerHandle {
            address,
            io: Vec::new(),
            stopper: Stopper(Arc::new(sender)),
            threads: Vec::new(),
            ticker: None,
            cells: Vec::new(),
        };
        let mut ticks = Vec::new();
        let interval = shared.config.tick;
        for (number, listener) in (0..).zip(listeners) {
            let cells = Arc::new(StatCells::default());
            let setup = Setup {
                number,
                listener,
                shared: shared.clone(),
                cells: Arc::clone(&cells),
                stop: receiver.clone(),
                tick: Arc::new(Notify::new()),
            };
            ticks.push(Arc::clone(&setup.tick));
            let make_path = Arc::clone(&make_path);
            let (told, ready) = mpsc::sync_channel(1);
            let thread = Builder::new()
                .name(format!("pitlane-io-{number}"))
                .spawn(move || {
                    // If nobody waits any more, the stop order says so too.
                    let tell = move |result| drop(told.send(result));
                    run(setup, move || make_path(usize::from(number)), tell)
                })
                .map_err(|source| ServerError::Thread {
                    thread: number,
                    source,
                })?;
            handle.threads.push(thread);
            handle.cells.push(cells);
            match ready.recv() {
                Ok(Ok(used)) => handle.io.push(used),
                Ok(Err(error)) => return Err(error),
                Err(mpsc::RecvError) => return Err(ServerError::Path { thread: number }),
            }
        }
        handle.ticker = Some(Ticker::start(interval, ticks)?);
        Ok(handle)
    }
}

impl ServerHandle {
    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The reactor of each I/O thread.
    #[must_use]
    pub fn io(&self) -> &[IoUsed] {
        &self.io
    }

    /// What has been counted, at most a tick ago.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        total(&self.cells)
    }

    /// To read what is counted from elsewhere.
    pub fn stats_reader(&self) -> impl Fn() -> ServerStats + Send + Sync + use<> {
        let cells = self.cells.clone();
        move || total(&cells)
    }

    /// Tells the server to stop, from anywhere.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Stops: no new connections, no new orders; what is in flight may be
    /// answered for at most `drain`; each session is told; and returns when all
    /// threads have ended, with what they left and the last counts.
    pub fn shutdown(mut self, drain: Duration) -> (Summary, ServerStats) {
        self.stopper.stop(drain);
        self.join()
    }

    /// Waits for a [`Stopper`] to stop it.
    pub fn join(&mut self) -> (Summary, ServerStats) {
        let mut summary = Summary::default();
        for thread in self.threads.drain(..) {
            summary += thread.join().unwrap_or(Summary {
                panicked: 1,
                ..Summary::default()
            });
        }
        // The threads need its ticks until they end.
        self.ticker = None;
        (summary, self.stats())
    }
}

fn total(cells: &[Arc<StatCells>]) -> ServerStats {
    let mut all = ServerStats::default();
    for cells in cells {
        all += cells.read();
    }
    all
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.stopper.kill();
        self.join();
    }
}
