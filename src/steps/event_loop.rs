//! The event loop of one shard: what drives steps, and the callbacks beside them.
//!
//! It promises never to block: each [`EventLoop::turn`] does a bounded amount of
//! work, in an order that follows from its inputs alone. It owns no thread; a
//! shard's turn, or a lane, calls it.

use std::cell::{Cell, RefCell, RefMut};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

use super::erased::Callback;
use super::error::{Refusal, StepError};
use super::inbox::{RemoteHandle, Shared};
use super::pool::NIL;
use super::ready::{Ready, Round};
use super::tables::{Due, Pending, Status, Tables};
use super::values::{Passed, Values};
use crate::limits;
use crate::time::{Clock, Nanos};

/// Names one wait of one step. Copies are harmless: once the step is over, the
/// handle is stale, and never names another (rule S10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitHandle {
    pub(crate) event_loop: u32,
    pub(crate) frame: u32,
    pub(crate) id: u64,
}

/// Names a callback of the event loop. Copies are harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskHandle {
    event_loop: u32,
    task: u32,
    id: u64,
}

/// How much an event loop holds; the defaults are in [`crate::limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopLimits {
    /// Steps that are added and not over.
    pub frames: u32,
    /// Roots that run or are built.
    pub roots: u32,
    /// Flows: roots and parallel children.
    pub flows: u32,
    /// Callbacks that wait.
    pub tasks: u32,
    /// Time limits and deferred callbacks.
    pub timers: u32,
    /// Values allocated for steps.
    pub locals: u32,
    /// Futures awaited by steps.
    pub futures: u32,
    /// Completions from other threads that wait; at least 1.
    pub inbox: usize,
    /// Flows that wait for one account's lane.
    pub lane_queue: usize,
}

impl Default for LoopLimits {
    fn default() -> Self {
        Self {
            frames: limits::STEP_FRAMES_MAX,
            roots: limits::STEP_ROOTS_MAX,
            flows: limits::STEP_FLOWS_MAX,
            tasks: limits::STEP_TASKS_MAX,
            timers: limits::STEP_TIMERS_MAX,
            locals: limits::STEP_LOCALS_MAX,
            futures: limits::STEP_FUTURES_MAX,
            inbox: limits::STEP_INBOX_MAX,
            lane_queue: limits::STEP_LANE_QUEUE_MAX,
        }
    }
}

/// The event loop holds as many callbacks or timers as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event loop holds as many callbacks or timers as it may: {max}")]
pub struct LoopFull {
    /// The bound that was reached.
    pub max: u32,
}

/// What a turn did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Steps, callbacks, time limits and completions that it ran.
    pub work: usize,
    /// Something is ready: call again without waiting.
    pub more: bool,
    /// When to call again if nothing arrives before: no timer is due earlier.
    pub next_due: Option<Nanos>,
}

/// What an event loop holds now; all zero once everything is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Steps that are added and not over.
    pub frames: usize,
    /// Steps with a limit, cancel handler, label, synchronizer or allocation.
    pub extras: usize,
    /// Roots whose handle lives, or that run detached.
    pub roots: usize,
    /// Flows that run or are built.
    pub flows: usize,
    /// Callbacks that wait.
    pub tasks: usize,
    /// Timers that are set.
    pub timers: usize,
    /// Values allocated for steps.
    pub locals: usize,
    /// Futures awaited by steps.
    pub futures: usize,
    /// Accounts whose lane is taken.
    pub lanes: usize,
}

pub(super) struct Core {
    tables: RefCell<Tables>,
    pub(super) clock: Box<dyn Clock>,
    pub(super) shared: Arc<Shared>,
    pub(super) id: u32,
    thread: ThreadId,
    in_turn: Cell<bool>,
    panics: Cell<u64>,
    lane_queue: usize,
}

impl Drop for Core {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// The runtime of all steps of one shard; clones are the same one.
///
/// It is not `Send`: what crosses threads is a [`RemoteHandle`].
#[derive(Clone)]
pub struct EventLoop(Rc<Core>);

/// Tells event loops apart, so that a handle is never used on another's.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

impl EventLoop {
    /// An event loop that reads `clock`.
    #[must_use]
    pub fn new(clock: impl Clock + 'static, limits: LoopLimits) -> Self {
        Self::made(Box::new(clock), &limits, None)
    }

    /// The same, with `unpark` called, from any thread, when something arrives
    /// from outside: it is to end the sleep of the thread that calls `turn`.
    #[must_use]
    pub fn with_unpark(
        clock: impl Clock + 'static,
        limits: LoopLimits,
        unpark: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self::made(Box::new(clock), &limits, Some(Box::new(unpark)))
    }

    fn made(
        clock: Box<dyn Clock>,
        limits: &LoopLimits,
        unpark: Option<Box<dyn Fn() + Send + Sync>>,
    ) -> Self {
        Self(Rc::new(Core {
            tables: RefCell::new(Tables::new(limits)),
            clock,
            shared: Arc::new(Shared::new(limits.inbox, limits.futures, unpark)),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            thread: std::thread::current().id(),
            in_turn: Cell::new(false),
            panics: Cell::new(0),
            lane_queue: limits.lane_queue,
        }))
    }

