//! A thread's way into the lanes: one ring per shard and its own completion
//! slots (rules L5, L7, L12, L16, L24).
//!
//! A submit is a room check, a slot, a ticket where there are other submitters,
//! and a ring push; it wakes the worker if that sleeps. It takes no lock and
//! allocates nothing.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rtrb::Producer;

use crate::time::{Clock, Nanos, SystemClock};

use super::batch::Staged;
use super::completion::Generation;
use super::driver::LocalDriver;
use super::entry::{Phase, SubmitterCell};
use super::error::{Failure, LaneError, Refused};
use super::future::LaneFuture;
use super::key::LaneKey;
use super::message::Message;
use super::observer::{Guarded, Hooks, NoopObserver, Observer, Place};
use super::operation::{Operation, Work, run_task};
use super::reentry::{self, LaneId};
use super::shared::{Core, SubmitterParts};
use super::slab::{SlabOwner, Slot};
use super::wrapper::Home;

/// Completion slots are given back by whoever holds the futures, without a
/// wake (the slab may be gone by then), so they are looked for this often.
pub(super) const SLOT_LOOK: Duration = Duration::from_micros(50);

/// Which part of a ring an operation may fill (rule L12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A new order, or other work that may be refused: leaves the reserve free.
    Order,
    /// Something that happened, or that ends what was begun: may use all room.
    Fact,
}

/// Submits operations from one thread at a time.
///
/// `Send`, not `Sync`: made from the engine at any time, one per thread.
/// Dropping it loses nothing that it submitted. Nothing here may be called from
/// inside the lane that it would submit to: that is
/// [`LaneError::ReentrantLane`], with the payload back.
pub struct Submitter<D: LocalDriver, O: Observer = NoopObserver, C: Clock = SystemClock> {
    pub(super) core: Arc<Core<D, O, C>>,
    pub(super) cell: Arc<SubmitterCell>,
    pub(super) rings: Vec<Producer<Message<D>>>,
    pub(super) staged: Vec<Staged<D>>,
    slab: SlabOwner,
    hooks: Guarded<O>,
    not_sync: PhantomData<Cell<()>>,
}

/// The future of an operation, by the operation's types.
pub(crate) type FutureOf<D, Op> = LaneFuture<
    <Op as Operation<D>>::Value,
    <Op as Operation<D>>::Error,
    <Op as Operation<D>>::Payload,
>;

/// How long a submit waits for room.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    No,
    Until(Option<Instant>),
}

impl Patience {
    pub(crate) fn within(timeout: Duration) -> Self {
        // Beyond the clock's range is for ever.
        Self::Until(Instant::now().checked_add(timeout))
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> Submitter<D, O, C> {
    pub(crate) fn new(core: Arc<Core<D, O, C>>, parts: SubmitterParts<D>) -> Self {
        let hooks = Guarded::new(&core.observer, Place::Producer, &core.observer_health);
        Self {
            cell: parts.cell,
            staged: parts.rings.iter().map(|_| Staged::new()).collect(),
            rings: parts.rings,
            slab: parts.slab,
            hooks,
            core,
            not_sync: PhantomData,
        }
    }

    /// Sends a one-way command; leaves the reserve free.
    ///
    /// # Errors
    /// [`Full`](LaneError::Full), [`Stopped`](LaneError::Stopped) or
    /// [`ReentrantLane`](LaneError::ReentrantLane), with the command.
    #[inline]
    pub fn try_send(&mut self, command: D::Command) -> Result<(), Refused<D::Command>> {
        self.send_as(command, Class::Order, Patience::No)
    }

    /// Sends a one-way command that is a fact: may use the reserve (rule L12).
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send).
    #[inline]
    pub fn try_send_fact(&mut self, command: D::Command) -> Result<(), Refused<D::Command>> {
        self.send_as(command, Class::Fact, Patience::No)
    }

    /// Sends a one-way command; waits for room at most `timeout`.
    ///
    /// # Errors
    /// [`SubmitCancelled`](LaneError::SubmitCancelled) when the time is up or
    /// was zero, [`Stopped`](LaneError::Stopped),
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
        let shard = self.core.shard(key);
        if let Err(error) = self.enter(shard, key, class, patience) {
            return Err(Refused {
                error,
                payload: command,
            });
        }
        let stamp = self.stamp();
        self.push(shard, Message::command(command, stamp));
        self.cell.leave();
        self.tell_enqueued(shard, key, stamp);
        Ok(())
    }

