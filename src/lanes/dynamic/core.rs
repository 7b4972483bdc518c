//! What a dynamic engine, its submitters and its workers share.

use core::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::lanes::driver::LocalDriver;
use crate::lanes::entry::{Admission, Phase, SubmitterCell};
use crate::lanes::error::SubmitterError;
use crate::lanes::key::LaneKey;
use crate::lanes::observer::{Observer, ObserverHealth};
use crate::lanes::reentry::EngineId;
use crate::lanes::registry::Registry;
use crate::lanes::slab::{SlabOwner, Slot};
use crate::lanes::stop::StopReport;
use crate::lanes::sync::{AtomicBool, Mutex, Ordering};
use crate::lanes::wake::{Sleeper, lock};
use crate::lanes::wrapper::QueueDoor;
use crate::time::{Clock, IdleStrategy};

use super::cell::Factory;
use super::pool::Pool;
use super::queue::Queue;
use super::table::Table;

/// The settings that stay for an engine's life.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) queue_capacity: usize,
    pub(super) fact_reserve: usize,
    pub(super) completion_slots: u16,
    pub(super) slow_submit: Duration,
    /// Zero is off.
    pub(super) idle_cleanup: Duration,
    /// Drivers belong to keys, and outlive their queues.
    pub(super) keep_cells: bool,
    pub(super) idle: IdleStrategy,
}

pub(super) struct Core<D: LocalDriver, O, C> {
    pub(super) id: EngineId,
    pub(super) settings: Settings,
    pub(super) admission: Admission,
    pub(super) table: Table<D>,
    pub(super) pool: Pool<D>,
    pub(super) observer: O,
    pub(super) observer_health: Arc<ObserverHealth>,
    pub(super) clock: C,
    /// Until the engine is finished.
    pub(super) factory: Mutex<Option<Factory<D>>>,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
    finished: AtomicBool,
    /// Where a stop sleeps until the workers have ended.
    stopper: Sleeper,
    registry: Mutex<Registry>,
}

impl<D: LocalDriver + Send, O: Observer, C: Clock> Core<D, O, C> {
    pub(super) fn new(
        settings: Settings,
        max_queues: usize,
        max_workers: usize,
        factory: Factory<D>,
        observer: O,
        clock: C,
    ) -> Self {
        crate::lanes::barrier::prepare();
        Self {
            id: EngineId::next(),
            settings,
            admission: Admission::new(),
            table: Table::new(max_queues),
            pool: Pool::new(max_workers),
            observer,
            observer_health: Arc::default(),
            clock,
            factory: Mutex::new(Some(factory)),
            threads: Mutex::new(Vec::new()),
            finished: AtomicBool::new(false),
            stopper: Sleeper::new(),
            registry: Mutex::new(Registry::default()),
        }
    }

    /// A new submitter's share.
    pub(super) fn register(&self) -> Result<(Arc<SubmitterCell>, SlabOwner), SubmitterError> {
        let mut registry = lock(&self.registry);
        if !self.admission.is_running() {
            return Err(SubmitterError::Stopped);
        }
        registry.make_room()?;
        let cell = Arc::new(SubmitterCell::new());
        registry.cells.push(Arc::clone(&cell));
        let lists: Arc<[_]> = Arc::new([]);
        let slab = SlabOwner::new(
            self.settings.completion_slots,
            self.id,
            self.settings.idle,
            lists,
        );
        Ok((cell, slab))
    }

    /// Raises the phase and wakes who must see it.
    pub(super) fn raise(&self, phase: Phase) {
        self.admission.raise(phase);
        self.table.for_each(Queue::wake_waiting);
    }

    /// Waits until no submitter is inside a submit, then lets the workers end;
    /// `false` when the deadline came first.
    pub(super) fn seal(&self, deadline: Option<Instant>) -> bool {
        // Whoever is made after this list sees the raised phase.
        let cells = lock(&self.registry).cells.clone();
        let sealed = crate::lanes::registry::wait_outside(&cells, 0, deadline);
        if sealed {
            self.admission.seal();
            self.pool.seal();
        }
        sealed
    }

    /// The last worker has released every driver.
    pub(super) fn finish(&self) {
        self.finished.store(true, Ordering::Release);
        self.stopper.wake();
        self.pool.monitor.wake();
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
    }

    /// Waits for [`finish`](Self::finish); `false` when the deadline came first.
    pub(super) fn wait_finished(&self, deadline: Option<Instant>) -> bool {
        while !self.is_finished() {
            let left = deadline.map_or(Duration::MAX, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return false;
            }
            let nanos = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            self.stopper.sleep(nanos, || self.is_finished());
        }
        true
    }

    pub(super) fn report(&self) -> StopReport {
        let mut report = StopReport {
            accepted: lock(&self.registry).accepted(),
            observer_panics: self.observer_health.panics(),
            ..StopReport::default()
        };
        for tally in self.pool.tallies() {
            report.accepted += tally.direct.load(Ordering::Relaxed);
            report.completed += tally.completed.load(Ordering::Relaxed);
            report.aborted += tally.aborted.load(Ordering::Relaxed);
            report.panicked += tally.panicked.load(Ordering::Relaxed);
        }
        report
    }
}

/// A queue as wrappers of its driver's handles see it.
pub(super) struct Door<D: LocalDriver, O, C> {
    pub(super) core: Arc<Core<D, O, C>>,
    pub(super) queue: Arc<Queue<D>>,
}

impl<D, O, C> QueueDoor for Door<D, O, C>
where
    D: LocalDriver + Send,
    O: Observer,
    C: Clock + Send + Sync,
{
    fn post(&self, slot: Slot) -> bool {
        match self.queue.post(slot) {
            None => false,
            Some(schedule) => {
                if schedule {
                    self.core.pool.schedule(Arc::clone(&self.queue));
                }
                true
            }
        }
    }
}

impl<D: LocalDriver, O, C> Core<D, O, C> {
    /// The factory, as long as the engine is not finished.
    pub(super) fn make(&self, key: LaneKey) -> Option<Box<D>> {
        let factory = lock(&self.factory).as_ref().map(Arc::clone)?;
        Some(Box::new(factory(key)))
    }
}

impl<D: LocalDriver, O, C> fmt::Debug for Core<D, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("id", &self.id)
            .field("settings", &self.settings)
            .field("admission", &self.admission)
            .finish_non_exhaustive()
    }
}
