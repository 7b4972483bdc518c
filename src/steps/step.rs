//! What a body sees of the step that it runs in.
//!
//! It promises that every misuse is noticed at once, returned as an error, and
//! raised as `InternalError` even when the body ignores it (rule S20).

use std::any::Any;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use super::compose::Level;
use super::erased::{Canceller, ErasedValue};
use super::error::{ErrorCallback, StepError, StepResult, codes};
use super::event_loop::{EventLoop, WaitHandle};
use super::inbox::RemoteHandle;
use super::pool::NIL;
use super::root::AsyncSteps;
use super::run::no_room;
use super::state::State;
use super::tables::{Due, Status};
use super::values::Values;

/// What kind of call a step is seen from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Body,
    Handler,
    Cancel,
}

/// How a body said that its step ends.
enum Completion {
    Success,
    Error(StepError),
}

/// What a call came to.
pub(super) enum Verdict {
    Done,
    SubSteps,
    Waits,
    Failed(StepError),
}

/// A running step, as its body and handlers see it.
///
/// Sub-steps are added by the methods of [`Compose`](super::Compose).
pub struct Step<'a> {
    event_loop: &'a EventLoop,
    state: &'a State,
    flow: u32,
    frame: u32,
    call: Call,
    completion: Option<Completion>,
    has_sub_steps: bool,
    waits: bool,
    /// The step was used for more than its state: something of the other
    /// fields, or of its frame's extra, is not as it was made.
    touched: bool,
    violation: Option<StepError>,
}

/// A value that [`Step::alloc`] made; copies are the same value. It is gone
/// when the step that made it is over.
pub struct Local<T> {
    event_loop: u32,
    local: u32,
    id: u64,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Local<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Local<T> {}

impl<T> std::fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Local").field(&self.id).finish()
    }
}

impl<'a> Step<'a> {
    #[inline]
    pub(super) const fn new(
        event_loop: &'a EventLoop,
        state: &'a State,
        flow: u32,
        frame: u32,
        call: Call,
    ) -> Self {
        Self {
            event_loop,
            state,
            flow,
            frame,
            call,
            completion: None,
            has_sub_steps: false,
            waits: false,
            touched: false,
            violation: None,
        }
    }

    /// Ends the step, once this body returns, with values for the next one
    /// (rule S3).
    ///
    /// # Errors
    /// `InternalError` when the step has sub-steps, is completed already, or is
    /// being cancelled.
    pub fn success<V: Values>(&mut self, values: V) -> StepResult {
        if self.has_sub_steps {
            return Err(self.violated("success: the step has sub-steps, which end it"));
        }
        self.complete(Completion::Success)?;
        if let Some(values) = values.pass() {
            let old = {
                let mut tables = self.event_loop.tables();
                tables.flows[self.flow].values.replace(values)
            };
            if old.is_some() {
                self.event_loop.discard(old);
            }
        }
        Ok(())
    }

    /// An error to return: `return step.error("Rejected", "no such account")`.
    ///
    /// # Errors
    /// Always: the error.
    pub fn error(
        &mut self,
        code: impl Into<Cow<'static, str>>,
        info: impl Into<Cow<'static, str>>,
    ) -> StepResult {
        Err(StepError::new(code).with_info(info))
    }

    /// Ends the step, once this body returns, with an error; as if it were
    /// returned.
    ///
    /// # Errors
    /// `InternalError` when the step is completed already, or is being cancelled.
    pub fn set_error(
        &mut self,
        code: impl Into<Cow<'static, str>>,
        info: impl Into<Cow<'static, str>>,
    ) -> StepResult {
        self.complete(Completion::Error(StepError::new(code).with_info(info)))
    }

    /// Leaves the innermost loop: an error to return (rule S12).
    ///
    /// # Errors
    /// Always: `LoopBreak`.
    pub fn break_loop(&mut self) -> StepResult {
        Err(StepError::new(codes::LOOP_BREAK))
    }

    /// Leaves the innermost loop of that label: an error to return.
    ///
    /// # Errors
    /// Always: `LoopBreak`, with the label as info.
    pub fn break_label(&mut self, label: impl Into<Cow<'static, str>>) -> StepResult {
        Err(StepError::new(codes::LOOP_BREAK).with_info(label))
    }

    /// Goes on with the next iteration of the innermost loop: an error to return.
    ///
    /// # Errors
    /// Always: `LoopCont`.
    pub fn continue_loop(&mut self) -> StepResult {
        Err(StepError::new(codes::LOOP_CONT))
    }

