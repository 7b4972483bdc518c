//! Queues that have work, and the workers that look for it.
//!
//! A scheduled queue stands in the common ready list, in one worker's own
//! list, or with a worker that runs it. A worker moves a few queues at a time
//! to its own list, so that it seldom meets submitters at the common lock; an
//! idle worker steals from the others' lists, and the monitor takes them from a
//! worker that is stuck.
//!
//! Who is parked is written under the ready list's lock, and queues get into a
//! worker's own list under it too. So a worker that is about to park either is
//! seen by whoever adds a queue, or sees that queue: no wake is lost, and there
//! is no protocol of atomics here. The atomic counts are hints that save locks.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::lanes::driver::LocalDriver;
use crate::lanes::gate::Tally;
use crate::lanes::sync::{
    AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, Thread, current, park_for,
};
use crate::lanes::wake::{Sleeper, lock};
use crate::limits;

use super::queue::Queue;

pub(super) struct Pool<D: LocalDriver> {
    ready: CachePadded<Mutex<Ready<D>>>,
    /// Queues in the ready list.
    ready_count: CachePadded<AtomicUsize>,
    parked_count: AtomicUsize,
    /// By worker, for as many as there may be.
    desks: Box<[CachePadded<WorkerSide<D>>]>,
    /// The monitor looks after work that waits; who adds some raises it.
    watching: CachePadded<AtomicBool>,
    /// No submitter can push any more.
    sealed: AtomicBool,
    pub(super) monitor: CachePadded<Sleeper>,
}

struct Ready<D: LocalDriver> {
    queues: VecDeque<Arc<Queue<D>>>,
    parked: Vec<(usize, Thread)>,
    /// Workers that have not ended.
    alive: usize,
    /// Workers ever started.
    started: usize,
}

/// What others see of one worker.
struct WorkerSide<D: LocalDriver> {
    queues: Mutex<VecDeque<Arc<Queue<D>>>>,
    count: AtomicUsize,
    /// Rises with each operation begun and each ended.
    steps: AtomicU64,
    tally: Tally,
}

/// Whether a worker is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// There is or may be work.
    Stay,
    /// It has ended, and others have not.
    Ended,
    /// It was the last one, and closes the queues.
    Last,
}

impl<D: LocalDriver> Pool<D> {
    pub(super) fn new(max_workers: usize) -> Self {
        Self {
            ready: CachePadded::new(Mutex::new(Ready {
                queues: VecDeque::new(),
                parked: Vec::new(),
                alive: 0,
                started: 0,
            })),
            ready_count: CachePadded::new(AtomicUsize::new(0)),
            parked_count: AtomicUsize::new(0),
            desks: (0..max_workers)
                .map(|_| {
                    CachePadded::new(WorkerSide {
                        queues: Mutex::new(VecDeque::with_capacity(limits::QUEUES_TAKEN_MAX)),
                        count: AtomicUsize::new(0),
                        steps: AtomicU64::new(0),
                        tally: Tally::new(),
                    })
                })
                .collect(),
            watching: CachePadded::new(AtomicBool::new(false)),
            sealed: AtomicBool::new(false),
            monitor: CachePadded::new(Sleeper::new()),
        }
    }

    /// Adds a queue that has work and was idle, or has more.
    pub(super) fn schedule(&self, queue: Arc<Queue<D>>) {
        let parked = {
            let mut ready = lock(&self.ready);
            ready.queues.push_back(queue);
            self.count_ready(&ready);
            self.pop_parked(&mut ready)
        };
        match parked {
            Some(thread) => thread.unpark(),
            None => self.watch(),
        }
    }

    /// A queue to run: from the worker's own list, the ready list, or another
    /// worker's.
    pub(super) fn take(&self, worker: usize) -> Option<Arc<Queue<D>>> {
        let own = &self.desks[worker];
        let taken = own
            .pop()
            .or_else(|| self.take_ready(worker))
            .or_else(|| self.desks.iter().find_map(|desk| desk.pop()));
        if taken.is_some() && (own.has_some() || self.ready_count.load(Ordering::Relaxed) > 0) {
            self.kick();
        }
        taken
    }

    fn take_ready(&self, worker: usize) -> Option<Arc<Queue<D>>> {
        if self.ready_count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut ready = lock(&self.ready);
        let first = ready.queues.pop_front()?;
        let share = (ready.queues.len() / ready.alive.max(1)).min(limits::QUEUES_TAKEN_MAX - 1);
        if share > 0 {
            let own = &self.desks[worker];
            let mut queues = lock(&own.queues);
            queues.extend(ready.queues.drain(..share));
            own.count.store(queues.len(), Ordering::Relaxed);
        }
        self.count_ready(&ready);
        Some(first)
    }

    /// More waits than the caller runs: gets somebody to look at it.
    fn kick(&self) {
        if self.parked_count.load(Ordering::Relaxed) == 0 {
            self.watch();
        } else {
            let parked = self.pop_parked(&mut lock(&self.ready));
            if let Some(thread) = parked {
                thread.unpark();
            }
        }
    }

    fn watch(&self) {
        // The monitor lowers it, and looks under the ready list's lock after
        // that: either it sees what was added there, or this sees it lowered.
        if !self.watching.load(Ordering::Relaxed) && !self.watching.swap(true, Ordering::SeqCst) {
            self.monitor.wake();
        }
    }

