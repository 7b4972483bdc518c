//! Many submits that become visible together: one ring write, one ticket range
//! and one wake for each shard.
//!
//! A submit of a batch has returned, in the sense of rule L7, when the batch
//! has. Nothing in a batch waits.

use core::fmt;

use crate::limits;
use crate::time::{Clock, Nanos};
use crate::types::ShardId;

use super::driver::LocalDriver;
use super::error::{LaneError, Refused};
use super::future::LaneFuture;
use super::key::LaneKey;
use super::message::Message;
use super::observer::Observer;
use super::operation::{Operation, Work};
use super::prefetch;
use super::reentry;
use super::submitter::{Class, FutureOf, Submitter, load_slot};

/// Messages of one shard that are not in its ring yet.
pub(super) struct Staged<D: LocalDriver>(Vec<Message<D>>);

impl<D: LocalDriver> Staged<D> {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(limits::BATCH_MAX))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// An open batch; see [`Submitter::batch`].
pub struct Batch<'a, D: LocalDriver, O: Observer, C: Clock> {
    submitter: &'a mut Submitter<D, O, C>,
    /// The clock, read for the first operation that is watched.
    stamp: Option<Nanos>,
    /// A shard that was seen running and with room for so many orders more: it
    /// is looked at again after them. A stop waits for the batch.
    seen: (u16, usize),
    /// The ring's places for those orders, as far as they lie together: the next
    /// one's address, and how many.
    places: (usize, usize),
}

/// Operations for one look at a shard, at most.
const LOOK_EVERY: usize = 64;

impl<D: LocalDriver, O: Observer, C: Clock> Submitter<D, O, C> {
    /// Collects submits and publishes them when `fill` returns, or whenever a
    /// shard has [`BATCH_MAX`](limits::BATCH_MAX) of them. Don't wait in there
    /// for a result of the same batch: it may not be on its way yet.
    pub fn batch<R>(&mut self, fill: impl FnOnce(&mut Batch<'_, D, O, C>) -> R) -> R {
        self.cell.enter_batch();
        let mut batch = Batch {
            submitter: self,
            stamp: None,
            seen: (0, 0),
            places: (0, 0),
        };
        fill(&mut batch)
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> Batch<'_, D, O, C> {
    /// As [`Submitter::try_send`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn send(&mut self, command: D::Command) -> Result<(), Refused<D::Command>> {
        self.send_as(command, Class::Order)
    }

    /// As [`Submitter::try_send_fact`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn send_fact(&mut self, command: D::Command) -> Result<(), Refused<D::Command>> {
        self.send_as(command, Class::Fact)
    }

    #[inline]
    fn send_as(&mut self, command: D::Command, class: Class) -> Result<(), Refused<D::Command>> {
        let key = D::key(&command);
        let shard = self.submitter.core.shard(key);
        if let Err(error) = self.check(shard, class) {
            return Err(Refused {
                error,
                payload: command,
            });
        }
        let stamp = self.stamp();
        self.stage(shard, Message::command(command, stamp));
        self.tell_enqueued(shard, key, stamp);
        Ok(())
    }

