//! What a flow's next move is, when it is no plain step: it goes on, waits, ends
//! or gives way.
//!
//! No table is borrowed while code of the user runs, drops included.

use std::cell::RefMut;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use super::erased::{Body, ErasedValue, PinnedFuture};
use super::error::StepError;
use super::event_loop::EventLoop;
use super::pool::NIL;
use super::ready::Round;
use super::state::State;
use super::step::{Call, Step, Verdict};
use super::tables::{Hold, Kind, Pending, Phase, Status, Tables, Work};
use super::values::Passed;

/// What one move of a flow came to.
pub(super) enum Pace {
    /// A step ran.
    Ran,
    /// Nothing of the user's ran; go on.
    Moved,
    /// Steps ran, and were counted, until the stretch was over.
    Swept,
    /// The flow gives way.
    Yielded,
    /// The flow waits or is over.
    Stopped,
}

/// The flow that runs: fixed for a burst.
pub(super) struct Running<'a> {
    pub(super) flow: u32,
    pub(super) instance: u32,
    pub(super) state: &'a State,
}

impl EventLoop {
    /// The flow's next move.
    pub(super) fn advance(&self, running: &Running<'_>) -> Pace {
        let flow = running.flow;
        let mut tables = self.tables();
        loop {
            if tables.instances[running.instance].cancel_requested {
                return Pace::Stopped;
            }
            let top = tables.flows[flow].top;
            if top == NIL {
                drop(tables);
                self.finish(flow);
                return Pace::Stopped;
            }
            if let Some(Pending { error, noted }) = tables.flows[flow].pending.take() {
                drop(tables);
                self.raise(flow, error, noted);
                return Pace::Moved;
            }
            match tables.frames[top].status {
                Status::Waiting => return Pace::Stopped,
                Status::Fresh => return self.begin(tables, running, top),
                Status::Completed => {
                    if !pop(&mut tables, flow, top) {
                        drop(tables);
                        self.end_top(flow, top);
                        return Pace::Moved;
                    }
                }
                Status::Active => {
                    if let Some(child) = tables.detach_first(top) {
                        tables.frames[child].flow = flow;
                        tables.flows[flow].top = child;
                        return self.begin(tables, running, child);
                    }
                    match tables.frames[top].kind {
                        Kind::Loop => return self.iterate(tables, running, top),
                        Kind::Parallel if tables.first_child(top) != NIL => return Pace::Stopped,
                        Kind::Plain | Kind::Parallel => {
                            if !pop(&mut tables, flow, top) {
                                drop(tables);
                                self.end_top(flow, top);
                                return Pace::Moved;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Takes up the work of a frame.
    fn begin(&self, mut tables: RefMut<'_, Tables>, running: &Running<'_>, top: u32) -> Pace {
        if tables.frames[top].extra != NIL
            && let Some(sync) = tables.extra(top).and_then(|extra| extra.sync.as_ref())
            && sync.hold == Hold::Outside
        {
            drop(tables);
            return self.enter(running, top);
        }
        let frame = &mut tables.frames[top];
        frame.status = Status::Active;
        if !frame.body.is_empty() {
            return self.run_body(tables, running, top);
        }
        match std::mem::take(&mut frame.work) {
            work @ Work::Loop(_) => {
                frame.work = work;
                frame.kind = Kind::Loop;
                Pace::Moved
            }
            Work::Future { future, slot } => self.poll(tables, running, top, future, slot),
            Work::Relinquish => {
                drop(tables);
                self.end_top(running.flow, top);
                Pace::Yielded
            }
            Work::Pass(value) => {
                let old = tables.flows[running.flow].values.replace(value);
                drop(tables);
                self.discard(old);
                self.end_top(running.flow, top);
                Pace::Ran
            }
            Work::None if tables.frames[top].kind == Kind::Parallel => {
                self.fan_out(tables, running, top)
            }
            Work::None => Pace::Moved,
        }
    }

    fn run_body(&self, mut tables: RefMut<'_, Tables>, running: &Running<'_>, top: u32) -> Pace {
        let mut passed = tables.flows[running.flow].values.take();
        let mut step = Step::new(self, running.state, running.flow, top, Call::Body);
        let body = RefMut::map(tables, |tables| &mut tables.frames[top].body);
        let call = || Body::call(body, &mut step, &mut passed);
        let result = catch_unwind(AssertUnwindSafe(call));
        let verdict = step.verdict(result);
        self.settle(running, top, verdict)
    }

    /// Draws the conclusion from what a body did.
    pub(super) fn settle(&self, running: &Running<'_>, top: u32, verdict: Verdict) -> Pace {
        match verdict {
            Verdict::Done => {
                let mut tables = self.tables();
                if !pop(&mut tables, running.flow, top) {
                    drop(tables);
                    self.end_top(running.flow, top);
                }
            }
            Verdict::SubSteps => {}
            Verdict::Waits => {
                let mut tables = self.tables();
                // Completed or failed from outside while its body ran.
                let over = tables.frames[top].status == Status::Completed
                    || tables.flows[running.flow].pending.is_some();
                if !over {
                    tables.frames[top].status = Status::Waiting;
                }
            }
            Verdict::Failed(error) => {
                let cancelled = {
                    let mut tables = self.tables();
                    // The body's own error is told, not what came on top of it.
                    tables.flows[running.flow].pending = None;
                    tables.instances[running.instance].cancel_requested
                };
                if !cancelled {
                    self.raise(running.flow, error, false);
                }
            }
        }
        Pace::Ran
    }

    /// Runs a loop's next iteration, in a frame of its own.
    fn iterate(&self, mut tables: RefMut<'_, Tables>, running: &Running<'_>, top: u32) -> Pace {
        let unused = tables.flows[running.flow].values.take();
        let Some(frame) = tables.new_frame(running.flow, top) else {
            let max = tables.frames.max();
            drop(tables);
            self.discard(unused);
            self.raise(running.flow, no_room("steps", max), false);
            return Pace::Ran;
        };
        tables.frames[frame].status = Status::Active;
        tables.flows[running.flow].top = frame;
        let Work::Loop(mut body) = std::mem::take(&mut tables.frames[top].work) else {
            unreachable!("a loop keeps its body between iterations")
        };
        drop(tables);
        if unused.is_some() {
            self.discard(unused);
        }
        let mut step = Step::new(self, running.state, running.flow, frame, Call::Body);
        let result = catch_unwind(AssertUnwindSafe(|| body.call(&mut step)));
        self.tables().frames[top].work = Work::Loop(body);
        let result = match result {
            Ok(None) => {
                self.end_top(running.flow, frame);
                self.end_top(running.flow, top);
                return Pace::Ran;
            }
            Ok(Some(result)) => Ok(result),
            Err(panic) => Err(panic),
        };
        let verdict = step.verdict(result);
        self.settle(running, frame, verdict)
    }

    /// Starts the children of a parallel step, in order.
    fn fan_out(&self, mut tables: RefMut<'_, Tables>, running: &Running<'_>, top: u32) -> Pace {
        let unused = tables.flows[running.flow].values.take();
        let mut failed = None;
        while let Some(child) = tables.detach_first(top) {
            tables.frames[child].parent = NIL;
            let Some(flow) = tables.new_flow(running.instance, child, top) else {
                let max = tables.flows.max();
                // Back among the sub-steps, which unwinding drops.
                tables.frames[child].parent = top;
                tables.frames[child].next = tables.frames[top].first;
                tables.frames[top].first = child;
                failed = Some(no_room("flows", max));
                break;
            };
            tables.frames[child].flow = flow;
            tables.link_child(top, flow);
            tables.enqueue(flow, Round::Next);
        }
        drop(tables);
        self.discard(unused);
        if let Some(error) = failed {
            self.raise(running.flow, error, false);
        }
        Pace::Ran
    }

    /// Polls a future; called with its frame `Active` and its work taken out.
    fn poll(
        &self,
        mut tables: RefMut<'_, Tables>,
        running: &Running<'_>,
        top: u32,
        mut future: PinnedFuture,
        slot: u32,
    ) -> Pace {
        let unused = tables.flows[running.flow].values.take();
        let place = &mut tables.futures[slot];
        (place.flow, place.frame) = (running.flow, top);
        let waker = place.waker.clone();
        drop(tables);
        self.discard(unused);
        let waker = waker.unwrap_or_else(|| std::task::Waker::noop().clone());
        let mut context = Context::from_waker(&waker);
        let result = catch_unwind(AssertUnwindSafe(|| future.poll(&mut context)))
            .unwrap_or_else(|panic| Poll::Ready(Err(StepError::panicked(&*panic))));
        match result {
            Poll::Pending => {
                let mut tables = self.tables();
                let frame = &mut tables.frames[top];
                frame.work = Work::Future { future, slot };
                frame.status = Status::Waiting;
            }
            Poll::Ready(Ok(values)) => {
                self.end_future(future, slot);
                self.tables().flows[running.flow].values = values;
                self.end_top(running.flow, top);
            }
            Poll::Ready(Err(error)) => {
                self.end_future(future, slot);
                self.raise(running.flow, error, false);
            }
        }
        Pace::Ran
    }

    /// Drops a future, and frees its slot.
    pub(super) fn end_future(&self, future: PinnedFuture, slot: u32) {
        let block = self.guard(|| future.clear());
        let mut tables = self.tables();
        let place = &mut tables.futures[slot];
        (place.block, place.frame) = (block, NIL);
        tables.futures.give(slot);
    }

    /// What a root's flow, or a child's, came to.
    fn finish(&self, flow: u32) {
        let (instance, parent, values, failed) = {
            let mut tables = self.tables();
            tables.unschedule(flow);
            let place = &mut tables.flows[flow];
            let plain = place.values.is_none() && place.pending.is_none();
            if plain && place.parent_frame == NIL {
                // The common end: nothing to hand to anybody but a future.
                let instance = place.instance;
                place.id = 0;
                tables.flows.give(flow);
                tables.instances[instance].phase = Phase::Ended;
                if tables.instances[instance].awaited {
                    drop(tables);
                    self.end_instance(instance, Ok(None));
                }
                return;
            }
            let (parent, values) = (place.parent_frame, place.values.take());
            let (instance, failed) = (place.instance, place.pending.take());
            if parent != NIL {
                tables.unlink_child(parent, flow);
            } else {
                tables.instances[instance].phase = Phase::Ended;
            }
            tables.flows[flow].id = 0;
            tables.flows.give(flow);
            (
                instance,
                parent,
                values,
                failed.map(|pending| pending.error),
            )
        };
        if parent == NIL {
            self.end_instance(instance, failed.map_or(Ok(values), Err));
        } else {
            self.child_ended(parent, values, failed);
        }
    }

    /// Hands a child's outcome to its parallel step.
    fn child_ended(&self, frame: u32, values: Option<ErasedValue>, failed: Option<StepError>) {
        let (error, noted) = match failed {
            Some(error) => (error, true),
            None if values.is_some() => {
                self.discard(values);
                let error = StepError::internal("a child of a parallel step ended with values");
                (error, false)
            }
            None => {
                let mut tables = self.tables();
                if tables.first_child(frame) == NIL {
                    let flow = tables.frames[frame].flow;
                    tables.schedule(flow);
                }
                return;
            }
        };
        self.cancel_children(frame);
        let mut tables = self.tables();
        let flow = tables.frames[frame].flow;
        tables.flows[flow].pending = Some(Pending { error, noted });
        tables.schedule(flow);
    }

    /// Delivers a root's outcome: to the future that takes it, or, if it is an
    /// error, to the unhandled-error handler.
    pub(super) fn end_instance(&self, instance: u32, outcome: Result<Passed, StepError>) {
        let mut tables = self.tables();
        let place = &mut tables.instances[instance];
        if place.awaited {
            place.outcome = Some(outcome);
            let waker = place.waker.take();
            drop(tables);
            self.guard(|| waker.map(std::task::Waker::wake));
            return;
        }
        match outcome {
            Ok(None) => {}
            Ok(values) => {
                drop(tables);
                self.discard(values);
            }
            Err(error) => {
                let handler = place.unhandled_error.clone();
                drop(tables);
                if let Some(handler) = handler {
                    self.guard(|| handler(&error));
                    self.discard(handler);
                }
            }
        }
    }
}

/// Ends a frame that has nothing to drop; false when it has.
#[inline]
pub(super) fn pop(tables: &mut Tables, flow: u32, top: u32) -> bool {
    let frame = &tables.frames[top];
    if frame.extra != NIL || frame.on_error.is_some() {
        return false;
    }
    tables.flows[flow].top = frame.parent;
    tables.frames.give(top);
    true
}

/// The error of a pool that is used up.
#[cold]
pub(super) fn no_room(what: &str, max: u32) -> StepError {
    StepError::internal(format!(
        "the event loop holds as many {what} as it may: {max}"
    ))
}
