//! The market phases of an instrument, and why a change is refused.

use crate::types::{InstrumentId, Price};

/// What an instrument's market does with orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Limit day orders rest, crossed ones too; nothing trades.
    #[default]
    Closed,
    /// As closed; says that orders are being gathered for an auction.
    Auction,
    /// Orders trade on arrival; the book is never crossed.
    Continuous,
}

/// Why a phase was not changed or an auction not held; nothing has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PhaseError {
    /// The venue was not configured with it.
    #[error("the venue does not know instrument {0}: name it in the venue's configuration")]
    UnknownInstrument(InstrumentId),
    /// A sweep or an auction waits for room in the event queue.
    #[error(
        "the venue is still working on an order or an auction: poll its events, then ask again"
    )]
    Busy,
    /// Continuous trading cannot begin on a crossed book.
    #[error("the book is crossed (bid {bid}, ask {ask}): hold an auction to open it")]
    Crossed {
        /// The highest buy.
        bid: Price,
        /// The lowest sell.
        ask: Price,
    },
    /// Auctions end a closed or gathering phase.
    #[error("the market trades continuously: close it before an auction")]
    AlreadyOpen,
    /// Not a price at which the instrument can trade.
    #[error("{0} is not a price of the instrument: give a positive multiple of its tick")]
    BadPrice(Price),
    /// The book would stay crossed.
    #[error("at {given} the book would stay crossed: {best} trades more; give that or none")]
    AuctionPrice {
        /// What was asked for.
        given: Price,
        /// The price that the book itself would choose.
        best: Price,
    },
}
