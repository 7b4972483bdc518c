//! One result for many waiters, where it can be cloned (rule L21).
//!
//! Unlike a plain future this one allocates and locks: it is for results that
//! several parts of a program wait for, not for every order.

use core::convert::Infallible;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::{Duration, Instant};

use super::error::{Failure, LaneError};
use super::future::{LaneFuture, Outcome};
use super::reentry::{self, EngineId};

/// A result that every clone of this answers, as often as it is asked.
pub struct SharedFuture<T: Send, E: Send = Infallible, P: Send = ()> {
    inner: Arc<Inner<T, E, P>>,
}

struct Inner<T: Send, E: Send, P: Send> {
    state: Mutex<State<T, E, P>>,
    resolved: Condvar,
    /// Whose workers would wait for themselves; `None` where it was resolved
    /// before.
    engine: Option<EngineId>,
}

struct State<T: Send, E: Send, P: Send> {
    progress: Progress<T, E, P>,
    /// One for each task that waits.
    wakers: Vec<Waker>,
}

enum Progress<T: Send, E: Send, P: Send> {
    Pending(LaneFuture<T, E, P>),
    Resolved(Outcome<T, E, P>),
}

impl<T, E, P> LaneFuture<T, E, P>
where
    T: Clone + Send + 'static,
    E: Clone + Send + 'static,
    P: Clone + Send + 'static,
{
    /// Lets any number of waiters have the result; this one allocates.
    #[must_use]
    pub fn shared(self) -> SharedFuture<T, E, P> {
        let inner = Arc::new(Inner {
            engine: self.engine(),
            state: Mutex::new(State {
                progress: Progress::Pending(self),
                wakers: Vec::new(),
            }),
            resolved: Condvar::new(),
        });
        // Leaves our waker with the lane, or finds the result.
        Arc::clone(&inner).wake();
        SharedFuture { inner }
    }
}

impl<T, E, P> SharedFuture<T, E, P>
where
    T: Clone + Send + 'static,
    E: Clone + Send + 'static,
    P: Clone + Send + 'static,
{
    /// Whether the result is there.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.try_get().is_some()
    }

    /// The result, if it is there.
    #[must_use]
    pub fn try_get(&self) -> Option<Outcome<T, E, P>> {
        self.inner.lock().outcome()
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// As for [`LaneFuture::wait`], but it is never consumed.
    pub fn wait(&self) -> Outcome<T, E, P> {
        self.wait_timeout(Duration::MAX)
            .unwrap_or(Err(Failure::without_payload(LaneError::SubmitCancelled)))
    }

    /// Waits at most `timeout`; `None` when it passed, and the operation goes
    /// on.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait).
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Outcome<T, E, P>> {
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.inner.lock();
        loop {
            if let Some(outcome) = state.outcome() {
                return Some(outcome);
            }
            if self.inner.engine.is_some_and(reentry::in_engine) {
                return Some(Err(Failure::without_payload(LaneError::ReentrantLane)));
            }
            let left = deadline.map_or(Duration::from_secs(3_600), |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return None;
            }
            let waited = self.inner.resolved.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<T: Send, E: Send, P: Send> Inner<T, E, P> {
    fn lock(&self) -> MutexGuard<'_, State<T, E, P>> {
        // A clone that panicked left the result as it was.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Send, E: Clone + Send, P: Clone + Send> State<T, E, P> {
    fn outcome(&self) -> Option<Outcome<T, E, P>> {
        match &self.progress {
            Progress::Pending(_) => None,
            Progress::Resolved(outcome) => Some(outcome.clone()),
        }
    }
}

impl<T, E, P> Wake for Inner<T, E, P>
where
    T: Send + 'static,
    E: Send + 'static,
    P: Send + 'static,
{
    /// The lane resolved the plain future: keeps the result and tells everyone.
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut state = self.lock();
        let Progress::Pending(future) = &mut state.progress else {
            return;
        };
        let polled = Pin::new(future).poll(&mut Context::from_waker(&waker));
        let Poll::Ready(outcome) = polled else { return };
        state.progress = Progress::Resolved(outcome);
        let wakers = core::mem::take(&mut state.wakers);
        drop(state);
        self.resolved.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl<T, E, P> Future for SharedFuture<T, E, P>
where
    T: Clone + Send + 'static,
    E: Clone + Send + 'static,
    P: Clone + Send + 'static,
{
    type Output = Outcome<T, E, P>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.inner.lock();
        if let Some(outcome) = state.outcome() {
            return Poll::Ready(outcome);
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl<T: Send, E: Send, P: Send> Clone for SharedFuture<T, E, P> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<T: Send, E: Send, P: Send> fmt::Debug for SharedFuture<T, E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedFuture").finish_non_exhaustive()
    }
}
