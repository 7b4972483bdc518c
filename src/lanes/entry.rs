//! Who is inside a submit, and how far a stop has gone (rule L25).
//!
//! A submitter says that it is inside, passes the light barrier, and looks at
//! the phase. A stop raises the phase, passes the heavy barrier, and looks who
//! is inside. One of the two sees the other, so once nobody is seen inside,
//! nobody will push again, and the shard may be sealed: a worker that sees the
//! seal sees all that was ever pushed.
//!
//! A registration uses the same pair: it says that tickets are needed from now
//! on, and waits until nobody is still pushing without having looked
//! ([`SubmitterCell::pushing`]).

use crossbeam_utils::CachePadded;

use super::barrier;
use super::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use super::wake::Sleeper;

/// How far a shard's stop has gone; only ever rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Running,
    /// New submits are refused; what was accepted runs.
    Graceful,
    /// What has not started is aborted.
    Hard,
}

const RUNNING: u32 = Phase::Running as u32;
const GRACEFUL: u32 = Phase::Graceful as u32;

/// One submitter, as workers and a stop see it.
#[derive(Debug)]
pub(crate) struct SubmitterCell {
    /// What the submitter is inside of: 0 nothing, or a shard plus 1 with
    /// [`OPEN`] while it is not about to push, and [`BATCH`] for every shard.
    /// Written by the submitter alone.
    inside: CachePadded<AtomicU32>,
    /// Operations accepted; written by the submitter alone.
    accepted: AtomicU64,
    /// The submitter is dropped and will push no more; apart from the counter,
    /// because idle workers look at it.
    gone: CachePadded<AtomicBool>,
    /// Where the submitter sleeps for want of room.
    pub(crate) room: CachePadded<Sleeper>,
}

/// Inside, but only waiting for room or filling a batch.
const OPEN: u32 = 1 << 31;
/// Inside of a batch, which may push to any shard.
const BATCH: u32 = 1 << 30;

/// A push that was under way when somebody looked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Push {
    accepted: u64,
}

impl SubmitterCell {
    pub(crate) fn new() -> Self {
        Self {
            inside: CachePadded::new(AtomicU32::new(0)),
            accepted: AtomicU64::new(0),
            gone: CachePadded::new(AtomicBool::new(false)),
            room: CachePadded::new(Sleeper::new()),
        }
    }

    /// The submitter begins a submit; must look at the phase after this.
    #[inline]
    pub(crate) fn enter(&self, shard: u16) {
        self.inside.store(u32::from(shard) + 1, Ordering::Relaxed);
        // Pairs with the heavy barrier in `Admission::raise`: either that stop sees
        // us inside, or we see its phase.
        barrier::light();
    }

    /// Inside, but waiting: may go on to push only after
    /// [`resume`](Self::resume).
    pub(crate) fn wait(&self, shard: u16) {
        self.inside
            .store(OPEN | (u32::from(shard) + 1), Ordering::Relaxed);
    }

    /// About to push, after waiting.
    pub(crate) fn resume(&self, shard: u16) {
        self.enter(shard);
    }

    /// Inside a batch, not about to push.
    pub(crate) fn enter_batch(&self) {
        self.inside.store(OPEN | BATCH, Ordering::Release);
        barrier::light();
    }

    /// About to push a batch's messages to a shard.
    pub(crate) fn push_batch(&self, shard: u16) {
        self.inside
            .store(BATCH | (u32::from(shard) + 1), Ordering::Relaxed);
        barrier::light();
    }

    /// The submit is over; what it pushed is visible to who sees this.
    #[inline]
    pub(crate) fn leave(&self) {
        self.inside.store(0, Ordering::Release);
    }

    /// Counts accepted operations.
    #[inline]
    pub(crate) fn accept(&self, count: u64) {
        // One writer, so no RMW. Release: what was pushed is visible to who
        // sees the count.
        let accepted = self.accepted.load(Ordering::Relaxed) + count;
        self.accepted.store(accepted, Ordering::Release);
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// The submitter pushed its last message.
    pub(crate) fn retire(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Whether nothing more will come; what was pushed is visible after this.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Whether the submitter may still push to a shard.
    pub(crate) fn is_inside(&self, shard: u16) -> bool {
        let inside = self.inside.load(Ordering::Acquire);
        inside & BATCH != 0 || inside & !OPEN == u32::from(shard) + 1
    }

    /// The push that is under way, if there is one.
    pub(crate) fn pushing(&self) -> Option<Push> {
        let accepted = self.accepted.load(Ordering::Acquire);
        let inside = self.inside.load(Ordering::Acquire);
        (inside != 0 && inside & OPEN == 0).then_some(Push { accepted })
    }

    /// Whether that push is over; then what it pushed is visible.
    pub(crate) fn is_over(&self, push: Push) -> bool {
        self.accepted.load(Ordering::Acquire) != push.accepted || self.pushing().is_none()
    }
}

/// A shard's phase and seal.
#[derive(Debug)]
pub(crate) struct Admission {
    phase: AtomicU32,
    /// No submitter can push any more.
    sealed: AtomicBool,
}

impl Admission {
    pub(crate) fn new() -> Self {
        Self {
            phase: AtomicU32::new(RUNNING),
            sealed: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            RUNNING => Phase::Running,
            GRACEFUL => Phase::Graceful,
            _ => Phase::Hard,
        }
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.phase.load(Ordering::Relaxed) == RUNNING
    }

    /// Raises the phase; after it, a submitter that is not seen inside will see
    /// the phase.
    pub(crate) fn raise(&self, phase: Phase) {
        self.phase.fetch_max(phase as u32, Ordering::AcqRel);
        // Pairs with the light barrier in `enter`.
        barrier::heavy();
    }

    /// Nobody is inside, and nobody will push again.
    pub(crate) fn seal(&self) {
        self.sealed.store(true, Ordering::Release);
    }

    /// Whether it is sealed; then all that was pushed is in sight.
    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }
}
