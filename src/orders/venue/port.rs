//! The trait behind which every venue stands (rule O35).

use super::Capabilities;
use crate::time::UnixNanos;
use crate::types::{
    Amount, ClientOrderId, FillId, InstrumentId, OrderType, Price, Quantity, RejectCode, Side,
    TimeInForce,
};

/// An admitted order on its way to a venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VenueOrder {
    /// The identity that was minted at admission.
    pub id: ClientOrderId,
    /// What it trades.
    pub instrument: InstrumentId,
    /// Buy or sell.
    pub side: Side,
    /// How its price is set.
    pub order_type: OrderType,
    /// How long it stays.
    pub time_in_force: TimeInForce,
    /// When it expires by the venue's clock; exactly in an order that is good
    /// till a date.
    pub expires_at: Option<UnixNanos>,
    /// How much of the base asset; exactly one of this and `volume`.
    pub quantity: Option<Quantity>,
    /// How much of the settlement asset; exactly one of this and `quantity`.
    pub volume: Option<Amount>,
    /// The limit price; absent in market and stop orders.
    pub price: Option<Price>,
    /// The price at which it begins to work; exactly in stop and stop-limit
    /// orders.
    pub stop: Option<Price>,
}

/// What a venue says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VenueEvent {
    /// The order is at the venue.
    Acknowledged {
        /// Which order.
        id: ClientOrderId,
    },
    /// The venue refused the order; it never worked.
    Rejected {
        /// Which order.
        id: ClientOrderId,
        /// Why.
        code: RejectCode,
    },
    /// The order traded.
    Executed {
        /// Which order.
        id: ClientOrderId,
        /// The execution, unique at this venue; both sides of a trade have
        /// their own.
        fill_id: FillId,
        /// The trade's price.
        price: Price,
        /// The trade's quantity.
        quantity: Quantity,
        /// What still works after it; zero: the order is over. Of an order by
        /// volume: what its unspent volume pays for at this price, rounded up,
        /// so that it is zero exactly when all is spent.
        leaves: Quantity,
        /// Whether this order was the one that arrived.
        aggressor: bool,
    },
    /// The order ended with this much unfilled: cancelled by its owner, the
    /// remainder of an order that does not rest, or volume that pays for no
    /// whole lot.
    Canceled {
        /// Which order.
        id: ClientOrderId,
        /// What was not filled. Of an order by volume: what the unspent volume
        /// pays for at the last trade's price, or else at its limit, rounded
        /// up; zero for a market order that never traded.
        unfilled: Quantity,
    },
    /// Its time was over, with this much unfilled: the end of its day, or its
    /// date.
    Expired {
        /// Which order.
        id: ClientOrderId,
        /// As in `Canceled`.
        unfilled: Quantity,
    },
    /// The order has a new price or quantity.
    Replaced {
        /// Which order.
        id: ClientOrderId,
        /// Its price from now on.
        price: Price,
        /// What works from now on.
        leaves: Quantity,
    },
    /// A cancel or replace was refused; the order is as it was, or over.
    CancelRejected {
        /// Which order.
        id: ClientOrderId,
        /// Why.
        code: RejectCode,
    },
    /// An execution that was told earlier is void (rule O28).
    Busted {
        /// Which order.
        id: ClientOrderId,
        /// Which of its executions.
        fill_id: FillId,
    },
    /// The answer to [`Venue::query`]: how the order stands. Every execution
    /// that the venue has of it was told again before.
    Snapshot(OrderSnapshot),
    /// The answer to [`Venue::query_open`]: this many orders work, a
    /// `Snapshot` of each of which came before.
    OpenOrders {
        /// How many.
        count: u64,
    },
}

/// How one order stands at its venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderSnapshot {
    /// Which order.
    pub id: ClientOrderId,
    /// `None`: the venue does not have it, or not yet; see
    /// [`Capabilities::settle_time`].
    pub status: Option<VenueStatus>,
    /// What was filled, busts taken off.
    pub filled: Quantity,
    /// What still works; zero where the order is over.
    pub leaves: Quantity,
}

