//! An answer that is on its way: to be waited for, awaited, or looked at.

use core::pin::Pin;
use std::future::IntoFuture;
use std::time::Duration;

use super::authorizer::Authorizer;
use super::request::{Decided, Undecided};
use crate::orders::decision::Decision;
use crate::risk::Rejects;

/// An answer of a shard, which leaves when what it says is durable. Dropped, it
/// is not read; what it answers happens all the same.
#[derive(Debug)]
pub struct Answer<T>(oneshot::Receiver<T>);

impl<T> Answer<T> {
    pub(super) const fn new(receiver: oneshot::Receiver<T>) -> Self {
        Self(receiver)
    }

    /// Blocks until it is there.
    ///
    /// # Errors
    /// [`Undecided::Late`] after `timeout`, [`Undecided::NotThere`] where the
    /// shard has ended.
    pub fn wait(self, timeout: Duration) -> Result<T, Undecided> {
        self.0.recv_timeout(timeout).map_err(|error| match error {
            oneshot::RecvTimeoutError::Timeout => Undecided::Late,
            oneshot::RecvTimeoutError::Disconnected => Undecided::NotThere,
        })
    }

    /// The answer, if it is there; it is given once.
    pub fn try_take(&mut self) -> Option<Result<T, Undecided>> {
        match self.0.try_recv() {
            Ok(answer) => Some(Ok(answer)),
            Err(oneshot::TryRecvError::Empty) => None,
            Err(oneshot::TryRecvError::Disconnected) => Some(Err(Undecided::NotThere)),
        }
    }
}

impl<T: Send + 'static> IntoFuture for Answer<T> {
    type Output = Result<T, Undecided>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.0.await.map_err(|_| Undecided::NotThere) })
    }
}

/// A decision that is on its way; signed by whoever takes it.
#[derive(Debug)]
#[must_use = "a decision that nobody takes holds until it expires"]
pub struct Deciding {
    answer: Answer<Result<Box<Decision>, Rejects>>,
    signed_by: Authorizer,
}

impl Deciding {
    pub(super) const fn new(
        answer: Answer<Result<Box<Decision>, Rejects>>,
        signed_by: Authorizer,
    ) -> Self {
        Self { answer, signed_by }
    }

    /// Blocks until it is there, and signs it.
    ///
    /// # Errors
    /// As [`Answer::wait`].
    pub fn wait(self, timeout: Duration) -> Result<Decided, Undecided> {
        let verdict = self.answer.wait(timeout)?;
        self.signed_by.sign(verdict)
    }

    /// The decision, signed, if it is there; it is given once.
    pub fn try_take(&mut self) -> Option<Result<Decided, Undecided>> {
        let verdict = self.answer.try_take()?;
        Some(verdict.and_then(|verdict| self.signed_by.sign(verdict)))
    }
}

impl IntoFuture for Deciding {
    type Output = Result<Decided, Undecided>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let verdict = self.answer.await?;
            self.signed_by.sign(verdict)
        })
    }
}
