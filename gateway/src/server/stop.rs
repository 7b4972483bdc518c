//! Stopping: told to all threads at once, with what they leave behind.

use core::ops::AddAssign;
use core::time::Duration;
use std::sync::Arc;

use tokio::sync::watch;

/// What the threads are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Run,
    /// Let what is in flight be answered, for at most this long.
    Drain(Duration),
    /// End now.
    Kill,
}

/// Tells a server to stop; from any thread, a signal handler's too.
#[derive(Clone, Debug)]
pub struct Stopper(pub(super) Arc<watch::Sender<Order>>);

impl Stopper {
    /// Stop accepting, refuse new orders and replaces, let what is in flight
    /// be answered for at most `drain`, tell the sessions, and end.
    pub fn stop(&self, drain: Duration) {
        self.0.send_if_modified(|order| {
            let is_running = *order == Order::Run;
            if is_running {
                *order = Order::Drain(drain);
            }
            is_running
        });
    }

    /// Tell the sessions and end, whatever is in flight.
    pub fn kill(&self) {
        self.0.send_replace(Order::Kill);
    }
}

/// What there was when a server stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Sessions that were told.
    pub sessions_told: u64,
    /// Commands that the core had not answered.
    pub in_flight: u64,
    /// Connections that did not read all that was left for them, in time.
    pub unread: u64,
    /// I/O threads that panicked.
    pub panicked: u64,
}

impl AddAssign for Summary {
    fn add_assign(&mut self, other: Self) {
        self.sessions_told += other.sessions_told;
        self.in_flight += other.in_flight;
        self.unread += other.unread;
        self.panicked += other.panicked;
    }
}
