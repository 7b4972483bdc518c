//! An order as its agent sees it, and the answers to what was asked (rules O31,
//! O32).

use serde::{Deserialize, Serialize};

use crate::orders::Refusal;
use crate::orders::decision::{Size, time_in_force_name};
use crate::orders::lifecycle::{OrderState, TrackedOrder};
use crate::types::{Amount, ClientOrderId, Price};

/// An order as its agent sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderView {
    /// Its identity.
    pub client_order_id: ClientOrderId,
    /// The decision that it follows from.
    pub decision_id: String,
    /// The venue's name.
    pub venue: String,
    /// What the venue calls it.
    pub venue_order_id: Option<String>,
    /// Where it is in its life.
    pub state: OrderState,
    /// How long it stays.
    pub time_in_force: String,
    /// What was filled of the base asset.
    pub filled_qty: Amount,
    /// The average price, rounded half to even.
    pub avg_px: Option<Price>,
    /// What the fills cost beside their price.
    pub fees: Amount,
    /// Why it last did not go on.
    pub last_error: Option<String>,
    /// What may still trade: of the quantity, or of the volume.
    pub leaves: Amount,
    /// What was cancelled, expired, rejected or taken back.
    pub ended: Amount,
    /// What was filled beyond the order.
    pub excess: Amount,
    /// Whether the three above, and the size, are volumes.
    pub by_volume: bool,
}

impl OrderView {
    pub(super) fn new(order: &TrackedOrder, venue: &str, venue_order_id: Option<String>) -> Self {
        let standing = order.standing();
        Self {
            client_order_id: order.terms.client_order_id,
            decision_id: order.terms.decision_id.clone(),
            venue: venue.to_owned(),
            venue_order_id,
            state: order.state(),
            time_in_force: time_in_force_name(order.terms.time_in_force).to_owned(),
            filled_qty: order.filled(),
            avg_px: order.average_price(),
            fees: order.fees(),
            last_error: order.last_error.clone(),
            leaves: standing.leaves,
            ended: standing.ended,
            excess: standing.excess,
            by_volume: matches!(order.terms.size, Size::Volume(_)),
        }
    }
}

/// The answer to a request; each request gets one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The caller's number for the request.
    pub request: u64,
    /// The order, or why not.
    pub result: Result<OrderView, Refusal>,
}

/// What became of orders that are no longer in memory (rule O18).
pub trait History {
    /// Whether this order's end is in it, so that it may leave the memory.
    fn holds(&self, id: ClientOrderId) -> bool;

    /// An order by its identity: its agent, its decision's digest, and itself.
    fn order(&self, id: ClientOrderId) -> Option<PastOrder>;

    /// The order of a decision.
    fn order_of(&self, decision_id: &str) -> Option<PastOrder>;
}

/// An order of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastOrder {
    /// Whose it was.
    pub agent_id: String,
    /// Of its decision's canonical form.
    pub digest: [u8; 32],
    /// As it ended.
    pub view: OrderView,
}

/// No history: what leaves the memory is forgotten, its decision long expired.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHistory;

impl History for NoHistory {
    fn holds(&self, _: ClientOrderId) -> bool {
        true
    }

    fn order(&self, _: ClientOrderId) -> Option<PastOrder> {
        None
    }

    fn order_of(&self, _: &str) -> Option<PastOrder> {
        None
    }
}
