//! What an order holds: taken when it is accepted, given back when it trades
//! or ends (rules K11, K17).

use super::account::NONE;
use super::admission::Scene;
use super::engine::RiskEngine;
use super::market::group_owner;
use super::order_table::{Entry, Hold};
use super::policies::duplicate::Fingerprint;
use super::policies::spot_funds::Need;
use super::settings::{SelfMatchAction, SelfMatchScope};
use super::shared_sum::Round;
use super::token::ReservationToken;
use super::value::Value;
use crate::limits::CANCELS_MAX;
use crate::types::{AssetId, RejectCode, Side};

/// What the main stage found that an order takes.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    /// `None` where no policy needs the order's value.
    pub(super) value: Option<Value>,
    pub(super) need: Need,
    pub(super) credit: i128,
    /// The order is new, not another's replacement.
    pub(super) first: bool,
}

impl RiskEngine {
    /// Takes what the checks have found room for.
    pub(super) fn take_hold(&mut self, index: u32, scene: &Scene<'_>, prepared: &Prepared) {
        let Some(number) = scene.instrument else {
            return;
        };
        let order = scene.order;
        let (base, settlement) = self.assets_of(number);
        let need = prepared.need;
        let mut hold = Hold {
            settlement: need.settlement,
            base: need.base,
            incoming: need.incoming,
            credit: prepared.credit,
            volume: order.volume.map_or(0, |volume| volume.raw()),
            ..Hold::NONE
        };
        if need.settlement != 0 {
            self.reserve(scene.account, settlement, need.settlement);
        }
        if need.base != 0 {
            self.reserve(scene.account, base, need.base);
        }
        if need.incoming != 0 {
            let asset = incoming_asset(order.side, base, settlement);
            self.holdings.of(scene.account, asset).incoming += need.incoming;
        }
        if let Some(value) = prepared.value {
            hold.lock_price = value.lock_price.raw();
            if self.rules.counts_positions() {
                hold.counted = value.quantity_up;
                let position = self.positions.of(scene.account, number);
                *position.working(order.side) += i128::from(value.quantity_up);
            }
        }
        if prepared.credit != 0 {
            self.meters.of(scene.account, settlement).credit += prepared.credit;
        }
        if prepared.first && self.rules.duplicate.is_some() {
            let what = Fingerprint::of(scene.account, number, order);
            hold.duplicate = self.duplicates.record(what, scene.now) + 1;
        }
        self.orders.get_mut(index).hold = hold;
        self.enter_book(index, number, scene);
    }

    /// Makes an order one that others of its owner may not meet (K39).
    pub(super) fn enter_book(&mut self, index: u32, number: u32, scene: &Scene<'_>) {
        if let Some(settings) = self.rules.config.self_match {
            let owner = self.match_owner(scene.account, settings.scope);
            if settings.action == SelfMatchAction::CancelResting {
                self.ask_cancels(owner, number, index, scene);
            }
            self.books.insert(owner, number, index, &mut self.orders);
        }
    }

    pub(super) fn leave_book(&mut self, index: u32) {
        if self.orders.get(index).book != NONE {
            self.books.remove(index, &mut self.orders);
        }
    }

    /// Whether a need that was not judged can be written down.
    pub(super) fn fits(&self, account: u32, instrument: u32, side: Side, need: &Need) -> bool {
        let (base, settlement) = self.assets_of(instrument);
        let room = |asset, amount: i128, incoming: i128| {
            self.holdings.find(account, asset).is_none_or(|holding| {
                holding.available.checked_sub(amount).is_some()
                    && holding.held.checked_add(amount).is_some()
                    && holding.incoming.checked_add(incoming).is_some()
            })
        };
        let (of_base, of_settlement) = match side {
            Side::Buy => (need.incoming, 0),
            Side::Sell => (0, need.incoming),
        };
        room(settlement, need.settlement, of_settlement) && room(base, need.base, of_base)
    }

    /// Counts credit that nobody was asked for towards the firm's; the
    /// account's own part is for [`take_hold`](Self::take_hold).
    pub(super) fn follow_credit(&mut self, account: u32, instrument: u32, credit: i128) {
        if credit != 0 {
            let (_, settlement) = self.assets_of(instrument);
            self.change_credit(account, instrument, credit);
            self.meters.of(account, settlement).credit -= credit;
        }
    }