    /// Goes on with the next iteration of the innermost loop of that label: an
    /// error to return.
    ///
    /// # Errors
    /// Always: `LoopCont`, with the label as info.
    pub fn continue_label(&mut self, label: impl Into<Cow<'static, str>>) -> StepResult {
        Err(StepError::new(codes::LOOP_CONT).with_info(label))
    }

    /// Limits the step and all its sub-steps to `limit` from now; a second call
    /// replaces the first (rule S8). A step without sub-steps then waits.
    ///
    /// # Errors
    /// `InternalError` outside of a body, after the step was completed, and when
    /// the event loop holds as many timers as it may.
    pub fn set_timeout(&mut self, limit: Duration) -> StepResult {
        self.only_in_body("set_timeout")?;
        let due = self.event_loop.now().after(limit);
        let full = {
            let mut tables = self.event_loop.tables();
            tables.disarm(self.frame);
            let id = tables.mint();
            let (flow, frame) = (self.flow, self.frame);
            match tables.wheel.set(due, Due::Limit { flow, frame, id }) {
                Ok(timer) => {
                    let extra = tables.extra_of(frame);
                    (extra.timer, extra.limit_id) = (Some(timer), id);
                    None
                }
                Err(full) => Some(no_room("timers", full.max)),
            }
        };
        if let Some(error) = full {
            return Err(self.violate(error));
        }
        self.waits = true;
        Ok(())
    }

    /// Sets what is called when the step ends by an error, a time limit or a
    /// cancel, before its error handler; a second call replaces the first. A
    /// step without sub-steps then waits.
    ///
    /// # Errors
    /// `InternalError` outside of a body, and after the step was completed.
    pub fn set_cancel(&mut self, on_cancel: impl FnOnce(&mut Step<'_>) + 'static) -> StepResult {
        self.only_in_body("set_cancel")?;
        let old = {
            let mut tables = self.event_loop.tables();
            let extra = tables.extra_of(self.frame);
            extra.on_cancel.replace(Canceller::new(on_cancel))
        };
        self.event_loop.discard(old);
        self.waits = true;
        Ok(())
    }

    /// Makes the step wait until it is completed through the handle (rule S10);
    /// a second call gives the same handle.
    ///
    /// # Errors
    /// `InternalError` outside of a body, and after the step was completed.
    pub fn wait_external(&mut self) -> Result<WaitHandle, StepError> {
        self.only_in_body("wait_external")?;
        self.waits = true;
        let mut tables = self.event_loop.tables();
        let id = match tables.extra(self.frame) {
            Some(extra) if extra.wait_id != 0 => extra.wait_id,
            _ => tables.mint(),
        };
        tables.extra_of(self.frame).wait_id = id;
        Ok(WaitHandle {
            event_loop: self.event_loop.core().id,
            frame: self.frame,
            id,
        })
    }

    /// A handle by which another thread completes a step; see
    /// [`EventLoop::remote`].
    #[must_use]
    pub fn remote(&self, handle: WaitHandle) -> RemoteHandle {
        self.event_loop.remote(handle)
    }

    /// Keeps a value until this step ends, after its sub-steps and its error
    /// handler; the latest is freed first (rule S16). Values above 64 bytes are
    /// boxed.
    ///
    /// # Errors
    /// `InternalError` while the step is being cancelled, and when the event
    /// loop holds as many as it may.
    pub fn alloc<T: 'static>(&mut self, value: T) -> Result<Local<T>, StepError> {
        if self.call == Call::Cancel {
            return Err(self.violated("alloc: the step is being cancelled"));
        }
        self.touched = true;
        let value = ErasedValue::new(value);
        let made = {
            let mut tables = self.event_loop.tables();
            let max = tables.locals.max();
            tables.locals.take().ok_or(max).map(|local| {
                let id = tables.mint();
                let next = std::mem::replace(&mut tables.extra_of(self.frame).local, local);
                let place = &mut tables.locals[local];
                (place.id, place.next) = (id, next);
                (local, id)
            })
        };
        match made {
            Ok((local, id)) => {
                self.event_loop.tables().locals[local].value = Some(value);
                Ok(Local {
                    event_loop: self.event_loop.core().id,
                    local,
                    id,
                    value: PhantomData,
                })
            }
            Err(max) => {
                self.event_loop.discard(value);
                Err(self.violate(no_room("allocated values", max)))
            }
        }
    }

