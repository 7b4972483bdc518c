//! How steps are added: to a root, inside a step, and as children of a parallel.
//!
//! It promises that a step which cannot be added is reported: by `execute` of
//! the root, or as `InternalError` of the step that added it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::task::Waker;

use super::erased::{Block, Handler, LoopBody};
use super::error::{StepError, StepResult};
use super::event_loop::EventLoop;
use super::inbox::SlotWaker;
use super::model::Model;
use super::pool::NIL;
use super::root::AsyncSteps;
use super::run::no_room;
use super::step::Step;
use super::sync::SyncRef;
use super::tables::{Frame, Hold, Kind, SyncUse, Work};
use super::values::Values;

/// A level that steps are added to: what [`Compose::parallel`] returns, and what
/// a [`Model`] builds on.
pub struct Level<'a> {
    event_loop: &'a EventLoop,
    /// The frame whose sub-steps are added; `NIL` when none may be.
    frame: u32,
    violation: &'a mut Option<StepError>,
}

impl<'a> Level<'a> {
    #[inline]
    pub(super) const fn new(
        event_loop: &'a EventLoop,
        frame: u32,
        violation: &'a mut Option<StepError>,
    ) -> Self {
        Self {
            event_loop,
            frame,
            violation,
        }
    }

    /// Adds a frame; `fill` only writes into it.
    #[inline]
    fn push(&mut self, fill: impl FnOnce(&mut Frame)) -> u32 {
        if self.frame == NIL {
            return NIL;
        }
        let mut tables = self.event_loop.tables();
        if let Some((index, frame)) = tables.append_frame(self.frame) {
            fill(frame);
            return index;
        }
        let max = tables.frames.max();
        drop(tables); // What `fill` holds is the user's, and dropped after this.
        self.refuse(no_room("steps", max));
        NIL
    }

    /// Labels the step that was added last, which is a loop.
    fn name_last(&mut self, label: Cow<'static, str>) {
        if self.frame == NIL {
            return;
        }
        let mut tables = self.event_loop.tables();
        let last = tables.frames[self.frame].last;
        if last != NIL && matches!(tables.frames[last].work, Work::Loop(_)) {
            tables.extra_of(last).label = Some(label);
            return;
        }
        drop(tables);
        self.refuse(StepError::internal("label: the step added last is no loop"));
    }

    #[cold]
    fn refuse(&mut self, error: StepError) {
        self.violation.get_or_insert(error);
    }

    /// Adds a plain step. Not through `push_body_or` with no handler: its
    /// empty place would be copied along.
    #[inline]
    fn push_body<A, F>(&mut self, body: F) -> u32
    where
        A: Values,
        F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
    {
        self.push(|frame| frame.body.fill(body))
    }

    fn push_body_or<A, F>(&mut self, body: F, on_error: Handler) -> u32
    where
        A: Values,
        F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
    {
        self.push(|frame| {
            frame.body.fill(body);
            frame.on_error = Some(on_error);
        })
    }

    fn push_parallel(mut self, on_error: Option<Handler>) -> Self {
        let frame = self.push(|frame| {
            frame.kind = Kind::Parallel;
            frame.on_error = on_error;
        });
        Self { frame, ..self }
    }

    /// Makes the step just added run inside a synchronizer.
    fn synchronize(&self, frame: u32, object: SyncRef) {
        if frame != NIL {
            self.event_loop.tables().extra_of(frame).sync = Some(SyncUse {
                object,
                hold: Hold::Outside,
                entry: None,
            });
        }
    }