/// What a venue's record says of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VenueStatus {
    /// It may still trade.
    Working,
    /// All of it traded.
    Filled,
    /// It ended by a cancel, with what was filled.
    Canceled,
    /// Its time was over.
    Expired,
    /// It was refused.
    Rejected,
}

impl VenueEvent {
    /// The order that it is about; none for an answer about all of them.
    #[must_use]
    pub const fn order(&self) -> Option<ClientOrderId> {
        Some(match self {
            Self::Acknowledged { id }
            | Self::Rejected { id, .. }
            | Self::Executed { id, .. }
            | Self::Canceled { id, .. }
            | Self::Expired { id, .. }
            | Self::Replaced { id, .. }
            | Self::CancelRejected { id, .. }
            | Self::Busted { id, .. }
            | Self::Snapshot(OrderSnapshot { id, .. }) => *id,
            Self::OpenOrders { .. } => return None,
        })
    }

    /// Whether the order is over with it.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        match self {
            Self::Rejected { .. } | Self::Canceled { .. } | Self::Expired { .. } => true,
            Self::Executed { leaves, .. } => leaves.is_zero(),
            Self::Acknowledged { .. }
            | Self::Replaced { .. }
            | Self::CancelRejected { .. }
            | Self::Busted { .. }
            | Self::Snapshot(_)
            | Self::OpenOrders { .. } => false,
        }
    }
}

/// Why a venue could not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VenueError {
    /// The venue cannot be reached; nothing was sent.
    #[error("the venue is down; nothing was sent")]
    Down,
    /// Too much waits for the venue already; nothing was sent.
    #[error("the venue's queue is full; nothing was sent")]
    Busy,
    /// The venue cannot be asked that.
    #[error("the venue does not answer this; nothing was sent")]
    Unsupported,
}

/// A venue as a shard sees it.
///
/// Calls only hand over; answers come as events from [`Venue::next_event`], in the
/// order in which the venue made them. No call blocks.
pub trait Venue {
    /// What it takes. `None` where that cannot be known now: then nothing is
    /// sent to it (rule O13).
    fn capabilities(&self) -> Option<&Capabilities> {
        None
    }

    /// Tells a venue in this process what time it is. Times never fall; a
    /// distant venue has its own clock and does not listen.
    fn advance_to(&mut self, now: UnixNanos) {
        let _ = now;
    }

    /// Hands over a new order.
    ///
    /// # Errors
    /// Nothing was sent, and no event will come for it.
    fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError>;

    /// Asks to cancel what still works.
    ///
    /// # Errors
    /// Nothing was sent, and no event will come for it.
    fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError>;

    /// Asks for a new price and a new total quantity, fills included: an order
    /// of which 3 were filled, replaced to 10, works 7.
    ///
    /// # Errors
    /// Nothing was sent, and no event will come for it.
    fn replace(
        &mut self,
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), VenueError>;

    /// Asks how an order stands: its executions again, then a
    /// [`VenueEvent::Snapshot`].
    ///
    /// # Errors
    /// Nothing was sent, and no event will come for it.
    fn query(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        let _ = id;
        Err(VenueError::Unsupported)
    }

    /// Asks which orders work: a snapshot of each, then
    /// [`VenueEvent::OpenOrders`].
    ///
    /// # Errors
    /// Nothing was sent, and no event will come for it.
    fn query_open(&mut self) -> Result<(), VenueError> {
        Err(VenueError::Unsupported)
    }

    /// The oldest event that was not given yet.
    fn next_event(&mut self) -> Option<VenueEvent>;

    /// Gives at most `budget` events to `sink`, oldest first; how many it gave.
    fn poll(&mut self, budget: usize, sink: &mut dyn FnMut(VenueEvent)) -> usize {
        for given in 0..budget {
            match self.next_event() {
                Some(event) => sink(event),
                None => return given,
            }
        }
        budget
    }
}
