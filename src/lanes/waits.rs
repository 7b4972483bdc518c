//! The chains of one lane that wait, and what waits behind them (rule L35).
//!
//! ```text
//!  chain waits ──▶ line of its key ◀── orders of that key, in order
//!       │                │
//!       └─ heard, over ──┴─▶ chain goes on ─▶ done ─▶ its orders, until one waits
//! ```
//!
//! A key has a line while a chain of it waits, or while operations that waited
//! behind one are still to be run. Facts do not stand in line. Lines take no
//! memory of their own while nothing waits, and what stands in them is bounded:
//! each is an operation with a completion slot, and only a part of those may
//! stand here, so that the fact which ends a wait still finds one.

use core::any::Any;
use std::collections::VecDeque;
use std::time::Duration;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::limits;
use crate::steps::StepError;
use crate::time::Nanos;

use super::driver::LocalDriver;
use super::flows::Flows;
use super::key::LaneKey;
use super::message::Stamp;
use super::operation::{RunTask, Site};
use super::slab::Slot;

/// Which wait of which chain; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitId {
    pub(crate) key: LaneKey,
    number: u64,
}

/// Why a chain goes on.
pub(crate) enum WaitEnd {
    /// Its hook heard what it waited for.
    Heard,
    /// Its steps are over, or its time.
    Flow(Result<(), StepError>),
    /// The engine stops hard.
    Stopped,
}

/// A chain between two of its steps.
pub(crate) trait Waiting<D: LocalDriver> {
    /// A report of its account was booked; whether the chain goes on by that.
    fn hear(&mut self, report: &dyn Any, settled: &dyn Any) -> bool;

    /// Goes on: either waits again, in a new wait of the site's, or publishes
    /// its outcome. Whether it is done.
    fn resume(self: Box<Self>, end: WaitEnd, site: Site<'_, D>) -> bool;
}

/// An operation that stands in line.
pub(crate) struct Parked<D: LocalDriver> {
    pub(crate) call: ParkedCall<D>,
    pub(crate) stamp: Stamp,
}

/// What is to be run.
pub(crate) enum ParkedCall<D: LocalDriver> {
    Task {
        run: RunTask<D>,
        slot: Slot,
    },
    /// The second stage of an order, from its wrapper.
    Node(Slot),
}

/// A place for an operation in line; its successor, or the next free place.
struct Place<D: LocalDriver> {
    parked: Option<Parked<D>>,
    next: Option<u32>,
}

/// One key's.
struct Line<D: LocalDriver> {
    /// The chain, while it waits.
    chain: Option<(WaitId, Box<dyn Waiting<D>>)>,
    first: Option<u32>,
    last: Option<u32>,
    len: usize,
    /// How long the chain has run, where somebody watches it.
    watched_ns: Option<u64>,
}

impl<D: LocalDriver> Line<D> {
    const fn new() -> Self {
        Self {
            chain: None,
            first: None,
            last: None,
            len: 0,
            watched_ns: None,
        }
    }
}

/// Everything that waits in one lane.
pub(crate) struct Waits<D: LocalDriver> {
    pub(crate) flows: Flows,
    lines: HashMap<LaneKey, Line<D>, RandomState>,
    places: Vec<Place<D>>,
    free: Option<u32>,
    parked: usize,
    parked_max: usize,
    /// Keys whose chain is done, in that order.
    releasing: VecDeque<LaneKey>,
    /// The chain that heard what it waited for, in the operation that is run.
    heard: Option<WaitId>,
    numbers: u64,
}

impl<D: LocalDriver> Waits<D> {
    /// `parked_max` operations may stand in line at once.
    pub(crate) fn new(flows: Flows, parked_max: usize) -> Self {
        Self {
            flows,
            lines: HashMap::with_hasher(RandomState::default()),
            places: Vec::new(),
            free: None,
            parked: 0,
            parked_max: parked_max.max(1),
            releasing: VecDeque::new(),
            heard: None,
            numbers: 0,
        }
    }

    /// Whether no chain waits, and nothing stands in line.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether new orders of a key stand in line.
    pub(crate) fn holds(&self, key: LaneKey) -> bool {
        self.lines.contains_key(&key)
    }

    /// A name for a wait that begins.
    pub(crate) fn name(&mut self, key: LaneKey) -> WaitId {
        self.numbers += 1;
        WaitId {
            key,
            number: self.numbers,
        }
    }

    /// A chain waits from now on; its key's orders do so behind it.
    pub(crate) fn begin(&mut self, wait: WaitId, chain: Box<dyn Waiting<D>>) {
        let line = self.lines.entry(wait.key).or_insert_with(Line::new);
        line.chain = Some((wait, chain));
    }

