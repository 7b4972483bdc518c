//! One submit to several shards: all of them or none take it, and all take
//! such submits in one order (rule L4).

use crate::time::Clock;
use crate::types::ShardId;

use super::completion::Generation;
use super::driver::LocalDriver;
use super::error::LaneError;
use super::future::LaneFuture;
use super::key::LaneKey;
use super::observer::Observer;
use super::operation::Operation;
use super::reentry;
use super::slab::Slot;
use super::submitter::{Class, FutureOf, Patience, SLOT_LOOK, Submitter, load_slot, nanos};
use super::sync::park_for;
use super::wake::lock;

impl<D: LocalDriver, O: Observer, C: Clock> Submitter<D, O, C> {
    /// Sends each shard its operation, as facts. Room in every ring is found
    /// first: only this thread pushes to them, so it stays. The pushes are made
    /// under one lock of the engine, so whichever comes first on one shard does
    /// on every other. On an error no shard has taken anything.
    pub(super) fn spread<Op: Operation<D>>(
        &mut self,
        key: LaneKey,
        operations: Vec<(u16, Op)>,
        patience: Patience,
    ) -> Result<Vec<FutureOf<D, Op>>, LaneError> {
        self.look_at_deadline(key, patience)?;
        let own = |shard| reentry::in_lane(self.core.id, ShardId(shard));
        if operations.iter().any(|&(shard, _)| own(shard)) {
            return Err(LaneError::ReentrantLane);
        }
        // Inside of every shard: a stop waits until this has pushed or given up.
        self.cell.enter_batch();
        let running = |shard| self.core.gate(shard).is_running();
        let outcome = if operations.iter().all(|&(shard, _)| running(shard)) {
            self.find_room(key, &operations, patience)
        } else {
            Err(LaneError::Stopped)
        };
        let futures = outcome.map(|slots| self.push_all(key, operations, slots));
        self.cell.leave();
        futures
    }

    /// A completion slot for each operation, and a place in each ring.
    fn find_room<Op>(
        &mut self,
        key: LaneKey,
        operations: &[(u16, Op)],
        patience: Patience,
    ) -> Result<Vec<(Slot, Generation)>, LaneError> {
        let mut slots = Vec::with_capacity(operations.len());
        let mut there = |submitter: &mut Self| {
            while slots.len() < operations.len()
                && let Some(claimed) = submitter.claim()
            {
                slots.push(claimed);
            }
            let room = |&(shard, _): &(u16, Op)| submitter.has_room(shard, Class::Fact, 0);
            slots.len() == operations.len() && operations.iter().all(room)
        };
        let found = if there(self) {
            Ok(())
        } else {
            match patience {
                Patience::No => Err(LaneError::Full),
                // Slots come back without a wake, and rings of several shards
                // with one for each: looked for as slots are.
                Patience::Until(deadline) => {
                    let first = operations.first().map_or(0, |&(shard, _)| shard);
                    self.wait_inside(first, key, deadline, there, |_, left| {
                        park_for(nanos(left.min(SLOT_LOOK)));
                    })
                }
            }
        };
        match found {
            Ok(()) => Ok(slots),
            Err(error) => {
                slots.into_iter().for_each(|(slot, _)| slot.recycle());
                Err(error)
            }
        }
    }

    fn push_all<Op: Operation<D>>(
        &mut self,
        key: LaneKey,
        operations: Vec<(u16, Op)>,
        slots: Vec<(Slot, Generation)>,
    ) -> Vec<FutureOf<D, Op>> {
        let core = std::sync::Arc::clone(&self.core);
        let sequence = lock(&core.sequence);
        let pushed = operations.into_iter().zip(slots);
        let futures = pushed
            .map(|((shard, operation), (slot, generation))| {
                let stamp = self.stamp();
                let message = load_slot(slot, operation, key, Class::Fact, stamp);
                // Looks for tickets after this, as a batch does.
                self.cell.push_batch(shard);
                self.push(shard, message);
                self.cell.enter_batch();
                self.tell_enqueued(shard, key, stamp);
                LaneFuture::pending(slot, generation)
            })
            .collect();
        drop(sequence);
        futures
    }
}
