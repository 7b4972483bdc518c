//! The simulated loop: everything that an input or a timer causes is done before
//! time moves on (rules R74 to R77).

use super::clock_watch::ClockWatch;
use crate::dispatch::{DispatchError, Dispatcher, Fatal};
use crate::limits::{DISPATCH_PASS, DISPATCH_SETTLE_ROUNDS_MAX};
use crate::time::Nanos;

/// What a simulated loop drives: engines, a simulated venue, timers and inputs.
///
/// The loop calls it only while it holds no borrow; each method must end its own
/// before it returns, the venue's above all (rule R76).
pub trait SimNode<E> {
    /// Starts engines and components.
    ///
    /// # Errors
    /// What failed; the run ends, and commands are dropped.
    fn start(&mut self, dispatcher: &Dispatcher<E>) -> Result<(), String>;

    /// Processes the data commands that wait, one collected batch; how many.
    fn data_commands(&mut self, dispatcher: &Dispatcher<E>) -> usize;

    /// Processes the trading commands that wait, one collected batch, and what the
    /// venue then says; how many of both.
    fn trading_commands(&mut self, dispatcher: &Dispatcher<E>) -> usize;

    /// When the next timer is due.
    fn next_timer(&mut self) -> Option<Nanos>;

    /// When the next input comes.
    fn next_input(&mut self) -> Option<Nanos>;

    /// Fires one timer that is due.
    fn fire_timer(&mut self, dispatcher: &Dispatcher<E>);

    /// Handles one input.
    fn input(&mut self, dispatcher: &Dispatcher<E>);

    /// Moves the clock; never back.
    fn advance(&mut self, to: Nanos);

    /// The monotonic time.
    fn now(&self) -> Nanos;

    /// Stops engines and components.
    fn stop(&mut self, dispatcher: &Dispatcher<E>);

    /// Drops the commands that wait, each under its root.
    fn discard(&mut self);
}

/// Why a simulation ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The start failed.
    #[error("the start failed: {0}")]
    Startup(String),
    /// A pass failed.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// Commands send commands, or timers and inputs are due, without an end;
    /// callbacks would have latched a runaway.
    #[error("settlement at {at:?} has no end: after {rounds} rounds something is still due")]
    Unsettled {
        /// The simulated time.
        at: Nanos,
        /// How many rounds it took.
        rounds: u64,
    },
    /// The run is over, but a scope or a root is still owned outside.
    #[error("the simulation is over, but its callbacks cannot be cleared: {0}")]
    Unclear(DispatchError),
}

impl From<Fatal> for SimError {
    fn from(fatal: Fatal) -> Self {
        Self::Dispatch(fatal.into())
    }
}

/// The loop's own state, beside the dispatcher and the node.
#[derive(Debug, Default)]
pub struct SimLoop {
    clock: ClockWatch,
}

impl SimLoop {
    /// A loop that has not run.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs until there is neither an input nor a timer, settles what is left, stops
    /// the node, settles again and clears the dispatcher. Timers fire before an input
    /// of the same time.
    ///
    /// # Errors
    /// The run was aborted: the node was stopped, its commands were dropped, and then
    /// the dispatcher was cleared, as far as nothing outside owns a root (rule R77).
    pub fn run<E: 'static, N: SimNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<(), SimError> {
        let done = self.run_to_the_end(dispatcher, node);
        if done.is_err() {
            self.abort(dispatcher, node);
        }
        done?;
        dispatcher.clear().map_err(SimError::Unclear)
    }

    fn run_to_the_end<E: 'static, N: SimNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<(), SimError> {
        node.start(dispatcher).map_err(SimError::Startup)?;
        self.settle_startup(dispatcher, node)?;
        // A timer that is due again at once, without an end, would keep time still.
        let (mut since, mut steps) = (node.now(), 0);
        while self.step(dispatcher, node)? {
            let now = node.now();
            (since, steps) = if now == since {
                (since, steps + 1)
            } else {
                (now, 0)
            };
            if steps >= DISPATCH_SETTLE_ROUNDS_MAX {
                return Err(SimError::Unsettled {
                    at: now,
                    rounds: steps,
                });
            }
        }
        self.settle(dispatcher, node)?;
        node.stop(dispatcher);
        self.settle(dispatcher, node)
    }

    /// Stops, drops the commands that wait, and clears what can be cleared: for a
    /// failed run, a reset and a disposal.
    pub fn abort<E: 'static, N: SimNode<E>>(&mut self, dispatcher: &Dispatcher<E>, node: &mut N) {
        node.stop(dispatcher);
        node.discard();
        // Roots that are owned outside are the owner's to end; the latch tells why.
        let _ = dispatcher.clear();
    }

    /// Goes to the next timer or input, handles it, and settles; whether there was one.
    ///
    /// # Errors
    /// A pass failed, the clock went back, or settlement has no end.
    pub fn step<E: 'static, N: SimNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<bool, SimError> {
        let (timer, input) = (node.next_timer(), node.next_input());
        let Some(at) = timer.into_iter().chain(input).min() else {
            return Ok(false);
        };
        let now = node.now();
        if at > now {
            node.advance(at);
        }
        self.clock.see(node.now(), dispatcher)?;
        if timer == Some(at) {
            node.fire_timer(dispatcher);
        } else {
            node.input(dispatcher);
        }
        self.settle(dispatcher, node)?;
        Ok(true)
    }

    /// Data commands and callbacks, until neither is left; trading commands wait
    /// (rule R74).
    fn settle_startup<E: 'static, N: SimNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<(), SimError> {
        self.rounds(dispatcher, node, N::data_commands)
    }

    /// Commands and callbacks, until neither is left (rule R75).
    ///
    /// # Errors
    /// A pass failed, or there is no end.
    pub fn settle<E: 'static, N: SimNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
    ) -> Result<(), SimError> {
        self.rounds(dispatcher, node, |node, dispatcher| {
            node.data_commands(dispatcher) + node.trading_commands(dispatcher)
        })
    }

    fn rounds<E: 'static, N: SimNode<E>>(
        &mut self,
        dispatcher: &Dispatcher<E>,
        node: &mut N,
        commands: impl Fn(&mut N, &Dispatcher<E>) -> usize,
    ) -> Result<(), SimError> {
        for _ in 0..DISPATCH_SETTLE_ROUNDS_MAX {
            let processed = commands(node, dispatcher);
            // What a pass delivers may send: only a round that finds nothing is the last.
            let is_last = processed == 0 && dispatcher.queued() == 0;
            dispatcher.boundary(DISPATCH_PASS)?;
            if is_last {
                return Ok(());
            }
        }
        Err(SimError::Unsettled {
            at: node.now(),
            rounds: DISPATCH_SETTLE_ROUNDS_MAX,
        })
    }
}
