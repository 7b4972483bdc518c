//! A worker's rings: taken from in submission order, in runs.
//!
//! Never waits. A run of messages of one ring that are next in order is read as
//! one chunk, because the run is what makes many rings cheap.

use std::sync::Arc;

use crate::limits;

use super::driver::LocalDriver;
use super::gate::{Gate, RingEnd};
use super::looks::LOOKS_MAX;
use super::merge::{Merge, Rings, UNSEEN};
use super::message::Message;
use super::node::{NodeList, NodeQueue};
use super::prefetch;
use super::slab::{Share, Slot};

/// The most messages that are read before their ring slots are given back.
const CHUNK: usize = LOOKS_MAX;

/// What the worker takes from its rings.
pub(crate) enum Taken<'a, D: LocalDriver> {
    Message(&'a Message<D>, &'a Share),
    Node(Slot),
    /// The messages since the last one of these had one ring; their slots'
    /// memory is kept until this.
    RunEnd,
}

/// The worker's side of a shard's rings.
pub(crate) struct Inbox<D: LocalDriver> {
    rings: RingSet<D>,
    merge: Merge,
    /// The planted fault of the order tests: rings are taken in turn.
    #[cfg(test)]
    pub(crate) ignore_order: bool,
}

struct RingSet<D: LocalDriver> {
    gate: Arc<GateOf<D>>,
    /// The shard's list of nodes, where the driver has them: source 0.
    nodes: Option<(Arc<[NodeList]>, usize, NodeQueue)>,
    ends: Vec<RingEnd<D>>,
    /// The registrations that `ends` has.
    version: u64,
}

type GateOf<D> = crossbeam_utils::CachePadded<Gate<D>>;

impl<D: LocalDriver> RingSet<D> {
    /// Sources before the rings.
    const NODES: usize = if D::HAS_NODES { 1 } else { 0 };
}

impl<D: LocalDriver> Rings for RingSet<D> {
    fn refresh(&mut self) -> usize {
        let version = self.gate.version();
        if version != self.version {
            self.version = version;
            self.gate.take_arriving(&mut self.ends);
        }
        self.ends.len() + Self::NODES
    }

    #[inline]
    fn is_unordered(&self, ring: usize) -> bool {
        ring < Self::NODES
    }

    #[inline]
    fn head(&mut self, ring: usize) -> u64 {
        if ring < Self::NODES
            && let Some((lists, shard, queue)) = &mut self.nodes
        {
            return queue.head(&lists[*shard]);
        }
        self.ends[ring - Self::NODES]
            .ring
            .peek()
            .map_or(UNSEEN, |message| message.ticket)
    }
}

impl<D: LocalDriver> Inbox<D> {
    pub(crate) fn new(gate: Arc<GateOf<D>>, lists: &Arc<[NodeList]>, shard: usize) -> Self {
        Self {
            rings: RingSet {
                gate,
                nodes: D::HAS_NODES.then(|| (Arc::clone(lists), shard, NodeQueue::new())),
                ends: Vec::with_capacity(limits::SUBMITTERS_MAX),
                version: 0,
            },
            merge: Merge::new(limits::SUBMITTERS_MAX),
            #[cfg(test)]
            ignore_order: false,
        }
    }

