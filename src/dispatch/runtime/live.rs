//! The live loop: one bounded pass of callbacks before each batch of inputs
//! (rules R78 to R81).
//!
//! It never waits for callbacks and never lets them starve inputs or a stop: a pass
//! takes at most `DISPATCH_PASS` slots. An error of a pass ends the loop; then no
//! message is handled any more, and the latch stays for whoever disposes.
//!
//! A callback may need a resource that something unfinished holds, a report that is
//! being fetched, say. Off a boundary such a head waits, in its place, while inputs
//! go on and can end the hold; after `DISPATCH_HOLD_WAIT_NANOS_MAX` it is stalled.

use super::clock_watch::ClockWatch;
use crate::dispatch::{DispatchError, Dispatcher, Fatal, Position};
use crate::limits::{DISPATCH_HOLD_WAIT_NANOS_MAX, DISPATCH_PASS};
use crate::time::Nanos;

/// The steps of a start, in their order (rules R78, R81).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Startup {
    /// Instruments reach the cache.
    Instruments,
    /// Execution connects.
    Connect,
    /// Subscription commands are handled.
    Subscriptions,
    /// Components start, plug-ins too.
    Components,
    /// Events of the start itself are dispatched.
    SystemDispatch,
}

impl Startup {
    /// Every step, in order.
    pub const ALL: [Self; 5] = [
        Self::Instruments,
        Self::Connect,
        Self::Subscriptions,
        Self::Components,
        Self::SystemDispatch,
    ];
}

/// How a node spends the time between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Callbacks wait: let others run, and come back at once. No message is needed.
    Yield,
    /// There was nothing to do: as the node waits for its inputs.
    Idle,
}

/// What a live loop drives: the shard, with its engines, channels and clock.
///
/// The loop calls it only while it holds no borrow of a component; `inputs` and the
/// hooks must end their own borrows before they return (rule R73).
pub trait LiveNode<E> {
    /// Does one step of the start.
    ///
    /// # Errors
    /// What failed, for the log; the start ends.
    fn startup(&mut self, step: Startup, dispatcher: &Dispatcher<E>) -> Result<(), String>;

    /// Takes and handles one bounded batch of inputs, by the node's own priorities;
    /// how many.
    fn inputs(&mut self, dispatcher: &Dispatcher<E>) -> usize;

    /// Whether somebody asked for a stop.
    fn stop_requested(&self) -> bool;

    /// Stops components and engines; what they send waits.
    fn stop(&mut self, dispatcher: &Dispatcher<E>);

    /// Handles the messages that are left after a stop; how many.
    fn residual(&mut self, dispatcher: &Dispatcher<E>) -> usize;

    /// Drops all messages unhandled, and command batches, each under its root.
    fn discard(&mut self);

    /// Disposes of engines and components; no borrow of them is left afterwards.
    fn dispose(&mut self, dispatcher: &Dispatcher<E>);

    /// Spends the time between two turns.
    fn pause(&mut self, pause: Pause);

    /// The monotonic time.
    fn now(&self) -> Nanos;
}

/// How a turn went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Callbacks wait for the next turn.
    pub pending: bool,
    /// Inputs that were handled.
    pub inputs: usize,
}

/// Why a loop ended before it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoopError {
    /// A step of the start failed; the node was stopped and its messages dropped.
    #[error("the start failed at {step:?}: {reason}")]
    Startup {
        /// Which.
        step: Startup,
        /// As the node told it.
        reason: String,
    },
    /// A pass failed; the node was stopped and its messages dropped.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
}

impl From<Fatal> for LoopError {
    fn from(fatal: Fatal) -> Self {
        Self::Dispatch(fatal.into())
    }
}

/// The loop's own state, beside the dispatcher and the node.
#[derive(Debug, Default)]
pub struct LiveLoop {
    clock: ClockWatch,
    /// Which head is waiting for a resource, and since when.
    waiting: Option<(Position, Nanos)>,
}

