//! What the executor writes down before anything leaves it (rules O14, O29).
//!
//! Records are effects, not inputs: applying them again needs no clock, key or
//! configuration. One group of them is all there or not at all after a crash.

use serde::{Deserialize, Serialize};

use super::message::Message;
use crate::orders::Code;
use crate::orders::lifecycle::{Fill, Mover, OrderState, OrderTerms};
use crate::time::UnixNanos;
use crate::types::{AccountId, ClientOrderId, FillId};

/// One effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Record {
    /// The wall's time has been this late, and is never judged earlier.
    Time(UnixNanos),
    /// An order was admitted.
    Opened {
        /// As its decision said.
        terms: Box<OrderTerms>,
        /// Of the decision's canonical form.
        digest: [u8; 32],
    },
    /// A decision is void.
    Voided(Box<Void>),
    /// An order moved.
    Moved {
        /// Which.
        id: ClientOrderId,
        /// Where to.
        to: OrderState,
        /// By whom.
        mover: Mover,
        /// Why, where something went wrong.
        error: Option<String>,
    },
    /// A fill was booked.
    Filled {
        /// Which order.
        id: ClientOrderId,
        /// What traded.
        fill: Fill,
    },
    /// A fill was taken back.
    Reversed {
        /// Which order.
        id: ClientOrderId,
        /// Which fill.
        fill_id: FillId,
    },
    /// A fill of an order that is none of ours, set aside.
    External {
        /// The venue's place.
        venue: u16,
        /// The order, as the venue named it.
        id: ClientOrderId,
        /// What traded.
        fill: Fill,
    },
    /// A cancel was asked for, or the venue refused it.
    Cancelling {
        /// Which order.
        id: ClientOrderId,
        /// Whether it is wanted.
        wanted: bool,
    },
    /// An account takes no new orders, or does again.
    Blocked {
        /// Which account.
        account: AccountId,
        /// Whether it is blocked.
        blocked: bool,
    },
    /// A message to the authorizer.
    Message(Box<Message>),
    /// The authorizer has every message up to this one.
    Delivered {
        /// The sequence of the last.
        through: u64,
    },
}

impl Record {
    /// The execution that it books, or sets aside.
    #[must_use]
    pub const fn fill_id(&self) -> Option<FillId> {
        match self {
            Self::Filled { fill, .. } | Self::External { fill, .. } => Some(fill.fill_id),
            _ => None,
        }
    }
}

/// A decision that was refused for good, and what it had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Void {
    /// Its name.
    pub decision_id: String,
    /// Of its canonical form.
    pub digest: [u8; 32],
    /// The identity that it used up, if it had one.
    pub client_order_id: Option<ClientOrderId>,
    /// The answer that it gets from now on.
    pub code: Code,
    /// The sentence with it.
    pub detail: String,
    /// When the decision expires.
    pub expires_at: UnixNanos,
}
