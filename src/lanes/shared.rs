//! What an engine, its submitters and its lanes share.

use core::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::limits;
use crate::time::{Clock, IdleStrategy};

use super::driver::LocalDriver;
use super::entry::{Phase, SubmitterCell};
use super::error::SubmitterError;
use super::gate::{Gate, RingEnd};
use super::key::LaneKey;
use super::message::Message;
use super::node::{Door, NodeList};
use super::observer::{Observer, ObserverHealth};
use super::reentry::EngineId;
use super::registry::{Registry, wait_outside};
use super::slab::SlabOwner;
use super::sync::{Mutex, Ordering};
use super::wake::{Sleeper, lock};

/// The settings that stay for an engine's life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) ring_capacity: usize,
    pub(crate) fact_reserve: usize,
    pub(crate) completion_slots: u16,
    pub(crate) batch_max: usize,
    pub(crate) slow_submit: Duration,
    pub(crate) idle: IdleStrategy,
}

pub(crate) struct Core<D: LocalDriver, O, C> {
    pub(crate) id: EngineId,
    pub(crate) settings: Settings,
    pub(crate) gates: Box<[Arc<CachePadded<Gate<D>>>]>,
    pub(crate) observer: O,
    pub(crate) observer_health: Arc<ObserverHealth>,
    pub(crate) clock: C,
    /// Nodes by shard; empty where the driver has none.
    pub(crate) lists: Arc<[NodeList]>,
    /// Where a stop sleeps until lanes are finished.
    pub(crate) stopper: Sleeper,
    /// Held while something is sent to several shards, so that all see the same
    /// order of what is.
    pub(crate) sequence: Mutex<()>,
    registry: Mutex<Registry>,
}

/// A new submitter's shares of everything.
pub(crate) struct SubmitterParts<D: LocalDriver> {
    pub(crate) cell: Arc<SubmitterCell>,
    pub(crate) slab: SlabOwner,
    pub(crate) rings: Vec<rtrb::Producer<Message<D>>>,
}

/// Operations in, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) accepted: u64,
    pub(crate) completed: u64,
    pub(crate) aborted: u64,
    pub(crate) panicked: u64,
}

impl<D: LocalDriver, O: Observer, C: Clock> Core<D, O, C> {
    pub(crate) fn new(settings: Settings, shards: u16, observer: O, clock: C) -> Self {
        super::barrier::prepare();
        let gates: Box<[_]> = (0..shards)
            .map(|_| Arc::new(CachePadded::new(Gate::<D>::new())))
            .collect();
        let lists = gates
            .iter()
            .filter(|_| D::HAS_NODES)
            .map(|gate| NodeList::new(Arc::clone(gate) as Arc<dyn Door>))
            .collect();
        Self {
            id: EngineId::next(),
            settings,
            lists,
            gates,
            observer,
            observer_health: Arc::default(),
            clock,
            stopper: Sleeper::new(),
            sequence: Mutex::new(()),
            registry: Mutex::new(Registry::default()),
        }
    }

    /// How many shards there are.
    #[inline]
    pub(crate) fn shards(&self) -> u16 {
        // The builder takes it as u16.
        u16::try_from(self.gates.len()).unwrap_or(u16::MAX)
    }

    /// How many operations may stand behind chains that wait, in each lane:
    /// over all lanes a part of what one submitter can have under way.
    pub(crate) fn parked_max(&self) -> usize {
        let slots = usize::from(self.settings.completion_slots);
        slots / limits::CHAIN_PARKED_SHARE / self.gates.len().max(1)
    }

    #[inline]
    pub(crate) fn shard(&self, key: LaneKey) -> u16 {
        key.shard(self.shards()).0
    }

    #[inline]
    pub(crate) fn gate(&self, shard: u16) -> &Gate<D> {
        &self.gates[usize::from(shard)]
    }

    /// Makes a submitter's rings and brings them to every worker.
    pub(crate) fn register(&self) -> Result<SubmitterParts<D>, SubmitterError> {
        let mut registry = lock(&self.registry);
        if !self.gates.iter().any(|gate| gate.is_running()) {
            return Err(SubmitterError::Stopped);
        }
        registry.make_room()?;
        let cell = Arc::new(SubmitterCell::new());
        let slab = SlabOwner::new(
            self.settings.completion_slots,
            self.id,
            self.settings.idle,
            Arc::clone(&self.lists),
        );
        for gate in &self.gates {
            gate.announce();
        }
        wait_for_pushes(&registry.cells);
        let mut rings = Vec::with_capacity(self.gates.len());
        for gate in &self.gates {
            let (producer, consumer) = rtrb::RingBuffer::new(self.settings.ring_capacity);
            gate.register(RingEnd {
                ring: consumer,
                slab: slab.share(),
                submitter: Arc::clone(&cell),
            });
            rings.push(producer);
        }
        registry.cells.push(Arc::clone(&cell));
        Ok(SubmitterParts { cell, slab, rings })
    }

    /// Raises every shard's phase and wakes who must see it.
    pub(crate) fn raise(&self, phase: Phase) {
        for gate in &self.gates {
            gate.admission.raise(phase);
            gate.worker.wake();
        }
        self.wake_submitters();
    }

    /// Wakes submitters that wait for room, to look at the phase.
    pub(crate) fn wake_submitters(&self) {
        for cell in &lock(&self.registry).cells {
            cell.room.wake();
        }
    }

    /// Waits until no submitter is inside a submit to `shard`, then seals it;
    /// the shard's phase is raised already. `false` when the deadline came
    /// first.
    pub(crate) fn seal(&self, shard: u16, deadline: Option<Instant>) -> bool {
        // Whoever is made after this list sees the raised phase.
        let cells = lock(&self.registry).cells.clone();
        if !wait_outside(&cells, shard, deadline) {
            return false;
        }
        self.gate(shard).seal();
        true
    }

    pub(crate) fn counts(&self) -> Counts {
        let registry = lock(&self.registry);
        let mut counts = Counts {
            accepted: registry.accepted(),
            ..Counts::default()
        };
        for gate in &self.gates {
            counts.accepted += gate.tally.direct.load(Ordering::Relaxed);
            counts.completed += gate.tally.completed.load(Ordering::Relaxed);
            counts.aborted += gate.tally.aborted.load(Ordering::Relaxed);
            counts.panicked += gate.tally.panicked.load(Ordering::Relaxed);
        }
        counts
    }
}

/// Waits until every push that may have missed an announcement is over. Pushes
/// take nanoseconds; a submitter that waits for room, or fills a batch, is not
/// waited for, because it looks again before it pushes.
fn wait_for_pushes(cells: &[Arc<SubmitterCell>]) {
    if cells.is_empty() {
        return;
    }
    // Pairs with the light barrier before a push: a submitter that is not seen
    // pushing now sees the announcement.
    super::barrier::heavy();
    for cell in cells {
        let Some(push) = cell.pushing() else { continue };
        let mut idle = IdleStrategy::shared();
        while !cell.is_over(push) {
            if !idle.pause() {
                std::thread::yield_now();
            }
        }
    }
}

impl<D: LocalDriver, O, C> fmt::Debug for Core<D, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("id", &self.id)
            .field("settings", &self.settings)
            .field("gates", &self.gates)
            .finish_non_exhaustive()
    }
}