    /// Runs what is ready, up to `budget` pieces of work: completions from
    /// other threads, then time limits and deferred callbacks that are due,
    /// then one round of what was ready when the round began. A round that the
    /// budget ends goes on in the next turn.
    ///
    /// From inside a callback or step it does nothing.
    pub fn turn(&self, budget: usize) -> Progress {
        self.turn_at(self.now(), budget)
    }

    /// The same for a caller that has just read the clock that this loop has:
    /// a shard reads it once for all that it does in a turn.
    pub fn turn_at(&self, now: Nanos, budget: usize) -> Progress {
        if self.0.in_turn.replace(true) {
            return Progress::default();
        }
        let turn = InTurn(self);
        self.tables().now = now;
        let mut work = self.drain_remote(budget);
        work += self.fire_timers(budget - work);
        work += self.run_round(budget - work);
        drop(turn);
        let tables = self.tables();
        let next_due = tables.wheel.next_due();
        let ready = [Round::This, Round::Next, Round::Cut];
        Progress {
            work,
            more: ready.iter().any(|&round| !tables.ready.is_empty(round))
                || next_due.is_some_and(|due| due <= tables.now)
                || self.0.shared.wakes.is_signalled(),
            next_due,
        }
    }

    /// Runs `callback` in the next round, after what is ready already (rule S19).
    ///
    /// # Errors
    /// [`LoopFull`]; the callback is dropped.
    pub fn immediate(&self, callback: impl FnOnce() + 'static) -> Result<TaskHandle, LoopFull> {
        let callback = Callback::new(callback);
        let mut tables = self.tables();
        let task = self.new_task(&mut tables)?;
        let node = tables.ready.push_back(Round::Next, Ready::Task(task));
        tables.tasks[task].ready = node;
        tables.tasks[task].callback = Some(callback);
        Ok(self.task_handle(&tables, task))
    }

    /// Runs `callback` once `delay` has passed; equal times in the order set.
    ///
    /// # Errors
    /// [`LoopFull`]; the callback is dropped.
    pub fn deferred(
        &self,
        delay: Duration,
        callback: impl FnOnce() + 'static,
    ) -> Result<TaskHandle, LoopFull> {
        let callback = Callback::new(callback);
        let due = self.now().after(delay);
        let mut tables = self.tables();
        let task = self.new_task(&mut tables)?;
        match tables.wheel.set(due, Due::Task(task)) {
            Ok(timer) => tables.tasks[task].timer = Some(timer),
            Err(full) => {
                tables.tasks.give(task);
                drop(tables); // The callback's drop may come back here.
                return Err(LoopFull { max: full.max });
            }
        }
        tables.tasks[task].callback = Some(callback);
        Ok(self.task_handle(&tables, task))
    }

    /// Cancels a callback; nothing happens if it ran or was cancelled before.
    pub fn cancel(&self, handle: TaskHandle) {
        let callback = {
            let mut tables = self.tables();
            if !self.knows(&tables, handle) {
                return;
            }
            let task = &mut tables.tasks[handle.task];
            let (node, timer) = (std::mem::replace(&mut task.ready, NIL), task.timer.take());
            if node != NIL {
                tables.ready.remove(node);
            }
            if let Some(timer) = timer {
                tables.wheel.cancel(timer);
            }
            Self::end_task(&mut tables, handle.task)
        };
        self.discard(callback);
    }

    /// Whether a callback still waits: neither ran nor was cancelled.
    #[must_use]
    pub fn is_valid(&self, handle: TaskHandle) -> bool {
        self.knows(&self.tables(), handle)
    }

    /// Whether this is the thread that made the event loop. It always is, as
    /// the type cannot leave it; the answer is for generic code.
    #[must_use]
    pub fn is_same_thread(&self) -> bool {
        self.0.thread == std::thread::current().id()
    }

    /// Completes a waiting step with values (rule S10). It ends at its flow's
    /// next step, not within this call.
    ///
    /// # Errors
    /// [`Refusal::Stale`] when the step is over, [`Refusal::NotOnTop`] when it
    /// has sub-steps.
    pub fn complete<V: Values>(&self, handle: WaitHandle, values: V) -> Result<(), Refusal> {
        self.complete_with(handle, values.pass())
    }

    pub(super) fn complete_with(&self, handle: WaitHandle, values: Passed) -> Result<(), Refusal> {
        let mut tables = self.tables();
        let result = self.find_wait(&mut tables, handle);
        let unused = if let Ok(flow) = result {
            tables.disarm(handle.frame);
            tables.forget_wait(handle.frame);
            tables.frames[handle.frame].status = Status::Completed;
            tables.schedule(flow);
            std::mem::replace(&mut tables.flows[flow].values, values)
        } else {
            values
        };
        drop(tables);
        self.discard(unused);
        result.map(|_| ())
    }

