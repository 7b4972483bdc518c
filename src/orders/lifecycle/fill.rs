//! Executions as they are kept with their order.

use crate::types::{Amount, FillId, Price, Quantity};

/// One execution of one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fill {
    /// Unique at its venue.
    pub fill_id: FillId,
    /// How much traded; positive.
    pub quantity: Quantity,
    /// At which price.
    pub price: Price,
    /// What the account pays beside it; negative is a rebate.
    pub fee: Amount,
}

impl Fill {
    /// Price times quantity.
    #[must_use]
    pub const fn notional(&self) -> Amount {
        self.price.notional(self.quantity)
    }
}

/// What became of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booking {
    /// Booked before; nothing was changed (rule O23).
    Duplicate,
    /// Booked.
    Booked {
        /// The order was over; it is booked all the same, and alarmed.
        late: bool,
        /// More than the order was for; alarmed, and the account is blocked.
        overfilled: bool,
    },
}

/// Where an order stands; `cum + leaves + ended` is the size (rule O24).
///
/// Quantities, or volumes in an order by volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// What the order is for.
    pub size: Amount,
    /// Filled, of what it is for.
    pub cum: Amount,
    /// May still trade.
    pub leaves: Amount,
    /// Cancelled, expired, rejected, or taken back by the venue.
    pub ended: Amount,
    /// Filled beyond what it is for.
    pub excess: Amount,
}
