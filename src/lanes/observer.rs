//! Watching lanes: hooks that cost nothing when there are none (rules L28, L29).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::types::ShardId;

use super::key::LaneKey;

/// Where hooks are called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A submitter's thread.
    Producer,
    /// The worker of a shard.
    Worker(ShardId),
}

/// Makes the hooks of each thread; each set of hooks has one caller, so it
/// needs no lock.
pub trait Observer: Send + Sync + 'static {
    /// What one submitter or one worker calls.
    type Hooks: Hooks;

    /// `false` compiles every hook away.
    const ENABLED: bool = true;

    /// The hooks of a new submitter or worker.
    fn hooks(&self, place: Place) -> Self::Hooks;

    /// Every how many operations the hooks of one operation are called; rounded
    /// up to a power of two. 1 is each.
    fn sample_every(&self) -> u32 {
        1
    }
}

/// What is told. Everything defaults to nothing. Times are nanoseconds.
pub trait Hooks: Send + 'static {
    /// An operation was accepted; `depth` messages are in its ring.
    fn on_enqueue(&mut self, key: LaneKey, depth: usize) {
        let _ = (key, depth);
    }
    /// An operation is about to run, `waited_ns` after its submit.
    fn on_dequeue(&mut self, key: LaneKey, waited_ns: u64) {
        let _ = (key, waited_ns);
    }
    /// An operation ended after `ran_ns`; zero where it was aborted.
    fn on_complete(&mut self, key: LaneKey, ran_ns: u64) {
        let _ = (key, ran_ns);
    }
    /// A submit has waited `waiting_ns` for room, for the `attempt`th time
    /// beyond the threshold.
    fn on_slow_submit(&mut self, key: LaneKey, waiting_ns: u64, attempt: u32) {
        let _ = (key, waiting_ns, attempt);
    }
    /// A submit found no room and waited this long for it.
    fn on_queue_full_blocked(&mut self, key: LaneKey, waiting_ns: u64) {
        let _ = (key, waiting_ns);
    }
    /// A queue was made for a key; `total` exist now (dynamic strategy).
    fn on_queue_created(&mut self, key: LaneKey, total: usize) {
        let _ = (key, total);
    }
    /// An idle queue was retired; `remaining` exist now (dynamic strategy).
    fn on_queue_removed(&mut self, key: LaneKey, remaining: usize) {
        let _ = (key, remaining);
    }
    /// A submit gave up before there was room.
    fn on_submit_cancelled(&mut self, key: LaneKey) {
        let _ = key;
    }
}

impl Hooks for () {}

/// Nobody watches; compiles away.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopObserver;

impl Observer for NoopObserver {
    type Hooks = ();
    const ENABLED: bool = false;

    fn hooks(&self, _place: Place) {}
}

/// Shared by all guards of one engine: the observer as a whole fails once.
#[derive(Debug, Default)]
pub(crate) struct ObserverHealth {
    panics: AtomicU64,
    disabled: AtomicBool,
}

impl ObserverHealth {
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }
}

/// One thread's hooks behind a fence (rule L29).
pub(crate) struct Guarded<O: Observer> {
    hooks: O::Hooks,
    health: Arc<ObserverHealth>,
    /// Operations until the next sampled one; the first is.
    until_sample: u32,
    sample_every: u32,
}

impl<O: Observer> Guarded<O> {
    pub(crate) fn new(observer: &O, place: Place, health: &Arc<ObserverHealth>) -> Self {
        Self {
            hooks: observer.hooks(place),
            health: Arc::clone(health),
            until_sample: 0,
            sample_every: observer.sample_every().max(1),
        }
    }

    /// Whether the next operation is one that hooks are told of.
    #[inline]
    pub(crate) fn sample(&mut self) -> bool {
        if !O::ENABLED {
            return false;
        }
        if self.until_sample == 0 {
            self.until_sample = self.sample_every - 1;
            return true;
        }
        self.until_sample -= 1;
        false
    }

    /// Calls a hook; a panic disables the observer, everywhere.
    #[inline]
    pub(crate) fn tell(&mut self, hook: impl FnOnce(&mut O::Hooks)) {
        if !O::ENABLED || self.health.disabled.load(Ordering::Relaxed) {
            return;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(&mut self.hooks))) {
            self.health.disabled.store(true, Ordering::Relaxed);
            self.health.panics.fetch_add(1, Ordering::Relaxed);
            super::operation::fenced(|| drop(panic));
        }
    }
}