    fn count_ready(&self, ready: &Ready<D>) {
        self.ready_count
            .store(ready.queues.len(), Ordering::Relaxed);
    }

    fn pop_parked(&self, ready: &mut Ready<D>) -> Option<Thread> {
        let parked = ready.parked.pop();
        self.parked_count
            .store(ready.parked.len(), Ordering::Relaxed);
        parked.map(|(_, thread)| thread)
    }

    /// Parks a worker that found nothing, until it is woken.
    pub(super) fn park(&self, worker: usize) {
        {
            let mut ready = lock(&self.ready);
            if !ready.queues.is_empty() || self.is_sealed() {
                return;
            }
            ready.parked.push((worker, current()));
            self.parked_count
                .store(ready.parked.len(), Ordering::Relaxed);
        }
        if !self.desks.iter().any(|desk| desk.has_some()) {
            park_for(u64::MAX);
        }
        let mut ready = lock(&self.ready);
        ready.parked.retain(|(other, _)| *other != worker);
        self.parked_count
            .store(ready.parked.len(), Ordering::Relaxed);
    }

    /// No submitter can push any more; workers end when nothing is left.
    pub(super) fn seal(&self) {
        self.sealed.store(true, Ordering::Release);
        let parked = core::mem::take(&mut lock(&self.ready).parked);
        for (_, thread) in parked {
            thread.unpark();
        }
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    /// Whether a worker that found nothing ends.
    pub(super) fn leave(&self) -> Leave {
        if !self.is_sealed() {
            return Leave::Stay;
        }
        let mut ready = lock(&self.ready);
        // What another worker runs now and is not done with, that one
        // schedules and takes again.
        if !ready.queues.is_empty() || self.desks.iter().any(|desk| desk.has_some()) {
            return Leave::Stay;
        }
        ready.alive -= 1;
        if ready.alive == 0 {
            Leave::Last
        } else {
            Leave::Ended
        }
    }

    /// A place for one more worker, if there may be one.
    pub(super) fn enlist(&self) -> Option<usize> {
        let mut ready = lock(&self.ready);
        if ready.started == self.desks.len() {
            return None;
        }
        ready.alive += 1;
        ready.started += 1;
        Some(ready.started - 1)
    }

    /// As [`enlist`](Self::enlist), while others live.
    pub(super) fn enlist_beside(&self) -> Option<usize> {
        if lock(&self.ready).alive == 0 {
            return None;
        }
        self.enlist()
    }

    /// An enlisted worker got no thread; whether it was the last alive.
    pub(super) fn unlist(&self) -> bool {
        let mut ready = lock(&self.ready);
        ready.alive -= 1;
        ready.started -= 1;
        ready.alive == 0
    }

    pub(super) fn workers(&self) -> usize {
        lock(&self.ready).alive
    }

    /// Forgets what is scheduled; for the last worker, who closes the queues.
    pub(super) fn clear(&self) {
        let queues = core::mem::take(&mut lock(&self.ready).queues);
        drop(queues);
    }

    pub(super) fn step(&self, worker: usize) {
        let steps = &self.desks[worker].steps;
        // One writer, so no RMW.
        steps.store(steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(super) fn tally(&self, worker: usize) -> &Tally {
        &self.desks[worker].tally
    }

    pub(super) fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.desks.iter().map(|desk| &desk.tally)
    }

    /// Whether the monitor is to look often.
    pub(super) fn is_watched(&self) -> bool {
        self.watching.load(Ordering::SeqCst)
    }

    /// The monitor's look at work that waits: frees it from workers that are
    /// stuck, wakes one that is parked, and answers whether all are stuck so
    /// that another worker is needed. `seen` is each worker's steps at the last
    /// look.
    pub(super) fn look(&self, seen: &mut Vec<u64>) -> bool {
        self.watching.store(false, Ordering::SeqCst);
        let mut ready = lock(&self.ready);
        let mut all_stuck = true;
        seen.resize(self.desks.len(), u64::MAX);
        for (desk, seen) in self.desks.iter().zip(seen).take(ready.started) {
            let steps = desk.steps.load(Ordering::Relaxed);
            let stuck = *seen == steps;
            *seen = steps;
            all_stuck &= stuck;
            if stuck && desk.has_some() {
                let mut queues = lock(&desk.queues);
                // They were ahead of what is there now.
                for queue in queues.drain(..).rev() {
                    ready.queues.push_front(queue);
                }
                desk.count.store(0, Ordering::Relaxed);
            }
        }
        self.count_ready(&ready);
        let waits = !ready.queues.is_empty() || self.desks.iter().any(|desk| desk.has_some());
        if !waits {
            return false;
        }
        self.watching.store(true, Ordering::SeqCst);
        if let Some(thread) = self.pop_parked(&mut ready) {
            thread.unpark();
            return false;
        }
        all_stuck
    }
}

impl<D: LocalDriver> WorkerSide<D> {
    fn has_some(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    fn pop(&self) -> Option<Arc<Queue<D>>> {
        if !self.has_some() {
            return None;
        }
        let mut queues = lock(&self.queues);
        let first = queues.pop_front();
        self.count.store(queues.len(), Ordering::Relaxed);
        first
    }
}
