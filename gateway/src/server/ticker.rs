//! The thread that tells the I/O threads to look at their deadlines.
//!
//! They have no timers of their own: with one pending, each wait of theirs
//! would set up and tear down the kernel's timer, for every single message.

use core::time::Duration;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};

use tokio::sync::Notify;

use super::ServerError;

/// Ticks until it is dropped.
#[derive(Debug)]
pub(super) struct Ticker {
    /// Dropped, it ends the thread.
    until: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(super) fn start(
        interval: Duration,
        threads: Vec<Arc<Notify>>,
    ) -> Result<Self, ServerError> {
        let (until, ended) = channel();
        let thread = Builder::new()
            .name("pitlane-tick".into())
            .spawn(move || {
                while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    for thread in &threads {
                        thread.notify_one();
                    }
                }
            })
            .map_err(|source| ServerError::Ticker { source })?;
        Ok(Self {
            until: Some(until),
            thread: Some(thread),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.until = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to say, and cannot panic.
            let _ = thread.join();
        }
    }
}
