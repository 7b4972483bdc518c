//! An order as it stands.

use super::bytes::{Put, Take};
use crate::orders::{PendingCancel, PendingReplace};
use crate::risk::HoldImage;
use crate::types::{
    AccountId, Amount, ClientOrderId, ClientReference, InstrumentId, Order, OrderType, Origin,
    Price, Quantity, Side, TimeInForce,
};

/// Whether an order is over, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OrderStanding {
    /// It may still trade.
    Open = 1,
    /// All of it traded.
    Filled = 2,
    /// It ended with something unfilled.
    Canceled = 3,
    /// It never worked.
    Rejected = 4,
}

/// An order, with its hold while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRecord {
    /// Its identity.
    pub id: ClientOrderId,
    /// Whether it is over.
    pub standing: OrderStanding,
    /// Who sent it.
    pub origin: Origin,
    /// The number under which it came.
    pub reference: ClientReference,
    /// Its terms, confirmed replaces included.
    pub order: Order,
    /// Filled so far.
    pub cumulative: Quantity,
    /// The replace that the venue has not answered.
    pub replacing: Option<PendingReplace>,
    /// The cancel that the venue has not answered.
    pub cancelling: Option<PendingCancel>,
    /// What it holds; nothing once it is over.
    pub hold: HoldImage,
}

/// Bytes of every order.
const BYTES: usize = 96;
/// Bytes that an open one has behind them.
const OPEN_BYTES: usize = 144;
/// Where its standing is.
const STANDING_AT: usize = 47;

/// Bits that say which of the fields that may be absent are there.
mod has {
    pub(super) const QUANTITY: u32 = 1;
    pub(super) const VOLUME: u32 = 2;
    pub(super) const PRICE: u32 = 4;
    pub(super) const REPLACE: u32 = 8;
    pub(super) const CANCEL_BY_CLIENT: u32 = 16;
    pub(super) const CANCEL_BY_RISK: u32 = 32;
    pub(super) const HOLD_OF_BEFORE: u32 = 64;
    pub(super) const NEW_QUANTITY: u32 = 128;
    pub(super) const NEW_PRICE: u32 = 256;
}

impl OrderRecord {
    fn flags(&self) -> u32 {
        let order = &self.order;
        let after = self.replacing.map(|replace| replace.after);
        let bits = [
            (has::QUANTITY, order.quantity.is_some()),
            (has::VOLUME, order.volume.is_some()),
            (has::PRICE, order.price.is_some()),
            (has::REPLACE, after.is_some()),
            (
                has::CANCEL_BY_CLIENT,
                matches!(self.cancelling, Some(PendingCancel::Client(_))),
            ),
            (
                has::CANCEL_BY_RISK,
                self.cancelling == Some(PendingCancel::Risk),
            ),
            (has::HOLD_OF_BEFORE, self.hold.is_of_before),
            (
                has::NEW_QUANTITY,
                after.is_some_and(|after| after.quantity.is_some()),
            ),
            (
                has::NEW_PRICE,
                after.is_some_and(|after| after.price.is_some()),
            ),
        ];
        bits.iter()
            .filter(|(_, is_there)| *is_there)
            .fold(0, |flags, (bit, _)| flags | bit)
    }

    pub(super) fn put<const MAX: usize>(&self, out: &mut Put<MAX>) {
        let order = &self.order;
        out.u64(self.id.high);
        out.u64(self.id.low);
        out.u16(self.origin.port);
        out.u16(self.origin.credential);
        out.u32(self.origin.session);
        out.u64(self.reference.0);
        out.u64(order.account.0);
        out.u32(order.instrument.0);
        out.u8(order.side as u8);
        out.u8(order.order_type as u8);
        out.u8(order.time_in_force as u8);
        out.u8(self.standing as u8);
        out.u32(self.flags());
        out.u32(0);
        out.i64(order.quantity.map_or(0, Quantity::raw));
        out.i64(order.price.map_or(0, Price::raw));
        out.i128(order.volume.map_or(0, Amount::raw));
        out.i64(self.cumulative.raw());
        if self.standing != OrderStanding::Open {
            return;
        }
        let after = self.replacing.map(|replace| replace.after);
        out.u64(self.replacing.map_or(0, |replace| replace.reference.0));
        out.i64(
            after
                .and_then(|after| after.quantity)
                .map_or(0, Quantity::raw),
        );
        out.i64(after.and_then(|after| after.price).map_or(0, Price::raw));
        let cancel = self.cancelling.and_then(PendingCancel::reference);
        out.u64(cancel.map_or(0, |reference| reference.0));
        let hold = &self.hold;
        for amount in [
            hold.settlement,
            hold.base,
            hold.incoming,
            hold.credit,
            hold.volume,
        ] {
            out.i128(amount);
        }
        for figure in [hold.lock_price, hold.counted, hold.filled, hold.replacing] {
            out.i64(figure);
        }
    }

