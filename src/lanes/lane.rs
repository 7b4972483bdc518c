//! One shard's inbox and driver, and the turn that runs them.
//!
//! [`Lane::turn`] is the only loop body there is: pinned workers, an I/O thread
//! in `inline` mode, and tests call the same code. It never waits.

use core::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use crate::time::{Clock, IdleStrategy, Nanos, SystemClock};
use crate::types::ShardId;

use super::driver::{LocalDriver, Rest};
use super::entry::Phase;
use super::error::LaneError;
use super::gate::{Gate, Tally};
use super::inbox::{Inbox, Taken};
use super::key::LaneKey;
use super::lane_waits::flows_of;
use super::looks::Looks;
use super::message::{Content, Message};
use super::observer::{Guarded, Hooks, NoopObserver, Observer, Place};
use super::operation::{Call, Ended, Site, fenced};
use super::reentry;
use super::shared::Core;
use super::slab::{Share, Slot};
use super::waits::Waits;

/// What a turn did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Took messages, or the driver had work of its own.
    Worked,
    /// Found nothing to do.
    Idle,
    /// The engine is stopped, everything accepted is resolved and the driver
    /// is released; there is nothing more to turn.
    Finished,
}

/// A shard: its rings and its driver, on the thread that owns them.
///
/// In `inline` mode the owner calls [`turn`](Self::turn) itself. A lane that is
/// dropped before it is finished stops hard: it refuses what comes, resolves
/// what was accepted with `Stopped`, and releases its driver.
pub struct Lane<D: LocalDriver, O: Observer = NoopObserver, C: Clock = SystemClock> {
    core: Arc<Core<D, O, C>>,
    inbox: Inbox<D>,
    running: Running<D, O>,
    turns_until_reap: u32,
}

/// What a wrapper sent to its lane.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct SentNode(pub(super) Slot);

impl fmt::Debug for SentNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SentNode")
    }
}

/// Everything that running a message needs, apart from the inbox.
pub(super) struct Running<D: LocalDriver, O: Observer> {
    shard: ShardId,
    pub(super) gate: Arc<CachePadded<Gate<D>>>,
    /// Until it is released; none in a lane that was never built.
    pub(super) driver: Option<D>,
    finished: bool,
    pub(super) hooks: Guarded<O>,
    pub(super) looks: Looks,
    pub(super) waits: Waits<D>,
}

/// Counts of one batch, added to the shard's tally at its end.
#[derive(Default)]
pub(super) struct BatchCounts {
    pub(super) completed: u64,
    pub(super) aborted: u64,
    pub(super) panicked: u64,
}

/// Looks at the rings between two turns of an idle worker: a driver's own work
/// waits for so many, some hundred nanoseconds.
const GLANCES: u32 = 8;

/// Busy turns between two looks for submitters that are gone.
const REAP_EVERY: u32 = 1_024;

impl<D: LocalDriver, O: Observer, C: Clock> Lane<D, O, C> {
    pub(crate) fn new(core: Arc<Core<D, O, C>>, shard: ShardId, driver: Option<D>) -> Self {
        let gate = Arc::clone(&core.gates[usize::from(shard.0)]);
        let hooks = Guarded::new(&core.observer, Place::Worker(shard), &core.observer_health);
        let waits = Waits::new(flows_of(&core, &gate), core.parked_max());
        Self {
            inbox: Inbox::new(Arc::clone(&gate), &core.lists, usize::from(shard.0)),
            core,
            running: Running {
                shard,
                gate,
                driver,
                finished: false,
                hooks,
                looks: Looks::new(),
                waits,
            },
            turns_until_reap: REAP_EVERY,
        }
    }

    /// Which shard this is.
    #[must_use]
    pub fn shard(&self) -> ShardId {
        self.running.shard
    }

    /// The driver, until the lane is finished.
    pub fn driver(&mut self) -> Option<&mut D> {
        self.running.driver.as_mut()
    }

    /// Takes at most `budget` messages from the rings, in submission order, and
    /// runs them; then gives the driver its turn. Reads the clock once. Never
    /// waits, and contains every panic of operation, driver and observer.
    pub fn turn(&mut self, budget: usize) -> Progress {
        if self.running.finished {
            return Progress::Finished;
        }
        let now = self.core.clock.now();
        self.turn_at(now, budget)
    }

    #[inline]
    fn turn_at(&mut self, now: Nanos, budget: usize) -> Progress {
        let engine = self.core.id;
        reentry::inside(engine, self.running.shard, || self.turn_inside(now, budget))
    }