    /// Fails a waiting step (rule S10). It unwinds at its flow's next step, not
    /// within this call.
    ///
    /// # Errors
    /// As for [`Self::complete`].
    pub fn fail(&self, handle: WaitHandle, error: StepError) -> Result<(), Refusal> {
        let mut tables = self.tables();
        let flow = self.find_wait(&mut tables, handle)?;
        tables.disarm(handle.frame);
        tables.forget_wait(handle.frame);
        tables.frames[handle.frame].status = Status::Active;
        tables.flows[flow].pending = Some(Pending {
            error,
            noted: false,
        });
        tables.schedule(flow);
        Ok(())
    }

    /// A handle by which another thread completes the step.
    #[must_use]
    pub fn remote(&self, handle: WaitHandle) -> RemoteHandle {
        RemoteHandle {
            shared: self.0.shared.clone(),
            handle,
        }
    }

    /// The clock's time.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    /// Whether another thread sent something since the last turn.
    pub(crate) fn is_signalled(&self) -> bool {
        self.0.shared.wakes.is_signalled()
    }

    /// What the event loop holds.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let tables = self.tables();
        Usage {
            frames: tables.frames.in_use(),
            extras: tables.extras.in_use(),
            roots: tables.instances.in_use(),
            flows: tables.flows.in_use(),
            tasks: tables.tasks.in_use(),
            timers: tables.wheel.len(),
            locals: tables.locals.in_use(),
            futures: tables.futures.in_use(),
            lanes: tables.lanes.len(),
        }
    }

    /// Panics that were caught where no step could fail by them: in callbacks,
    /// cancel handlers of a cancel, tracers, synchronizers and drops.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.0.panics.get()
    }

    pub(super) fn tables(&self) -> RefMut<'_, Tables> {
        self.0.tables.borrow_mut()
    }

    pub(super) fn core(&self) -> &Core {
        &self.0
    }

    pub(super) fn downgrade(&self) -> WeakLoop {
        WeakLoop(Rc::downgrade(&self.0))
    }

    pub(super) fn lane_queue_max(&self) -> usize {
        self.0.lane_queue
    }

    /// Calls code of the user where its panic has nowhere to go.
    pub(super) fn guard<R>(&self, call: impl FnOnce() -> R) -> Option<R> {
        catch_unwind(AssertUnwindSafe(call))
            .inspect_err(|_| self.0.panics.set(self.0.panics.get() + 1))
            .ok()
    }

    /// Drops something of the user's; never while the tables are borrowed.
    pub(super) fn discard<T>(&self, value: T) {
        if std::mem::needs_drop::<T>() {
            self.guard(|| drop(value));
        }
    }

    /// The flow of a wait, if it may be completed.
    fn find_wait(&self, tables: &mut Tables, handle: WaitHandle) -> Result<u32, Refusal> {
        let waits = handle.event_loop == self.0.id
            && handle.frame < tables.frames.len()
            && tables
                .extra(handle.frame)
                .is_some_and(|extra| extra.wait_id == handle.id);
        if !waits {
            return Err(Refusal::Stale);
        }
        let frame = &tables.frames[handle.frame];
        let flow = frame.flow;
        if tables.flows[flow].top == handle.frame && frame.first == NIL {
            return Ok(flow);
        }
        tables.forget_wait(handle.frame);
        let error = StepError::internal("a step was completed from outside over its sub-steps");
        tables.flows[flow].pending.get_or_insert(Pending {
            error,
            noted: false,
        });
        tables.schedule(flow);
        Err(Refusal::NotOnTop)
    }

    fn new_task(&self, tables: &mut Tables) -> Result<u32, LoopFull> {
        let max = tables.tasks.max();
        let task = tables.tasks.take().ok_or(LoopFull { max })?;
        let id = tables.mint();
        tables.tasks[task].id = id;
        tables.tasks[task].ready = NIL;
        Ok(task)
    }

    pub(super) fn task_handle(&self, tables: &Tables, task: u32) -> TaskHandle {
        TaskHandle {
            event_loop: self.0.id,
            task,
            id: tables.tasks[task].id,
        }
    }

    fn knows(&self, tables: &Tables, handle: TaskHandle) -> bool {
        handle.event_loop == self.0.id
            && handle.task < tables.tasks.len()
            && tables.tasks[handle.task].id == handle.id
    }

    /// Frees the task, and returns its callback.
    pub(super) fn end_task(tables: &mut Tables, task: u32) -> Option<Callback> {
        tables.tasks[task].id = 0;
        let callback = tables.tasks[task].callback.take();
        tables.tasks.give(task);
        callback
    }
}

/// Ends the turn, also when something panics through it.
struct InTurn<'a>(&'a EventLoop);

impl Drop for InTurn<'_> {
    fn drop(&mut self) {
        self.0.0.in_turn.set(false);
    }
}

/// An event loop that is not kept alive by this.
pub(super) struct WeakLoop(Weak<Core>);

impl WeakLoop {
    pub(super) fn upgrade(&self) -> Option<EventLoop> {
        self.0.upgrade().map(EventLoop)
    }
}

impl fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop")
            .field("id", &self.0.id)
            .finish_non_exhaustive()
    }
}