    /// Runs `work` in the lane of `key`, ordered with everything else there
    /// (rule L9). The closure and its result fit 256 bytes each; what is larger
    /// does not compile, and is boxed by its owner.
    ///
    /// # Errors
    /// As for [`try_send`](Self::try_send), with the closure.
    #[inline]
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
    /// refused (a stop, or from inside the lane), the future says so.
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

    /// Puts an operation into a slot and its message into the ring.
    #[inline]
    pub(crate) fn operate<Op: Operation<D>>(
        &mut self,
        key: LaneKey,
        operation: Op,
        class: Class,
        patience: Patience,
    ) -> Result<FutureOf<D, Op>, Refused<Op>> {
        let shard = self.core.shard(key);
        self.operate_on(shard, key, operation, class, patience)
    }

    /// As [`operate`](Self::operate), in a lane that is known.
    #[inline]
    pub(crate) fn operate_on<Op: Operation<D>>(
        &mut self,
        shard: u16,
        key: LaneKey,
        operation: Op,
        class: Class,
        patience: Patience,
    ) -> Result<FutureOf<D, Op>, Refused<Op>> {
        let refuse = |error, payload| Err(Refused { error, payload });
        if let Err(error) = self.enter(shard, key, class, patience) {
            return refuse(error, operation);
        }
        let (slot, generation) = match self.claim_within(shard, key, patience) {
            Ok(claimed) => claimed,
            Err(error) => {
                self.cell.leave();
                return refuse(error, operation);
            }
        };
        let stamp = self.stamp();
        let message = load_slot(slot, operation, key, class, stamp);
        self.push(shard, message);
        self.cell.leave();
        self.tell_enqueued(shard, key, stamp);
        Ok(self.future(slot, generation))
    }

    /// Sends a fact to the lane that a wrapper came from.
    pub(super) fn operate_at<Op: Operation<D>>(
        &mut self,
        home: &Home,
        operation: Op,
    ) -> Result<FutureOf<D, Op>, Refused<Op>> {
        let LaneId::Shard(shard) = home.lane else {
            return Err(Refused {
                error: LaneError::Closed,
                payload: operation,
            });
        };
        let patience = Patience::Until(None);
        self.operate_on(shard.0, LaneKey::Engine, operation, Class::Fact, patience)
    }

    #[inline]
    pub(super) fn future<T: Send, E: Send, P: Send>(
        &self,
        slot: Slot,
        generation: Generation,
    ) -> LaneFuture<T, E, P> {
        LaneFuture::pending(slot, generation)
    }

    #[inline]
    pub(super) fn claim(&mut self) -> Option<(Slot, Generation)> {
        self.slab.claim()
    }

    /// Begins a submit: sees that the lane is not ours, not stopped, and has
    /// room; waits for room as `patience` says. On success the submitter is
    /// inside, and a stop waits for it to leave.
    #[inline]
    fn enter(
        &mut self,
        shard: u16,
        key: LaneKey,
        class: Class,
        patience: Patience,
    ) -> Result<(), LaneError> {
        self.look_at_deadline(key, patience)?;
        if reentry::in_lane(self.core.id, crate::types::ShardId(shard)) {
            return Err(LaneError::ReentrantLane);
        }
        self.cell.enter(shard);
        if !self.core.gate(shard).is_running() {
            self.cell.leave();
            return Err(LaneError::Stopped);
        }
        if self.has_room(shard, class, 0) {
            return Ok(());
        }
        let result = match patience {
            Patience::No => Err(LaneError::Full),
            Patience::Until(deadline) => {
                let there = |submitter: &mut Self| submitter.has_room(shard, class, 0);
                self.wait_for(shard, key, deadline, there, |submitter, left| {
                    submitter.sleep_for_room(shard, class, left);
                })
            }
        };
        if result.is_err() {
            self.cell.leave();
        }
        result
    }

