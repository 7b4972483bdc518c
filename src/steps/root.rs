//! The root of an instance: built, executed once, cancelled when dropped.

use std::rc::Rc;

use super::compose::Level;
use super::error::{StepError, StepResult};
use super::event_loop::EventLoop;
use super::future::StepsFuture;
use super::pool::NIL;
use super::run::no_room;
use super::state::State;
use super::sync::{AccountLane, SyncRef};
use super::tables::{Hold, Pending, Phase, Status, SyncUse};
use super::values::Values;
use crate::types::AccountId;

/// A sequence of steps: owned, bound to one event loop, executed once.
///
/// Steps are added by the methods of [`Compose`](super::Compose). Dropping it
/// cancels it (rule S9); [`Self::detach`] lets it run on. It has no methods of
/// a running step:
///
/// ```compile_fail,E0599
/// # use pitlane::steps::{AsyncSteps, EventLoop, LoopLimits};
/// # use pitlane::time::SystemClock;
/// # let event_loop = EventLoop::new(SystemClock::new(), LoopLimits::default());
/// let mut root = AsyncSteps::new(&event_loop).unwrap();
/// root.success(());
/// ```
///
/// It cannot leave its thread:
///
/// ```compile_fail,E0277
/// # use pitlane::steps::{AsyncSteps, EventLoop, LoopLimits};
/// # use pitlane::time::SystemClock;
/// # let event_loop = EventLoop::new(SystemClock::new(), LoopLimits::default());
/// let root = AsyncSteps::new(&event_loop).unwrap();
/// std::thread::spawn(move || drop(root));
/// ```
#[must_use = "dropping it cancels it"]
pub struct AsyncSteps {
    event_loop: EventLoop,
    /// `NIL` once the instance runs without a handle.
    instance: u32,
    /// Where steps are added; `NIL` once it was executed or cancelled.
    frame: u32,
    state: Rc<State>,
    /// A step could not be added while it was built.
    violation: Option<StepError>,
}

impl AsyncSteps {
    /// An empty instance without a root state.
    ///
    /// # Errors
    /// `InternalError` when the event loop holds as many roots, flows or steps
    /// as it may.
    pub fn new(event_loop: &EventLoop) -> Result<Self, StepError> {
        let mut tables = event_loop.tables();
        let tables = &mut *tables;
        let max = tables.instances.max();
        let instance = tables
            .instances
            .take()
            .ok_or_else(|| no_room("roots", max))?;
        let Some(frame) = tables.new_frame(NIL, NIL) else {
            tables.instances.give(instance);
            return Err(no_room("steps", tables.frames.max()));
        };
        let Some(flow) = tables.new_flow(instance, frame, NIL) else {
            tables.frames.give(frame);
            tables.instances.give(instance);
            return Err(no_room("flows", tables.flows.max()));
        };
        tables.frames[frame].flow = flow;
        let place = &mut tables.instances[instance];
        place.flow = flow;
        place.phase = Phase::Building;
        Ok(Self {
            event_loop: event_loop.clone(),
            instance,
            frame,
            state: Rc::clone(&place.state),
            violation: None,
        })
    }

