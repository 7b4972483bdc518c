//! The main stage: what looks at reservations, and makes one (rules K1, K2,
//! K5).

use super::account::NONE;
use super::admission::Scene;
use super::custom_calls::Mutations;
use super::engine::RiskEngine;
use super::exposure::Prepared;
use super::order_table::{Entry, Status};
use super::policies::duplicate::Fingerprint;
use super::policies::spot_funds::{Need, Purse, need};
use super::policies::{
    collar, gross_credit, open_orders, position_limit, restricted, self_match, spot_funds,
};
use super::profile::of_asset;
use super::rejects::{PolicyId, Rejects};
use super::settings::{FundsMode, Restriction, SelfMatchAction};
use super::value::{Value, value};
use crate::types::{RejectCode, RejectScope};

impl RiskEngine {
    /// The main stage's verdict, with nothing reserved (K5).
    pub(super) fn check_main(&self, scene: &Scene<'_>) -> Result<(), Rejects> {
        let mut rejects = Rejects::new();
        let mut mutations = Mutations::new();
        self.judge(scene, None, &mut rejects);
        if !self.custom.is_empty() {
            self.ask_custom(
                scene,
                &mut rejects,
                &mut mutations,
                |policy, context, verdict| {
                    policy.main(context, verdict);
                },
            );
        }
        if rejects.is_empty() {
            Ok(())
        } else {
            Err(rejects)
        }
    }

    /// The main stage; where the reservation is. `request` is a started one's
    /// place, which becomes the reservation's.
    #[inline]
    pub(super) fn main(&mut self, scene: &Scene<'_>, request: Option<u32>) -> Result<u32, Rejects> {
        if self.main_has_nothing_to_say()
            && scene.instrument.is_some()
            && (request.is_some() || !self.orders.is_full())
        {
            return Ok(self.place(scene, request));
        }
        self.main_with_policies(scene, request)
    }

    /// No policy of the stage is configured.
    #[inline]
    pub(super) fn main_has_nothing_to_say(&self) -> bool {
        self.rules.main_is_idle() && self.custom.is_empty()
    }

    fn main_with_policies(
        &mut self,
        scene: &Scene<'_>,
        request: Option<u32>,
    ) -> Result<u32, Rejects> {
        let mut rejects = Rejects::new();
        if let Some((_, window_ns)) = self.rules.duplicate {
            self.duplicates.expire(scene.now, window_ns);
        }
        let old = request.map(|index| (index, None));
        let prepared = self.judge(scene, old, &mut rejects);
        let mut mutations = Mutations::new();
        if !self.custom.is_empty() {
            self.ask_custom(
                scene,
                &mut rejects,
                &mut mutations,
                |policy, context, verdict| {
                    policy.main(context, verdict);
                },
            );
        }
        if !rejects.is_empty() {
            return Err(self.refused(scene, rejects));
        }
        if !self.take_credit(scene, prepared.credit) {
            rejects.add(PolicyId::CREDIT, RejectCode::CreditLimitExceeded);
            return Err(rejects);
        }
        if !mutations.is_empty()
            && let Err(reject) = self.apply_custom(&mutations)
        {
            self.give_credit(scene, prepared.credit);
            rejects.push(reject);
            return Err(self.refused(scene, rejects));
        }
        let index = self.place(scene, request);
        if !mutations.is_empty() {
            self.keep_mutations(index, mutations);
        }
        self.take_hold(index, scene, &prepared);
        Ok(index)
    }

    #[inline]
    fn place(&mut self, scene: &Scene<'_>, request: Option<u32>) -> u32 {
        if let Some(index) = request {
            self.orders.get_mut(index).status = Status::Reserved;
            return index;
        }
        let instrument = scene.instrument.unwrap_or(NONE);
        let index = self
            .orders
            .add(Status::Reserved, scene.account, instrument, scene.order);
        self.link(index);
        index
    }

    /// An account-scope reject latches a block (K26).
    pub(super) fn refused(&mut self, scene: &Scene<'_>, rejects: Rejects) -> Rejects {
        if rejects.scope() == RejectScope::Account {
            self.latch(scene.account, RejectCode::AccountBlocked);
        }
        rejects
    }

