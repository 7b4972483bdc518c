//! A thread's way into the queues: its own completion slots, and the queues
//! that it remembers (rules L2, L6, L12, L16, L24).

use core::cell::Cell as NotShared;
use core::fmt;
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

use crate::lanes::completion::Generation;
use crate::lanes::driver::LocalDriver;
use crate::lanes::entry::{Phase, SubmitterCell};
use crate::lanes::error::{Failure, LaneError, Refused};
use crate::lanes::future::LaneFuture;
use crate::lanes::key::LaneKey;
use crate::lanes::observer::{Guarded, Hooks, NoopObserver, Observer, Place};
use crate::lanes::operation::{Operation, Work, run_task};
use crate::lanes::reentry::{self, LaneId};
use crate::lanes::slab::{SlabOwner, Slot};
use crate::lanes::submitter::{Class, FutureOf, Patience, SLOT_LOOK, nanos};
use crate::lanes::sync::park_for;
use crate::lanes::wrapper::Home;
use crate::limits;
use crate::time::{Clock, IdleStrategy, Nanos, SystemClock};

use super::core::Core;
use super::queue::{Item, NotPushed, Queue, Queued};

/// Submits operations from one thread at a time.
///
/// `Send`, not `Sync`: made from the engine at any time, one per thread.
/// Dropping it loses nothing that it submitted. Nothing here may be called from
/// inside the lane that it would submit to: that is
/// [`LaneError::ReentrantLane`], with the payload back.
pub struct DynamicSubmitter<D: LocalDriver, O: Observer = NoopObserver, C: Clock = SystemClock> {
    pub(in crate::lanes) core: SubmitterCore<D, O, C>,
    cell: Arc<SubmitterCell>,
    slab: SlabOwner,
    known: HashMap<LaneKey, Arc<Queue<D>>, FixedState>,
    hooks: Guarded<O>,
    not_sync: PhantomData<NotShared<()>>,
}

/// The engine, as its submitters know it.
pub(in crate::lanes) struct SubmitterCore<D: LocalDriver, O, C> {
    shared: Arc<Core<D, O, C>>,
    pub(in crate::lanes) id: reentry::EngineId,
}

/// A submit that found no room.
struct Waiting {
    begun: Instant,
    attempt: u32,
    idle: IdleStrategy,
    /// Spun long enough: the next try is followed by a sleep.
    sleeps: bool,
}

impl<D: LocalDriver + Send, O: Observer, C: Clock> DynamicSubmitter<D, O, C> {
    pub(super) fn new(core: Arc<Core<D, O, C>>, cell: Arc<SubmitterCell>, slab: SlabOwner) -> Self {
        Self {
            hooks: Guarded::new(&core.observer, Place::Producer, &core.observer_health),
            core: SubmitterCore {
                id: core.id,
                shared: core,
            },
            cell,
            slab,
            known: HashMap::default(),
            not_sync: PhantomData,
        }
    }

    /// Sends a one-way command; leaves the reserve free.
    ///
    /// # Errors
    /// [`Full`](LaneError::Full), [`QueueLimit`](LaneError::QueueLimit),
    /// [`Stopped`](LaneError::Stopped) or
    /// [`ReentrantLane`](LaneError::ReentrantLane), with the command.
    pub fn try_send(&mut self, command: D::Command) -> Result<(), Refused<D::Command>> {
        self.send_as(command, Class::Order, Patience::No)
    }

