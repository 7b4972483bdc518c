//! What a shard is started with, written where it is not as at the last start.

use arrayvec::ArrayString;

use super::bytes::{Put, Take};
use crate::types::{AccountId, Amount, AssetId};

/// Which settings a shard runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigRecord {
    /// SHA-256 of them, of which the first half is kept.
    pub digest: [u8; 16],
    /// The program's version.
    pub program: ArrayString<32>,
}

impl ConfigRecord {
    pub(super) fn put<const MAX: usize>(&self, out: &mut Put<MAX>) {
        out.i128(i128::from_le_bytes(self.digest));
        out.text(&self.program);
    }

    pub(super) fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            digest: from.i128()?.to_le_bytes(),
            program: ArrayString::from(from.text()?).ok()?,
        })
    }
}

/// What changed a balance and was no trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AdjustmentKind {
    /// What the configuration gives an account that has never traded.
    Opening = 1,
}

/// A balance that was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdjustmentRecord {
    /// Whose.
    pub account: AccountId,
    /// Of what.
    pub asset: AssetId,
    /// Why.
    pub kind: AdjustmentKind,
    /// What is available of it since.
    pub amount: Amount,
}

impl AdjustmentRecord {
    pub(super) fn put<const MAX: usize>(&self, out: &mut Put<MAX>) {
        out.u64(self.account.0);
        out.u32(self.asset.0);
        out.u32(self.kind as u32);
        out.i128(self.amount.raw());
    }

    pub(super) fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            account: AccountId(from.u64()?),
            asset: AssetId(from.u32()?),
            kind: match from.u32()? {
                1 => AdjustmentKind::Opening,
                _ => return None,
            },
            amount: Amount::from_raw(from.i128()?),
        })
    }
}
