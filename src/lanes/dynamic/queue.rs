//! One key's operations, in submission order.
//!
//! ```text
//!            push                 take all             push meanwhile
//!   idle ───────────▶ scheduled ──────────▶ running ─────────────────▶ scheduled
//!    │  ▲                                    │ nothing more
//!    │  └────────────────────────────────────┘
//!    └─ retire ▶ retired            any ─ stop ▶ closed
//! ```
//!
//! Everything here is decided under the queue's own lock, which is held for a
//! push or a take and never while an operation runs: that is done by the one
//! worker that took the queue's driver with its operations. A queue is in the
//! hands of at most one worker, because only the push that finds it idle
//! schedules it.

use std::collections::VecDeque;

use crate::lanes::driver::LocalDriver;
use crate::lanes::key::LaneKey;
use crate::lanes::operation::RunTask;
use crate::lanes::slab::Slot;
use crate::lanes::sync::{Mutex, Thread, current};
use crate::lanes::wake::lock;
use crate::time::Nanos;

use super::cell::Cell;

/// What is to be run.
pub(super) enum Item<D: LocalDriver> {
    Command(D::Command),
    Task {
        run: RunTask<D>,
        slot: Slot,
    },
    /// A wrapper's call, which takes no room (rule L12).
    Node(Slot),
}

/// An operation in its queue.
pub(super) struct Queued<D: LocalDriver> {
    pub(super) item: Item<D>,
    /// When it was submitted, where it is one that is watched.
    pub(super) stamp: Option<Nanos>,
}

/// One key's queue.
pub(super) struct Queue<D: LocalDriver> {
    pub(super) key: LaneKey,
    state: Mutex<State<D>>,
}

struct State<D: LocalDriver> {
    items: VecDeque<Queued<D>>,
    /// Nodes among them, which count for no room.
    nodes: usize,
    /// In the ready list, or with a worker.
    scheduled: bool,
    fate: Fate,
    /// Absent while a worker has it, and before the first operation.
    cell: Option<Cell<D>>,
    /// Since the monitor last looked; so that no operation reads the clock for
    /// this.
    used: bool,
    /// When the monitor found it used.
    used_at: Nanos,
    /// Producers that sleep for want of room.
    waiting: Vec<Thread>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    /// Out of the table; its key gets a new queue.
    Retired,
    /// The engine is finished.
    Closed,
}

/// What a push came to.
pub(super) struct Pushed {
    /// The queue was idle: the caller must schedule it.
    pub(super) schedule: bool,
    /// Operations in the queue now.
    pub(super) depth: usize,
}

/// Why nothing was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotPushed {
    Full,
    /// Ask the table again.
    Retired,
    Closed,
}

impl<D: LocalDriver> Queue<D> {
    pub(super) fn new(key: LaneKey, cell: Option<Cell<D>>) -> Self {
        Self {
            key,
            state: Mutex::new(State {
                items: VecDeque::new(),
                nodes: 0,
                scheduled: false,
                fate: Fate::Open,
                cell,
                used: true,
                used_at: Nanos::default(),
                waiting: Vec::new(),
            }),
        }
    }

    /// Appends what `make` makes if fewer than `room` operations wait. A caller
    /// that means to sleep for room is noted, if `sleeps`.
    pub(super) fn push(
        &self,
        room: usize,
        sleeps: bool,
        make: &mut impl FnMut() -> Queued<D>,
    ) -> Result<Pushed, NotPushed> {
        let mut state = lock(&self.state);
        match state.fate {
            Fate::Open => {}
            Fate::Retired => return Err(NotPushed::Retired),
            Fate::Closed => return Err(NotPushed::Closed),
        }
        let depth = state.items.len() - state.nodes;
        if depth >= room {
            if sleeps {
                state.waiting.push(current());
            }
            return Err(NotPushed::Full);
        }
        state.items.push_back(make());
        let schedule = !core::mem::replace(&mut state.scheduled, true);
        Ok(Pushed {
            schedule,
            depth: depth + 1,
        })
    }

    /// Appends a wrapper's call, however full the queue is; `None` when the
    /// queue is closed, else whether the caller must schedule it.
    pub(super) fn post(&self, slot: Slot) -> Option<bool> {
        let mut state = lock(&self.state);
        if state.fate != Fate::Open {
            return None;
        }
        state.items.push_back(Queued {
            item: Item::Node(slot),
            stamp: None,
        });
        state.nodes += 1;
        Some(!core::mem::replace(&mut state.scheduled, true))
    }

    /// Takes up to `budget` operations and the driver; the queue stays the
    /// caller's until [`put_back`](Self::put_back). Wakes who waits for room.
    pub(super) fn take(&self, budget: usize, into: &mut Vec<Queued<D>>) -> Option<Cell<D>> {
        let mut state = lock(&self.state);
        state.move_items(budget, into);
        let cell = state.cell.take();
        let waiting = core::mem::take(&mut state.waiting);
        drop(state);
        wake_all(waiting);
        cell
    }

    /// Gives the driver back; whether more has come, so that the caller must
    /// schedule the queue again.
    pub(super) fn put_back(&self, cell: Option<Cell<D>>) -> bool {
        let mut state = lock(&self.state);
        state.cell = cell;
        state.used = true;
        state.scheduled = !state.items.is_empty();
        state.scheduled
    }

    /// Retires a queue that was idle for `idle_ns` and whose wrappers are all
    /// closed; the driver is the caller's then.
    pub(super) fn retire(&self, now: Nanos, idle_ns: u64) -> Option<Option<Cell<D>>> {
        let mut state = lock(&self.state);
        let busy = state.scheduled
            || !state.items.is_empty()
            || state
                .cell
                .as_ref()
                .is_some_and(|cell| cell.driver.has_handles());
        if busy || state.used {
            state.used = false;
            state.used_at = now;
            return None;
        }
        if now.since(state.used_at) < idle_ns {
            return None;
        }
        state.fate = Fate::Retired;
        Some(state.cell.take())
    }

    /// Closes the queue for good; no worker has it. What is left, and the
    /// driver, are the caller's.
    pub(super) fn close(&self, into: &mut Vec<Queued<D>>) -> Option<Cell<D>> {
        let mut state = lock(&self.state);
        state.fate = Fate::Closed;
        state.move_items(usize::MAX, into);
        let waiting = core::mem::take(&mut state.waiting);
        let cell = state.cell.take();
        drop(state);
        wake_all(waiting);
        cell
    }

    /// Wakes producers that wait for room, to look at the engine's phase.
    pub(super) fn wake_waiting(&self) {
        let waiting = core::mem::take(&mut lock(&self.state).waiting);
        wake_all(waiting);
    }
}

impl<D: LocalDriver> State<D> {
    fn move_items(&mut self, budget: usize, into: &mut Vec<Queued<D>>) {
        let count = budget.min(self.items.len());
        let nodes = &mut self.nodes;
        into.extend(self.items.drain(..count).inspect(|queued| {
            *nodes -= usize::from(matches!(queued.item, Item::Node(_)));
        }));
    }
}

fn wake_all(waiting: Vec<Thread>) {
    for thread in waiting {
        thread.unpark();
    }
}
