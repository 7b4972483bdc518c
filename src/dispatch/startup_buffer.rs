//! What arrives while a node starts: account events at once, then reports, then
//! order events, each under the root that it came with (rules R65, R66).

use std::collections::VecDeque;

use super::channel::Message;

/// Which of the three an arriving message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arriving {
    /// Processed at once.
    Account,
    /// Kept, and processed before order events.
    Report,
    /// Kept, and processed last.
    Order,
}

/// Keeps reports and order events until the node has started. It holds at most
/// what it was made for; beyond that a message comes back, to be left in its
/// channel or processed.
#[derive(Debug)]
pub struct StartupBuffer<T> {
    reports: VecDeque<Message<T>>,
    orders: VecDeque<Message<T>>,
    capacity: usize,
}

impl<T> StartupBuffer<T> {
    /// Room for `capacity` messages.
    #[must_use]
    pub const fn new(capacity: usize) -> Self {
        Self {
            reports: VecDeque::new(),
            orders: VecDeque::new(),
            capacity,
        }
    }

    /// Messages that are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.reports.len() + self.orders.len()
    }

    /// Nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps a message, or lets `handler` have it at once if it is of an account.
    ///
    /// # Errors
    /// The buffer is full; the message comes back.
    pub fn take(
        &mut self,
        message: Message<T>,
        kind: Arriving,
        handler: impl FnOnce(T),
    ) -> Result<(), Message<T>> {
        let full = self.len() >= self.capacity;
        let queue = match kind {
            Arriving::Account => {
                message.dispatch(handler);
                return Ok(());
            }
            _ if full => return Err(message),
            Arriving::Report => &mut self.reports,
            Arriving::Order => &mut self.orders,
        };
        queue.push_back(message);
        Ok(())
    }

    /// The next message to process: reports first.
    pub fn pop(&mut self) -> Option<Message<T>> {
        self.reports.pop_front().or_else(|| self.orders.pop_front())
    }

    /// Drops what is kept, each message under its own root.
    pub fn discard(&mut self) {
        while let Some(message) = self.pop() {
            drop(message);
        }
    }
}