    #[inline]
    fn turn_inside(&mut self, now: Nanos, budget: usize) -> Progress {
        // Before the rings are looked at: what was pushed before the seal is
        // then in sight.
        let sealed = self.running.gate.admission.is_sealed();
        let taken = if self.running.takes_work() {
            self.take_batch(budget, now)
        } else {
            0
        };
        let worked = self.running.own_turn(now, budget) | self.turn_waits(now, budget);
        if taken > 0 {
            self.turns_until_reap -= 1;
            if self.turns_until_reap == 0 {
                self.reap();
            }
            return Progress::Worked;
        }
        self.reap();
        if sealed && self.inbox.is_empty() && self.running.waits.is_empty() {
            self.finish(now);
            self.core.stopper.wake();
            return Progress::Finished;
        }
        if worked {
            Progress::Worked
        } else {
            Progress::Idle
        }
    }

    #[inline]
    fn take_batch(&mut self, budget: usize, now: Nanos) -> usize {
        let running = &mut self.running;
        let clock = &self.core.clock;
        let mut counts = BatchCounts::default();
        let taken = self.inbox.take(budget, |taken| match taken {
            Taken::Message(message, slab) => running.run(message, slab, now, clock, &mut counts),
            Taken::Node(slot) => running.take_node(slot, now, &mut counts),
            Taken::RunEnd => running.looks.finish(),
        });
        if taken > 0 {
            counts.add_to(&running.gate.tally);
        }
        taken
    }

    /// Runs a command on this thread, without a ring, as if it were submitted
    /// now: everything that was submitted before runs first (rule L7).
    ///
    /// For the owner of an `inline` lane, whose own commands need no hop. After
    /// a stop the command is not run.
    ///
    /// # Errors
    /// The command, where the engine is stopping or stopped.
    pub fn command(&mut self, command: &D::Command) -> Result<(), super::Refused<D::Command>> {
        let mut once = Some(*command);
        self.commands(|| once.take())
            .map_err(|error| super::Refused {
                error,
                payload: *command,
            })
    }

    /// As [`command`](Self::command), for all that `next` gives: one look at
    /// the rings and one clock read for all of them. Asks for no more while
    /// the driver does not [take work](LocalDriver::takes_work), after one.
    ///
    /// # Errors
    /// The engine is stopping or stopped; `next` was not called.
    pub fn commands(
        &mut self,
        mut next: impl FnMut() -> Option<D::Command>,
    ) -> Result<(), LaneError> {
        if !self.running.gate.is_running() || self.running.driver.is_none() {
            return Err(LaneError::Stopped);
        }
        let engine = self.core.id;
        reentry::inside(engine, self.running.shard, || {
            let now = self.core.clock.now();
            // What arrives meanwhile overlaps this call; a ring's worth is
            // what can have been there before.
            let bound = self.core.settings.ring_capacity;
            let mut left = bound.saturating_mul(crate::limits::SUBMITTERS_MAX);
            while left > 0 && self.take_batch(left.min(bound), now) > 0 {
                left = left.saturating_sub(bound);
            }
            let mut counts = BatchCounts::default();
            let mut direct = 0;
            while let Some(command) = next() {
                self.running
                    .run_direct(&command, now, &self.core.clock, &mut counts);
                direct += 1;
                if !self.running.takes_work() {
                    break;
                }
            }
            Tally::add(&self.running.gate.tally.direct, direct);
            counts.add_to(&self.running.gate.tally);
            Ok(())
        })
    }

    /// Gives the chains that wait their turn; whether there was anything to do.
    #[inline]
    fn turn_waits(&mut self, now: Nanos, budget: usize) -> bool {
        if !D::HAS_NODES || !self.running.has_waits() {
            return false;
        }
        let mut counts = BatchCounts::default();
        let worked = self
            .running
            .turn_waits(now, budget, &self.core.clock, &mut counts);
        counts.add_to(&self.running.gate.tally);
        worked
    }

    /// The end: chains that wait ended, no more nodes, handles rolled back, the
    /// driver released.
    fn finish(&mut self, now: Nanos) {
        let running = &mut self.running;
        let mut counts = BatchCounts::default();
        running.stop_waits(now, &self.core.clock, &mut counts);
        running.waits.flows.close();
        self.inbox.close_nodes(|taken| {
            if let Taken::Node(slot) = taken {
                running.run_node(slot, now, &mut counts);
            }
        });
        counts.add_to(&running.gate.tally);
        running.release_driver();
    }

    #[cold]
    fn reap(&mut self) {
        self.turns_until_reap = REAP_EVERY;
        self.inbox.reap();
    }

