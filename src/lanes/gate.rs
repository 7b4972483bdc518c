//! A shard's shared side: what submitters, its worker and a stop meet at.

use core::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use rtrb::Consumer;

use super::barrier;
use super::driver::LocalDriver;
use super::message::Message;
use super::slab::SlabRef;
use super::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering};
use super::wake::{Sleeper, lock};

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
    /// What the submitter is inside of: 0 nothing, [`INSIDE_BATCH`], or a shard
    /// plus 1. Written by the submitter alone.
    inside: CachePadded<AtomicU32>,
    /// Operations accepted; written by the submitter alone.
    accepted: AtomicU64,
    /// The submitter is dropped and will push no more.
    gone: AtomicBool,
    /// Where the submitter sleeps for want of room.
    pub(crate) room: CachePadded<Sleeper>,
}

const INSIDE_BATCH: u32 = u32::MAX;

impl SubmitterCell {
    pub(crate) fn new() -> Self {
        Self {
            inside: CachePadded::new(AtomicU32::new(0)),
            accepted: AtomicU64::new(0),
            gone: AtomicBool::new(false),
            room: CachePadded::new(Sleeper::new()),
        }
    }

    /// The submitter begins a submit; must look at the phase after this.
    #[inline]
    pub(crate) fn enter(&self, shard: u16) {
        self.inside.store(u32::from(shard) + 1, Ordering::Relaxed);
        // Pairs with the heavy barrier in `Gate::raise`: either that stop sees
        // us inside, or we see its phase.
        barrier::light();
    }

    pub(crate) fn enter_batch(&self) {
        self.inside.store(INSIDE_BATCH, Ordering::Relaxed);
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
        // One writer, so no RMW.
        let accepted = self.accepted.load(Ordering::Relaxed) + count;
        self.accepted.store(accepted, Ordering::Relaxed);
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
        inside == INSIDE_BATCH || inside == u32::from(shard) + 1
    }
}

/// The worker's end of one submitter's ring.
pub(crate) struct RingEnd<D: LocalDriver> {
    pub(crate) ring: Consumer<Message<D>>,
    pub(crate) slab: SlabRef,
    pub(crate) submitter: Arc<SubmitterCell>,
}

/// Rings on their way to the worker, and how many there are in all.
struct Registration<D: LocalDriver> {
    arriving: Vec<RingEnd<D>>,
    /// Rings that are not both drained and abandoned.
    live: usize,
}

/// The shared side of one shard.
pub(crate) struct Gate<D: LocalDriver> {
    /// The next ticket; taken only while `many`.
    tickets: CachePadded<AtomicU64>,
    /// More than one ring is live, so order needs tickets.
    many: CachePadded<AtomicBool>,
    phase: AtomicU32,
    /// No submitter can push any more.
    sealed: AtomicBool,
    /// Counts registrations, so that a scan sees whether there are new rings.
    version: AtomicU64,
    /// The worker has drained the shard and released its driver.
    finished: AtomicBool,
    pub(crate) worker: CachePadded<Sleeper>,
    registration: Mutex<Registration<D>>,
    pub(crate) tally: CachePadded<Tally>,
}

/// What became of a shard's operations; one writer.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Accepted without a submitter, by the lane's own thread.
    pub(crate) direct: AtomicU64,
    pub(crate) completed: AtomicU64,
    pub(crate) aborted: AtomicU64,
    pub(crate) panicked: AtomicU64,
}

impl Tally {
    #[inline]
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        // One writer, so no RMW.
        counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }
}

impl<D: LocalDriver> Gate<D> {
    pub(crate) fn new() -> Self {
        Self {
            tickets: CachePadded::new(AtomicU64::new(1)),
            many: CachePadded::new(AtomicBool::new(false)),
            phase: AtomicU32::new(RUNNING),
            sealed: AtomicBool::new(false),
            version: AtomicU64::new(0),
            finished: AtomicBool::new(false),
            worker: CachePadded::new(Sleeper::new()),
            registration: Mutex::new(Registration {
                arriving: Vec::new(),
                live: 0,
            }),
            tally: CachePadded::new(Tally {
                direct: AtomicU64::new(0),
                completed: AtomicU64::new(0),
                aborted: AtomicU64::new(0),
                panicked: AtomicU64::new(0),
            }),
        }
    }

    /// Brings a new ring to the worker, before its first message (rule L7).
    pub(crate) fn register(&self, end: RingEnd<D>) {
        let mut registration = lock(&self.registration);
        registration.live += 1;
        if registration.live > 1 {
            // A submit that misses this overlaps the registration, so it is
            // ordered before nothing that the new submitter sends.
            self.many.store(true, Ordering::Relaxed);
        }
        registration.arriving.push(end);
        // Release: who sees a message that follows from this registration sees
        // the version, and takes the ring in.
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Hands the arriving rings to the worker.
    pub(crate) fn take_arriving(&self, into: &mut Vec<RingEnd<D>>) {
        into.append(&mut lock(&self.registration).arriving);
    }

    /// The worker removed a ring that was abandoned and drained.
    pub(crate) fn unregister(&self) {
        let mut registration = lock(&self.registration);
        registration.live -= 1;
        if registration.live <= 1 {
            // Everything that other submitters sent has run, so the one that is
            // left is ordered by its ring alone.
            self.many.store(false, Ordering::Relaxed);
        }
    }

    /// Tickets for `count` messages that have room, or none while one
    /// submitter is alone.
    #[inline]
    pub(crate) fn tickets(&self, count: u64) -> Option<u64> {
        // Relaxed: a submit that follows another submit sees the flag and the
        // counter at least as late as that one did, by coherence.
        if self.many.load(Ordering::Relaxed) {
            Some(self.tickets.fetch_add(count, Ordering::Relaxed))
        } else {
            None
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
        barrier::heavy();
    }

    /// No submitter is inside, and none will push again.
    pub(crate) fn seal(&self) {
        self.sealed.store(true, Ordering::Release);
        self.worker.wake();
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }
}

impl<D: LocalDriver> fmt::Debug for Gate<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("phase", &self.phase())
            .field("sealed", &self.is_sealed())
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