    /// A report was booked: the chain of its account hears of it, if it waits.
    #[inline]
    pub(crate) fn hear(&mut self, key: LaneKey, report: &dyn Any, settled: &dyn Any) {
        if !self.is_empty() {
            self.hear_waiting(key, report, settled);
        }
    }

    #[cold]
    fn hear_waiting(&mut self, key: LaneKey, report: &dyn Any, settled: &dyn Any) {
        let line = self.lines.get_mut(&key);
        if let Some((wait, chain)) = line.and_then(|line| line.chain.as_mut())
            && chain.hear(report, settled)
        {
            self.heard = Some(*wait);
        }
    }

    /// The chain that is to go on by what was just heard.
    #[inline]
    pub(crate) fn take_heard(&mut self) -> Option<WaitId> {
        self.heard.take()
    }

    /// The chain of a wait, unless that is over.
    pub(crate) fn take_chain(&mut self, wait: WaitId) -> Option<Box<dyn Waiting<D>>> {
        let line = self.lines.get_mut(&wait.key)?;
        match line.chain.take() {
            Some((waits, chain)) if waits == wait => Some(chain),
            other => {
                line.chain = other;
                None
            }
        }
    }

    /// Every wait, in the order of their beginning.
    pub(crate) fn all(&self) -> Vec<WaitId> {
        let chains = self.lines.values().filter_map(|line| line.chain.as_ref());
        let mut waits: Vec<_> = chains.map(|(wait, _)| *wait).collect();
        waits.sort_unstable_by_key(|wait| wait.number);
        waits
    }

    /// A key's chain is done: what stands in line there may be run.
    pub(crate) fn done(&mut self, key: LaneKey) {
        self.releasing.push_back(key);
    }

    /// The time that a key's chain has run, where it is watched.
    pub(crate) fn watched(&mut self, key: LaneKey) -> Option<&mut Option<u64>> {
        self.lines.get_mut(&key).map(|line| &mut line.watched_ns)
    }

    /// Puts an operation in its key's line; gives it back where no more may
    /// stand there.
    pub(crate) fn park(&mut self, key: LaneKey, parked: Parked<D>) -> Result<(), Parked<D>> {
        // One account must not take all that there is.
        let share = self.parked_max.div_ceil(limits::CHAIN_LINE_SHARE);
        let full = self.parked >= self.parked_max
            || self.lines.get(&key).is_none_or(|line| line.len >= share);
        if full {
            return Err(parked);
        }
        self.append(key, parked);
        Ok(())
    }

    /// Puts a wrapper's call in its key's line: it has its slot already, so it
    /// is not refused for want of a place.
    pub(crate) fn park_node(&mut self, key: LaneKey, parked: Parked<D>) {
        self.append(key, parked);
    }

    fn append(&mut self, key: LaneKey, parked: Parked<D>) {
        let line = self.lines.entry(key).or_insert_with(Line::new);
        let place = Place {
            parked: Some(parked),
            next: None,
        };
        let index = match self.free {
            Some(index) => {
                self.free = self.places[index as usize].next;
                self.places[index as usize] = place;
                index
            }
            None => {
                self.places.push(place);
                // One for each completion slot of each submitter, at most.
                u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
            }
        };
        match line.last.replace(index) {
            Some(last) => self.places[last as usize].next = Some(index),
            None => line.first = Some(index),
        }
        line.len += 1;
        self.parked += 1;
    }

    /// The next operation to run of those whose chain is done, with its key.
    pub(crate) fn release(&mut self) -> Option<(LaneKey, Parked<D>)> {
        while let Some(&key) = self.releasing.front() {
            let line = self.lines.get_mut(&key);
            match line.filter(|line| line.chain.is_none()) {
                // An operation that was released waits itself.
                None => {}
                Some(line) => {
                    if let Some(index) = line.first {
                        let place = &mut self.places[index as usize];
                        line.first = place.next.take();
                        if line.first.is_none() {
                            line.last = None;
                        }
                        line.len -= 1;
                        self.parked -= 1;
                        let parked = place.parked.take();
                        place.next = self.free.replace(index);
                        if let Some(parked) = parked {
                            return Some((key, parked));
                        }
                    } else {
                        self.lines.remove(&key);
                    }
                }
            }
            self.releasing.pop_front();
        }
        None
    }

    /// Whether released operations are still to be run.
    pub(crate) fn is_releasing(&self) -> bool {
        !self.releasing.is_empty()
    }

    /// How long the lane may sleep: until the next time that is set.
    pub(crate) fn rest_at_most(&self, now: Nanos) -> Duration {
        self.flows
            .next_due()
            .map_or(Duration::MAX, |due| Duration::from_nanos(due.since(now)))
    }
}