    /// Turns until finished, resting when idle: the body of a worker thread.
    pub(crate) fn run(&mut self) {
        let mut idle = self.core.settings.idle;
        let budget = self.core.settings.batch_max;
        while !self.running.finished {
            let now = self.core.clock.now();
            let mut progress = self.turn_at(now, budget);
            if progress == Progress::Idle && self.glance(&mut idle) {
                // The clock was read a moment ago; reading it again would keep
                // the message waiting.
                progress = self.turn_at(now, budget);
            }
            if progress == Progress::Worked {
                idle.reset();
            }
        }
    }

    /// Looks at the rings some times between two whole turns, because a look
    /// costs a tenth of one; whether a message is in sight. Rests when it is
    /// time to.
    #[inline]
    fn glance(&mut self, idle: &mut IdleStrategy) -> bool {
        for _ in 0..GLANCES {
            if !idle.pause() {
                self.rest();
                return false;
            }
            if self.inbox.is_in_sight() {
                return true;
            }
        }
        false
    }

    /// Sleeps until there is something to do, as long as the driver allows.
    fn rest(&mut self) {
        let now = self.core.clock.now();
        let rest = self
            .running
            .driver
            .as_ref()
            .map_or(Rest::Never, |driver| driver.rest(now));
        let rest = match rest {
            Rest::Never => {
                std::thread::yield_now();
                return;
            }
            Rest::AtMost(duration) => duration,
            Rest::UntilWoken => Duration::MAX,
        };
        let waits = &self.running.waits;
        let rest = rest.min(waits.rest_at_most(now));
        let nanos = u64::try_from(rest.as_nanos()).unwrap_or(u64::MAX);
        // A driver that takes no work is not woken for it.
        let takes_work = self.running.takes_work();
        let inbox = &mut self.inbox;
        let gate = &self.running.gate;
        gate.worker.sleep(nanos, || {
            takes_work && !inbox.is_at_rest()
                || gate.admission.is_sealed()
                || waits.flows.is_signalled()
        });
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn ignore_order(&mut self) {
        self.inbox.ignore_order = true;
    }
}

impl<D: LocalDriver, O: Observer> Running<D, O> {
    #[inline]
    fn run(
        &mut self,
        message: &Message<D>,
        slab: &Share,
        now: Nanos,
        clock: &impl Clock,
        counts: &mut BatchCounts,
    ) {
        if D::HAS_NODES && !self.waits.is_empty() && self.stands_in_line(message, slab, now, counts)
        {
            return;
        }
        let sampled = if O::ENABLED {
            message.stamp().waited(now)
        } else {
            None
        };
        if let Some(waited_ns) = sampled {
            self.run_watched(message, slab, waited_ns, now, clock, counts);
        } else {
            self.run_unwatched(message, slab, now, counts);
        }
        if D::HAS_NODES && !self.waits.is_empty() {
            self.resume_heard(now, clock, counts);
        }
    }

    #[inline]
    fn run_watched(
        &mut self,
        message: &Message<D>,
        slab: &Share,
        waited_ns: u64,
        now: Nanos,
        clock: &impl Clock,
        counts: &mut BatchCounts,
    ) {
        let key = match message.content() {
            Content::Command(command) => D::key(command),
            Content::Task { key, .. } => key,
        };
        self.hooks.tell(|hooks| hooks.on_dequeue(key, waited_ns));
        let begun = clock.now();
        let ended = self.run_unwatched(message, slab, now, counts);
        self.tell_ended(key, ended, begun, clock);
    }

    #[inline]
    fn run_unwatched(
        &mut self,
        message: &Message<D>,
        slab: &Share,
        now: Nanos,
        counts: &mut BatchCounts,
    ) -> Ended {
        match message.content() {
            Content::Command(command) => {
                if self.run_command(command, now, counts) {
                    Ended::Ran
                } else {
                    Ended::Aborted
                }
            }
            Content::Task { run, key, slot } => {
                let call = match &mut self.driver {
                    Some(driver) if self.gate.admission.phase() != Phase::Hard => Call::Run(Site {
                        driver,
                        now,
                        waits: Some(&mut self.waits),
                    }),
                    _ => Call::Abort(LaneError::Stopped),
                };
                // SAFETY: the message was made with this entry point for the
                // operation in this slot, and each message is run once.
                #[allow(unsafe_code)]
                let ended = unsafe { run(slab.slot(slot), call, Some(&mut self.looks)) };
                self.count(key, ended, counts);
                ended
            }
        }
    }

