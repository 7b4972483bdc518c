//! What is told about an order: one fixed-size report for each change.

use super::{
    AccountId, ClientOrderId, ClientReference, FillId, InstrumentId, Price, Quantity, RejectCode,
    RejectScope, ShardId, Side,
};

/// Where a command came from, and so where its reports go.
///
/// Opaque to the core: the gateway that sent the command knows what it means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Origin {
    /// Index of the submitting thread's report ring.
    pub port: u16,
    /// Which credential sent it: references are its own, and survive its
    /// connections.
    pub credential: u16,
    /// The gateway's own: which connection on that thread; not used again while
    /// its reports can still arrive.
    pub session: u32,
}

/// What happened to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReportKind {
    /// Risk took it and it has an identity; not yet at the venue.
    Accepted = 1,
    /// Refused, by risk or by the venue; nothing is left of it.
    Rejected = 2,
    /// Traded `last_quantity` at `last_price`.
    Executed = 3,
    /// Ended with `leaves` of zero; what was not filled is released.
    Canceled = 4,
    /// Has a new price or quantity at the venue.
    Replaced = 5,
    /// A cancel or replace was refused; the order is as it was.
    CancelRejected = 6,
}

/// One change of one order, as the client is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// What happened.
    pub kind: ReportKind,
    /// Buy or sell.
    pub side: Side,
    /// Why, where something was refused.
    pub reject: Option<(RejectCode, RejectScope)>,
    /// The shard that made the report.
    pub shard: ShardId,
    /// Who is told.
    pub origin: Origin,
    /// Whose order.
    pub account: AccountId,
    /// What it trades.
    pub instrument: InstrumentId,
    /// The client's number for the message that this answers; for an execution
    /// or an unasked cancel, that of the order itself.
    pub reference: ClientReference,
    /// The client's number of the order, as first sent.
    pub order_reference: ClientReference,
    /// The order's identity; zero where none was minted.
    pub client_order_id: ClientOrderId,
    /// From 1, without gaps, per credential and shard.
    pub sequence: u64,
    /// The execution, where `kind` is `Executed`, else zero.
    pub fill_id: FillId,
    /// The trade's price in an execution; the order's in any other report.
    pub price: Price,
    /// The trade's quantity in an execution; the order's in any other report.
    pub quantity: Quantity,
    /// Filled so far.
    pub cumulative: Quantity,
    /// Still working.
    pub leaves: Quantity,
}
