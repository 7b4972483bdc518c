//! Drop copy: an order that was placed elsewhere is followed like one of our
//! own (rule K30).

use arrayvec::ArrayVec;

use super::account::Account;
use super::config::UnknownAccounts;
use super::engine::RiskEngine;
use super::exposure::{Prepared, incoming_asset};
use super::order_table::Status;
use super::policies::spot_funds::need;
use super::rejects::{PolicyId, Rejects};
use super::token::ReservationToken;
use super::value::Value;
use crate::limits::ACCOUNTS_MAX;
use crate::time::Nanos;
use crate::types::{Amount, AssetId, Order, RejectCode, RejectScope};

/// A change that a drop copy made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropCopyChange {
    /// Of which asset.
    pub asset: AssetId,
    /// Added to what is available.
    pub available: Amount,
    /// Added to what is held.
    pub held: Amount,
    /// Added to what is expected.
    pub incoming: Amount,
}

/// A drop copy that was taken; finalized like a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropCopy {
    /// For `commit` or `rollback`.
    pub token: ReservationToken,
    /// Whether the account was blocked when it was applied.
    pub blocked: bool,
    /// What it changed.
    pub changes: ArrayVec<DropCopyChange, 3>,
}

impl RiskEngine {
    /// Follows an order that was placed elsewhere: blocks, limits and funds are
    /// not asked; it holds what an order would, and takes its rate slots. An
    /// account out of its P&L bounds is blocked.
    ///
    /// # Errors
    /// What cannot be evaluated: unknown account or instrument, no price, a
    /// value out of range; and an amount that is not above zero, for nothing
    /// happened.
    pub fn apply_drop_copy(&mut self, order: &Order, now: Nanos) -> Result<DropCopy, Rejects> {
        self.settle_dropped();
        let one = |code| Rejects::one(code, RejectScope::Order);
        let account = match self.accounts.find(order.account.0) {
            Some(account) => account,
            None if self.rules.config.unknown_accounts == UnknownAccounts::Open => {
                if self.accounts.len() >= ACCOUNTS_MAX {
                    return Err(one(RejectCode::CapacityExceeded));
                }
                self.accounts
                    .insert(Account::new(order.account.0, 0, false))
            }
            None => return Err(one(RejectCode::UnknownAccount)),
        };
        let scene = self.scene(order, account, now);
        let Some(number) = scene.instrument else {
            return Err(one(RejectCode::UnknownInstrument));
        };
        let value = self.value_of_copy(order).map_err(one)?;
        if self.orders.is_full() {
            return Err(one(RejectCode::CapacityExceeded));
        }
        let needed = if self.rules.config.spot_funds.enabled {
            need(order.side, &value)
        } else {
            Default::default()
        };
        let (base, settlement) = self.assets_of(number);
        let taken = [(settlement, needed.settlement), (base, needed.base)];
        let incoming = incoming_asset(order.side, base, settlement);
        if !self.fits(account, number, order.side, &needed) {
            let mut rejects = Rejects::new();
            rejects.add(PolicyId::FUNDS, RejectCode::ArithmeticOverflow);
            return Err(rejects);
        }
        self.count_order(&scene);
        let blocked = self.blocked(account).is_err();
        if self.rules.any_pnl && self.pnl_broken(account, scene.profile, number).account {
            self.latch(account, RejectCode::PnlKillSwitchTriggered);
        }
        let index = self.orders.add(Status::Reserved, account, number, order);
        self.link(index);
        let credit = if self.rules.any_credit {
            let credit = value.notional.saturating_abs();
            self.follow_credit(account, number, credit);
            credit
        } else {
            0
        };
        let prepared = Prepared {
            value: Some(value),
            need: needed,
            credit,
            first: true,
        };
        self.take_hold(index, &scene, &prepared);
        let token = ReservationToken {
            shard: self.shard,
            index,
            generation: self.orders.get(index).generation,
        };
        let mut changes = ArrayVec::new();
        for (asset, amount) in taken {
            let expected = if asset == incoming {
                needed.incoming
            } else {
                0
            };
            if amount != 0 || expected != 0 {
                changes.push(DropCopyChange {
                    asset,
                    available: Amount::from_raw(-amount),
                    held: Amount::from_raw(amount),
                    incoming: Amount::from_raw(expected),
                });
            }
        }
        Ok(DropCopy {
            token,
            blocked,
            changes,
        })
    }

    fn value_of_copy(&self, order: &Order) -> Result<Value, RejectCode> {
        if order.price.is_none() {
            return Err(RejectCode::MissingRequiredField);
        }
        let amount_is_positive = match (order.quantity, order.volume) {
            (Some(quantity), None) => quantity.is_positive(),
            (None, Some(volume)) => volume.is_positive(),
            (None, None) => return Err(RejectCode::MissingRequiredField),
            (Some(_), Some(_)) => false,
        };
        if !amount_is_positive {
            return Err(RejectCode::InvalidFieldValue);
        }
        let pricing = self.rules.profile_at(0).pricing;
        super::value::value(order, pricing, || None)
    }
}
