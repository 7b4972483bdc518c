//! A lane's turn for chains that wait, and for what waits behind them
//! (rule L35).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::steps::EventLoop;
use crate::time::{Clock, Nanos, UnixNanos};

use super::driver::LocalDriver;
use super::entry::Phase;
use super::error::LaneError;
use super::flows::Flows;
use super::gate::Gate;
use super::key::LaneKey;
use super::lane::{BatchCounts, Running, SentNode};
use super::message::{Content, Message, Stamp};
use super::node::Door;
use super::observer::{Hooks, Observer};
use super::operation::{Call, Ended, Site, fenced};
use super::shared::Core;
use super::slab::{Share, Slot};
use super::waits::{Parked, ParkedCall, WaitEnd, WaitId};

/// The engine's clock, for an event loop of one of its lanes.
struct EngineClock<D: LocalDriver, O, C>(Arc<Core<D, O, C>>);

impl<D: LocalDriver, O: Observer, C: Clock> Clock for EngineClock<D, O, C> {
    fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    fn wall(&self) -> UnixNanos {
        self.0.clock.wall()
    }
}

/// What drives the steps of a lane's chains; what comes for them from elsewhere
/// wakes the lane.
pub(super) fn flows_of<D: LocalDriver, O: Observer, C: Clock>(
    core: &Arc<Core<D, O, C>>,
    gate: &Arc<CachePadded<Gate<D>>>,
) -> Flows {
    let core = Arc::clone(core);
    let door = Arc::clone(gate) as Arc<dyn Door>;
    Flows::new(move |limits| {
        let clock = EngineClock(Arc::clone(&core));
        let door = Arc::clone(&door);
        EventLoop::with_unpark(clock, limits, move || door.wake())
    })
}

impl<D: LocalDriver, O: Observer> Running<D, O> {
    /// Whether chains wait, or something is left of one that did.
    #[inline]
    pub(super) fn has_waits(&self) -> bool {
        !self.waits.is_empty() || !self.waits.flows.is_at_rest()
    }

    /// Whether a message need not be run now: it is an order, and a chain of
    /// its key waits. It stands in line, or comes back `Full`.
    #[cold]
    pub(super) fn stands_in_line(
        &mut self,
        message: &Message<D>,
        slab: &Share,
        now: Nanos,
        counts: &mut BatchCounts,
    ) -> bool {
        let Content::Task { run, key, slot } = message.content() else {
            return false;
        };
        if !message.is_order() || !self.waits.holds(key) || self.is_hard() {
            return false;
        }
        let slot = slab.slot(slot);
        let parked = Parked {
            call: ParkedCall::Task { run, slot },
            stamp: message.stamp(),
        };
        if let Err(refused) = self.waits.park(key, parked) {
            self.refuse(key, refused, LaneError::Full, now, counts);
        }
        true
    }

    /// Runs what a wrapper sent, or lets it stand in line if it is an order.
    pub(super) fn take_node(&mut self, slot: Slot, now: Nanos, counts: &mut BatchCounts) {
        if !self.waits.is_empty() && !self.is_hard() {
            let driver = self.driver.as_mut();
            let key = driver.and_then(|driver| driver.order_of(SentNode(slot)));
            if let Some(key) = key.filter(|&key| self.waits.holds(key)) {
                let parked = Parked {
                    call: ParkedCall::Node(slot),
                    stamp: Stamp::NONE,
                };
                self.waits.park_node(key, parked);
                return;
            }
        }
        self.run_node(slot, now, counts);
    }

    fn is_hard(&self) -> bool {
        self.gate.admission.phase() == Phase::Hard
    }

    /// Ends an operation that will not run.
    fn refuse(
        &mut self,
        key: LaneKey,
        parked: Parked<D>,
        error: LaneError,
        now: Nanos,
        counts: &mut BatchCounts,
    ) {
        let Parked { call, stamp } = parked;
        let (run, slot) = match call {
            ParkedCall::Task { run, slot } => (run, slot),
            ParkedCall::Node(slot) => return self.run_node(slot, now, counts),
        };
        // SAFETY: made with this entry point for the operation in this slot,
        // which is pending and so keeps its slab; run once.
        #[allow(unsafe_code)]
        let ended = unsafe { run(slot, Call::Abort(error), None) };
        self.count(key, ended, counts);
        if let Some(waited_ns) = self.watches(stamp, now) {
            self.hooks.tell(|hooks| hooks.on_dequeue(key, waited_ns));
            self.hooks.tell(|hooks| hooks.on_complete(key, 0));
        }
    }

    fn watches(&self, stamp: Stamp, now: Nanos) -> Option<u64> {
        if O::ENABLED { stamp.waited(now) } else { None }
    }

