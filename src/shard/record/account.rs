//! What an account has in one instrument.

use super::bytes::{Put, Take};
use crate::orders::CostImage;
use crate::risk::{AccountImage, Balance};
use crate::types::{AccountId, Amount, AssetId, InstrumentId};

/// What an account has in an instrument and in both of its assets, and what its
/// position has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountRecord {
    /// Balances, position, meters.
    pub image: AccountImage,
    /// What its trades have left open, at cost.
    pub cost: CostImage,
}

/// Bytes of every record.
const BYTES: usize = 232;

impl AccountRecord {
    pub(super) fn put<const MAX: usize>(&self, out: &mut Put<MAX>) {
        let image = &self.image;
        out.u64(image.account.0);
        out.u32(image.instrument.0);
        out.u32(image.base.0);
        out.u32(image.settlement.0);
        out.u32(u32::from(self.cost.is_short));
        for balance in [image.of_base, image.of_settlement] {
            out.i128(balance.available.raw());
            out.i128(balance.held.raw());
            out.i128(balance.incoming.raw());
        }
        out.i128(image.net);
        out.i128(image.buying);
        out.i128(image.selling);
        out.i64(image.last_price);
        out.i128(image.pnl);
        out.i128(image.credit);
        out.u64(self.cost.size);
        out.i128(self.cost.cost.cast_signed());
    }

    #[inline]
    pub(super) fn take(all: &mut Take<'_>) -> Option<Self> {
        let from = &mut all.part::<BYTES>()?;
        let account = AccountId(from.u64()?);
        let instrument = InstrumentId(from.u32()?);
        let base = AssetId(from.u32()?);
        let settlement = AssetId(from.u32()?);
        let is_short = match from.u32()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mut balance = || {
            Some(Balance {
                available: Amount::from_raw(from.i128()?),
                held: Amount::from_raw(from.i128()?),
                incoming: Amount::from_raw(from.i128()?),
            })
        };
        let of_base = balance()?;
        let of_settlement = balance()?;
        Some(Self {
            image: AccountImage {
                account,
                instrument,
                base,
                settlement,
                of_base,
                of_settlement,
                net: from.i128()?,
                buying: from.i128()?,
                selling: from.i128()?,
                last_price: from.i64()?,
                pnl: from.i128()?,
                credit: from.i128()?,
            },
            cost: CostImage {
                is_short,
                size: from.u64()?,
                cost: from.i128()?.cast_unsigned(),
            },
        })
    }
}