    fn reserve(&mut self, account: u32, asset: AssetId, amount: i128) {
        let holding = self.holdings.of(account, asset);
        // The check has seen that both stay in range.
        holding.available -= amount;
        holding.held += amount;
    }

    pub(super) fn assets_of(&self, instrument: u32) -> (AssetId, AssetId) {
        let instrument = self.rules.instruments.get(instrument);
        (instrument.base, instrument.settlement)
    }

    pub(super) fn match_owner(&self, account: u32, scope: SelfMatchScope) -> u64 {
        let group = self.accounts.get(account).group;
        match scope {
            SelfMatchScope::Group if group != 0 => group_owner(group),
            SelfMatchScope::Group | SelfMatchScope::Account => u64::from(account),
        }
    }

    fn ask_cancels(&mut self, owner: u64, instrument: u32, index: u32, scene: &Scene<'_>) {
        let Self {
            books,
            orders,
            cancels,
            shard,
            ..
        } = self;
        books.meets(owner, instrument, scene.order, index, orders, |resting| {
            let token = ReservationToken {
                shard: *shard,
                index: resting,
                generation: orders.get(resting).generation,
            };
            let has_room = cancels.len() < CANCELS_MAX;
            if has_room {
                cancels.push(token);
            }
            has_room
        });
    }

    /// Gives back all that an order still holds. What does not fit its balance
    /// goes to quarantine and arms the account's kill switch (K7).
    pub(super) fn release_hold(&mut self, index: u32) {
        let Entry {
            account,
            instrument,
            order,
            hold,
            ..
        } = *self.orders.get(index);
        if instrument == NONE {
            return;
        }
        let (base, settlement) = self.assets_of(instrument);
        if hold.settlement != 0 {
            self.unreserve(account, settlement, hold.settlement);
        }
        if hold.base != 0 {
            self.unreserve(account, base, hold.base);
        }
        if hold.incoming != 0 {
            let asset = incoming_asset(order.side, base, settlement);
            self.holdings.of(account, asset).incoming -= hold.incoming;
        }
        self.uncount(account, instrument, order.side, hold.counted);
        self.return_credit(account, instrument, hold.credit);
        self.leave_book(index);
        let entry = self.orders.get_mut(index);
        entry.hold = Hold {
            duplicate: hold.duplicate,
            filled: hold.filled,
            ..Hold::NONE
        };
    }

    /// Moves held back to available.
    pub(super) fn unreserve(&mut self, account: u32, asset: AssetId, amount: i128) {
        let holding = self.holdings.of(account, asset);
        holding.held -= amount;
        match holding.available.checked_add(amount) {
            Some(available) => holding.available = available,
            None => {
                self.quarantine(account, asset, amount, None);
                self.latch(account, RejectCode::KillSwitchArmed);
            }
        }
    }

    pub(super) fn uncount(&mut self, account: u32, instrument: u32, side: Side, counted: i64) {
        if counted != 0 {
            let position = self.positions.of(account, instrument);
            *position.working(side) -= i128::from(counted);
        }
    }

    pub(super) fn return_credit(&mut self, account: u32, instrument: u32, credit: i128) {
        if credit != 0 {
            self.change_credit(account, instrument, -credit);
        }
    }

    /// Books a change of what an account's orders and positions are worth; a
    /// fact, whatever the limits.
    pub(super) fn change_credit(&mut self, account: u32, instrument: u32, delta: i128) {
        let (settlement, slot) = {
            let instrument = self.rules.instruments.get(instrument);
            (instrument.settlement, instrument.settlement_slot)
        };
        let meter = self.meters.of(account, settlement);
        meter.credit = meter.credit.saturating_add(delta);
        let unit = self.rules.config.gross_credit.unit.raw();
        if let (Some(shared), Some(part)) = (self.shared.slot(slot), self.credit.get_mut(slot)) {
            part.add(&shared.credit, delta, unit, Round::Up);
        }
    }
}

/// Which asset an order brings.
pub(super) const fn incoming_asset(side: Side, base: AssetId, settlement: AssetId) -> AssetId {
    match side {
        Side::Buy => base,
        Side::Sell => settlement,
    }
}