    /// Every built-in policy of the stage. `own` is the order's own place, where
    /// it has one, and the entry whose hold would be given back.
    pub(super) fn judge(
        &self,
        scene: &Scene<'_>,
        own: Option<(u32, Option<&Entry>)>,
        rejects: &mut Rejects,
    ) -> Prepared {
        let mut prepared = Prepared {
            value: None,
            need: Need::default(),
            credit: 0,
            first: own.is_none_or(|(_, entry)| entry.is_none()),
        };
        let Some(number) = scene.instrument else {
            rejects.add(PolicyId::ENGINE, RejectCode::UnknownInstrument);
            return prepared;
        };
        if own.is_none() && self.orders.is_full() {
            rejects.add(PolicyId::ENGINE, RejectCode::CapacityExceeded);
            return prepared;
        }
        let replaced = own.and_then(|(_, entry)| entry);
        if self.rules.values_orders() {
            self.judge_value(scene, number, replaced, &mut prepared, rejects);
        }
        let profile = self.rules.profile_at(scene.profile);
        if let Some((repeats, window_ns)) = self.rules.duplicate
            && replaced.is_none()
        {
            let what = Fingerprint::of(scene.account, number, scene.order);
            self.duplicates
                .check(what, repeats, scene.now, window_ns, rejects);
        }
        let restriction = profile.restriction(number);
        if restriction != Restriction::Allow {
            let quantity = self.worth(scene, number).map(|value| value.quantity_up);
            restricted::check(
                restriction,
                &self.positions.get(scene.account, number),
                scene.order.side,
                quantity,
                replaced.map_or(0, |entry| i128::from(entry.hold.counted)),
                rejects,
            );
        }
        if replaced.is_none() {
            let open = self.accounts.get(scene.account).open_orders - u32::from(own.is_some());
            open_orders::check(profile.open_orders, open, rejects);
        }
        if let Some(settings) = self.rules.config.self_match
            && settings.action == SelfMatchAction::Refuse
        {
            let owner = self.match_owner(scene.account, settings.scope);
            let except = own.map_or(NONE, |(index, _)| index);
            let mut met = false;
            self.books
                .meets(owner, number, scene.order, except, &self.orders, |_| {
                    met = true;
                    false
                });
            if met {
                rejects.add(PolicyId::SELF_MATCH, RejectCode::SelfMatchPrevention);
            }
        }
        const { assert!(self_match::REJECTS == 1) };
        prepared
    }

    /// What an order is worth at this moment.
    pub(super) fn worth(&self, scene: &Scene<'_>, number: u32) -> Result<Value, RejectCode> {
        let profile = self.rules.profile_at(scene.profile);
        value(scene.order, profile.pricing, || {
            let group = self.accounts.get(scene.account).group;
            self.market.quote(scene.account, group, number, scene.now)
        })
    }

    /// The policies that look at what an order is worth.
    fn judge_value(
        &self,
        scene: &Scene<'_>,
        number: u32,
        replaced: Option<&Entry>,
        prepared: &mut Prepared,
        rejects: &mut Rejects,
    ) {
        let order = scene.order;
        let profile = self.rules.profile_at(scene.profile);
        let mut value = self.worth(scene, number);
        if let (Ok(worth), Some(entry)) = (&mut value, replaced) {
            // Only what is left of the new total is held.
            let left = worth.quantity_up - entry.hold.filled;
            worth.quantity_up = left;
            worth.quantity_down = left;
            let left = crate::types::Quantity::from_raw(left);
            worth.notional = worth.lock_price.notional(left).raw();
        }
        prepared.value = value.ok();
        let given_back = replaced.map_or(0, |entry| i128::from(entry.hold.counted));
        if let Some(collar) = profile.collar(number, order.side) {
            let group = self.accounts.get(scene.account).group;
            let quote = self.market.quote(scene.account, group, number, scene.now);
            let price = value.map(|value| value.lock_price);
            collar::check(collar, price, quote.and_then(|quote| quote.mark), rejects);
        }
        if self.rules.config.spot_funds.enabled {
            match value {
                Err(code) => rejects.add(PolicyId::FUNDS, code),
                Ok(value) => {
                    prepared.need = need(order.side, &value);
                    self.judge_funds(scene, number, replaced, &prepared.need, rejects);
                }
            }
        }
        if !self.rules.counts_positions() {
            return;
        }
        let position = self.positions.get(scene.account, number);
        let quantity = value.map(|value| value.quantity_up);
        if self.rules.any_position
            && let Some(limit) = profile.position(number)
        {
            position_limit::check(limit, &position, order.side, quantity, given_back, rejects);
        }
        if self.rules.any_credit {
            let added = value.map(|value| {
                let quantity = i128::from(value.quantity_up) - given_back;
                if position.reduces(order.side, quantity) {
                    0
                } else {
                    value.notional.checked_abs().unwrap_or(i128::MAX)
                }
            });
            prepared.credit = added.unwrap_or(0);
            let old = replaced.map_or(0, |entry| entry.hold.credit);
            self.judge_credit(scene, number, added.map(|added| added - old), rejects);
        }
    }