    /// An empty instance with a root state (rule S7), which steps get from
    /// [`State::root`].
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with_state<T: 'static>(event_loop: &EventLoop, root: T) -> Result<Self, StepError> {
        let made = Self::new(event_loop)?;
        made.state.set_root(root);
        Ok(made)
    }

    pub(super) fn inheriting(event_loop: &EventLoop, from: u32) -> Result<Self, StepError> {
        let made = Self::new(event_loop)?;
        let mut tables = event_loop.tables();
        let place = &tables.instances[from];
        let trace = place.catch_trace.clone();
        let unhandled = place.unhandled_error.clone();
        let cancel = place.cancel_handler.clone();
        let place = &mut tables.instances[made.instance];
        place.catch_trace = trace;
        place.unhandled_error = unhandled;
        place.cancel_handler = cancel;
        drop(tables);
        Ok(made)
    }

    /// A new instance that inherits this one's handlers, not its state.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn new_instance(&self) -> Result<Self, StepError> {
        Self::inheriting(&self.event_loop, self.instance)
    }

    /// Runs the instance on an account's lane: from [`Self::execute`] to its
    /// end no other instance does. To be called before `execute`.
    pub fn on_account(&mut self, account: AccountId) -> &mut Self {
        self.event_loop.tables().instances[self.instance].account = Some(account);
        self
    }

    /// Sets what is called with every error that is caught (rule S6).
    pub fn set_catch_trace(&mut self, trace: impl Fn(&StepError) + 'static) -> &mut Self {
        let old = {
            let mut tables = self.event_loop.tables();
            let place = &mut tables.instances[self.instance];
            place.catch_trace.replace(Rc::new(trace))
        };
        self.event_loop.discard(old);
        self
    }

    /// Sets what is called with an error that nothing handled (rule S6). A
    /// future that awaits the instance takes the error instead.
    pub fn set_unhandled_error(&mut self, handler: impl Fn(&StepError) + 'static) -> &mut Self {
        let old = {
            let mut tables = self.event_loop.tables();
            let place = &mut tables.instances[self.instance];
            place.unhandled_error.replace(Rc::new(handler))
        };
        self.event_loop.discard(old);
        self
    }

    /// Sets what is called when the instance was cancelled, after its steps'
    /// cancel handlers.
    pub fn set_cancel_handler(&mut self, handler: impl Fn() + 'static) -> &mut Self {
        let old = {
            let mut tables = self.event_loop.tables();
            let place = &mut tables.instances[self.instance];
            place.cancel_handler.replace(Rc::new(handler))
        };
        self.event_loop.discard(old);
        self
    }

    /// Starts the instance: its first step runs in the event loop's next round,
    /// or when its account's lane is free. An empty one is over at once (rule S18).
    ///
    /// # Errors
    /// `InternalError` the second time, and when a step could not be added.
    /// `DefenseRejected` when the lane's queue is full; it may then be executed
    /// again later.
    pub fn execute(&mut self) -> StepResult {
        let (flow, frame, empty, account) = {
            let tables = self.event_loop.tables();
            let place = &tables.instances[self.instance];
            if place.phase != Phase::Building {
                return Err(StepError::internal(
                    "execute: the instance was executed or cancelled before",
                ));
            }
            let frame = tables.flows[place.flow].top;
            let empty = tables.frames[frame].first == NIL;
            (place.flow, frame, empty, place.account)
        };
        if let Some(violation) = &self.violation {
            return Err(violation.clone());
        }
        if empty {
            self.frame = NIL;
            self.event_loop.tables().instances[self.instance].phase = Phase::Ended;
            self.event_loop.cancel_flow(flow);
            self.event_loop.end_instance(self.instance, Ok(None));
            return Ok(());
        }
        if let Some(account) = account {
            self.take_lane(flow, frame, AccountLane(account))?;
        }
        self.frame = NIL;
        let mut tables = self.event_loop.tables();
        tables.instances[self.instance].phase = Phase::Running;
        if tables.frames[frame].status != Status::Waiting {
            // The root has no body of its own to begin with.
            tables.frames[frame].status = Status::Active;
            tables.schedule(flow);
        }
        Ok(())
    }

    fn take_lane(&self, flow: u32, frame: u32, lane: AccountLane) -> StepResult {
        self.event_loop.tables().extra_of(frame).sync = Some(SyncUse {
            object: SyncRef::from(lane),
            hold: Hold::Outside,
            entry: None,
        });
        let Some((object, entry)) = self.event_loop.ask(flow, frame) else {
            return Ok(());
        };
        let answer = object.enter(&self.event_loop, entry);
        self.event_loop.answer(frame, answer).inspect_err(|_| {
            let mut tables = self.event_loop.tables();
            tables.frames[frame].status = Status::Fresh;
            tables.extra_of(frame).sync = None;
        })
    }

    /// Cancels the instance: cancel handlers from the innermost step outwards,
    /// no error handler, nothing afterwards (rule S9). From within one of its
    /// own bodies it acts when that returns. Again is nothing.
    pub fn cancel(&mut self) {
        self.frame = NIL;
        self.event_loop.cancel_instance(self.instance);
    }

    /// Lets the instance run to its end without this handle. One that was not
    /// executed is dropped.
    pub fn detach(mut self) {
        let runs = {
            let mut tables = self.event_loop.tables();
            let place = &mut tables.instances[self.instance];
            let runs = place.phase == Phase::Running;
            place.handle_gone = runs;
            runs
        };
        if runs {
            self.instance = NIL;
        }
    }

    /// Whether the instance is not over: being built, or running (rule S19).
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.event_loop.tables().instances[self.instance].phase != Phase::Ended
    }

    /// The state of the instance (rule S7); it stays when the instance is over.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The last error that was caught in the instance.
    #[must_use]
    pub fn last_error(&self) -> Option<StepError> {
        self.event_loop.tables().instances[self.instance]
            .last_error
            .clone()
    }

    /// The event loop that the instance is bound to.
    #[must_use]
    pub const fn event_loop(&self) -> &EventLoop {
        &self.event_loop
    }

    /// Executes the instance as a future of the values that its last step
    /// passes (rule S14). `IntoFuture` does the same for no values.
    pub fn into_future_of<A: Values>(mut self) -> StepsFuture<A> {
        self.event_loop.tables().instances[self.instance].awaited = true;
        let refused = self.execute().err();
        StepsFuture::new(self, refused)
    }

    pub(super) const fn instance(&self) -> u32 {
        self.instance
    }

    /// Where steps go; `NIL` once the instance was executed.
    #[inline]
    pub(super) fn root_level(&mut self) -> Level<'_> {
        if self.frame == NIL {
            self.added_late();
        }
        Level::new(&self.event_loop, self.frame, &mut self.violation)
    }

    /// A step was added after `execute`: the flow fails by it, if it runs.
    #[cold]
    fn added_late(&self) {
        let mut tables = self.event_loop.tables();
        let place = &tables.instances[self.instance];
        if place.phase == Phase::Running {
            let flow = place.flow;
            let error = StepError::internal("a step was added to a running instance");
            tables.flows[flow].pending.get_or_insert(Pending {
                error,
                noted: false,
            });
            tables.schedule(flow);
        }
    }
}

impl Drop for AsyncSteps {
    fn drop(&mut self) {
        if self.instance != NIL {
            self.event_loop.drop_instance(self.instance);
        }
    }
}

impl std::fmt::Debug for AsyncSteps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncSteps")
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}
