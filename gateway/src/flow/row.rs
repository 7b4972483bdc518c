//! One row of a recorded flow.

use core::fmt;
use core::num::NonZeroU32;

use pitlane::time::UnixNanos;
use pitlane::types::{AccountId, Price, Quantity, Side};

/// An order's number at the venue that recorded the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FlowOrderId(pub u64);

impl FlowOrderId {
    /// The account, 1 to `accounts`, that sends all of this order's messages.
    #[must_use]
    pub fn account(self, accounts: NonZeroU32) -> AccountId {
        AccountId(1 + self.0 % u64::from(accounts.get()))
    }
}

impl fmt::Display for FlowOrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What a row records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowEvent {
    /// An order came to rest.
    New,
    /// A resting order has another price or remaining quantity.
    Replace,
    /// A resting order is gone.
    Cancel,
    /// An order arrived and traded; with order 0, the opening auction.
    Trade,
    /// An order of the book took part in the trade before.
    Fill,
}

impl FlowEvent {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "NEW" => Self::New,
            "REPLACE" => Self::Replace,
            "CANCEL" => Self::Cancel,
            "TRADE" => Self::Trade,
            "FILL" => Self::Fill,
            _ => return None,
        })
    }
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// Its line in the file; the header is line 1.
    pub line: u64,
    /// The venue's time.
    pub time: UnixNanos,
    /// What it records.
    pub event: FlowEvent,
    /// Whose; zero in the opening auction.
    pub order: FlowOrderId,
    /// Absent only in the auction's trade and fills.
    pub side: Option<Side>,
    /// Positive.
    pub price: Price,
    /// Positive; in a replace, what remains.
    pub quantity: Quantity,
}
