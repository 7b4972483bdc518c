//! A shard's shared side: what submitters, its worker and a stop meet at.

use core::fmt;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use rtrb::Consumer;

use super::driver::LocalDriver;
use super::entry::{Admission, SubmitterCell};
use super::message::Message;
use super::node::Door;
use super::slab::Share;
use super::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use super::tickets::Tickets;
use super::wake::{Sleeper, lock};

/// The worker's end of one submitter's ring.
pub(crate) struct RingEnd<D: LocalDriver> {
    pub(crate) ring: Consumer<Message<D>>,
    pub(crate) slab: Share,
    pub(crate) submitter: Arc<SubmitterCell>,
}

/// Rings on their way to the worker, and how many there are in all.
struct Registration<D: LocalDriver> {
    arriving: Vec<RingEnd<D>>,
    /// Rings announced (and the list of nodes), and not yet drained and abandoned.
    live: usize,
}

/// The shared side of one shard.
pub(crate) struct Gate<D: LocalDriver> {
    pub(crate) tickets: Tickets,
    pub(crate) admission: Admission,
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
    pub(crate) fn new() -> Self {
        Self {
            direct: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            panicked: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        // One writer, so no RMW.
        counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }
}

impl<D: LocalDriver> Gate<D> {
    pub(crate) fn new() -> Self {
        Self {
            tickets: Tickets::new(),
            admission: Admission::new(),
            version: AtomicU64::new(0),
            finished: AtomicBool::new(false),
            worker: CachePadded::new(Sleeper::new()),
            registration: Mutex::new(Registration {
                arriving: Vec::new(),
                // The list of nodes counts as a ring.
                live: usize::from(D::HAS_NODES),
            }),
            tally: CachePadded::new(Tally::new()),
        }
    }

    /// A ring will come: from now on order needs tickets, unless it is the
    /// only one.
    pub(crate) fn announce(&self) {
        let mut registration = lock(&self.registration);
        registration.live += 1;
        self.tickets.set_live(registration.live);
    }

    /// Brings an announced ring to the worker, before its first message and
    /// after every push that missed the announcement (rule L7).
    pub(crate) fn register(&self, end: RingEnd<D>) {
        lock(&self.registration).arriving.push(end);
        // Release: who sees this sees every message that was sent without a
        // ticket, and who sees a message of this ring sees this.
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
        self.tickets.set_live(registration.live);
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.admission.is_running()
    }

    /// No submitter is inside, and none will push again.
    pub(crate) fn seal(&self) {
        self.admission.seal();
        self.worker.wake();
    }

    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }
}

impl<D: LocalDriver> Door for CachePadded<Gate<D>> {
    fn ticket(&self) -> u64 {
        self.tickets.take_always()
    }

    fn wake(&self) {
        self.worker.wake();
    }
}

impl<D: LocalDriver> fmt::Debug for Gate<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("admission", &self.admission)
            .field("finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