    /// Runs an operation that stood in line.
    fn run_parked(
        &mut self,
        key: LaneKey,
        parked: Parked<D>,
        now: Nanos,
        clock: &impl Clock,
        counts: &mut BatchCounts,
    ) {
        let Parked { call, stamp } = parked;
        let (run, slot) = match call {
            ParkedCall::Task { run, slot } => (run, slot),
            ParkedCall::Node(slot) => return self.run_node(slot, now, counts),
        };
        let watched = self.watches(stamp, now);
        let begun = watched.map(|waited_ns| {
            self.hooks.tell(|hooks| hooks.on_dequeue(key, waited_ns));
            clock.now()
        });
        let call = match &mut self.driver {
            Some(driver) => Call::Run(Site {
                driver,
                now,
                waits: Some(&mut self.waits),
            }),
            None => Call::Abort(LaneError::Stopped),
        };
        // SAFETY: as in `refuse`.
        #[allow(unsafe_code)]
        let ended = unsafe { run(slot, call, None) };
        self.count(key, ended, counts);
        if let Some(begun) = begun {
            self.tell_ended(key, ended, begun, clock);
        }
    }

    /// Tells who watches an operation how long it ran; of a chain that waits,
    /// when it is done.
    pub(super) fn tell_ended(
        &mut self,
        key: LaneKey,
        ended: Ended,
        begun: Nanos,
        clock: &impl Clock,
    ) {
        let ran_ns = match ended {
            Ended::Aborted => 0,
            Ended::Ran | Ended::Panicked | Ended::Waits => clock.now().since(begun),
        };
        if ended == Ended::Waits {
            if let Some(watched) = self.waits.watched(key) {
                *watched = Some(ran_ns);
            }
        } else {
            self.hooks.tell(|hooks| hooks.on_complete(key, ran_ns));
        }
    }

    /// Lets the chain go on that heard what it waited for, before anything else
    /// of its account: a second report in the same batch may be what it waits
    /// for next.
    #[cold]
    pub(super) fn resume_heard(
        &mut self,
        now: Nanos,
        clock: &impl Clock,
        counts: &mut BatchCounts,
    ) {
        if let Some(wait) = self.waits.take_heard() {
            self.resume(wait, WaitEnd::Heard, now, clock, counts);
        }
    }

    /// The turn of what waits; whether there was anything to do.
    #[cold]
    pub(super) fn turn_waits(
        &mut self,
        now: Nanos,
        budget: usize,
        clock: &impl Clock,
        counts: &mut BatchCounts,
    ) -> bool {
        if self.is_hard() {
            let some = !self.waits.is_empty();
            self.stop_waits(now, clock, counts);
            return some;
        }
        let mut worked = self.waits.flows.turn(now, budget);
        while let Some((wait, end)) = self.waits.flows.take_end() {
            worked = true;
            self.resume(wait, WaitEnd::Flow(end), now, clock, counts);
        }
        for _ in 0..budget {
            let Some((key, parked)) = self.waits.release() else {
                break;
            };
            worked = true;
            if self.is_hard() {
                self.refuse(key, parked, LaneError::Stopped, now, counts);
            } else {
                self.run_parked(key, parked, now, clock, counts);
            }
        }
        worked || self.waits.is_releasing()
    }

    /// Ends every chain that waits, and what stands in line (rule L27).
    pub(super) fn stop_waits(&mut self, now: Nanos, clock: &impl Clock, counts: &mut BatchCounts) {
        for wait in self.waits.all() {
            self.resume(wait, WaitEnd::Stopped, now, clock, counts);
        }
        while let Some((key, parked)) = self.waits.release() {
            self.refuse(key, parked, LaneError::Stopped, now, counts);
        }
    }

    fn resume(
        &mut self,
        wait: WaitId,
        end: WaitEnd,
        now: Nanos,
        clock: &impl Clock,
        counts: &mut BatchCounts,
    ) {
        let (Some(chain), Some(driver)) = (self.waits.take_chain(wait), &mut self.driver) else {
            // It ended another way meanwhile.
            return;
        };
        let watched = self.waits.watched(wait.key).and_then(|watched| *watched);
        let begun = watched.map(|_| clock.now());
        let site = Site {
            driver,
            now,
            waits: Some(&mut self.waits),
        };
        let done = catch_unwind(AssertUnwindSafe(|| chain.resume(end, site)));
        let done = done.unwrap_or_else(|panic| {
            // A chain fences all that it calls, and publishes in any case.
            fenced(|| drop(panic));
            true
        });
        let ran_ns = begun.map_or(0, |begun| clock.now().since(begun));
        let watched = watched.map(|ran| ran + ran_ns);
        if let Some(place) = self.waits.watched(wait.key) {
            *place = if done { None } else { watched };
        }
        if done {
            counts.completed += 1;
            if let Some(ran_ns) = watched {
                self.hooks.tell(|hooks| hooks.on_complete(wait.key, ran_ns));
            }
            self.waits.done(wait.key);
        }
    }
}