    /// Calls `with` with a value that [`Self::alloc`] made.
    ///
    /// # Errors
    /// `InternalError` when the value is gone, or in use further up the stack.
    pub fn with<T: 'static, R>(
        &self,
        local: Local<T>,
        with: impl FnOnce(&mut T) -> R,
    ) -> Result<R, StepError> {
        let gone = || StepError::internal("an allocated value is gone, or in use");
        let taken = {
            let mut tables = self.event_loop.tables();
            let known = local.event_loop == self.event_loop.core().id
                && local.local < tables.locals.len()
                && tables.locals[local.local].id == local.id;
            if known {
                tables.locals[local.local].value.take()
            } else {
                None
            }
        };
        let mut back = PutBack {
            event_loop: self.event_loop,
            local: local.local,
            id: local.id,
            value: taken,
        };
        let value = back.value.as_mut().and_then(ErasedValue::get_mut);
        Ok(with(value.ok_or_else(gone)?))
    }

    /// The state of the instance (rule S7).
    #[must_use]
    pub const fn state(&self) -> &'a State {
        self.state
    }

    /// The event loop that runs the step.
    #[must_use]
    pub const fn event_loop(&self) -> &'a EventLoop {
        self.event_loop
    }

    /// A new instance that inherits the handlers of this one: tracer, unhandled
    /// errors, cancel (rule S15). It has a state of its own.
    ///
    /// # Errors
    /// `InternalError` when the event loop holds as many roots as it may.
    pub fn new_instance(&mut self) -> Result<AsyncSteps, StepError> {
        AsyncSteps::inheriting(self.event_loop, self.instance())
    }

    /// The info of the last error; empty when there was none (rule S6).
    #[must_use]
    pub fn error_info(&self) -> Cow<'static, str> {
        let tables = self.event_loop.tables();
        tables.instances[tables.flows[self.flow].instance]
            .error_info
            .clone()
    }

    /// Sets what [`Self::error_info`] returns, until the next error.
    pub fn set_error_info(&mut self, info: impl Into<Cow<'static, str>>) {
        let instance = self.instance();
        self.event_loop.tables().instances[instance].error_info = info.into();
    }

    /// The last error that was caught in the instance.
    #[must_use]
    pub fn last_error(&self) -> Option<StepError> {
        let tables = self.event_loop.tables();
        tables.instances[tables.flows[self.flow].instance]
            .last_error
            .clone()
    }

    /// What is called with every error that is caught.
    #[must_use]
    pub fn catch_trace(&self) -> Option<ErrorCallback> {
        let instance = self.instance();
        self.event_loop.tables().instances[instance]
            .catch_trace
            .clone()
    }

    /// Sets what is called with every error that is caught.
    pub fn set_catch_trace(&mut self, trace: Option<ErrorCallback>) {
        let instance = self.instance();
        let old = {
            let mut tables = self.event_loop.tables();
            std::mem::replace(&mut tables.instances[instance].catch_trace, trace)
        };
        self.event_loop.discard(old);
    }

    /// What is called with an error that nothing handled.
    #[must_use]
    pub fn unhandled_error(&self) -> Option<ErrorCallback> {
        let instance = self.instance();
        self.event_loop.tables().instances[instance]
            .unhandled_error
            .clone()
    }

    /// Sets what is called with an error that nothing handled.
    pub fn set_unhandled_error(&mut self, handler: Option<ErrorCallback>) {
        let instance = self.instance();
        let old = {
            let mut tables = self.event_loop.tables();
            std::mem::replace(&mut tables.instances[instance].unhandled_error, handler)
        };
        self.event_loop.discard(old);
    }

    /// What is called when the instance was cancelled, after its steps.
    #[must_use]
    pub fn cancel_handler(&self) -> Option<Rc<dyn Fn()>> {
        let instance = self.instance();
        self.event_loop.tables().instances[instance]
            .cancel_handler
            .clone()
    }

    /// Sets what is called when the instance was cancelled, after its steps.
    pub fn set_cancel_handler(&mut self, handler: Option<Rc<dyn Fn()>>) {
        let instance = self.instance();
        let old = {
            let mut tables = self.event_loop.tables();
            std::mem::replace(&mut tables.instances[instance].cancel_handler, handler)
        };
        self.event_loop.discard(old);
    }

    fn instance(&self) -> u32 {
        self.event_loop.tables().flows[self.flow].instance
    }

    /// Where sub-steps go; `NIL` when none may be added.
    #[inline]
    pub(super) fn sub_level(&mut self) -> Level<'_> {
        let refused = match (self.call, &self.completion) {
            (Call::Cancel, _) => Some("a step was added while its parent is cancelled"),
            (_, Some(Completion::Success)) => Some("a step was added after success"),
            (_, Some(Completion::Error(_)) | None) if self.is_completed() => {
                Some("a step was added after its parent was completed from outside")
            }
            _ => None,
        };
        let frame = if let Some(info) = refused {
            self.violated(info);
            NIL
        } else {
            self.has_sub_steps = true;
            self.touched = true;
            self.frame
        };
        Level::new(self.event_loop, frame, &mut self.violation)
    }

    /// Whether the step was completed through its handle during this call.
    #[inline]
    fn is_completed(&self) -> bool {
        if !self.waits {
            return false;
        }
        let tables = self.event_loop.tables();
        tables.frames[self.frame].status == Status::Completed
            || tables.flows[self.flow].pending.is_some()
    }

    fn complete(&mut self, completion: Completion) -> StepResult {
        if self.call == Call::Cancel {
            return Err(self.violated("the step is being cancelled, and cannot be completed"));
        }
        if self.completion.is_some() || self.is_completed() {
            return Err(self.violated("the step was completed twice"));
        }
        if self.waits {
            // From now on its handles are stale.
            self.event_loop.tables().forget_wait(self.frame);
        }
        self.completion = Some(completion);
        self.touched = true;
        Ok(())
    }

    fn only_in_body(&mut self, what: &'static str) -> StepResult {
        if self.call != Call::Body {
            return Err(self.violate(StepError::internal(format!(
                "{what}: it belongs into a body, not into a handler"
            ))));
        }
        if self.completion.is_some() || self.is_completed() {
            let error = StepError::internal(format!("{what}: the step is completed already"));
            return Err(self.violate(error));
        }
        self.touched = true; // What it allows changes the frame.
        Ok(())
    }

    #[cold]
    fn violated(&mut self, info: &'static str) -> StepError {
        self.violate(StepError::internal(info))
    }

    #[cold]
    fn violate(&mut self, error: StepError) -> StepError {
        self.violation.get_or_insert_with(|| error.clone());
        self.touched = true;
        error
    }

    pub(super) const fn succeeded(&self) -> bool {
        matches!(self.completion, Some(Completion::Success))
    }

    /// Makes this the step of another frame, after one that was simply done.
    #[inline]
    pub(super) fn take_up(&mut self, frame: u32) {
        self.frame = frame;
        if self.touched {
            self.completion = None;
            self.touched = false;
        }
    }

    #[inline]
    pub(super) const fn frame(&self) -> u32 {
        self.frame
    }

    /// Whether a body that returned `Ok` is simply done: the common case.
    #[inline]
    pub(super) const fn is_plainly_done(&self) -> bool {
        !self.touched
            || (!self.has_sub_steps
                && !self.waits
                && self.violation.is_none()
                && matches!(self.completion, None | Some(Completion::Success)))
    }

    /// Whether the step's frame may have got something to drop.
    #[inline]
    pub(super) const fn is_touched(&self) -> bool {
        self.touched
    }

    /// What the call came to.
    pub(super) fn verdict(self, result: Result<StepResult, Box<dyn Any + Send>>) -> Verdict {
        if let Some(violation) = self.violation {
            return Verdict::Failed(violation);
        }
        match (result, self.completion) {
            (Ok(Ok(())), None) if self.has_sub_steps => Verdict::SubSteps,
            (Ok(Ok(())), None) if self.waits => Verdict::Waits,
            (Ok(Ok(())), None | Some(Completion::Success)) => Verdict::Done,
            (Ok(Ok(())), Some(Completion::Error(error))) | (Ok(Err(error)), None) => {
                Verdict::Failed(error)
            }
            (Ok(Err(error)), Some(_)) => Verdict::Failed(StepError::internal(format!(
                "the step was completed twice: after its completion it returned {error}"
            ))),
            (Err(panic), _) => Verdict::Failed(StepError::panicked(&*panic)),
        }
    }
}

/// Puts an allocated value back, also when its user panics.
struct PutBack<'a> {
    event_loop: &'a EventLoop,
    local: u32,
    id: u64,
    value: Option<ErasedValue>,
}

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        let Some(value) = self.value.take() else {
            return;
        };
        let mut tables = self.event_loop.tables();
        let place = &mut tables.locals[self.local];
        if place.id == self.id {
            place.value = Some(value);
            return;
        }
        drop(tables);
        self.event_loop.discard(value);
    }
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step")
            .field("frame", &self.frame)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
