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

use super::completion::{Claim, Generation};
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
    /// Where the result comes to; none once it is taken, or where it was known
    /// from the start.
    slot: Option<Slot>,
    /// With a slot, a [`Claim`] on it. Without, the address of a boxed outcome,
    /// or zero once it is taken. Two plain words, because a pipeline of futures
    /// moves each of them several times.
    word: u64,
    result: PhantomData<Outcome<T, E, P>>,
}

impl<T: Send, E: Send, P: Send> Unpin for LaneFuture<T, E, P> {}

impl<T: Send, E: Send, P: Send> LaneFuture<T, E, P> {
    #[inline]
    pub(crate) fn pending(slot: Slot, generation: Generation) -> Self {
        Self {
            slot: Some(slot),
            word: Claim::from(generation).into(),
            result: PhantomData,
        }
    }

    /// A future that has its outcome; for what is refused, because it allocates.
    #[cold]
    pub(crate) fn ready(outcome: Outcome<T, E, P>) -> Self {
        let address = Box::into_raw(Box::new(outcome)).expose_provenance();
        Self {
            slot: None,
            // Addresses have 64 bits at most.
            word: address as u64,
            result: PhantomData,
        }
    }

    /// Whose workers it must not be waited for on.
    pub(super) fn engine(&self) -> Option<reentry::EngineId> {
        self.slot.map(|slot| slot.engine())
    }

    /// Whether the result is there; once taken, it stays done.
    #[must_use]
    #[inline]
    pub fn is_done(&self) -> bool {
        self.slot
            .is_none_or(|slot| slot.is_done(Claim::from(self.word).generation()))
    }

    /// The result, if it is there. Never waits.
    #[inline]
    pub fn try_get(&mut self) -> Option<Outcome<T, E, P>> {
        if self.is_done() {
            Some(self.take())
        } else {
            None
        }
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

    pub(super) fn wait_until(&mut self, deadline: Option<Instant>) -> Option<Outcome<T, E, P>> {
        if let Some(slot) = self.slot
            && !self.is_done()
        {
            if reentry::in_engine(slot.engine()) {
                return Some(Err(Failure::without_payload(LaneError::ReentrantLane)));
            }
            if !self.block(slot, deadline) {
                return None;
            }
        }
        Some(self.take())
    }

    /// Blocks until done; `false` when the deadline came first.
    fn block(&mut self, slot: Slot, deadline: Option<Instant>) -> bool {
        let mut idle = slot.idle();
        while idle.pause() {
            if self.is_done() {
                return true;
            }
        }
        if !self.register(slot, Waiter::Thread(super::sync::current())) {
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

    fn register(&mut self, slot: Slot, waiter: Waiter) -> bool {
        let mut claim = Claim::from(self.word);
        let registered = slot.register(&mut claim, waiter);
        self.word = claim.into();
        registered
    }

    /// The result of a future that is done.
    #[inline]
    fn take(&mut self) -> Outcome<T, E, P> {
        let word = core::mem::take(&mut self.word);
        match self.slot.take() {
            // SAFETY: done, so the worker wrote an outcome of this type (the
            // submit that made this future fixed it), and only this future
            // takes it, once.
            Some(slot) => unsafe { take_out(slot, word.into()) },
            None => match Self::boxed(word) {
                Some(outcome) => *outcome,
                None => Err(Failure::without_payload(LaneError::ValueConsumed)),
            },
        }
    }

    /// The outcome that was known from the start; of a word that was taken out.
    #[cold]
    fn boxed(word: u64) -> Option<Box<Outcome<T, E, P>>> {
        // An address, so it fits.
        let address = usize::try_from(word).unwrap_or(0);
        let outcome = core::ptr::with_exposed_provenance_mut(address);
        // SAFETY: without a slot a word that is not zero is the address of a
        // box of this type, and it was taken out of its future.
        (address != 0).then(|| unsafe { Box::from_raw(outcome) })
    }
}

/// Moves the outcome of a done operation out, and gives the slot back.
///
/// # Safety
/// It is done, has an outcome of this type, and the claim is the caller's.
#[inline]
unsafe fn take_out<T: Send, E: Send, P: Send>(slot: Slot, claim: Claim) -> Outcome<T, E, P> {
    // SAFETY: by the caller's promise.
    let outcome = unsafe { slot.read::<Outcome<T, E, P>>() };
    // Before anybody drops it: a wrapper among it sends the slot away.
    slot.release(claim);
    outcome
}

impl<T: Send, E: Send, P: Send> Drop for LaneFuture<T, E, P> {
    #[inline]
    fn drop(&mut self) {
        let word = core::mem::take(&mut self.word);
        match self.slot {
            Some(slot) => {
                let mut claim = Claim::from(word);
                if slot.abandon(&mut claim) {
                    // SAFETY: done before it was abandoned: as in `take`.
                    drop(unsafe { take_out::<T, E, P>(slot, claim) });
                }
            }
            None if word != 0 => drop(Self::boxed(word)),
            None => {}
        }
    }
}

impl<T: Send, E: Send, P: Send> Future for LaneFuture<T, E, P> {
    type Output = Outcome<T, E, P>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(slot) = self.slot
            && !self.is_done()
            && self.register(slot, Waiter::Task(cx.waker().clone()))
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