    fn judge_funds(
        &self,
        scene: &Scene<'_>,
        number: u32,
        replaced: Option<&Entry>,
        need: &Need,
        rejects: &mut Rejects,
    ) {
        let (base, settlement) = self.assets_of(number);
        let purse = |asset, given_back| Purse {
            holding: self.holdings.find(scene.account, asset),
            given_back,
        };
        let profile = self.rules.profile_at(scene.profile);
        spot_funds::check(
            need,
            purse(
                settlement,
                replaced.map_or(0, |entry| entry.hold.settlement),
            ),
            purse(base, replaced.map_or(0, |entry| entry.hold.base)),
            scene.order.side,
            profile.funds_mode == FundsMode::Enforce,
            rejects,
        );
    }

    fn judge_credit(
        &self,
        scene: &Scene<'_>,
        number: u32,
        added: Result<i128, RejectCode>,
        rejects: &mut Rejects,
    ) {
        let instrument = self.rules.instruments.get(number);
        let (settlement, slot) = (instrument.settlement, instrument.settlement_slot);
        let profile = self.rules.profile_at(scene.profile);
        let used = self.meters.find(scene.account, settlement);
        let unit = self.rules.config.gross_credit.unit.raw();
        gross_credit::check(
            of_asset(&profile.credit, settlement),
            used.map_or(0, |meter| meter.credit),
            added,
            |added| {
                let firm = of_asset(&self.rules.firm_credit, settlement);
                match (firm, self.shared.slot(slot), self.credit.get(slot)) {
                    (None, _, _) => true,
                    (Some(limit), Some(shared), Some(part)) => {
                        part.has_room(&shared.credit, added, unit, limit)
                    }
                    _ => false,
                }
            },
            rejects,
        );
    }

    /// Takes an order's part of the firm's credit; another shard may have been
    /// quicker.
    pub(super) fn take_credit(&mut self, scene: &Scene<'_>, credit: i128) -> bool {
        let (Some(number), true) = (scene.instrument, credit != 0) else {
            return true;
        };
        let instrument = self.rules.instruments.get(number);
        let unit = self.rules.config.gross_credit.unit.raw();
        let limit = of_asset(&self.rules.firm_credit, instrument.settlement);
        let slot = instrument.settlement_slot;
        let (Some(shared), Some(part)) = (self.shared.slot(slot), self.credit.get_mut(slot)) else {
            return limit.is_none();
        };
        part.take(&shared.credit, credit, unit, limit.unwrap_or(i128::MAX))
    }

    /// Gives back what [`take_credit`](Self::take_credit) took.
    pub(super) fn give_credit(&mut self, scene: &Scene<'_>, credit: i128) {
        let (Some(number), true) = (scene.instrument, credit != 0) else {
            return;
        };
        let slot = self.rules.instruments.get(number).settlement_slot;
        let unit = self.rules.config.gross_credit.unit.raw();
        if let (Some(shared), Some(part)) = (self.shared.slot(slot), self.credit.get_mut(slot)) {
            part.add(&shared.credit, -credit, unit, super::shared_sum::Round::Up);
        }
    }
}