    /// Sends a one-way command that is a fact: may use the reserve, and a queue
    /// beyond `max_queues` (rule L12).
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send), but never `QueueLimit`.
    pub fn try_send_fact(&mut self, command: D::Command) -> Result<(), Refused<D::Command>> {
        self.send_as(command, Class::Fact, Patience::No)
    }

    /// Sends a one-way command; waits for room at most `timeout`.
    ///
    /// # Errors
    /// [`SubmitCancelled`](LaneError::SubmitCancelled) when the time is up or
    /// was zero, [`QueueLimit`](LaneError::QueueLimit) at once for an order,
    /// [`Stopped`](LaneError::Stopped),
    /// [`ReentrantLane`](LaneError::ReentrantLane), with the command.
    pub fn send_within(
        &mut self,
        command: D::Command,
        class: Class,
        timeout: Duration,
    ) -> Result<(), Refused<D::Command>> {
        self.send_as(command, class, Patience::within(timeout))
    }

    fn send_as(
        &mut self,
        command: D::Command,
        class: Class,
        patience: Patience,
    ) -> Result<(), Refused<D::Command>> {
        let key = D::key(&command);
        let sent = self.begin(key, patience).and_then(|()| {
            let stamp = self.stamp();
            let pushed = self.push(key, class, patience, stamp, || Item::Command(command));
            self.cell.leave();
            pushed
        });
        sent.map_err(|error| Refused {
            error,
            payload: command,
        })
    }

    /// Runs `work` in the lane of `key`, ordered with everything else there
    /// (rule L9). The closure and its result fit 256 bytes each; what is larger
    /// does not compile, and is boxed by its owner.
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send), with the closure.
    pub fn try_submit<F, T>(
        &mut self,
        key: impl Into<LaneKey>,
        work: F,
    ) -> Result<LaneFuture<T>, Refused<F>>
    where
        F: FnOnce(&mut D) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.operate(key.into(), Work(work), Class::Order, Patience::No)
            .map_err(|refused| Refused {
                error: refused.error,
                payload: refused.payload.0,
            })
    }

    /// As [`try_submit`](Self::try_submit), but waits for room. Where it is
    /// refused (a stop, `QueueLimit`, or from inside the lane), the future says
    /// so.
    pub fn submit<F, T>(&mut self, key: impl Into<LaneKey>, work: F) -> LaneFuture<T>
    where
        F: FnOnce(&mut D) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.operate_or_resolve(key.into(), Work(work), Patience::Until(None))
    }

    /// As [`submit`](Self::submit), but waits for room at most `timeout`.
    pub fn submit_within<F, T>(
        &mut self,
        key: impl Into<LaneKey>,
        work: F,
        timeout: Duration,
    ) -> LaneFuture<T>
    where
        F: FnOnce(&mut D) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.operate_or_resolve(key.into(), Work(work), Patience::within(timeout))
    }

    fn operate_or_resolve<F, T>(
        &mut self,
        key: LaneKey,
        work: Work<F>,
        patience: Patience,
    ) -> LaneFuture<T>
    where
        F: FnOnce(&mut D) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.operate(key, work, Class::Order, patience)
            .unwrap_or_else(|refused| {
                LaneFuture::ready(Err(Failure::without_payload(refused.error)))
            })
    }

    /// Puts an operation into a slot and the slot into the key's queue.
    pub(in crate::lanes) fn operate<Op: Operation<D>>(
        &mut self,
        key: LaneKey,
        operation: Op,
        class: Class,
        patience: Patience,
    ) -> Result<FutureOf<D, Op>, Refused<Op>> {
        let refuse = |error, payload| Err(Refused { error, payload });
        if let Err(error) = self.begin(key, patience) {
            return refuse(error, operation);
        }
        let (slot, generation) = match self.claim_within(key, patience) {
            Ok(claimed) => claimed,
            Err(error) => {
                self.cell.leave();
                return refuse(error, operation);
            }
        };
        let stamp = self.stamp();
        let mut operation = Some(operation);
        let load = || {
            if let Some(operation) = operation.take() {
                // SAFETY: just claimed, so the slot is this submitter's, and
                // empty until this.
                #[allow(unsafe_code)]
                unsafe {
                    slot.write(operation);
                }
            }
            Item::Task {
                run: run_task::<D, Op>,
                slot,
            }
        };
        let pushed = self.push(key, class, patience, stamp, load);
        self.cell.leave();
        match (pushed, operation) {
            (Err(error), Some(operation)) => {
                slot.recycle();
                refuse(error, operation)
            }
            // Loaded, so it is in the queue.
            (Ok(()) | Err(_), _) => Ok(LaneFuture::pending(slot, generation)),
        }
    }

    /// Sends a fact to the lane that a wrapper came from.
    pub(in crate::lanes) fn operate_at<Op: Operation<D>>(
        &mut self,
        home: &Home,
        operation: Op,
    ) -> Result<FutureOf<D, Op>, Refused<Op>> {
        let LaneId::Key(key) = home.lane else {
            return Err(Refused {
                error: LaneError::Closed,
                payload: operation,
            });
        };
        self.operate(key, operation, Class::Fact, Patience::Until(None))
    }

    /// Begins a submit: sees that the lane is not ours, and not stopped. On
    /// success the submitter is inside, and a stop waits for it to leave.
    fn begin(&mut self, key: LaneKey, patience: Patience) -> Result<(), LaneError> {
        if let Patience::Until(Some(deadline)) = patience
            && Instant::now() >= deadline
        {
            self.hooks.tell(|hooks| hooks.on_submit_cancelled(key));
            return Err(LaneError::SubmitCancelled);
        }
        if reentry::in_lane(self.core.id, LaneId::Key(key)) {
            return Err(LaneError::ReentrantLane);
        }
        self.cell.enter(0);
        if !self.core.shared.admission.is_running() {
            self.cell.leave();
            return Err(LaneError::Stopped);
        }
        Ok(())
    }

    /// A completion slot; waits for one as `patience` says.
    fn claim_within(
        &mut self,
        key: LaneKey,
        patience: Patience,
    ) -> Result<(Slot, Generation), LaneError> {
        let mut waiting = None;
        let outcome = loop {
            if let Some(claimed) = self.slab.claim() {
                break Ok(claimed);
            }
            match self.wait_on(key, patience, &mut waiting) {
                Ok(left) if left.is_zero() => {}
                Ok(left) => park_for(nanos(left.min(SLOT_LOOK))),
                Err(error) => break Err(error),
            }
        };
        self.tell_waited(key, waiting.as_ref(), outcome.as_ref().err());
        outcome
    }

    /// Pushes what `make` makes into the key's queue; waits for room as
    /// `patience` says. `make` is called only where it is pushed.
    fn push(
        &mut self,
        key: LaneKey,
        class: Class,
        patience: Patience,
        stamp: Option<Nanos>,
        mut make: impl FnMut() -> Item<D>,
    ) -> Result<(), LaneError> {
        let settings = self.core.shared.settings;
        let room = match class {
            Class::Order => settings.queue_capacity - settings.fact_reserve,
            Class::Fact => settings.queue_capacity,
        };
        let mut waiting: Option<Waiting> = None;
        let mut make = || Queued {
            item: make(),
            stamp,
        };
        let outcome = loop {
            let queue = match self.queue(key, class) {
                Ok(queue) => queue,
                Err(error) => break Err(error),
            };
            let sleeps = waiting.as_ref().is_some_and(|waiting| waiting.sleeps);
            match queue.push(room, sleeps, &mut make) {
                Ok(pushed) => {
                    let schedule = pushed.schedule.then(|| Arc::clone(queue));
                    if let Some(queue) = schedule {
                        self.core.shared.pool.schedule(queue);
                    }
                    self.cell.accept(1);
                    if stamp.is_some() {
                        self.hooks.tell(|hooks| hooks.on_enqueue(key, pushed.depth));
                    }
                    break Ok(());
                }
                Err(NotPushed::Retired) => {
                    self.known.remove(&key);
                }
                Err(NotPushed::Closed) => break Err(LaneError::Stopped),
                Err(NotPushed::Full) => match self.wait_on(key, patience, &mut waiting) {
                    // Noted in the queue, so whoever makes room ends the sleep.
                    Ok(left) if sleeps => park_for(nanos(left)),
                    Ok(_) => {}
                    Err(error) => break Err(error),
                },
            }
        };
        self.tell_waited(key, waiting.as_ref(), outcome.as_ref().err());
        outcome
    }

    /// The key's queue, as remembered or from the table.
    fn queue(&mut self, key: LaneKey, class: Class) -> Result<&Arc<Queue<D>>, LaneError> {
        if !self.known.contains_key(&key) {
            let found = self.core.shared.table.find(key, class)?;
            if let Some(total) = found.created {
                self.hooks.tell(|hooks| hooks.on_queue_created(key, total));
            }
            if self.known.len() >= limits::QUEUES_REMEMBERED_MAX {
                self.known.clear();
            }
            self.known.insert(key, found.queue);
        }
        self.known.get(&key).ok_or(LaneError::QueueLimit)
    }

    /// One round of waiting (rule L24): spins, or says how long to sleep at
    /// most; zero while it spins.
    #[cold]
    fn wait_on(
        &mut self,
        key: LaneKey,
        patience: Patience,
        waiting: &mut Option<Waiting>,
    ) -> Result<Duration, LaneError> {
        let Patience::Until(deadline) = patience else {
            return Err(LaneError::Full);
        };
        let settings = &self.core.shared.settings;
        let waiting = waiting.get_or_insert_with(|| Waiting {
            begun: Instant::now(),
            attempt: 0,
            idle: settings.idle,
            sleeps: false,
        });
        if self.core.shared.admission.phase() == Phase::Hard {
            return Err(LaneError::Stopped);
        }
        let now = Instant::now();
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Err(LaneError::SubmitCancelled);
        }
        let slow = settings.slow_submit;
        let waited = now.duration_since(waiting.begun);
        if waited >= slow.saturating_mul(waiting.attempt + 1) {
            waiting.attempt += 1;
            let (waited_ns, attempt) = (nanos(waited), waiting.attempt);
            self.hooks
                .tell(|hooks| hooks.on_slow_submit(key, waited_ns, attempt));
        }
        if waiting.idle.pause() {
            return Ok(Duration::ZERO);
        }
        waiting.sleeps = true;
        let left = deadline.map_or(slow, |deadline| deadline - now);
        Ok(left.min(slow))
    }

    fn tell_waited(&mut self, key: LaneKey, waiting: Option<&Waiting>, error: Option<&LaneError>) {
        let Some(waiting) = waiting else { return };
        let waited_ns = nanos(waiting.begun.elapsed());
        self.hooks
            .tell(|hooks| hooks.on_queue_full_blocked(key, waited_ns));
        if error == Some(&LaneError::SubmitCancelled) {
            self.hooks.tell(|hooks| hooks.on_submit_cancelled(key));
        }
    }

    /// The clock, where this operation is one that is watched.
    fn stamp(&mut self) -> Option<Nanos> {
        if self.hooks.sample() {
            Some(self.core.shared.clock.now())
        } else {
            None
        }
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> Drop for DynamicSubmitter<D, O, C> {
    fn drop(&mut self) {
        // What it pushed stays with the queues.
        self.cell.retire();
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> fmt::Debug for DynamicSubmitter<D, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicSubmitter")
            .field("remembers", &self.known.len())
            .field("accepted", &self.cell.accepted())
            .finish_non_exhaustive()
    }
}
