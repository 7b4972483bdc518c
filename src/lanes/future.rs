//! Results of operations: taken once, waited for on any thread (rules L21, L22).
//!
//! A future allocates nothing and locks nothing. A wait that times out, or a
//! future that is dropped, leaves the operation running; a result that nobody
//! wants is dropped on the lane.
#![allow(unsafe_code)]

use core::convert::Infallible;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::time::IdleStrategy;

use super::completion::Generation;
use super::error::{Failure, LaneError};
use super::reentry;
use super::slab::{Slot, Waiter};

/// What an operation resolves with.
pub type Outcome<T, E = Infallible, P = ()> = Result<T, Failure<E, P>>;

/// The result of one operation, to come or there already.
///
/// Resolves exactly once. The value moves out with the first successful
/// [`wait`](Self::wait), [`try_get`](Self::try_get) or poll; after that every
/// attempt answers [`LaneError::ValueConsumed`].
#[must_use = "a dropped future drops the result on the lane"]
pub struct LaneFuture<T: Send, E: Send = Infallible, P: Send = ()> {
    state: State<T, E, P>,
}

enum State<T: Send, E: Send, P: Send> {
    Pending(Pending<T, E, P>),
    Ready(Outcome<T, E, P>),
    Taken,
}

/// A claimed slot whose result has not been taken.
struct Pending<T: Send, E: Send, P: Send> {
    slot: Slot,
    generation: Generation,
    /// A waiter of ours stands in the slot's cell.
    registered: bool,
    idle: IdleStrategy,
    result: PhantomData<Outcome<T, E, P>>,
}

impl<T: Send, E: Send, P: Send> Unpin for LaneFuture<T, E, P> {}

impl<T: Send, E: Send, P: Send> LaneFuture<T, E, P> {
    pub(crate) fn pending(slot: Slot, generation: Generation, idle: IdleStrategy) -> Self {
        Self {
            state: State::Pending(Pending {
                slot,
                generation,
                registered: false,
                idle,
                result: PhantomData,
            }),
        }
    }

    pub(crate) const fn ready(outcome: Outcome<T, E, P>) -> Self {
        Self {
            state: State::Ready(outcome),
        }
    }

    /// Whose workers it must not be waited for on.
    pub(super) fn engine(&self) -> Option<reentry::EngineId> {
        match &self.state {
            State::Pending(pending) => Some(pending.slot.engine()),
            State::Ready(_) | State::Taken => None,
        }
    }

    /// Whether the result is there; once taken, it stays done.
    #[must_use]
    #[inline]
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Pending(pending) => pending.is_done(),
            State::Ready(_) | State::Taken => true,
        }
    }

    /// The result, if it is there. Never waits.
    #[inline]
    pub fn try_get(&mut self) -> Option<Outcome<T, E, P>> {
        if let State::Pending(pending) = &self.state
            && !pending.is_done()
        {
            return None;
        }
        Some(self.take())
    }

    /// Waits for the result: spins, then yields, then sleeps until it is woken.
    ///
    /// # Errors
    /// Whatever the operation failed with; [`LaneError::ValueConsumed`] if the
    /// value was taken; [`LaneError::ReentrantLane`] at once when called on a
    /// worker of the same engine, which would wait for itself (the operation
    /// goes on, and the future stays usable).
    pub fn wait(&mut self) -> Outcome<T, E, P> {
        self.wait_until(None)
            .unwrap_or(Err(Failure::without_payload(LaneError::SubmitCancelled)))
    }

    /// Waits at most `timeout`; `None` when it passed, and the operation goes
    /// on. A timeout beyond the clock's range waits without one.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    pub fn wait_timeout(&mut self, timeout: Duration) -> Option<Outcome<T, E, P>> {
        self.wait_until(Instant::now().checked_add(timeout))
    }

    fn wait_until(&mut self, deadline: Option<Instant>) -> Option<Outcome<T, E, P>> {
        if let State::Pending(pending) = &mut self.state
            && !pending.is_done()
        {
            if reentry::in_engine(pending.slot.engine()) {
                return Some(Err(Failure::without_payload(LaneError::ReentrantLane)));
            }
            if !pending.block(deadline) {
                return None;
            }
        }
        Some(self.take())
    }

    /// The result of a future that is done.
    #[inline]
    fn take(&mut self) -> Outcome<T, E, P> {
        match core::mem::replace(&mut self.state, State::Taken) {
            State::Pending(pending) => pending.into_result(),
            State::Ready(outcome) => outcome,
            State::Taken => Err(Failure::without_payload(LaneError::ValueConsumed)),
        }
    }
}

impl<T: Send, E: Send, P: Send> Pending<T, E, P> {
    #[inline]
    fn is_done(&self) -> bool {
        self.slot.is_done(self.generation)
    }

    /// Blocks until done; `false` when the deadline came first.
    fn block(&mut self, deadline: Option<Instant>) -> bool {
        let mut idle = self.idle;
        while idle.pause() {
            if self.is_done() {
                return true;
            }
        }
        if !self.register(Waiter::Thread(super::sync::current())) {
            return true;
        }
        while !self.is_done() {
            let Some(deadline) = deadline else {
                super::sync::park_for(u64::MAX);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return self.is_done();
            }
            super::sync::park_for(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
        }
        true
    }

    fn register(&mut self, waiter: Waiter) -> bool {
        self.slot.register(waiter, &mut self.registered)
    }

    #[inline]
    fn into_result(self) -> Outcome<T, E, P> {
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: the slot is done, so the worker wrote an outcome of this type
        // (the submit that made this future fixed it), and only this future
        // takes it.
        let outcome = unsafe { this.slot.read::<Outcome<T, E, P>>() };
        this.slot.release();
        outcome
    }
}

impl<T: Send, E: Send, P: Send> Drop for Pending<T, E, P> {
    fn drop(&mut self) {
        if self.slot.abandon() {
            // SAFETY: done before it was abandoned: as in `into_result`.
            let unwanted = unsafe { self.slot.read::<Outcome<T, E, P>>() };
            // Before the drop: a wrapper among it sends the slot away.
            self.slot.release();
            drop(unwanted);
        }
    }
}

impl<T: Send, E: Send, P: Send> Future for LaneFuture<T, E, P> {
    type Output = Outcome<T, E, P>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::Pending(pending) = &mut self.state
            && !pending.is_done()
            && pending.register(Waiter::Task(cx.waker().clone()))
        {
            return Poll::Pending;
        }
        Poll::Ready(self.take())
    }
}

impl<T: Send, E: Send, P: Send> fmt::Debug for LaneFuture<T, E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneFuture")
            .field("done", &self.is_done())
            .finish_non_exhaustive()
    }
}