    /// The order and whether it is over, without the rest; `None` where there is
    /// no such record.
    #[inline]
    pub(crate) fn standing_of(body: &[u8]) -> Option<(ClientOrderId, OrderStanding)> {
        let mut from = Take(body).part::<{ STANDING_AT + 1 }>()?;
        let id = ClientOrderId {
            high: from.u64()?,
            low: from.u64()?,
        };
        Some((id, standing(body[STANDING_AT])?))
    }

    #[inline]
    pub(super) fn take(all: &mut Take<'_>) -> Option<Self> {
        let from = &mut all.part::<BYTES>()?;
        let id = ClientOrderId {
            high: from.u64()?,
            low: from.u64()?,
        };
        let origin = Origin {
            port: from.u16()?,
            credential: from.u16()?,
            session: from.u32()?,
        };
        let reference = ClientReference(from.u64()?);
        let account = AccountId(from.u64()?);
        let instrument = InstrumentId(from.u32()?);
        let side = side(from.u8()?)?;
        let order_type = order_type(from.u8()?)?;
        let time_in_force = time_in_force(from.u8()?)?;
        let standing = standing(from.u8()?)?;
        let flags = from.u32()?;
        let there = |bit| flags & bit != 0;
        from.u32()?;
        let quantity = Quantity::from_raw(from.i64()?);
        let price = Price::from_raw(from.i64()?);
        let volume = Amount::from_raw(from.i128()?);
        let order = Order {
            account,
            instrument,
            side,
            order_type,
            time_in_force,
            quantity: there(has::QUANTITY).then_some(quantity),
            volume: there(has::VOLUME).then_some(volume),
            price: there(has::PRICE).then_some(price),
        };
        let mut record = Self {
            id,
            standing,
            origin,
            reference,
            order,
            cumulative: Quantity::from_raw(from.i64()?),
            replacing: None,
            cancelling: None,
            hold: HoldImage::default(),
        };
        if standing == OrderStanding::Open {
            record.take_open(flags, &mut all.part::<OPEN_BYTES>()?)?;
        }
        Some(record)
    }

    #[inline]
    fn take_open(&mut self, flags: u32, from: &mut Take<'_>) -> Option<()> {
        let there = |bit| flags & bit != 0;
        let asked = ClientReference(from.u64()?);
        let quantity = Quantity::from_raw(from.i64()?);
        let price = Price::from_raw(from.i64()?);
        self.replacing = there(has::REPLACE).then_some(PendingReplace {
            reference: asked,
            after: Order {
                quantity: there(has::NEW_QUANTITY).then_some(quantity),
                price: there(has::NEW_PRICE).then_some(price),
                ..self.order
            },
        });
        let asked = ClientReference(from.u64()?);
        self.cancelling = if there(has::CANCEL_BY_CLIENT) {
            Some(PendingCancel::Client(asked))
        } else {
            there(has::CANCEL_BY_RISK).then_some(PendingCancel::Risk)
        };
        self.hold = HoldImage {
            settlement: from.i128()?,
            base: from.i128()?,
            incoming: from.i128()?,
            credit: from.i128()?,
            volume: from.i128()?,
            lock_price: from.i64()?,
            counted: from.i64()?,
            filled: from.i64()?,
            replacing: from.i64()?,
            is_of_before: there(has::HOLD_OF_BEFORE),
        };
        Some(())
    }
}

pub(super) const fn side(byte: u8) -> Option<Side> {
    Some(match byte {
        1 => Side::Buy,
        2 => Side::Sell,
        _ => return None,
    })
}

const fn order_type(byte: u8) -> Option<OrderType> {
    Some(match byte {
        1 => OrderType::Market,
        2 => OrderType::Limit,
        3 => OrderType::Stop,
        4 => OrderType::StopLimit,
        5 => OrderType::PostOnly,
        _ => return None,
    })
}

const fn time_in_force(byte: u8) -> Option<TimeInForce> {
    Some(match byte {
        0 => TimeInForce::Day,
        1 => TimeInForce::GoodTillCancel,
        3 => TimeInForce::ImmediateOrCancel,
        4 => TimeInForce::FillOrKill,
        6 => TimeInForce::GoodTillDate,
        _ => return None,
    })
}

const fn standing(byte: u8) -> Option<OrderStanding> {
    Some(match byte {
        1 => OrderStanding::Open,
        2 => OrderStanding::Filled,
        3 => OrderStanding::Canceled,
        4 => OrderStanding::Rejected,
        _ => return None,
    })
}