    fn push_future<F, A, E>(&mut self, future: F, on_error: Option<Handler>)
    where
        F: Future<Output = Result<A, E>> + 'static,
        A: Values,
        E: Into<StepError> + 'static,
    {
        if self.frame == NIL {
            return;
        }
        let taken = {
            let mut tables = self.event_loop.tables();
            let max = tables.futures.max();
            tables.futures.take().ok_or(max).map(|slot| {
                let place = &mut tables.futures[slot];
                place.frame = NIL;
                let shared = &self.event_loop.core().shared;
                place.waker.get_or_insert_with(|| {
                    let shared = shared.clone();
                    Waker::from(Arc::new(SlotWaker { shared, slot }))
                });
                (slot, place.block.take())
            })
        };
        match taken {
            Ok((slot, block)) => {
                let future = block.unwrap_or_else(Block::new).place(future);
                let mut future = Some(future);
                self.push(|frame| {
                    frame.on_error = on_error;
                    if let Some(future) = future.take() {
                        frame.work = Work::Future { future, slot };
                    }
                });
                if let Some(future) = future {
                    self.event_loop.end_future(future, slot);
                }
            }
            Err(max) => self.refuse(no_room("futures", max)),
        }
    }
}

impl std::fmt::Debug for Level<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Level")
            .field("frame", &self.frame)
            .finish_non_exhaustive()
    }
}

/// Adding steps: to an [`AsyncSteps`] before it is executed, to a [`Step`] while
/// its body or error handler runs, and to a [`Level`].
///
/// Steps run in the order in which they were added, each with all its sub-steps
/// before the next one (rule S1). A body is
/// `FnOnce(&mut Step<'_>, A) -> StepResult`, where `A` is the tuple that the
/// step before passed, or `()`. An `_or` variant takes the step's error handler.
pub trait Compose {
    /// The level that steps are added to.
    #[doc(hidden)]
    fn level(&mut self) -> Level<'_>;

    /// Adds a step.
    #[inline]
    fn add<A, F>(&mut self, body: F) -> &mut Self
    where
        A: Values,
        F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
    {
        self.level().push_body(body);
        self
    }

    /// Adds a step with an error handler (rule S5).
    fn add_or<A, F, H>(&mut self, body: F, on_error: H) -> &mut Self
    where
        A: Values,
        F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
        H: FnOnce(&mut Step<'_>, &StepError) -> StepResult + 'static,
    {
        self.level().push_body_or(body, Handler::new(on_error));
        self
    }

    /// Adds a step that passes these values to the next one.
    fn success_step<V: Values>(&mut self, values: V) -> &mut Self {
        match values.pass() {
            Some(values) => {
                self.level().push(|frame| frame.work = Work::Pass(values));
            }
            None => return self.add(|_, ()| Ok(())),
        }
        self
    }

    /// Adds a step that lets everything else that is ready run first (rule
    /// S17). Values pass through it.
    fn relinquish(&mut self) -> &mut Self {
        self.level().push(|frame| frame.work = Work::Relinquish);
        self
    }

    /// Adds a step whose sub-steps, added to what this returns, run as flows of
    /// their own (rule S11).
    fn parallel(&mut self) -> Level<'_> {
        self.level().push_parallel(None)
    }

