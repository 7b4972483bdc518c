//! An order as a client states it, before anything has judged it.

use super::{AccountId, Amount, InstrumentId, Price, Quantity};

/// Buy or sell the base asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Side {
    /// Receives the base asset, pays the settlement asset.
    Buy = 1,
    /// Delivers the base asset, receives the settlement asset.
    Sell = 2,
}

impl Side {
    /// The other side.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }
}

/// How the price of an order is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum OrderType {
    /// Trades at what the book offers; carries no price.
    Market = 1,
    /// Trades at its price or better.
    Limit = 2,
    /// Becomes a market order when a trade reaches its trigger.
    Stop = 3,
    /// Becomes a limit order when a trade reaches its trigger.
    StopLimit = 4,
    /// A limit order that is refused where it would trade on arrival.
    PostOnly = 5,
}

impl OrderType {
    /// Whether it carries a limit price.
    #[must_use]
    pub const fn is_priced(self) -> bool {
        matches!(self, Self::Limit | Self::StopLimit | Self::PostOnly)
    }

    /// Whether it waits for a stop price.
    #[must_use]
    pub const fn has_stop(self) -> bool {
        matches!(self, Self::Stop | Self::StopLimit)
    }
}

/// How long an order stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum TimeInForce {
    /// Rests until filled, cancelled, or the end of the trading day.
    Day = 0,
    /// Rests until filled or cancelled, over the ends of days.
    GoodTillCancel = 1,
    /// Trades what it can at once; the remainder is cancelled.
    ImmediateOrCancel = 3,
    /// Trades all of it at once, or nothing.
    FillOrKill = 4,
    /// Rests until filled, cancelled, or a point of time by the venue's clock.
    GoodTillDate = 6,
}

impl TimeInForce {
    /// Whether what does not trade at once may stay.
    #[must_use]
    pub const fn rests(self) -> bool {
        matches!(self, Self::Day | Self::GoodTillCancel | Self::GoodTillDate)
    }
}

/// An order to be admitted.
///
/// The fields are what the client said: both, or neither, of `quantity` and
/// `volume`, a zero quantity, a limit order without a price can all be written
/// down here, because it is a policy's work to refuse them (rule K13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Whose order it is.
    pub account: AccountId,
    /// What it trades.
    pub instrument: InstrumentId,
    /// Buy or sell.
    pub side: Side,
    /// How its price is set.
    pub order_type: OrderType,
    /// How long it stays; a date is refused, for want of a field for it.
    pub time_in_force: TimeInForce,
    /// How much of the base asset; exactly one of this and `volume`.
    pub quantity: Option<Quantity>,
    /// How much of the settlement asset; exactly one of this and `quantity`.
    pub volume: Option<Amount>,
    /// The limit price, which is also what a stop order waits for; absent in a
    /// market order.
    pub price: Option<Price>,
}
