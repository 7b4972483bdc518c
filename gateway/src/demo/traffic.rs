//! A client's side of a run: what is sent, what is heard, and the window
//! between them.

use std::time::{Duration, Instant};

use pitlane::types::{AccountId, ClientReference, Order, Price, Quantity, ReportKind};

use super::DemoError;
use super::ledger::{Ledger, Told};
use crate::client::{Client, Event};
use crate::wire::ReportHead;

/// How long silence may last while answers are due.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// An execution, as the client heard of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// The order's reference.
    pub(super) order: u64,
    pub(super) price: Price,
    pub(super) quantity: Quantity,
}

/// One session with its books.
pub(super) struct Traffic {
    client: Client,
    ledger: Ledger,
    window: u64,
    begun: Instant,
    /// Executions since they were last taken; kept only where asked for.
    heard: Option<Vec<Heard>>,
    /// Read once a batch: a clock read costs as much as an order's encoding.
    now_ns: u64,
}

impl Traffic {
    /// A run over `client` with at most `window` messages unanswered.
    pub(super) fn new(client: Client, window: u64, messages: usize, keep_executions: bool) -> Self {
        Self {
            client,
            ledger: Ledger::new(messages),
            window,
            begun: Instant::now(),
            heard: keep_executions.then(Vec::new),
            now_ns: 0,
        }
    }

    /// Queues a new order, when the window has room; its reference.
    pub(super) fn submit(&mut self, order: &Order) -> Result<u64, DemoError> {
        self.make_room()?;
        let reference = self.ledger.submit(order.account, self.now_ns);
        self.client
            .sender()
            .new_order(ClientReference(reference), order)?;
        Ok(reference)
    }

    /// Queues a replace, when the window has room.
    pub(super) fn replace(
        &mut self,
        order: u64,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), DemoError> {
        self.make_room()?;
        let account = self.ledger.account(order);
        let reference = ClientReference(self.ledger.replace(account, self.now_ns));
        let target = ClientReference(order);
        self.client
            .sender()
            .replace(reference, account, target, price, quantity)?;
        Ok(())
    }

    /// Queues a cancel, when the window has room.
    pub(super) fn cancel(&mut self, order: u64) -> Result<(), DemoError> {
        self.make_room()?;
        let account: AccountId = self.ledger.account(order);
        let reference = ClientReference(self.ledger.cancel(order, self.now_ns));
        self.client
            .sender()
            .cancel(reference, account, ClientReference(order))?;
        Ok(())
    }

    /// Cancels every order that still works, and hears of all; what is silent
    /// for too long is lost, and the books say so.
    pub(super) fn finish(&mut self) -> Result<(), DemoError> {
        self.settle()?;
        while let Some(&order) = self.ledger.open().last() {
            self.cancel(order)?;
        }
        while self.ledger.in_flight() > 0 || self.ledger.unresolved() > 0 {
            if !self.hear()? {
                break;
            }
        }
        Ok(())
    }

    /// Sends what is queued and waits until every message is answered, or
    /// nothing comes any more.
    pub(super) fn settle(&mut self) -> Result<(), DemoError> {
        while self.ledger.in_flight() > 0 && self.hear()? {}
        Ok(())
    }

    /// Waits until `due`, hearing meanwhile.
    pub(super) fn wait_until(&mut self, due: Duration) -> Result<(), DemoError> {
        self.client.sender().flush()?;
        loop {
            let left = due.saturating_sub(self.begun.elapsed());
            if left.is_zero() {
                self.touch_clock();
                return Ok(());
            }
            if let Some(event) = self.client.next_event(left)? {
                self.take(&event)?;
            }
        }
    }

    /// Waits while the window is full.
    fn make_room(&mut self) -> Result<(), DemoError> {
        if self.ledger.in_flight() < self.window {
            return Ok(());
        }
        // Half of it, so that both sides work on batches.
        while self.ledger.in_flight() > self.window / 2 {
            if !self.hear()? {
                return Err(DemoError::Silence(SILENCE_MAX));
            }
        }
        Ok(())
    }

    /// Sends what is queued, and takes what has come; `false` where nothing
    /// came for too long.
    fn hear(&mut self) -> Result<bool, DemoError> {
        self.client.sender().flush()?;
        let Some(event) = self.client.next_event(SILENCE_MAX)? else {
            return Ok(false);
        };
        self.touch_clock();
        self.take(&event)?;
        while let Some(event) = self.client.buffered_event()? {
            self.take(&event)?;
        }
        Ok(true)
    }

    fn touch_clock(&mut self) {
        self.now_ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    }

    fn take(&mut self, event: &Event) -> Result<(), DemoError> {
        let (kind, head) = match event {
            Event::Accepted(report) => (ReportKind::Accepted, &report.head),
            Event::Rejected(report) => (ReportKind::Rejected, &report.head),
            Event::Executed(report) => (ReportKind::Executed, &report.head),
            Event::Canceled(report) => (ReportKind::Canceled, &report.head),
            Event::Replaced(report) => (ReportKind::Replaced, &report.head),
            Event::CancelRejected(report) => (ReportKind::CancelRejected, &report.head),
            Event::KeepAlive { .. } => return Ok(()),
            Event::NotApplied {
                from_seq_num,
                count,
            } => {
                return Err(DemoError::NotApplied {
                    first: *from_seq_num,
                    count: *count,
                });
            }
            Event::Terminated { reason } => return Err(DemoError::Terminated(*reason)),
        };
        self.ledger.hear(&told(kind, head), self.now_ns);
        if let (ReportKind::Executed, Some(heard)) = (kind, &mut self.heard) {
            heard.push(Heard {
                order: head.order_reference,
                price: Price::from_raw(head.price),
                quantity: Quantity::from_raw(head.quantity),
            });
        }
        Ok(())
    }

    /// The executions since the last call; none where they are not kept.
    pub(super) fn take_heard(&mut self) -> Vec<Heard> {
        self.heard.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The books so far.
    pub(super) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Time since the run began.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Ends the session cleanly; the books.
    pub(super) fn close(self) -> Result<Ledger, DemoError> {
        self.client.finish()?;
        Ok(self.ledger)
    }
}

fn told(kind: ReportKind, head: &ReportHead) -> Told {
    let traded = kind == ReportKind::Executed;
    Told {
        kind,
        reference: head.reference,
        order: head.order_reference,
        quantity: if traded {
            Quantity::from_raw(head.quantity)
        } else {
            Quantity::ZERO
        },
        cumulative: Quantity::from_raw(head.cumulative),
        leaves: Quantity::from_raw(head.leaves),
    }
}