    /// The same with an error handler.
    fn parallel_or<H>(&mut self, on_error: H) -> Level<'_>
    where
        H: FnOnce(&mut Step<'_>, &StepError) -> StepResult + 'static,
    {
        self.level().push_parallel(Some(Handler::new(on_error)))
    }

    /// Adds a loop that only an error ends: mostly
    /// [`Step::break_loop`] (rule S12).
    fn loop_until_break<F>(&mut self, mut body: F) -> &mut Self
    where
        F: FnMut(&mut Step<'_>) -> StepResult + 'static,
    {
        let body = LoopBody::new(move |step: &mut Step<'_>| Some(body(step)));
        self.level().push(|frame| frame.work = Work::Loop(body));
        self
    }

    /// Adds a loop of `count` iterations; the body gets their number, from 0.
    fn repeat<F>(&mut self, count: u64, mut body: F) -> &mut Self
    where
        F: FnMut(&mut Step<'_>, u64) -> StepResult + 'static,
    {
        let mut numbers = 0..count;
        let body = LoopBody::new(move |step: &mut Step<'_>| {
            numbers.next().map(|number| body(step, number))
        });
        self.level().push(|frame| frame.work = Work::Loop(body));
        self
    }

    /// Adds a loop over a list; the body gets the index, from 0, and the value.
    fn for_each<I, F>(&mut self, list: I, mut body: F) -> &mut Self
    where
        I: IntoIterator,
        I::IntoIter: 'static,
        F: FnMut(&mut Step<'_>, usize, I::Item) -> StepResult + 'static,
    {
        let mut items = list.into_iter().enumerate();
        let body = LoopBody::new(move |step: &mut Step<'_>| {
            items.next().map(|(index, value)| body(step, index, value))
        });
        self.level().push(|frame| frame.work = Work::Loop(body));
        self
    }

    /// Adds a loop over a map, in the order of its keys: a map without one
    /// would make the order of steps differ from run to run.
    fn for_each_entry<K, V, F>(&mut self, map: BTreeMap<K, V>, mut body: F) -> &mut Self
    where
        K: 'static,
        V: 'static,
        F: FnMut(&mut Step<'_>, K, V) -> StepResult + 'static,
    {
        let mut entries = map.into_iter();
        let body = LoopBody::new(move |step: &mut Step<'_>| {
            entries.next().map(|(key, value)| body(step, key, value))
        });
        self.level().push(|frame| frame.work = Work::Loop(body));
        self
    }

    /// Labels the loop that was added last, for [`Step::break_label`] and
    /// [`Step::continue_label`].
    fn label(&mut self, label: impl Into<Cow<'static, str>>) -> &mut Self {
        self.level().name_last(label.into());
        self
    }

    /// Adds a step that runs inside a synchronizer (rule S13).
    fn sync<A, F>(&mut self, object: impl Into<SyncRef>, body: F) -> &mut Self
    where
        A: Values,
        F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
    {
        let mut level = self.level();
        let frame = level.push_body(body);
        level.synchronize(frame, object.into());
        self
    }

    /// The same with an error handler, which runs inside too; it is not called
    /// when the step could not enter.
    fn sync_or<A, F, H>(&mut self, object: impl Into<SyncRef>, body: F, on_error: H) -> &mut Self
    where
        A: Values,
        F: FnOnce(&mut Step<'_>, A) -> StepResult + 'static,
        H: FnOnce(&mut Step<'_>, &StepError) -> StepResult + 'static,
    {
        let mut level = self.level();
        let frame = level.push_body_or(body, Handler::new(on_error));
        level.synchronize(frame, object.into());
        self
    }

    /// Adds a step that awaits a future, and passes its values on (rule S14).
    /// The future is first polled when the step runs; a step that ends
    /// otherwise drops it. Futures above 256 bytes are boxed.
    fn await_future<F, A, E>(&mut self, future: F) -> &mut Self
    where
        F: Future<Output = Result<A, E>> + 'static,
        A: Values,
        E: Into<StepError> + 'static,
    {
        self.level().push_future(future, None);
        self
    }

    /// The same with an error handler.
    fn await_future_or<F, A, E, H>(&mut self, future: F, on_error: H) -> &mut Self
    where
        F: Future<Output = Result<A, E>> + 'static,
        A: Values,
        E: Into<StepError> + 'static,
        H: FnOnce(&mut Step<'_>, &StepError) -> StepResult + 'static,
    {
        let on_error = Some(Handler::new(on_error));
        self.level().push_future(future, on_error);
        self
    }

    /// Adds the steps of a model, and those of its state's keys that are not
    /// there yet (rule S15).
    fn copy_from(&mut self, model: &Model) -> &mut Self {
        let mut level = self.level();
        if level.frame != NIL {
            let flow = level.event_loop.tables().frames[level.frame].flow;
            let state = level.event_loop.state_of(flow);
            if let Err(error) = model.copy_state(&state) {
                level.refuse(error);
            }
            model.build(&mut level);
        }
        self
    }
}

impl Compose for Level<'_> {
    #[inline]
    fn level(&mut self) -> Level<'_> {
        Level::new(self.event_loop, self.frame, self.violation)
    }
}

impl Compose for Step<'_> {
    #[inline]
    fn level(&mut self) -> Level<'_> {
        self.sub_level()
    }
}

impl Compose for AsyncSteps {
    #[inline]
    fn level(&mut self) -> Level<'_> {
        self.root_level()
    }
}
