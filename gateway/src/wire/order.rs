//! Blocks of what a client asks for (rule G4).

use super::block::blocks;

blocks! {
    /// Admit an order.
    NewOrder = 101 {
        /// The client's number for this message in this session.
        seq_num: u64 as uInt64,
        /// The client's number for the order, increasing per credential and account.
        reference: u64 as uInt64,
        /// Whose order.
        account: u64 as uInt64,
        /// 10^-9 of the settlement asset for one of the base asset;
        /// `i64::MIN` in a market order.
        price: i64 as Decimal9Null,
        /// 10^-9 of the base asset; `i64::MIN` where `volume` is given.
        quantity: i64 as Decimal9Null,
        /// 10^-9 of the settlement asset; `i64::MIN` where `quantity` is given.
        volume: i64 as Decimal9Null,
        /// What it trades.
        instrument: u32 as uInt32,
        /// [`pitlane::types::Side`] as a number.
        side: u8 as Side,
        /// [`pitlane::types::OrderType`] as a number.
        order_type: u8 as OrderType,
        /// [`pitlane::types::TimeInForce`] as a number.
        time_in_force: u8 as TimeInForce,
        /// Zero.
        pad1: u8 as Pad8,
    }

    /// Give a working order a new price or total quantity.
    Replace = 102 {
        /// The client's number for this message in this session.
        seq_num: u64 as uInt64,
        /// The client's number for this message, increasing per credential and account.
        reference: u64 as uInt64,
        /// Whose order.
        account: u64 as uInt64,
        /// The order's reference, as first sent.
        target: u64 as uInt64,
        /// The price from now on, 10^-9.
        price: i64 as Decimal9,
        /// The total quantity from now on, fills included, 10^-9.
        quantity: i64 as Decimal9,
    }

    /// Cancel what still works of an order.
    Cancel = 103 {
        /// The client's number for this message in this session.
        seq_num: u64 as uInt64,
        /// The client's number for this message, increasing per credential and account.
        reference: u64 as uInt64,
        /// Whose order.
        account: u64 as uInt64,
        /// The order's reference, as first sent.
        target: u64 as uInt64,
    }
}
