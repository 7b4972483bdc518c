//! How steps, flows and instances end: what is dropped, freed and released, and
//! in which order (rules S9 and S16).

use std::cell::RefMut;
use std::rc::Rc;

use super::erased::ErasedValue;
use super::error::{StepError, codes};
use super::event_loop::EventLoop;
use super::pool::NIL;
use super::step::{Call, Step};
use super::tables::{Hold, Phase, Tables, Work};

impl EventLoop {
    /// Ends the flow's innermost frame; its parent is the innermost then.
    pub(super) fn end_top(&self, flow: u32, top: u32) {
        let parent = self.tables().frames[top].parent;
        self.end_frame(top);
        self.tables().flows[flow].top = parent;
    }

    /// Drops what a frame holds and frees it. Its sub-steps are gone already.
    fn end_frame(&self, frame: u32) {
        let (body, work, on_error, extra) = {
            let mut tables = self.tables();
            tables.disarm(frame);
            let place = &mut tables.frames[frame];
            (
                place.body.take(),
                std::mem::take(&mut place.work),
                place.on_error.take(),
                std::mem::replace(&mut place.extra, NIL),
            )
        };
        if body.is_some() {
            self.discard(body);
        }
        match work {
            Work::Future { future, slot } => self.end_future(future, slot),
            Work::None | Work::Relinquish => {}
            work => self.discard(work),
        }
        if on_error.is_some() {
            self.discard(on_error);
        }
        if extra != NIL {
            self.end_extra(extra);
        }
        self.tables().frames.give(frame);
    }

    fn end_extra(&self, extra: u32) {
        let (on_cancel, sync) = {
            let mut tables = self.tables();
            let place = &mut tables.extras[extra];
            place.wait_id = 0;
            place.label = None;
            (place.on_cancel.take(), place.sync.take())
        };
        self.discard(on_cancel);
        while let Some(value) = self.pop_local(extra) {
            self.discard(value);
        }
        if let Some(sync) = sync {
            if let Some(entry) = sync.entry
                && sync.hold != Hold::Outside
            {
                self.guard(|| sync.object.leave(self, entry));
            }
            self.discard(sync);
        }
        self.tables().extras.give(extra);
    }

    /// Frees the latest value allocated for a step, and returns it.
    fn pop_local(&self, extra: u32) -> Option<Option<ErasedValue>> {
        let mut tables = self.tables();
        let local = tables.extras[extra].local;
        if local == NIL {
            return None;
        }
        let place = &mut tables.locals[local];
        place.id = 0;
        let (value, next) = (place.value.take(), place.next);
        tables.extras[extra].local = next;
        tables.locals.give(local);
        Some(value)
    }

    /// Drops the sub-steps of a frame that have not begun, first to last.
    pub(super) fn drop_sub_steps(&self, frame: u32) {
        loop {
            let child = {
                let mut tables = self.tables();
                let Some(child) = tables.detach_first(frame) else {
                    return;
                };
                // A parallel step's children come along: to the front.
                let (first, last) = (tables.frames[child].first, tables.frames[child].last);
                if first != NIL {
                    tables.frames[last].next = tables.frames[frame].first;
                    tables.frames[frame].first = first;
                    if tables.frames[frame].last == NIL {
                        tables.frames[frame].last = last;
                    }
                }
                child
            };
            self.end_frame(child);
        }
    }

    /// Cancels the children of a parallel frame that still run, in order.
    pub(super) fn cancel_children(&self, frame: u32) {
        loop {
            let child = self.tables().first_child(frame);
            if child == NIL {
                return;
            }
            self.cancel_flow(child);
        }
    }

    /// Cancels a flow and all flows below it: every step's cancel handler,
    /// innermost first, and no error handler. Not by recursion: parallel steps
    /// may be nested as deep as there are frames.
    pub(super) fn cancel_flow(&self, target: u32) {
        let mut flow = target;
        loop {
            let top = self.tables().flows[flow].top;
            if top == NIL {
                let parent = self.free_flow(flow);
                if flow == target {
                    return;
                }
                flow = self.tables().frames[parent].flow;
                continue;
            }
            let child = self.tables().first_child(top);
            if child == NIL {
                self.cancel_top(flow, top);
            } else {
                flow = child;
            }
        }
    }

    fn cancel_top(&self, flow: u32, top: u32) {
        self.drop_sub_steps(top);
        let (on_cancel, future) = {
            let mut tables = self.tables();
            tables.disarm(top);
            tables.forget_wait(top);
            let on_cancel = tables
                .extra_mut(top)
                .and_then(|extra| extra.on_cancel.take());
            let future = match std::mem::take(&mut tables.frames[top].work) {
                Work::Future { future, slot } => Some((future, slot)),
                work => {
                    tables.frames[top].work = work;
                    None
                }
            };
            (on_cancel, future)
        };
        if let Some((future, slot)) = future {
            self.end_future(future, slot);
        }
        if let Some(on_cancel) = on_cancel {
            let state = self.state_of(flow);
            let mut step = Step::new(self, &state, flow, top, Call::Cancel);
            self.guard(|| on_cancel.call(&mut step));
        }
        self.end_top(flow, top);
    }

