//! A working order's new price and quantity: the old hold is given back and the
//! new one taken in one step, or everything stays as it was.

use super::engine::RiskEngine;
use super::exposure::Prepared;
use super::order_table::{Entry, Status};
use super::policies::spot_funds::{Need, need};
use super::rejects::{PolicyId, Rejects};
use super::token::{ReservationToken, TokenError};
use crate::time::Nanos;
use crate::types::{Order, Quantity, RejectCode, RejectScope};

impl RiskEngine {
    /// Judges new terms for a working order, whose quantity is the new total,
    /// fills included. Counts as a replace, not as an order (K14). Account,
    /// instrument, side, and being by quantity stay.
    ///
    /// Until the venue has answered, the order may trade at either terms, so it
    /// keeps the larger hold and the larger total: a larger hold is taken at
    /// once, a smaller one only by [`confirm_replace`](Self::confirm_replace).
    /// Then comes that, or [`revert_replace`](Self::revert_replace).
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
        let one = |code| Rejects::one(code, RejectScope::Order);
        let entry = match self.entry(token) {
            Ok(entry) if entry.status == Status::Working => *entry,
            _ => return Err(one(RejectCode::UnknownOrder)),
        };
        self.allow_replace(entry.account, now)?;
        self.blocked(entry.account)?;
        if order.account != entry.order.account
            || order.instrument != entry.order.instrument
            || order.side != entry.order.side
        {
            return Err(one(RejectCode::InvalidFieldValue));
        }
        if order.volume.is_some() || entry.order.quantity.is_none() {
            return Err(one(RejectCode::UnsupportedOrderAttribute));
        }
        let leaves = order
            .quantity
            .map(|quantity| quantity.raw() > entry.hold.filled);
        if leaves == Some(false) {
            return Err(one(RejectCode::InvalidFieldValue));
        }
        let scene = self.scene(order, entry.account, now);
        let mut rejects = self.judge_uncounted(&scene);
        if rejects.is_empty() {
            let prepared = self.judge(&scene, Some((token.index, Some(&entry))), &mut rejects);
            let total = |order: &Order| order.quantity.map_or(0, Quantity::raw);
            let larger = total(order)
                .max(total(&entry.order))
                .max(entry.hold.replacing);
            let old = entry.hold.credit;
            if rejects.is_empty() && shrinks(&prepared, &entry) {
                self.leave_book(token.index);
                let kept = self.orders.get_mut(token.index);
                kept.order = *order;
                kept.hold.replacing = larger;
                kept.hold.is_of_before = true;
                self.enter_book(token.index, entry.instrument, &scene);
                return Ok(());
            }
            if rejects.is_empty() && !self.take_credit(&scene, prepared.credit - old) {
                rejects.add(PolicyId::CREDIT, RejectCode::CreditLimitExceeded);
            }
            if rejects.is_empty() {
                self.swap_hold(token.index, &scene, &prepared, &entry);
                self.orders.get_mut(token.index).hold.replacing = larger;
                return Ok(());
            }
        }
        Err(self.refused(&scene, rejects))
    }

    /// The venue has taken the new terms: the hold is theirs from now on. That
    /// happened, so this uses no slot and is never refused.
    ///
    /// # Errors
    /// The token names no working order; nothing was changed.
    pub fn confirm_replace(
        &mut self,
        token: ReservationToken,
        after: &Order,
        now: Nanos,
    ) -> Result<(), TokenError> {
        self.settle_terms(token, after, now)
    }

    /// The venue has refused the new terms of a [`replace`](Self::replace): the
    /// order has the terms and the hold that it had before. That refusal
    /// happened, so this uses no slot and is never refused; what was filled
    /// meanwhile stays filled.
    ///
    /// # Errors
    /// The token names no working order; nothing was changed.
    pub fn revert_replace(
        &mut self,
        token: ReservationToken,
        before: &Order,
        now: Nanos,
    ) -> Result<(), TokenError> {
        self.settle_terms(token, before, now)
    }

    fn settle_terms(
        &mut self,
        token: ReservationToken,
        terms: &Order,
        now: Nanos,
    ) -> Result<(), TokenError> {
        self.settle_dropped();
        let entry = *self.entry(token)?;
        if entry.status != Status::Working {
            return Err(TokenError::NotCommitted);
        }
        self.orders.get_mut(token.index).hold.replacing = 0;
        if entry.order == *terms && !entry.hold.is_of_before {
            return Ok(());
        }
        self.release_hold(token.index);
        self.orders.get_mut(token.index).order = *terms;
        let scene = self.scene(terms, entry.account, now);
        let left = terms.quantity.map_or(0, |quantity| {
            quantity.raw().saturating_sub(entry.hold.filled).max(0)
        });
        let Ok(mut value) = self.worth(&scene, entry.instrument) else {
            // No quote any more: what trades is booked at its own price.
            return Ok(());
        };
        (value.quantity_up, value.quantity_down) = (left, left);
        value.notional = value.lock_price.notional(Quantity::from_raw(left)).raw();
        let mut needed = if self.rules.config.spot_funds.enabled {
            need(terms.side, &value)
        } else {
            Need::default()
        };
        if !self.fits(entry.account, entry.instrument, terms.side, &needed) {
            needed = Need::default();
            self.latch(entry.account, RejectCode::KillSwitchArmed);
        }
        let credit = if entry.hold.credit != 0 {
            value.notional.saturating_abs()
        } else {
            0
        };
        self.follow_credit(entry.account, entry.instrument, credit);
        let prepared = Prepared {
            value: Some(value),
            need: needed,
            credit,
            first: false,
        };
        self.take_hold(token.index, &scene, &prepared);
        self.orders.get_mut(token.index).hold.filled = entry.hold.filled;
        Ok(())
    }

    /// The firm's credit was moved from the old hold to the new one before.
    fn swap_hold(
        &mut self,
        index: u32,
        scene: &super::admission::Scene<'_>,
        prepared: &Prepared,
        old: &Entry,
    ) {
        if old.hold.credit != 0 {
            let (_, settlement) = self.assets_of(old.instrument);
            self.meters.of(old.account, settlement).credit -= old.hold.credit;
            self.orders.get_mut(index).hold.credit = 0;
        }
        self.release_hold(index);
        self.orders.get_mut(index).order = *scene.order;
        self.take_hold(index, scene, prepared);
        self.orders.get_mut(index).hold.filled = old.hold.filled;
    }
}

/// Whether new terms hold and count no more than the old ones do, in anything.
fn shrinks(new: &Prepared, old: &Entry) -> bool {
    let counted = new.value.map_or(0, |value| value.quantity_up);
    new.need.settlement <= old.hold.settlement
        && new.need.base <= old.hold.base
        && new.credit <= old.hold.credit
        // Nothing is counted while no position limit is on.
        && (old.hold.counted == 0 || counted <= old.hold.counted)
}