    /// Refuses what has no time left (rule L24).
    #[inline]
    pub(super) fn look_at_deadline(
        &mut self,
        key: LaneKey,
        patience: Patience,
    ) -> Result<(), LaneError> {
        if let Patience::Until(Some(deadline)) = patience
            && Instant::now() >= deadline
        {
            self.hooks.tell(|hooks| hooks.on_submit_cancelled(key));
            return Err(LaneError::SubmitCancelled);
        }
        Ok(())
    }

    /// Whether a ring has a place for one more than `staged` messages.
    #[inline]
    pub(super) fn has_room(&self, shard: u16, class: Class, staged: usize) -> bool {
        let reserve = match class {
            Class::Order => self.core.settings.fact_reserve,
            Class::Fact => 0,
        };
        let ring = &self.rings[usize::from(shard)];
        let needed = reserve + staged;
        ring.cached_slots() > needed || ring.slots() > needed
    }

    /// How many orders more than `staged` messages have a place, as far as is
    /// known without asking the worker.
    pub(super) fn room_for_orders(&self, shard: u16, staged: usize) -> usize {
        let free = self.rings[usize::from(shard)].cached_slots();
        free.saturating_sub(self.core.settings.fact_reserve + staged)
    }

    /// Where `count` messages behind `staged` ones will stand in a ring, as far as
    /// those places lie together: the first one's address, and how many.
    pub(super) fn places(&mut self, shard: u16, staged: usize, count: usize) -> (usize, usize) {
        let ring = &mut self.rings[usize::from(shard)];
        let wanted = (staged + count).min(ring.cached_slots());
        let Ok(mut chunk) = ring.write_chunk_uninit(wanted) else {
            return (0, 0);
        };
        let (first, second) = chunk.as_mut_slices();
        let places = match first.get(staged..) {
            Some(places) if !places.is_empty() => places,
            _ => second.get(staged - first.len()..).unwrap_or_default(),
        };
        (places.as_ptr().addr(), places.len())
    }

    /// A completion slot; waits for one as `patience` says.
    #[inline]
    fn claim_within(
        &mut self,
        shard: u16,
        key: LaneKey,
        patience: Patience,
    ) -> Result<(Slot, Generation), LaneError> {
        if let Some(claimed) = self.slab.claim() {
            return Ok(claimed);
        }
        let Patience::Until(deadline) = patience else {
            return Err(LaneError::Full);
        };
        let mut claimed = None;
        let there = |submitter: &mut Self| {
            claimed = submitter.slab.claim();
            claimed.is_some()
        };
        self.wait_for(shard, key, deadline, there, |_, left| {
            super::sync::park_for(nanos(left.min(SLOT_LOOK)));
        })?;
        claimed.ok_or(LaneError::Full)
    }

    /// Blocks until `there` holds (rule L24); stays inside meanwhile, so that a
    /// graceful stop lets it in.
    #[cold]
    fn wait_for(
        &mut self,
        shard: u16,
        key: LaneKey,
        deadline: Option<Instant>,
        there: impl FnMut(&mut Self) -> bool,
        sleep: impl Fn(&Self, Duration),
    ) -> Result<(), LaneError> {
        self.cell.wait(shard);
        let outcome = self.wait_inside(shard, key, deadline, there, sleep);
        self.cell.resume(shard);
        outcome
    }

