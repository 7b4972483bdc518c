//! A decision that was allowed, as it was signed.

use super::bytes::{Put, Take};
use super::order::side;
use crate::orders::decision::{Decision, Grant, Size, Verdict};
use crate::time::UnixNanos;
use crate::types::{AccountId, Amount, ClientOrderId, InstrumentId, Price, Quantity};

/// An allowed decision; written once, before it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionRecord {
    /// Which of its shard's; from 1, never given twice.
    pub number: u64,
    /// What its instrument's name is here.
    pub instrument: InstrumentId,
    /// From when on it counts as never brought.
    pub due_at: UnixNanos,
    /// What was allowed.
    pub decision: Decision,
}

/// Bits that say which of the fields that may be absent are there.
mod has {
    pub(super) const VOLUME: u32 = 1;
    pub(super) const PRICE: u32 = 2;
    pub(super) const STOP: u32 = 4;
    pub(super) const GOOD_TILL: u32 = 8;
    pub(super) const REDUCED: u32 = 16;
}

impl DecisionRecord {
    fn flags(&self) -> u32 {
        let decision = &self.decision;
        let bits = [
            (has::VOLUME, matches!(decision.size, Size::Volume(_))),
            (has::PRICE, decision.price.is_some()),
            (has::STOP, decision.stop_price.is_some()),
            (has::GOOD_TILL, decision.good_till.is_some()),
            (has::REDUCED, decision.verdict == Verdict::Reduce),
        ];
        bits.iter()
            .filter(|(_, is_there)| *is_there)
            .fold(0, |flags, (bit, _)| flags | bit)
    }

    /// A decision without a grant is none that is written.
    pub(super) fn put<const MAX: usize>(&self, out: &mut Put<MAX>) {
        let decision = &self.decision;
        let grant = decision.grant.as_ref();
        let id = grant.map_or_else(ClientOrderId::default, |grant| grant.client_order_id);
        out.u64(self.number);
        out.u32(self.instrument.0);
        out.u32(self.flags());
        out.u64(self.due_at.0);
        out.u64(id.high);
        out.u64(id.low);
        out.u64(decision.account_id.0);
        out.i128(match decision.size {
            Size::Quantity(quantity) => i128::from(quantity.raw()),
            Size::Volume(volume) => volume.raw(),
        });
        out.i64(decision.price.map_or(0, Price::raw));
        out.i64(decision.stop_price.map_or(0, Price::raw));
        out.u64(decision.good_till.map_or(0, |end| end.0));
        out.u64(decision.issued_at.0);
        out.u64(decision.expires_at.0);
        out.u8(decision.side as u8);
        for text in [
            &decision.decision_id,
            grant.map_or(&decision.decision_id, |grant| &grant.reservation_id),
            &decision.agent_id,
            &decision.user_id,
            &decision.enforcement,
            &decision.venue,
            &decision.instrument,
            &decision.order_type,
            &decision.time_in_force,
            &decision.key_id,
        ] {
            out.text(text);
        }
    }

    pub(super) fn take(from: &mut Take<'_>) -> Option<Self> {
        let number = from.u64()?;
        let instrument = InstrumentId(from.u32()?);
        let flags = from.u32()?;
        let there = |bit: u32| flags & bit != 0;
        let due_at = UnixNanos(from.u64()?);
        let client_order_id = ClientOrderId {
            high: from.u64()?,
            low: from.u64()?,
        };
        let account_id = AccountId(from.u64()?);
        let size = from.i128()?;
        let size = if there(has::VOLUME) {
            Size::Volume(Amount::from_raw(size))
        } else {
            Size::Quantity(Quantity::from_raw(i64::try_from(size).ok()?))
        };
        let price = Price::from_raw(from.i64()?);
        let stop = Price::from_raw(from.i64()?);
        let good_till = UnixNanos(from.u64()?);
        let issued_at = UnixNanos(from.u64()?);
        let expires_at = UnixNanos(from.u64()?);
        let side = side(from.u8()?)?;
        let mut text = || from.text().map(str::to_owned);
        let decision_id = text()?;
        let reservation_id = text()?;
        Some(Self {
            number,
            instrument,
            due_at,
            decision: Decision {
                decision_id,
                grant: Some(Grant {
                    client_order_id,
                    reservation_id,
                }),
                agent_id: text()?,
                user_id: text()?,
                account_id,
                verdict: if there(has::REDUCED) {
                    Verdict::Reduce
                } else {
                    Verdict::Allow
                },
                enforcement: text()?,
                venue: text()?,
                instrument: text()?,
                side,
                order_type: text()?,
                time_in_force: text()?,
                size,
                price: there(has::PRICE).then_some(price),
                stop_price: there(has::STOP).then_some(stop),
                good_till: there(has::GOOD_TILL).then_some(good_till),
                issued_at,
                expires_at,
                key_id: text()?,
            },
        })
    }
}
