//! A worker of the pool: takes a queue, runs its operations on its driver,
//! gives both back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::lanes::driver::LocalDriver;
use crate::lanes::entry::Phase;
use crate::lanes::error::LaneError;
use crate::lanes::gate::Tally;
use crate::lanes::key::LaneKey;
use crate::lanes::lane::SentNode;
use crate::lanes::observer::{Guarded, Hooks, Observer, Place};
use crate::lanes::operation::{Call, Ended, Site, fenced};
use crate::lanes::reentry::{self, LaneId};
use crate::lanes::wake::lock;
use crate::lanes::wrapper::QueueHome;
use crate::limits;
use crate::time::{Clock, Nanos};
use crate::types::ShardId;

use super::cell::Cell;
use super::core::{Core, Door};
use super::pool::Leave;
use super::queue::{Item, Queue, Queued};

pub(super) struct Worker<D: LocalDriver, O: Observer, C> {
    core: Arc<Core<D, O, C>>,
    index: usize,
    hooks: Guarded<O>,
    /// The operations being run; kept for its room.
    batch: Vec<Queued<D>>,
}

impl<D, O, C> Worker<D, O, C>
where
    D: LocalDriver + Send,
    O: Observer,
    C: Clock + Send + Sync + 'static,
{
    pub(super) fn new(core: Arc<Core<D, O, C>>, index: usize) -> Self {
        let place = Place::Worker(ShardId(u16::try_from(index).unwrap_or(u16::MAX)));
        Self {
            hooks: Guarded::new(&core.observer, place, &core.observer_health),
            core,
            index,
            batch: Vec::with_capacity(limits::QUEUE_BATCH_MAX),
        }
    }

    /// Runs queues until the engine ends: the body of a worker thread.
    pub(super) fn run(&mut self) {
        let mut idle = self.core.settings.idle;
        loop {
            if let Some(queue) = self.core.pool.take(self.index) {
                idle.reset();
                self.run_queue(queue);
                continue;
            }
            match self.core.pool.leave() {
                Leave::Stay => {}
                Leave::Ended => return,
                Leave::Last => return self.close(),
            }
            if !idle.pause() {
                self.core.pool.park(self.index);
            }
        }
    }

    fn run_queue(&mut self, queue: Arc<Queue<D>>) {
        let now = self.core.clock.now();
        let mut cell = queue.take(limits::QUEUE_BATCH_MAX, &mut self.batch);
        self.run_batch(&queue, &mut cell, now);
        if queue.put_back(cell) {
            self.core.pool.schedule(queue);
        }
    }

    /// Runs what was taken, as the queue's lane.
    fn run_batch(&mut self, queue: &Arc<Queue<D>>, cell: &mut Option<Cell<D>>, now: Nanos) {
        let mut batch = core::mem::take(&mut self.batch);
        reentry::inside(self.core.id, LaneId::Key(queue.key), || {
            self.bring_home(queue, cell);
            let mut driver = cell.as_mut().map(|cell| &mut *cell.driver);
            for queued in batch.drain(..) {
                self.core.pool.step(self.index);
                self.run_watched(queue.key, queued, driver.as_deref_mut(), now);
            }
            self.core.pool.step(self.index);
            if let Some(driver) = driver
                && !fenced(|| {
                    driver.turn(now, limits::QUEUE_BATCH_MAX);
                })
            {
                panicked(driver, None);
            }
        });
        self.batch = batch;
    }

    /// Makes the key's driver, if it has none, and tells it where it is.
    /// Without a driver, because its factory panicked, operations are aborted.
    fn bring_home(&self, queue: &Arc<Queue<D>>, cell: &mut Option<Cell<D>>) {
        if cell.is_none() {
            let made = catch_unwind(AssertUnwindSafe(|| self.core.make(queue.key)));
            match made {
                Ok(driver) => {
                    *cell = driver.map(|driver| Cell {
                        driver,
                        is_home: false,
                    });
                }
                Err(panic) => {
                    fenced(|| drop(panic));
                }
            }
        }
        if let Some(cell) = cell
            && D::HAS_NODES
            && !cell.is_home
        {
            cell.driver.set_home(QueueHome {
                key: queue.key,
                door: Arc::new(Door {
                    core: Arc::clone(&self.core),
                    queue: Arc::clone(queue),
                }),
            });
            cell.is_home = true;
        }
    }

    fn run_watched(&mut self, key: LaneKey, queued: Queued<D>, driver: Option<&mut D>, now: Nanos) {
        let stamp = if O::ENABLED { queued.stamp } else { None };
        let Some(stamp) = stamp else {
            self.run_item(key, queued.item, driver, now);
            return;
        };
        let begun = self.core.clock.now();
        let waited_ns = begun.since(stamp);
        self.hooks.tell(|hooks| hooks.on_dequeue(key, waited_ns));
        let ran = self.run_item(key, queued.item, driver, now);
        let ran_ns = if ran {
            self.core.clock.now().since(begun)
        } else {
            0
        };
        self.hooks.tell(|hooks| hooks.on_complete(key, ran_ns));
    }

    /// Whether it ran, rather than being aborted.
    fn run_item(&self, key: LaneKey, item: Item<D>, driver: Option<&mut D>, now: Nanos) -> bool {
        let hard = self.core.admission.phase() == Phase::Hard;
        let ended = match (item, driver) {
            (Item::Command(command), Some(driver)) if hard => {
                if !fenced(|| driver.aborted(&command, now)) {
                    panicked(driver, None);
                }
                Ended::Aborted
            }
            (Item::Command(command), Some(driver)) => {
                if fenced(|| driver.command(&command, now)) {
                    Ended::Ran
                } else {
                    panicked(driver, Some(key));
                    Ended::Panicked
                }
            }
            (Item::Task { run, slot }, Some(driver)) if !hard => {
                let call = Call::Run(Site {
                    driver,
                    now,
                    waits: None,
                });
                // SAFETY: made with this entry point for the operation in this
                // slot; an item is run once, by whoever took its queue.
                #[allow(unsafe_code)]
                let ended = unsafe { run(slot, call, None) };
                if ended == Ended::Panicked {
                    panicked(driver, Some(key));
                }
                ended
            }
            (Item::Task { run, slot }, _) => {
                // SAFETY: as above.
                #[allow(unsafe_code)]
                unsafe {
                    run(slot, Call::Abort(LaneError::Stopped), None)
                }
            }
            (Item::Node(slot), Some(driver)) => {
                Tally::add(&self.tally().direct, 1);
                if driver.run_node(SentNode(slot), now, hard) {
                    Ended::Ran
                } else {
                    Ended::Aborted
                }
            }
            // A node comes from a driver's handle, and a driver with handles
            // stays with its queue.
            (Item::Node(_), None) => {
                Tally::add(&self.tally().direct, 1);
                Ended::Aborted
            }
            (Item::Command(_), None) => Ended::Aborted,
        };
        let tally = self.tally();
        let counter = match ended {
            // Without a place to wait nothing does.
            Ended::Ran | Ended::Waits => &tally.completed,
            Ended::Aborted => &tally.aborted,
            Ended::Panicked => &tally.panicked,
        };
        Tally::add(counter, 1);
        ended != Ended::Aborted
    }

    fn tally(&self) -> &Tally {
        self.core.pool.tally(self.index)
    }

    /// The end, on the last worker: what wrappers sent meanwhile is run, then
    /// every driver is released (rule L26).
    pub(super) fn close(&mut self) {
        let core = Arc::clone(&self.core);
        let now = core.clock.now();
        let release = |key, cell: Cell<D>| {
            reentry::inside(core.id, LaneId::Key(key), || {
                fenced(|| drop(cell));
            });
        };
        core.table.close(
            |queue| {
                let mut cell = queue.close(&mut self.batch);
                if !self.batch.is_empty() {
                    self.run_batch(&queue, &mut cell, now);
                }
                if let Some(cell) = cell {
                    release(queue.key, cell);
                }
            },
            release,
        );
        core.pool.clear();
        let factory = lock(&core.factory).take();
        fenced(|| drop(factory));
        core.finish();
    }
}

fn panicked<D: LocalDriver>(driver: &mut D, key: Option<LaneKey>) {
    // A driver that panics here has been told; nothing more to do.
    let _ = fenced(|| driver.panicked(key));
}