    /// As [`wait_for`](Self::wait_for), for a submitter that is inside of
    /// `shard`, but not about to push.
    #[cold]
    pub(super) fn wait_inside(
        &mut self,
        shard: u16,
        key: LaneKey,
        deadline: Option<Instant>,
        mut there: impl FnMut(&mut Self) -> bool,
        sleep: impl Fn(&Self, Duration),
    ) -> Result<(), LaneError> {
        let begun = Instant::now();
        let slow = self.core.settings.slow_submit;
        let mut attempt = 0;
        let mut idle = self.core.settings.idle;
        let outcome = loop {
            if there(self) {
                break Ok(());
            }
            if self.core.gate(shard).admission.phase() == Phase::Hard {
                break Err(LaneError::Stopped);
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                break Err(LaneError::SubmitCancelled);
            }
            let waiting = now.duration_since(begun);
            if waiting >= slow.saturating_mul(attempt + 1) {
                attempt += 1;
                let waiting_ns = nanos(waiting);
                self.hooks
                    .tell(|hooks| hooks.on_slow_submit(key, waiting_ns, attempt));
            }
            if !idle.pause() {
                let left = deadline.map_or(slow, |deadline| deadline - now);
                sleep(self, left.min(slow));
            }
        };
        let waited_ns = nanos(begun.elapsed());
        self.hooks
            .tell(|hooks| hooks.on_queue_full_blocked(key, waited_ns));
        if outcome == Err(LaneError::SubmitCancelled) {
            self.hooks.tell(|hooks| hooks.on_submit_cancelled(key));
        }
        outcome
    }

    /// Sleeps until the worker has given ring slots back, or a hard stop.
    fn sleep_for_room(&self, shard: u16, class: Class, bound: Duration) {
        let gate = self.core.gate(shard);
        self.cell.room.sleep(nanos(bound), || {
            self.has_room(shard, class, 0) || gate.admission.phase() == Phase::Hard
        });
    }

    /// Pushes one message that has room, with its ticket.
    #[inline]
    pub(super) fn push(&mut self, shard: u16, mut message: Message<D>) {
        let gate = &self.core.gates[usize::from(shard)];
        if let Some(ticket) = gate.tickets.take(1) {
            message.ticket = ticket;
        }
        let pushed = self.rings[usize::from(shard)].push(message);
        // Room was seen, and only this thread pushes.
        debug_assert!(pushed.is_ok());
        self.cell.accept(1);
        gate.worker.wake();
    }

    /// Whether this operation is one that is watched.
    #[inline]
    pub(super) fn samples(&mut self) -> bool {
        self.hooks.sample()
    }

    /// The clock, where this operation is one that is watched.
    #[inline]
    pub(super) fn stamp(&mut self) -> Option<Nanos> {
        if self.samples() {
            Some(self.core.clock.now())
        } else {
            None
        }
    }

    #[inline]
    pub(super) fn tell_enqueued(&mut self, shard: u16, key: LaneKey, stamp: Option<Nanos>) {
        if stamp.is_some() {
            // Where the worker is: one cache line from it.
            let _ = self.rings[usize::from(shard)].slots();
            self.tell_depth(shard, key);
        }
    }

    /// Tells how many messages are in the ring and staged for it, by what is
    /// known of how far the worker is: a batch asks when it begins.
    #[cold]
    pub(super) fn tell_depth(&mut self, shard: u16, key: LaneKey) {
        let shard = usize::from(shard);
        let free = self.rings[shard].cached_slots();
        let depth = self.core.settings.ring_capacity - free + self.staged[shard].len();
        self.hooks.tell(|hooks| hooks.on_enqueue(key, depth));
    }
}

/// Puts an operation into its slot; the message that names it.
#[inline]
pub(super) fn load_slot<D: LocalDriver, Op: Operation<D>>(
    slot: Slot,
    operation: Op,
    key: LaneKey,
    class: Class,
    stamp: Option<Nanos>,
) -> Message<D> {
    // SAFETY: just claimed, so the slot is this submitter's and empty.
    #[allow(unsafe_code)]
    unsafe {
        slot.write(operation);
    }
    Message::task(run_task::<D, Op>, key, slot, class, stamp)
}

/// Saturates: 584 years and more are as long as any wait.
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl<D: LocalDriver, O: Observer, C: Clock> Drop for Submitter<D, O, C> {
    fn drop(&mut self) {
        // Its rings stay with the workers until they are drained.
        self.cell.retire();
        for gate in &self.core.gates {
            // A sleeping worker would keep its place among the submitters.
            gate.worker.wake();
        }
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> fmt::Debug for Submitter<D, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitter")
            .field("shards", &self.rings.len())
            .field("accepted", &self.cell.accepted())
            .finish_non_exhaustive()
    }
}
