//! A working order's new price and quantity: the old hold is given back and the
//! new one taken in one step, or everything stays as it was.

use super::engine::RiskEngine;
use super::order_table::Status;
use super::rejects::Rejects;
use super::token::{ReservationToken, TokenError};
use crate::time::Nanos;
use crate::types::{Order, RejectCode, RejectScope};

impl RiskEngine {
    /// Swaps the hold of a working order for that of `order`, whose quantity is
    /// the new total, fills included. Counts as a replace, not as an order
    /// (K14).
    ///
    /// # Errors
    /// `UnknownOrder` for a token that names no working order, else every
    /// reason against the new one; the old hold stays.
    pub fn replace(
        &mut self,
        token: ReservationToken,
        order: &Order,
        now: Nanos,
    ) -> Result<(), Rejects> {
        self.settle_dropped();
        let entry = match self.entry(token) {
            Ok(entry) if entry.status == Status::Working => *entry,
            _ => return Err(Rejects::one(RejectCode::UnknownOrder, RejectScope::Order)),
        };
        self.allow_replace(entry.account, now)?;
        self.orders.get_mut(token.index).order = *order;
        Ok(())
    }

    /// Puts back the terms and the hold that a working order had before a
    /// [`replace`](Self::replace) which its venue then refused. That refusal
    /// happened, so this uses no slot and is never refused; what was filled
    /// meanwhile stays filled.
    ///
    /// # Errors
    /// The token names no working order; nothing was changed.
    pub fn revert_replace(
        &mut self,
        token: ReservationToken,
        before: &Order,
        _now: Nanos,
    ) -> Result<(), TokenError> {
        self.settle_dropped();
        match self.entry(token)?.status {
            Status::Working => {
                self.orders.get_mut(token.index).order = *before;
                Ok(())
            }
            _ => Err(TokenError::NotCommitted),
        }
    }
}
