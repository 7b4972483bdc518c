//! The thread of a venue that several shards share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use pitlane::limits::BATCH_MAX;
use pitlane::orders::venue::{Venue, VenueHost};
use pitlane::time::{Clock, IdleStrategy, SystemClock};

/// How long the thread may sleep when nothing comes: a shard cannot wake it.
const REST: Duration = Duration::from_micros(50);

/// Turns a venue's host until it is dropped.
pub(super) struct VenueThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl VenueThread {
    /// Starts it.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(super) fn start<V: Venue + Send + 'static>(
        mut host: VenueHost<V>,
        mut idle: IdleStrategy,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let clock = SystemClock::new();
        let thread = Builder::new().name("pitlane-venue".into()).spawn(move || {
            while !told.load(Ordering::Relaxed) {
                host.advance_to(clock.wall());
                if host.turn(BATCH_MAX) {
                    idle.reset();
                } else if !idle.pause() {
                    std::thread::park_timeout(REST);
                }
            }
        })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for VenueThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of the host was printed by its thread; shards saw the
            // venue go down.
            let _ = thread.join();
        }
    }
}
