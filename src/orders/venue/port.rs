//! The trait behind which every venue stands (rule O35).

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
    /// Market or limit.
    pub order_type: OrderType,
    /// How long it stays.
    pub time_in_force: TimeInForce,
    /// How much of the base asset; exactly one of this and `volume`.
    pub quantity: Option<Quantity>,
    /// How much of the settlement asset; exactly one of this and `quantity`.
    pub volume: Option<Amount>,
    /// The limit price; absent in a market order.
    pub price: Option<Price>,
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
    /// The order ended with this much unfilled: cancelled by its owner, an
    /// immediate-or-cancel or market order's remainder, the end of the day, or
    /// volume that pays for no whole lot.
    Canceled {
        /// Which order.
        id: ClientOrderId,
        /// What was not filled. Of an order by volume: what the unspent volume
        /// pays for at the last trade's price, or else at its limit, rounded
        /// up; zero for a market order that never traded.
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
}

impl VenueEvent {
    /// The order that it is about.
    #[must_use]
    pub const fn order(&self) -> ClientOrderId {
        match self {
            Self::Acknowledged { id }
            | Self::Rejected { id, .. }
            | Self::Executed { id, .. }
            | Self::Canceled { id, .. }
            | Self::Replaced { id, .. }
            | Self::CancelRejected { id, .. } => *id,
        }
    }

    /// Whether the order is over with it.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        match self {
            Self::Rejected { .. } | Self::Canceled { .. } => true,
            Self::Executed { leaves, .. } => leaves.is_zero(),
            Self::Acknowledged { .. } | Self::Replaced { .. } | Self::CancelRejected { .. } => {
                false
            }
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
}

/// A venue as a shard sees it.
///
/// Calls only hand over; answers come as events from [`Venue::next_event`], in the
/// order in which the venue made them. No call blocks.
pub trait Venue {
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
