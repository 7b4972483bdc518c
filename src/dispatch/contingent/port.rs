//! How a strategy's orders leave: as commands, in the name of one credential.

use std::cell::Cell;
use std::rc::Rc;

use crate::dispatch::CommandSender;
use crate::types::{AccountId, ClientReference, Command, Order, Origin, Price, Quantity, Report};

/// Sends orders of one account in the name of one credential. Clones share the
/// numbering, because references of a credential and account only grow.
#[derive(Clone, Debug)]
pub struct OrderPort {
    sender: CommandSender<Command>,
    origin: Origin,
    account: AccountId,
    next_reference: Rc<Cell<u64>>,
}

impl OrderPort {
    /// A port whose first message has the reference `first`.
    #[must_use]
    pub fn new(
        sender: CommandSender<Command>,
        origin: Origin,
        account: AccountId,
        first: ClientReference,
    ) -> Self {
        Self {
            sender,
            origin,
            account,
            next_reference: Rc::new(Cell::new(first.0)),
        }
    }

    /// Whose orders it sends.
    #[must_use]
    pub const fn account(&self) -> AccountId {
        self.account
    }

    /// Whether the report is about the order with this reference.
    #[must_use]
    pub fn is_about(&self, report: &Report, order: ClientReference) -> bool {
        report.account == self.account
            && report.origin.credential == self.origin.credential
            && report.order_reference == order
    }

    fn reference(&self) -> ClientReference {
        let reference = self.next_reference.get();
        // References end after 584 years of one a nanosecond; then the risk engine
        // refuses what repeats.
        self.next_reference.set(reference.saturating_add(1));
        ClientReference(reference)
    }

    /// Sends an order in this port's account; its reference.
    pub fn submit(&self, order: Order) -> ClientReference {
        let reference = self.reference();
        let order = Order {
            account: self.account,
            ..order
        };
        self.sender.send(Command::NewOrder {
            origin: self.origin,
            reference,
            order,
        });
        reference
    }

    /// Asks for another price and total of an order; the message's reference.
    pub fn replace(
        &self,
        target: ClientReference,
        price: Price,
        quantity: Quantity,
    ) -> ClientReference {
        let (origin, account, reference) = (self.origin, self.account, self.reference());
        let command = Command::Replace {
            origin,
            reference,
            account,
            target,
            price,
            quantity,
        };
        self.sender.send(command);
        reference
    }

    /// Asks to cancel what still works; the message's reference.
    pub fn cancel(&self, target: ClientReference) -> ClientReference {
        let (origin, account, reference) = (self.origin, self.account, self.reference());
        self.sender.send(Command::Cancel {
            origin,
            reference,
            account,
            target,
        });
        reference
    }
}