impl LiveLoop {
    /// A loop that has not run.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One turn: a bounded pass of callbacks, then a batch of inputs. A shard that
    /// has a loop of its own calls this instead of [`LiveLoop::run`] (rule R79: its
    /// channels are kept, whatever comes back).
    ///
    /// # Errors
    /// The pass failed; no input was taken. The latch stays.
    pub fn turn<E: 'static, N: LiveNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<Turn, DispatchError> {
        let now = node.now();
        self.clock.see(now, dispatcher)?;
        self.pass(dispatcher, now)?;
        let inputs = node.inputs(dispatcher);
        Ok(Turn {
            pending: dispatcher.queued() > 0,
            inputs,
        })
    }

    /// Sees the time; one that went back halts the dispatcher.
    ///
    /// # Errors
    /// [`Fatal::ClockWentBack`].
    pub fn see<E: 'static>(&mut self, dispatcher: &Dispatcher<E>, now: Nanos) -> Result<(), Fatal> {
        self.clock.see(now, dispatcher)
    }

    /// One bounded pass; whether callbacks are left. While a held resource keeps the head waiting this is no
    /// boundary: the hold may end; but it has to, in time.
    ///
    /// # Errors
    /// The pass failed; the latch stays.
    pub fn pass<E: 'static>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        now: Nanos,
    ) -> Result<bool, DispatchError> {
        let pass = dispatcher.boundary_beside_holds(DISPATCH_PASS)?;
        let Some(head) = pass.waiting else {
            self.waiting = None;
            return Ok(pass.pending);
        };
        match self.waiting {
            Some((same, since)) if same == head => {
                if now.since(since) >= DISPATCH_HOLD_WAIT_NANOS_MAX {
                    return dispatcher.boundary(1); // It is stalled, and this says so.
                }
            }
            _ => self.waiting = Some((head, now)),
        }
        Ok(true)
    }

    /// Starts the node, turns until a stop is asked for, and stops it: then what the
    /// stop generated is dispatched, and its callbacks are drained. Nothing is closed
    /// or cleared; [`LiveLoop::dispose`] does that (rule R80).
    ///
    /// # Errors
    /// The start or a pass failed. The node was stopped, nothing more was dispatched,
    /// and its messages were dropped; the latch stays (rule R79).
    pub fn run<E: 'static, N: LiveNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<(), LoopError> {
        let done = self
            .start(dispatcher, node)
            .and_then(|()| self.turns(dispatcher, node));
        node.stop(dispatcher);
        let done = done.and_then(|()| self.finish(dispatcher, node));
        if done.is_err() {
            node.discard();
        }
        done
    }

    fn start<E: 'static, N: LiveNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<(), LoopError> {
        for step in Startup::ALL {
            let started = node.startup(step, dispatcher);
            started.map_err(|reason| LoopError::Startup { step, reason })?;
        }
        Ok(())
    }

    fn turns<E: 'static, N: LiveNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<(), LoopError> {
        while !node.stop_requested() {
            let turn = self.turn(dispatcher, node)?;
            if turn.pending {
                node.pause(Pause::Yield);
            } else if turn.inputs == 0 {
                node.pause(Pause::Idle);
            }
        }
        Ok(())
    }

    /// After a normal stop: messages, and the callbacks that they and the stop left.
    /// Author code of stopped components is silent; maintenance is not, and every
    /// component that still runs is told of everything.
    fn finish<E: 'static, N: LiveNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<(), LoopError> {
        loop {
            let handled = node.residual(dispatcher);
            // What a pass delivers may send: only a round that finds nothing is the last.
            let is_last = handled == 0 && dispatcher.queued() == 0;
            let now = node.now();
            self.clock.see(now, dispatcher)?;
            let pending = self.pass(dispatcher, now)?;
            if is_last {
                return Ok(());
            }
            if pending {
                node.pause(Pause::Yield);
            }
        }
    }

    /// Ends a node for good: its engines, then its messages, undelivered, then the
    /// dispatcher's storage. The failure that was latched, for the log; it is gone
    /// from the dispatcher afterwards.
    ///
    /// # Errors
    /// What was latched, and [`DispatchError::Active`]: a scope or a root is still
    /// owned outside. Everything else is done; end that, and dispose again.
    pub fn dispose<E: 'static, N: LiveNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<Option<Fatal>, (Option<Fatal>, DispatchError)> {
        node.dispose(dispatcher);
        node.discard();
        let latched = dispatcher.failure();
        dispatcher
            .clear()
            .map(|()| latched)
            .map_err(|error| (latched, error))
    }
}
