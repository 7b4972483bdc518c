//! How an error unwinds a flow (rules S4 to S6), and how a time limit raises one.
//!
//! Per level, innermost first: sub-steps are dropped, the time limit is
//! disarmed, the cancel handler is called, then the error handler; each handler
//! at most once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::error::{ErrorCallback, StepError, codes};
use super::event_loop::EventLoop;
use super::pool::NIL;
use super::step::{Call, Step, Verdict};
use super::tables::{Hold, Kind, Pending, Status, Work};

/// What a level made of an error.
enum Level {
    /// The error goes on upwards: the same, or another.
    Passes(StepError),
    /// The flow goes on.
    Caught,
    /// The instance was cancelled meanwhile; nothing is left to be done here.
    Cancelled,
}

impl EventLoop {
    /// Raises an error at the flow's innermost step. `noted` says that it was
    /// traced before, in the child flow that it comes from.
    pub(super) fn raise(&self, flow: u32, mut error: StepError, noted: bool) {
        let unused = self.tables().flows[flow].values.take();
        self.discard(unused);
        if noted {
            self.remember(flow, &error);
        } else {
            self.note(flow, &error);
        }
        loop {
            let top = self.tables().flows[flow].top;
            if top == NIL {
                self.tables().flows[flow].pending = Some(Pending { error, noted: true });
                return;
            }
            match self.unwind_level(flow, top, error) {
                Level::Passes(passed) => error = passed,
                Level::Caught | Level::Cancelled => return,
            }
        }
    }