    /// Frees a flow that has no frames left, and returns the parallel frame
    /// that it was a child of.
    fn free_flow(&self, flow: u32) -> u32 {
        let (parent, values) = {
            let mut tables = self.tables();
            tables.unschedule(flow);
            let place = &mut tables.flows[flow];
            let (parent, values) = (place.parent_frame, place.values.take());
            place.pending = None;
            place.id = 0;
            if parent != NIL {
                tables.unlink_child(parent, flow);
            }
            tables.flows.give(flow);
            (parent, values)
        };
        self.discard(values);
        parent
    }

    /// Code of the instance is no longer on the stack: does what had to wait.
    pub(super) fn leave_instance(&self, instance: u32) {
        let (cancel, free) = {
            let mut tables = self.tables();
            let place = &mut tables.instances[instance];
            place.running = false;
            (
                place.cancel_requested && place.phase == Phase::Running,
                place.handle_gone && place.phase == Phase::Ended,
            )
        };
        if cancel {
            self.cancel_instance(instance);
        } else if free {
            self.free_instance(self.tables(), instance);
        }
    }

    /// Cancels an instance, now or when its code returns. Again is nothing.
    pub(super) fn cancel_instance(&self, instance: u32) {
        let (flow, ran) = {
            let mut tables = self.tables();
            let place = &mut tables.instances[instance];
            if place.phase == Phase::Ended {
                return;
            }
            place.cancel_requested = true;
            if place.running {
                return;
            }
            let ran = place.phase == Phase::Running;
            place.phase = Phase::Ended;
            place.running = true;
            (place.flow, ran)
        };
        self.cancel_flow(flow);
        if ran {
            let handler = self.tables().instances[instance].cancel_handler.clone();
            if let Some(handler) = handler {
                self.guard(|| handler());
                self.discard(handler);
            }
            let awaited = self.tables().instances[instance].awaited;
            if awaited {
                self.end_instance(instance, Err(StepError::new(codes::CANCELLED)));
            }
        }
        self.leave_instance(instance);
    }

    /// The instance's handle was dropped: cancels what runs, then frees it.
    pub(super) fn drop_instance(&self, instance: u32) {
        let mut tables = self.tables();
        let place = &mut tables.instances[instance];
        place.handle_gone = true;
        place.awaited = false;
        if place.phase == Phase::Ended && !place.running {
            self.free_instance(tables, instance);
        } else {
            drop(tables);
            self.cancel_instance(instance);
        }
    }

    /// Drops what an instance holds, and frees it.
    fn free_instance<'a>(&'a self, mut tables: RefMut<'a, Tables>, instance: u32) {
        let place = &mut tables.instances[instance];
        place.cancel_requested = false;
        place.handle_gone = false;
        place.awaited = false;
        place.account = None;
        place.round = 0;
        if place.last_error.is_some() {
            place.last_error = None;
            place.error_info = "".into();
        }
        let holds = place.catch_trace.is_some()
            || place.unhandled_error.is_some()
            || place.cancel_handler.is_some()
            || place.outcome.is_some()
            || place.waker.is_some()
            || !place.state.is_clear();
        if holds {
            let held = (
                place.catch_trace.take(),
                place.unhandled_error.take(),
                place.cancel_handler.take(),
                place.outcome.take(),
                place.waker.take(),
            );
            let state = Rc::clone(&place.state);
            drop(tables);
            self.discard(held);
            self.guard(|| state.clear());
            drop(state);
            tables = self.tables();
        }
        tables.instances.give(instance);
    }

    /// Cancels every flow and drops every callback. What is executed or
    /// scheduled afterwards runs as ever.
    ///
    /// Callbacks and steps may hold the event loop that holds them; call this
    /// before the last use of it, and nothing is leaked.
    pub fn close(&self) {
        let (instances, tasks) = {
            let tables = self.tables();
            (tables.instances.len(), tables.tasks.len())
        };
        for instance in 0..instances {
            let runs = {
                let tables = self.tables();
                tables.instances[instance].phase == Phase::Running
            };
            if runs {
                self.cancel_instance(instance);
            }
        }
        for task in 0..tasks {
            let handle = {
                let tables = self.tables();
                (tables.tasks[task].id != 0).then(|| self.task_handle(&tables, task))
            };
            if let Some(handle) = handle {
                self.cancel(handle);
            }
        }
    }
}
