//! An instance as a future: for other executors, and for other instances.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::error::StepError;
use super::root::AsyncSteps;
use super::values::Values;

/// A running instance, awaited. Its event loop must still be driven: polling
/// this runs nothing. Dropping it cancels the instance (rule S14).
#[must_use = "dropping it cancels the instance"]
pub struct StepsFuture<A> {
    root: AsyncSteps,
    refused: Option<StepError>,
    values: PhantomData<fn() -> A>,
}

impl<A> StepsFuture<A> {
    pub(super) const fn new(root: AsyncSteps, refused: Option<StepError>) -> Self {
        Self {
            root,
            refused,
            values: PhantomData,
        }
    }
}

impl<A: Values> Future for StepsFuture<A> {
    type Output = Result<A, StepError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(refused) = self.refused.take() {
            return Poll::Ready(Err(refused));
        }
        let event_loop = self.root.event_loop();
        let (outcome, old) = {
            let mut tables = event_loop.tables();
            let place = &mut tables.instances[self.root.instance()];
            match place.outcome.take() {
                Some(outcome) => (Some(outcome), None),
                None => (None, place.waker.replace(context.waker().clone())),
            }
        };
        event_loop.discard(old);
        match outcome {
            Some(outcome) => Poll::Ready(outcome.and_then(|mut passed| A::take(&mut passed))),
            None => Poll::Pending,
        }
    }
}

impl IntoFuture for AsyncSteps {
    type Output = Result<(), StepError>;
    type IntoFuture = StepsFuture<()>;

    fn into_future(self) -> Self::IntoFuture {
        self.into_future_of()
    }
}

impl<A> std::fmt::Debug for StepsFuture<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StepsFuture").field(&self.root).finish()
    }
}
