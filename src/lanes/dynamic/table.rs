//! From key to queue, how many queues there may be, and what stays of those
//! that are gone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;

use crate::lanes::driver::LocalDriver;
use crate::lanes::error::LaneError;
use crate::lanes::key::LaneKey;
use crate::lanes::submitter::Class;
use crate::lanes::sync::{AtomicUsize, Mutex, Ordering};
use crate::lanes::wake::lock;
use crate::limits;
use crate::time::Nanos;

use super::cell::Cell;
use super::queue::Queue;

/// Locks of the table; a power of two. Submitters remember their queues, so
/// these are taken for unknown keys only.
const SHELVES: usize = 16;

/// Every queue of an engine, by key.
pub(super) struct Table<D: LocalDriver> {
    shelves: [Mutex<Shelf<D>>; SHELVES],
    hasher: FixedState,
    /// Queues that exist: of accounts, groups and the engine.
    count: AtomicUsize,
    /// Drivers kept without a queue.
    kept: AtomicUsize,
    /// 0 is no bound.
    max_queues: usize,
}

struct Shelf<D: LocalDriver> {
    queues: HashMap<LaneKey, Arc<Queue<D>>, FixedState>,
    kept: HashMap<LaneKey, Cell<D>, FixedState>,
    closed: bool,
}

/// A key's queue, and how many there are if it was just made.
pub(super) struct Found<D: LocalDriver> {
    pub(super) queue: Arc<Queue<D>>,
    pub(super) created: Option<usize>,
}

impl<D: LocalDriver> Table<D> {
    pub(super) fn new(max_queues: usize) -> Self {
        Self {
            shelves: core::array::from_fn(|_| {
                Mutex::new(Shelf {
                    queues: HashMap::default(),
                    kept: HashMap::default(),
                    closed: false,
                })
            }),
            hasher: FixedState::default(),
            count: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            max_queues,
        }
    }

    fn shelf(&self, key: LaneKey) -> &Mutex<Shelf<D>> {
        let hash = self.hasher.hash_one(key) >> 32;
        &self.shelves[usize::try_from(hash).unwrap_or(0) % SHELVES]
    }

    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The key's queue, made now if there is none. An order of an unknown key
    /// is refused where that would exceed the bound; a fact never is.
    pub(super) fn find(&self, key: LaneKey, class: Class) -> Result<Found<D>, LaneError> {
        let mut shelf = lock(self.shelf(key));
        let shelf = &mut *shelf;
        if shelf.closed {
            return Err(LaneError::Stopped);
        }
        let vacant = match shelf.queues.entry(key) {
            Entry::Occupied(entry) => {
                return Ok(Found {
                    queue: Arc::clone(entry.get()),
                    created: None,
                });
            }
            Entry::Vacant(vacant) => vacant,
        };
        // Shelves count together, so the place is taken before it is looked at.
        let total = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let cell = shelf.kept.remove(&key);
        let over = self.max_queues > 0 && total > self.max_queues;
        let unknown_over =
            cell.is_none() && total + self.kept.load(Ordering::Relaxed) > limits::KEPT_CELLS_MAX;
        if class == Class::Order && (over || unknown_over) {
            self.count.fetch_sub(1, Ordering::Relaxed);
            if let Some(cell) = cell {
                shelf.kept.insert(key, cell);
            }
            return Err(LaneError::QueueLimit);
        }
        if cell.is_some() {
            self.kept.fetch_sub(1, Ordering::Relaxed);
        }
        let queue = Arc::new(Queue::new(key, cell));
        vacant.insert(Arc::clone(&queue));
        Ok(Found {
            queue,
            created: Some(total),
        })
    }

    /// Retires queues that were idle for `idle_ns`; keeps their drivers, if
    /// `keep`, for the key's next queue.
    pub(super) fn retire_idle(
        &self,
        now: Nanos,
        idle_ns: u64,
        keep: bool,
        mut retired: impl FnMut(LaneKey, usize),
    ) {
        for shelf in &self.shelves {
            // Dropped when the shelf is free again.
            let mut released = Vec::new();
            let mut gone = Vec::new();
            {
                let mut shelf = lock(shelf);
                let Shelf { queues, kept, .. } = &mut *shelf;
                queues.retain(|&key, queue| {
                    let Some(cell) = queue.retire(now, idle_ns) else {
                        return true;
                    };
                    match cell {
                        Some(mut cell) if keep => {
                            cell.is_home = false;
                            kept.insert(key, cell);
                            self.kept.fetch_add(1, Ordering::Relaxed);
                        }
                        cell => released.extend(cell),
                    }
                    gone.push((key, self.count.fetch_sub(1, Ordering::Relaxed) - 1));
                    false
                });
            }
            for (key, remaining) in gone {
                retired(key, remaining);
            }
            for cell in released {
                crate::lanes::operation::fenced(|| drop(cell));
            }
        }
    }

    /// Calls `each` for every queue.
    pub(super) fn for_each(&self, each: impl Fn(&Queue<D>)) {
        for shelf in &self.shelves {
            lock(shelf).queues.values().for_each(|queue| each(queue));
        }
    }

    /// Refuses every key from now on; the queues and kept drivers of one shelf
    /// after another are the caller's.
    pub(super) fn close(
        &self,
        mut queue: impl FnMut(Arc<Queue<D>>),
        mut kept: impl FnMut(LaneKey, Cell<D>),
    ) {
        for shelf in &self.shelves {
            let (queues, cells) = {
                let mut shelf = lock(shelf);
                shelf.closed = true;
                (
                    core::mem::take(&mut shelf.queues),
                    core::mem::take(&mut shelf.kept),
                )
            };
            queues.into_values().for_each(&mut queue);
            cells.into_iter().for_each(|(key, cell)| kept(key, cell));
        }
    }
}
