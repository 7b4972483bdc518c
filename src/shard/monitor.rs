//! What a shard lets others see of its callbacks: read from any thread, at any
//! time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};

use crate::dispatch::{Alarm, Fatal, ReportCounter, ReportMeter};
use crate::limits::DISPATCH_ALARMS_MAX;

/// See the module. Written by its shard, which never waits for a reader.
#[derive(Debug, Default)]
pub struct ShardMonitor {
    failure: OnceLock<Option<Fatal>>,
    alarms: Mutex<Vec<Alarm>>,
    alarms_lost: AtomicU64,
    /// Set by the first shard that halts, where that is to halt all.
    all: OnceLock<Arc<AtomicBool>>,
    watcher: OnceLock<Thread>,
    pub(super) meter: Arc<ReportMeter>,
    journal_failed: AtomicBool,
}

impl ShardMonitor {
    /// From now on this shard's halt is everybody's who is bound to `all`, and
    /// theirs is this shard's. The first binding stays.
    pub fn bind(&self, all: &Arc<AtomicBool>) {
        let _ = self.all.set(Arc::clone(all));
    }

    /// Unparks this thread from now on whenever there is something new to see. The
    /// first watcher stays.
    pub fn watch(&self) {
        let _ = self.watcher.set(thread::current());
    }

    /// What the shard has told so far, by kind of report.
    #[must_use]
    pub fn told(&self) -> ReportCounter {
        self.meter.read()
    }

    /// Whether the shard's callbacks are over, and its new orders refused.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.failure.get().is_some()
    }

    /// Why the callbacks are over; `None` while they are not, and where the
    /// client reports' own component failed, of which an alarm tells.
    #[must_use]
    pub fn failure(&self) -> Option<Fatal> {
        self.failure.get().cloned().flatten()
    }

    /// The alarms that nobody has taken, oldest first: a component that failed,
    /// what was found to be wrong.
    #[must_use]
    pub fn take_alarms(&self) -> Vec<Alarm> {
        std::mem::take(&mut *self.alarms.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Alarms that found no room, or a reader in their way.
    #[must_use]
    pub fn alarms_lost(&self) -> u64 {
        self.alarms_lost.load(Ordering::Relaxed)
    }

    /// Whether the shard's journal has failed: it acknowledges nothing any more,
    /// and the process should say so and stop (rule J8).
    #[must_use]
    pub fn has_journal_failed(&self) -> bool {
        self.journal_failed.load(Ordering::Relaxed)
    }

    #[cold]
    pub(super) fn journal_failed(&self) {
        if !self.journal_failed.swap(true, Ordering::Relaxed) {
            self.wake();
        }
    }

    pub(super) fn peer_halted(&self) -> bool {
        self.all
            .get()
            .is_some_and(|all| all.load(Ordering::Relaxed))
    }

    pub(super) fn halted(&self, failure: Option<Fatal>) {
        let _ = self.failure.set(failure);
        if let Some(all) = self.all.get() {
            all.store(true, Ordering::Relaxed);
        }
        self.wake();
    }

    pub(super) fn alarm(&self, alarm: Alarm) {
        match self.alarms.try_lock() {
            Ok(mut alarms) if alarms.len() < DISPATCH_ALARMS_MAX => alarms.push(alarm),
            _ => {
                self.alarms_lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(watcher) = self.watcher.get() {
            watcher.unpark();
        }
    }
}
