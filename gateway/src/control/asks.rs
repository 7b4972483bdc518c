//! What is asked of an executor's thread, from any other thread.

use std::sync::Arc;

use crossbeam_channel::{Sender, TrySendError};
use crossbeam_utils::sync::Unparker;
use pitlane::orders::Refusal;
use pitlane::orders::executor::{ExecutorCounts, OrderView, VenueState};
use pitlane::orders::lifecycle::OrderState;
use pitlane::types::{AccountId, ClientOrderId};
use tokio::sync::oneshot;

/// An order, or why not.
pub(super) type OrderAnswer = Result<OrderView, Refusal>;

/// One question; each is answered once, or its sender is dropped.
pub(super) enum Ask {
    Submit {
        agent: Arc<str>,
        body: Vec<u8>,
        answer: oneshot::Sender<OrderAnswer>,
    },
    Cancel {
        agent: Arc<str>,
        id: ClientOrderId,
        answer: oneshot::Sender<OrderAnswer>,
    },
    Read {
        agent: Arc<str>,
        id: ClientOrderId,
        answer: oneshot::Sender<OrderAnswer>,
    },
    Orders {
        state: Option<OrderState>,
        most: usize,
        answer: oneshot::Sender<Vec<OrderView>>,
    },
    Block {
        account: AccountId,
        blocked: bool,
        answer: oneshot::Sender<()>,
    },
    Report {
        /// Whether the orders are counted by state, each of which is looked at.
        census: bool,
        answer: oneshot::Sender<ExecutorReport>,
    },
}

/// How an executor stands.
#[derive(Clone, Debug)]
pub struct ExecutorReport {
    /// What a person should look at.
    pub counts: ExecutorCounts,
    /// Orders in memory, by state, where they were asked for.
    pub orders: Vec<(OrderState, u64)>,
    /// Messages that wait for the authorizer.
    pub undelivered: usize,
    /// Orders that only their venue can settle.
    pub open_questions: usize,
    /// Requests that were taken and not answered.
    pub in_flight: usize,
    /// Its venues.
    pub venues: Vec<VenueState>,
    /// The accounts that take no new orders.
    pub blocked: Vec<AccountId>,
    /// Whether its journal has failed: then everything is refused.
    pub failed: bool,
}

/// Why a question was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// As many wait as may.
    #[error("as many requests wait for the executor as may; try again later")]
    Full,
    /// Its thread has ended.
    #[error("the executor has stopped")]
    Stopped,
}

/// A way to the executor's thread; no call blocks.
#[derive(Clone)]
pub struct ExecutorHandle {
    asks: Sender<Ask>,
    thread: Unparker,
}

impl ExecutorHandle {
    pub(super) const fn new(asks: Sender<Ask>, thread: Unparker) -> Self {
        Self { asks, thread }
    }

    fn ask<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<T>) -> Ask,
    ) -> Result<oneshot::Receiver<T>, Unavailable> {
        let (answer, receiver) = oneshot::channel();
        match self.asks.try_send(make(answer)) {
            Ok(()) => {
                self.thread.unpark();
                Ok(receiver)
            }
            Err(TrySendError::Full(_)) => Err(Unavailable::Full),
            Err(TrySendError::Disconnected(_)) => Err(Unavailable::Stopped),
        }
    }

    /// Brings a signed decision.
    ///
    /// # Errors
    /// It was not taken. The receiver fails where the executor stops first.
    pub fn submit(
        &self,
        agent: &Arc<str>,
        body: Vec<u8>,
    ) -> Result<oneshot::Receiver<Result<OrderView, Refusal>>, Unavailable> {
        let agent = Arc::clone(agent);
        self.ask(|answer| Ask::Submit {
            agent,
            body,
            answer,
        })
    }

    /// Cancels what works of an order.
    ///
    /// # Errors
    /// As [`ExecutorHandle::submit`].
    pub fn cancel(
        &self,
        agent: &Arc<str>,
        id: ClientOrderId,
    ) -> Result<oneshot::Receiver<Result<OrderView, Refusal>>, Unavailable> {
        let agent = Arc::clone(agent);
        self.ask(|answer| Ask::Cancel { agent, id, answer })
    }

    /// Reads an order.
    ///
    /// # Errors
    /// As [`ExecutorHandle::submit`].
    pub fn read(
        &self,
        agent: &Arc<str>,
        id: ClientOrderId,
    ) -> Result<oneshot::Receiver<Result<OrderView, Refusal>>, Unavailable> {
        let agent = Arc::clone(agent);
        self.ask(|answer| Ask::Read { agent, id, answer })
    }

    /// The oldest orders of everybody, of a state or of any, `most` at most.
    ///
    /// # Errors
    /// As [`ExecutorHandle::submit`].
    pub fn orders(
        &self,
        state: Option<OrderState>,
        most: usize,
    ) -> Result<oneshot::Receiver<Vec<OrderView>>, Unavailable> {
        self.ask(|answer| Ask::Orders {
            state,
            most,
            answer,
        })
    }

    /// Keeps an account's new orders from their venue, or lets them go again.
    ///
    /// # Errors
    /// As [`ExecutorHandle::submit`].
    pub fn set_blocked(
        &self,
        account: AccountId,
        blocked: bool,
    ) -> Result<oneshot::Receiver<()>, Unavailable> {
        self.ask(|answer| Ask::Block {
            account,
            blocked,
            answer,
        })
    }

    /// How it stands; with a `census`, the orders by state too.
    ///
    /// # Errors
    /// As [`ExecutorHandle::submit`].
    pub fn report(&self, census: bool) -> Result<oneshot::Receiver<ExecutorReport>, Unavailable> {
        self.ask(|answer| Ask::Report { census, answer })
    }
}