    fn unwind_level(&self, flow: u32, top: u32, error: StepError) -> Level {
        let mut error = error;
        self.drop_sub_steps(top);
        self.cancel_children(top);
        let (future, kind, on_cancel) = {
            let mut tables = self.tables();
            tables.disarm(top);
            tables.forget_wait(top);
            let on_cancel = tables
                .extra_mut(top)
                .and_then(|extra| extra.on_cancel.take());
            let frame = &mut tables.frames[top];
            frame.status = Status::Active;
            let kind = std::mem::take(&mut frame.kind);
            let future = match std::mem::take(&mut frame.work) {
                Work::Future { future, slot } => Some((future, slot)),
                work => {
                    frame.work = work;
                    None
                }
            };
            (future, kind, on_cancel)
        };
        if let Some((future, slot)) = future {
            self.end_future(future, slot);
        }
        if let Some(on_cancel) = on_cancel {
            let state = self.state_of(flow);
            let mut step = Step::new(self, &state, flow, top, Call::Cancel);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| on_cancel.call(&mut step))) {
                error = StepError::panicked(&*panic);
                self.note(flow, &error);
            }
        }
        if self.is_cancelled(flow) {
            return Level::Cancelled;
        }
        if kind == Kind::Loop && self.is_for_loop(top, &error) {
            if error.is(codes::LOOP_CONT) {
                self.tables().frames[top].kind = Kind::Loop;
            } else {
                self.end_top(flow, top);
            }
            return Level::Caught;
        }
        self.handle(flow, top, error)
    }

    /// Calls the level's error handler, if it has one that applies.
    fn handle(&self, flow: u32, top: u32, error: StepError) -> Level {
        let handler = {
            let mut tables = self.tables();
            // A synchronized step's handler runs inside, or not at all.
            let outside = tables
                .extra(top)
                .and_then(|extra| extra.sync.as_ref())
                .is_some_and(|sync| sync.hold != Hold::Inside);
            if outside {
                None
            } else {
                tables.frames[top].on_error.take()
            }
        };
        let Some(handler) = handler else {
            self.end_top(flow, top);
            return Level::Passes(error);
        };
        let state = self.state_of(flow);
        let mut step = Step::new(self, &state, flow, top, Call::Handler);
        let result = catch_unwind(AssertUnwindSafe(|| handler.call(&mut step, &error)));
        let success = step.succeeded();
        let verdict = step.verdict(result);
        if self.is_cancelled(flow) {
            return Level::Cancelled;
        }
        match verdict {
            Verdict::SubSteps => Level::Caught,
            Verdict::Done if success => {
                self.end_top(flow, top);
                Level::Caught
            }
            Verdict::Done | Verdict::Waits => {
                self.end_top(flow, top);
                Level::Passes(error)
            }
            Verdict::Failed(changed) => {
                self.drop_sub_steps(top);
                let unused = self.tables().flows[flow].values.take();
                self.discard(unused);
                self.note(flow, &changed);
                self.end_top(flow, top);
                Level::Passes(changed)
            }
        }
    }

    /// Whether a loop's frame answers to a `LoopBreak` or `LoopCont`.
    fn is_for_loop(&self, frame: u32, error: &StepError) -> bool {
        if !error.is(codes::LOOP_BREAK) && !error.is(codes::LOOP_CONT) {
            return false;
        }
        let tables = self.tables();
        let label = tables.extra(frame).and_then(|extra| extra.label.as_deref());
        error.info().is_empty() || label == Some(error.info())
    }

    /// A time limit passed: raises `Timeout` at the flow's innermost step.
    pub(super) fn time_out(&self, flow: u32, frame: u32, id: u64) {
        let instance = {
            let mut tables = self.tables();
            let Some(extra) = tables.extra_mut(frame) else {
                return;
            };
            extra.timer = None;
            let index = tables.flows[flow].instance;
            tables.instances[index].running = true;
            tables.current = flow;
            index
        };
        self.catch_up(flow);
        let armed = |extra: &super::tables::Extra| extra.limit_id == id;
        let still = !self.is_cancelled(flow) && self.tables().extra(frame).is_some_and(armed);
        if still {
            self.raise(flow, StepError::new(codes::TIMEOUT), false);
        }
        {
            let mut tables = self.tables();
            tables.current = NIL;
            tables.schedule(flow);
        }
        self.leave_instance(instance);
    }

    /// Applies what happened to the flow before now: an error that waits for
    /// its turn, completions, and the ends that follow from them.
    fn catch_up(&self, flow: u32) {
        let pending = {
            let mut tables = self.tables();
            if tables.flows[flow].top == NIL {
                return;
            }
            tables.flows[flow].pending.take()
        };
        if let Some(Pending { error, noted }) = pending {
            self.raise(flow, error, noted);
        }
        loop {
            let top = {
                let tables = self.tables();
                let top = tables.flows[flow].top;
                if top == NIL {
                    return;
                }
                let frame = &tables.frames[top];
                let over = match frame.status {
                    Status::Completed => true,
                    Status::Fresh | Status::Waiting => false,
                    Status::Active => match frame.kind {
                        Kind::Loop => false,
                        Kind::Plain => frame.first == NIL,
                        Kind::Parallel => tables.first_child(top) == NIL,
                    },
                };
                if !over {
                    return;
                }
                top
            };
            self.end_top(flow, top);
        }
    }

    /// Keeps an error as the instance's last, and calls its tracer.
    pub(super) fn note(&self, flow: u32, error: &StepError) {
        if let Some(trace) = self.remember(flow, error) {
            self.guard(|| trace(error));
            self.discard(trace);
        }
    }

    fn remember(&self, flow: u32, error: &StepError) -> Option<ErrorCallback> {
        let mut tables = self.tables();
        let index = tables.flows[flow].instance;
        let instance = &mut tables.instances[index];
        instance.last_error = Some(error.clone());
        instance.error_info = error.info_cow();
        instance.catch_trace.clone()
    }

    pub(super) fn state_of(&self, flow: u32) -> Rc<super::state::State> {
        let tables = self.tables();
        Rc::clone(&tables.instances[tables.flows[flow].instance].state)
    }

    fn is_cancelled(&self, flow: u32) -> bool {
        let tables = self.tables();
        tables.instances[tables.flows[flow].instance].cancel_requested
    }
}
