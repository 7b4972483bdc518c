//! Blocks of what the gateway tells about orders (rule G5).

use super::block::{Field, blocks, field};

/// What all reports begin with: the first 96 bytes of their blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ReportHead {
    /// The gateway's number for this message in this session, from 1.
    pub seq_num: u64,
    /// The shard's number for the report, from 1 without gaps per session and
    /// shard; zero where the gateway itself refused.
    pub report_seq: u64,
    /// Whose order.
    pub account: u64,
    /// The reference of the message that this answers; of the order itself for
    /// an execution or an unasked cancel.
    pub reference: u64,
    /// The order's reference, as first sent.
    pub order_reference: u64,
    /// The upper half of the order's identity; zero with the lower: none.
    pub order_id_high: u64,
    /// The lower half of the order's identity.
    pub order_id_low: u64,
    /// The trade's price in `Executed`, else the order's; 10^-9.
    pub price: i64,
    /// The trade's quantity in `Executed`, else the order's; 10^-9.
    pub quantity: i64,
    /// Filled so far, 10^-9.
    pub cumulative: i64,
    /// Still working, 10^-9.
    pub leaves: i64,
    /// What it trades.
    pub instrument: u32,
    /// The shard that made the report; 65,535 where the gateway itself refused.
    pub shard: u16,
    /// [`pitlane::types::Side`] as a number; 255 where it is not known.
    pub side: u8,
    /// Zero.
    pub pad1: u8,
}

impl ReportHead {
    pub(super) const FIELDS: &'static [Field] = &[
        field!(ReportHead, seq_num: u64 as uInt64),
        field!(ReportHead, report_seq: u64 as uInt64),
        field!(ReportHead, account: u64 as uInt64),
        field!(ReportHead, reference: u64 as uInt64),
        field!(ReportHead, order_reference: u64 as uInt64),
        field!(ReportHead, order_id_high: u64 as uInt64),
        field!(ReportHead, order_id_low: u64 as uInt64),
        field!(ReportHead, price: i64 as Decimal9),
        field!(ReportHead, quantity: i64 as Decimal9),
        field!(ReportHead, cumulative: i64 as Decimal9),
        field!(ReportHead, leaves: i64 as Decimal9),
        field!(ReportHead, instrument: u32 as uInt32),
        field!(ReportHead, shard: u16 as ShardId),
        field!(ReportHead, side: u8 as Side),
        field!(ReportHead, pad1: u8 as Pad8),
    ];
}

blocks! {
    /// Risk took the order.
    Accepted = 201 with head: ReportHead {}

    /// The order was refused; nothing is left of it.
    Rejected = 202 with head: ReportHead {
        /// [`pitlane::types::RejectCode`] as a number.
        code: u16 as RejectCode,
        /// [`pitlane::types::RejectScope`] as a number.
        scope: u8 as RejectScope,
        /// Zero.
        pad2: u8 as Pad8,
        /// Zero.
        pad3: u32 as Pad32,
        /// The code's stable name, zero-padded.
        text: [u8; 32] as Text32,
    }

    /// The order traded.
    Executed = 203 with head: ReportHead {
        /// The execution, unique at its venue.
        fill_id: u64 as uInt64,
    }

    /// The order is over; what was not filled is released.
    Canceled = 204 with head: ReportHead {}

    /// The order has a new price or quantity.
    Replaced = 205 with head: ReportHead {}

    /// A cancel or replace was refused; the order is as it was.
    CancelRejected = 206 with head: ReportHead {
        /// [`pitlane::types::RejectCode`] as a number.
        code: u16 as RejectCode,
        /// [`pitlane::types::RejectScope`] as a number.
        scope: u8 as RejectScope,
        /// Zero.
        pad2: u8 as Pad8,
        /// Zero.
        pad3: u32 as Pad32,
        /// The code's stable name, zero-padded.
        text: [u8; 32] as Text32,
    }
}