    /// Gives at most `budget` messages to `run`, in order; how many it gave.
    /// `run` must not unwind, and must not touch the rings.
    #[inline]
    pub(crate) fn take(&mut self, budget: usize, mut run: impl FnMut(Taken<'_, D>)) -> usize {
        let mut taken = 0;
        while taken < budget {
            let Some(ring) = self.next() else { break };
            taken += self.take_run(ring, budget - taken, &mut run);
        }
        taken
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        #[cfg(test)]
        if self.ignore_order {
            let count = self.rings.refresh();
            return (0..count).find(|&ring| self.rings.head(ring) != UNSEEN);
        }
        self.merge.next(&mut self.rings)
    }

    /// Runs the head of a ring and what follows it there without a gap.
    #[inline]
    fn take_run(
        &mut self,
        ring: usize,
        budget: usize,
        run: &mut impl FnMut(Taken<'_, D>),
    ) -> usize {
        if ring < RingSet::<D>::NODES {
            return self.take_node(run);
        }
        let end = &mut self.rings.ends[ring - RingSet::<D>::NODES];
        let wanted = budget.min(CHUNK);
        let mut there = end.ring.cached_slots();
        if there < wanted {
            there = end.ring.slots();
        }
        let Ok(chunk) = end.ring.read_chunk(there.min(wanted)) else {
            // The ring's own count said that they are there.
            return 0;
        };
        let (first, second) = chunk.as_slices();
        let mut next = UNSEEN;
        let mut count = 0;
        let mut ahead = first.iter().chain(second);
        for message in ahead.by_ref().take(prefetch::AHEAD) {
            if let Some(slot) = message.slot() {
                end.slab.expect(slot);
            }
        }
        for message in first.iter().chain(second) {
            if let Some(slot) = ahead.next().and_then(Message::slot) {
                end.slab.expect(slot);
            }
            #[cfg(test)]
            let in_order = !self.ignore_order;
            #[cfg(not(test))]
            let in_order = true;
            if in_order {
                if count > 0 && !self.merge.is_next(message.ticket) {
                    next = message.ticket;
                    break;
                }
                self.merge.ran(message.ticket);
            }
            run(Taken::Message(message, &end.slab));
            count += 1;
        }
        chunk.commit(count);
        run(Taken::RunEnd);
        #[cfg(test)]
        if self.ignore_order {
            end.submitter.room.wake();
            return count;
        }
        end.submitter.room.wake();
        if next == UNSEEN {
            // What follows may have no ticket, and is then older than every
            // ticket in sight.
            next = self.rings.head(ring);
        }
        self.merge.advance(ring, next);
        count
    }

    /// Runs the node with the smallest ticket.
    fn take_node(&mut self, run: &mut impl FnMut(Taken<'_, D>)) -> usize {
        let Some((lists, shard, queue)) = &mut self.rings.nodes else {
            return 0;
        };
        let Some(node) = queue.pop() else { return 0 };
        self.merge.ran(node.ticket);
        run(Taken::Node(node.slot));
        let head = queue.head(&lists[*shard]);
        self.merge.advance(0, head);
        1
    }

    /// Closes the list of nodes for good and gives what is left of it to `run`.
    pub(crate) fn close_nodes(&mut self, mut run: impl FnMut(Taken<'_, D>)) {
        if let Some((lists, shard, queue)) = &mut self.rings.nodes {
            queue.close(&lists[*shard]);
            while let Some(node) = queue.pop() {
                run(Taken::Node(node.slot));
            }
        }
    }

    /// Whether a message is in sight, of a ring that is known.
    #[inline]
    pub(crate) fn is_in_sight(&self) -> bool {
        self.rings.ends.iter().any(|end| !end.ring.is_empty())
            || self
                .rings
                .nodes
                .as_ref()
                .is_some_and(|(lists, shard, _)| !lists[*shard].is_empty())
    }

    /// Whether no message is in sight; looks at every ring.
    pub(crate) fn is_empty(&mut self) -> bool {
        let count = self.rings.refresh();
        (0..count).all(|ring| self.rings.head(ring) == UNSEEN)
    }

    /// Whether there is neither a message nor a ring to forget.
    pub(crate) fn is_at_rest(&mut self) -> bool {
        self.is_empty() && !self.rings.ends.iter().any(|end| end.submitter.is_gone())
    }

    /// Forgets rings whose submitter is gone and that are drained.
    pub(crate) fn reap(&mut self) {
        let mut ring = 0;
        let count = self.rings.refresh();
        self.merge.know(count);
        while ring < self.rings.ends.len() {
            let end = &mut self.rings.ends[ring];
            // In this order: all that it pushed is in sight once it is gone.
            if end.submitter.is_gone() && end.ring.slots() == 0 {
                self.rings.ends.swap_remove(ring);
                self.merge.remove(ring + RingSet::<D>::NODES);
                self.rings.gate.unregister();
            } else {
                ring += 1;
            }
        }
    }
}