    /// As [`Submitter::try_submit`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn submit<F, T>(
        &mut self,
        key: impl Into<LaneKey>,
        work: F,
    ) -> Result<LaneFuture<T>, Refused<F>>
    where
        F: FnOnce(&mut D) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.operate(key.into(), Work(work), Class::Order)
            .map_err(|refused| Refused {
                error: refused.error,
                payload: refused.payload.0,
            })
    }

    #[inline]
    fn operate<Op: Operation<D>>(
        &mut self,
        key: LaneKey,
        operation: Op,
        class: Class,
    ) -> Result<FutureOf<D, Op>, Refused<Op>> {
        let shard = self.submitter.core.shard(key);
        let refuse = |error, payload| Err(Refused { error, payload });
        if let Err(error) = self.check(shard, class) {
            return refuse(error, operation);
        }
        let Some((slot, generation)) = self.submitter.claim() else {
            return refuse(LaneError::Full, operation);
        };
        let stamp = self.stamp();
        let message = load_slot(slot, operation, key, class, stamp);
        self.stage(shard, message);
        self.tell_enqueued(shard, key, stamp);
        Ok(self.submitter.future(slot, generation))
    }

    /// The batch's clock, where this operation is one that is watched.
    #[inline]
    fn stamp(&mut self) -> Option<Nanos> {
        if !self.submitter.samples() {
            return None;
        }
        if self.stamp.is_none() {
            self.begin_watch();
        }
        self.stamp
    }

    #[cold]
    fn begin_watch(&mut self) {
        self.stamp = Some(self.submitter.core.clock.now());
        for ring in &self.submitter.rings {
            let _ = ring.slots();
        }
    }

    #[inline]
    fn tell_enqueued(&mut self, shard: u16, key: LaneKey, stamp: Option<Nanos>) {
        if stamp.is_some() {
            self.submitter.tell_depth(shard, key);
        }
    }

    #[inline]
    fn check(&mut self, shard: u16, class: Class) -> Result<(), LaneError> {
        let submitter = &mut *self.submitter;
        if reentry::in_lane(submitter.core.id, ShardId(shard)) {
            return Err(LaneError::ReentrantLane);
        }
        if self.seen.0 == shard && self.seen.1 > 0 {
            self.seen.1 -= 1;
            self.expect_place();
            return Ok(());
        }
        self.look(shard, class)
    }

    /// Looks at a shard's phase and room, for this operation and some more.
    fn look(&mut self, shard: u16, class: Class) -> Result<(), LaneError> {
        let submitter = &mut *self.submitter;
        if !submitter.core.gate(shard).is_running() {
            return Err(LaneError::Stopped);
        }
        let staged = submitter.staged[usize::from(shard)].0.len();
        if submitter.has_room(shard, class, staged) {
            let room = submitter.room_for_orders(shard, staged);
            // One of it is this operation's, if there is any: a fact may have
            // the last.
            let more = room.saturating_sub(1).min(LOOK_EVERY);
            self.seen = (shard, more);
            self.places = submitter.places(shard, staged, more + 1);
            self.expect_place();
            Ok(())
        } else {
            Err(LaneError::Full)
        }
    }

    /// Fetches the place that the next message gets in the ring, which the worker
    /// had last, while the message is being made.
    #[inline]
    fn expect_place(&mut self) {
        let (place, left) = self.places;
        if left > 0 {
            prefetch::for_writing(core::ptr::without_provenance::<Message<D>>(place));
            self.places = (place + size_of::<Message<D>>(), left - 1);
        }
    }

    #[inline]
    fn stage(&mut self, shard: u16, message: Message<D>) {
        let staged = &mut self.submitter.staged[usize::from(shard)].0;
        staged.push(message);
        if staged.len() == limits::BATCH_MAX {
            self.publish(usize::from(shard));
        }
    }

    fn publish(&mut self, shard: usize) {
        let submitter = &mut *self.submitter;
        submitter
            .cell
            .push_batch(u16::try_from(shard).unwrap_or(u16::MAX));
        let staged = &mut submitter.staged[shard].0;
        // At most `BATCH_MAX`.
        let count = staged.len() as u64;
        let gate = &submitter.core.gates[shard];
        if let Some(first) = gate.tickets.take(count) {
            for (message, ticket) in staged.iter_mut().zip(first..) {
                message.ticket = ticket;
            }
        }
        let pushed = submitter.rings[shard].push_entire_slice(staged);
        // Each one saw room behind those before it, and only this thread pushes.
        debug_assert!(pushed.is_ok());
        staged.clear();
        submitter.cell.accept(count);
        submitter.cell.enter_batch();
        gate.worker.wake();
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> Drop for Batch<'_, D, O, C> {
    fn drop(&mut self) {
        for shard in 0..self.submitter.staged.len() {
            if !self.submitter.staged[shard].0.is_empty() {
                self.publish(shard);
            }
        }
        self.submitter.cell.leave();
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> fmt::Debug for Batch<'_, D, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let staged: usize = self.submitter.staged.iter().map(|s| s.0.len()).sum();
        f.debug_struct("Batch").field("staged", &staged).finish()
    }
}