    #[inline]
    pub(super) fn count(&mut self, key: LaneKey, ended: Ended, counts: &mut BatchCounts) {
        match ended {
            Ended::Ran => counts.completed += 1,
            Ended::Aborted => counts.aborted += 1,
            Ended::Panicked => {
                counts.panicked += 1;
                self.panicked(Some(key));
            }
            // Counted when it is done.
            Ended::Waits => {}
        }
    }

    /// Runs a command that came without a ring; a watched one has waited for
    /// nothing, and the clock tells how long it ran.
    #[inline]
    fn run_direct(
        &mut self,
        command: &D::Command,
        now: Nanos,
        clock: &impl Clock,
        counts: &mut BatchCounts,
    ) {
        if !self.hooks.sample() {
            self.run_command(command, now, counts);
            return;
        }
        let begun = clock.now();
        let ran = self.run_command(command, now, counts);
        let ran_ns = if ran { clock.now().since(begun) } else { 0 };
        self.hooks
            .tell(|hooks| hooks.on_complete(D::key(command), ran_ns));
    }

    #[inline]
    fn run_command(&mut self, command: &D::Command, now: Nanos, counts: &mut BatchCounts) -> bool {
        let Some(driver) = &mut self.driver else {
            counts.aborted += 1;
            return false;
        };
        if self.gate.admission.phase() == Phase::Hard {
            counts.aborted += 1;
            if !fenced(|| driver.aborted(command, now)) {
                self.panicked(None);
            }
            return false;
        }
        if fenced(|| driver.command(command, now)) {
            counts.completed += 1;
        } else {
            counts.panicked += 1;
            self.panicked(Some(D::key(command)));
        }
        true
    }

    /// Ends what a wrapper sent.
    pub(super) fn run_node(&mut self, slot: Slot, now: Nanos, counts: &mut BatchCounts) {
        Tally::add(&self.gate.tally.direct, 1);
        let abort = self.gate.admission.phase() == Phase::Hard;
        let node = SentNode(slot);
        let ran = self
            .driver
            .as_mut()
            .is_some_and(|driver| driver.run_node(node, now, abort));
        if ran {
            counts.completed += 1;
        } else {
            counts.aborted += 1;
        }
    }

    /// Whether the driver takes what waits in the rings; what a hard stop
    /// aborts, it does not run.
    #[inline]
    fn takes_work(&self) -> bool {
        self.gate.admission.phase() == Phase::Hard
            || self.driver.as_ref().is_none_or(LocalDriver::takes_work)
    }

    /// The driver's own turn; whether it got anything done.
    #[inline]
    fn own_turn(&mut self, now: Nanos, budget: usize) -> bool {
        let Some(driver) = &mut self.driver else {
            return false;
        };
        let mut worked = false;
        if !fenced(|| worked = driver.turn(now, budget)) {
            self.panicked(None);
        }
        worked
    }

    #[cold]
    pub(super) fn panicked(&mut self, key: Option<LaneKey>) {
        if let Some(driver) = &mut self.driver {
            // A driver that panics here has been told; nothing more to do.
            let _ = fenced(|| driver.panicked(key));
        }
    }

    /// Drops the driver, once, on its own thread (rule L26).
    fn release_driver(&mut self) {
        let driver = self.driver.take();
        fenced(|| drop(driver));
        self.finished = true;
        self.gate.finish();
    }
}

impl BatchCounts {
    #[inline]
    fn add_to(&self, tally: &Tally) {
        Tally::add(&tally.completed, self.completed);
        Tally::add(&tally.aborted, self.aborted);
        Tally::add(&tally.panicked, self.panicked);
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> Drop for Lane<D, O, C> {
    fn drop(&mut self) {
        if self.running.finished {
            return;
        }
        // Only this shard: the others live on.
        let shard = self.running.shard.0;
        self.running.gate.admission.raise(Phase::Hard);
        self.core.wake_submitters();
        // A submitter leaves a hard-stopped shard at once, unless it is this
        // very thread, inside a batch.
        let deadline = Instant::now().checked_add(Duration::from_secs(1));
        self.core.seal(shard, deadline);
        let engine = self.core.id;
        reentry::inside(engine, self.running.shard, || {
            // Not the engine's clock: it may be what this lane failed by.
            while self.take_batch(usize::MAX, Nanos::default()) > 0 {}
            self.finish(Nanos::default());
        });
        self.core.stopper.wake();
    }
}

impl<D: LocalDriver, O: Observer, C: Clock> fmt::Debug for Lane<D, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane")
            .field("shard", &self.running.shard)
            .field("gate", &self.running.gate)
            .finish_non_exhaustive()
    }
}
