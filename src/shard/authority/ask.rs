//! The queue from those who ask to the shard that answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::receiver::Acknowledged;
use super::request::Undecided;
use crate::limits::AUTHORITY_ASKS_MAX;
use crate::orders::decision::Decision;
use crate::orders::executor::Message;
use crate::risk::Rejects;
use crate::shard::ReportBell;
use crate::time::UnixNanos;
use crate::types::{AccountId, InstrumentId, Order, RejectCode};

/// The accounts of a shard that are blocked themselves, and why.
pub type BlockedAccounts = Vec<(AccountId, RejectCode)>;

/// What a shard is asked.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Judge an order, and hold for it.
    Reserve(Box<ReserveAsk>),
    /// Book what an executor tells.
    Settle(Box<SettleAsk>),
    /// Which decisions should have been brought by now.
    Due {
        now: UnixNanos,
        most: usize,
        reply: oneshot::Sender<Vec<Decision>>,
    },
    /// End a hold whose decision is void; whether there was one.
    Release {
        account: AccountId,
        reservation_id: String,
        reply: oneshot::Sender<bool>,
    },
    /// Block an account, or clear its block; whether it is known.
    SetBlock {
        account: AccountId,
        cause: Option<RejectCode>,
        reply: oneshot::Sender<bool>,
    },
    /// Which accounts are blocked.
    Blocks {
        reply: oneshot::Sender<BlockedAccounts>,
    },
}

#[derive(Debug)]
pub(crate) struct ReserveAsk {
    pub(crate) order: Order,
    /// The decision, as far as it is known before the shard has judged.
    pub(crate) draft: Box<Decision>,
    pub(crate) reply: oneshot::Sender<Result<Box<Decision>, Rejects>>,
    /// From when on a decision that was never brought is listed as due.
    pub(crate) due_at: UnixNanos,
}

#[derive(Debug)]
pub(crate) struct SettleAsk {
    /// Which executor's log counts the messages.
    pub(crate) stream: u64,
    pub(crate) message: Message,
    /// What its instrument's name is here; `None`: nothing.
    pub(crate) instrument: Option<InstrumentId>,
    pub(crate) acknowledged: Arc<Acknowledged>,
}

/// A shard's end of the queue: to be given to the shard, which serves it in its
/// turns. Dropped, everybody who asks is told that the shard is not there.
#[derive(Debug)]
pub struct AuthorityEnd {
    pub(crate) asks: Receiver<Ask>,
    /// Lowered before the queue is emptied for the last time.
    alive: Arc<AtomicBool>,
}

impl Drop for AuthorityEnd {
    fn drop(&mut self) {
        self.alive.store(false, Ordering::Relaxed);
        // Pairs with the fence of a send: either it sees that nobody is there, or
        // what it sent is seen here.
        fence(Ordering::SeqCst);
        while self.asks.try_recv().is_ok() {}
    }
}

/// The other end: of every thread that asks.
#[derive(Debug)]
pub(super) struct AskSender {
    asks: Sender<Ask>,
    alive: Arc<AtomicBool>,
    /// Wakes the I/O thread that runs the shard, if one does. A worker of its
    /// own looks by itself.
    bell: Option<ReportBell>,
}

pub(super) fn ask_queue(bell: Option<ReportBell>) -> (AskSender, AuthorityEnd) {
    let (sender, receiver) = bounded(AUTHORITY_ASKS_MAX);
    let alive = Arc::new(AtomicBool::new(true));
    let sender = AskSender {
        asks: sender,
        alive: Arc::clone(&alive),
        bell,
    };
    let end = AuthorityEnd {
        asks: receiver,
        alive,
    };
    (sender, end)
}

impl AskSender {
    /// Never waits.
    pub(super) fn send(&self, ask: Ask) -> Result<(), Undecided> {
        self.asks.try_send(ask).map_err(|error| match error {
            TrySendError::Full(_) => Undecided::Busy,
            TrySendError::Disconnected(_) => Undecided::NotThere,
        })?;
        fence(Ordering::SeqCst);
        if !self.is_there() {
            return Err(Undecided::NotThere);
        }
        if let Some(bell) = &self.bell {
            bell.ring();
        }
        Ok(())
    }

    pub(super) fn is_there(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }
}
