//! What is blocked, or no longer is.

use super::bytes::{Put, Take};
use crate::types::{AccountId, RejectCode};

/// A block, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// Whose; `None` for the firm-wide halt.
    pub account: Option<AccountId>,
    /// Why; `None` where the block is gone.
    pub cause: Option<RejectCode>,
}

impl BlockRecord {
    pub(super) fn put<const MAX: usize>(&self, out: &mut Put<MAX>) {
        out.u64(self.account.map_or(0, |account| account.0));
        out.u8(u8::from(self.account.is_none()));
        out.u8(u8::from(self.cause.is_some()));
        out.u16(self.cause.map_or(0, RejectCode::number));
    }

    pub(super) fn take(from: &mut Take<'_>) -> Option<Self> {
        let account = from.u64()?;
        let of_all = from.u8()? == 1;
        let is_set = from.u8()? == 1;
        let number = from.u16()?;
        let cause = if is_set {
            Some(RejectCode::from_number(number)?)
        } else {
            None
        };
        Some(Self {
            account: (!of_all).then_some(AccountId(account)),
            cause,
        })
    }
}
