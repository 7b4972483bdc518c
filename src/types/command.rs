//! What a client asks for, on its way to the shard of its account.

use super::{AccountId, ClientReference, Order, Origin, Price, Quantity};

/// A request of a client, as it travels to the account's shard.
///
/// `Copy` and of fixed size, so that it travels in a ring slot. Answers come
/// as [`Report`](super::Report)s to its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Admit an order and send it to the venue.
    NewOrder {
        /// Who is told.
        origin: Origin,
        /// The client's number for this message, and for the order.
        reference: ClientReference,
        /// The order.
        order: Order,
    },
    /// Give a working order a new price or a new total quantity.
    Replace {
        /// Who is told.
        origin: Origin,
        /// The client's number for this message.
        reference: ClientReference,
        /// Whose order.
        account: AccountId,
        /// The order's number, as first sent.
        target: ClientReference,
        /// The price from now on.
        price: Price,
        /// The total quantity from now on, fills included.
        quantity: Quantity,
    },
    /// Cancel what still works of an order.
    Cancel {
        /// Who is told.
        origin: Origin,
        /// The client's number for this message.
        reference: ClientReference,
        /// Whose order.
        account: AccountId,
        /// The order's number, as first sent.
        target: ClientReference,
    },
}

impl Command {
    /// The account whose lane runs it.
    #[must_use]
    pub const fn account(&self) -> AccountId {
        match self {
            Self::NewOrder { order, .. } => order.account,
            Self::Replace { account, .. } | Self::Cancel { account, .. } => *account,
        }
    }

    /// Who is told.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        match self {
            Self::NewOrder { origin, .. }
            | Self::Replace { origin, .. }
            | Self::Cancel { origin, .. } => *origin,
        }
    }

    /// The client's number for the message.
    #[must_use]
    pub const fn reference(&self) -> ClientReference {
        match self {
            Self::NewOrder { reference, .. }
            | Self::Replace { reference, .. }
            | Self::Cancel { reference, .. } => *reference,
        }
    }
}

const _: () = assert!(
    size_of::<Command>() <= 112,
    "a command and its ring header fit 128 bytes"
);
const _: () = assert!(
    size_of::<super::Report>() <= 160,
    "a report is two and a half cache lines at most"
);
