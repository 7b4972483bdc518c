//! The way of an order: blocks ▸ start ▸ main ▸ reservation (rules K1 to K6).

use super::account::{Account, NONE};
use super::config::UnknownAccounts;
use super::custom_calls::Mutations;
use super::engine::RiskEngine;
use super::order_table::Status;
use super::policies::{order_size, pnl, rate_limit, validation};
use super::rejects::{PolicyId, Rejects};
use super::token::{RequestToken, ReservationToken, TokenError};
use crate::limits::ACCOUNTS_MAX;
use crate::time::Nanos;
use crate::types::{AccountId, Order, RejectCode, RejectScope};

/// Why a started request made no reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The token is of no use; nothing was changed.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The order is refused; the request is finished.
    #[error("refused: {0}")]
    Rejected(Rejects),
}

/// An order with what it names found.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) order: &'a Order,
    pub(super) account: u32,
    pub(super) profile: u32,
    /// `None` where there is no such instrument.
    pub(super) instrument: Option<u32>,
    pub(super) now: Nanos,
}

impl RiskEngine {
    /// Both stages in one call: a reservation, or every reason against the
    /// order (K1). `now` must not be before an earlier call's.
    ///
    /// # Errors
    /// The order is refused; nothing of it is left but its rate slots.
    #[inline]
    pub fn execute_pre_trade(
        &mut self,
        order: &Order,
        now: Nanos,
    ) -> Result<ReservationToken, Rejects> {
        let mut why = Rejects::new();
        match self.admit(order, now, &mut why) {
            Some(index) => Ok(self.reservation(index)),
            None => Err(why),
        }
    }

    fn admit(&mut self, order: &Order, now: Nanos, why: &mut Rejects) -> Option<u32> {
        let scene = self.enter(order, now, why)?;
        if !self.start(&scene, why) {
            return None;
        }
        match self.main(&scene, None) {
            Ok(index) => Some(index),
            Err(rejects) => {
                *why = rejects;
                None
            }
        }
    }

    /// The first stage alone: what must see every order (K1).
    ///
    /// # Errors
    /// The order is refused; nothing of it is left but its rate slots.
    #[inline]
    pub fn start_pre_trade(&mut self, order: &Order, now: Nanos) -> Result<RequestToken, Rejects> {
        let mut why = Rejects::new();
        match self.request_for(order, now, &mut why) {
            Some(index) => Ok(RequestToken {
                shard: self.shard,
                index,
                generation: self.orders.get(index).generation,
            }),
            None => Err(why),
        }
    }

    /// The place of a started request; `None`, and why, where it is refused.
    /// The reasons are large: handed out apart, they cost an accept nothing.
    fn request_for(&mut self, order: &Order, now: Nanos, why: &mut Rejects) -> Option<u32> {
        let scene = self.enter(order, now, why)?;
        if !self.start(&scene, why) {
            return None;
        }
        let instrument = scene.instrument.unwrap_or(NONE);
        if self.orders.is_full() {
            *why = Rejects::one(RejectCode::CapacityExceeded, RejectScope::Order);
            return None;
        }
        let index = self
            .orders
            .add(Status::Request, scene.account, instrument, order);
        self.link(index);
        self.orders.get_mut(index).version = self.version;
        Some(index)
    }

    /// The second stage of a started request; blocks are looked up again (K4).
    ///
    /// # Errors
    /// A stale token, or the order is refused, and the request is finished.
    #[inline]
    pub fn execute(
        &mut self,
        token: RequestToken,
        now: Nanos,
    ) -> Result<ReservationToken, ExecuteError> {
        self.settle_dropped();
        let entry = self.request(token)?;
        let one_version = entry.version == self.version && entry.instrument != NONE;
        if one_version && self.main_has_nothing_to_say() && self.is_clear(entry.account) {
            self.orders.get_mut(token.index).status = Status::Reserved;
            return Ok(self.reservation(token.index));
        }
        self.execute_with_policies(token, now)
    }

    fn execute_with_policies(
        &mut self,
        token: RequestToken,
        now: Nanos,
    ) -> Result<ReservationToken, ExecuteError> {
        let entry = self.request(token)?;
        let (account, order) = (entry.account, entry.order);
        let scene = self.scene(&order, account, now);
        let verdict = self
            .blocked(account)
            .and_then(|()| self.judge_again(&scene, token.index))
            .and_then(|()| self.main(&scene, Some(token.index)));
        match verdict {
            Ok(index) => Ok(self.reservation(index)),
            Err(rejects) => {
                self.forget(token.index);
                Err(ExecuteError::Rejected(rejects))
            }
        }
    }

    /// A request that was started under an earlier configuration is judged by
    /// this one from the start, so that one version decides (K35); it is not
    /// counted twice.
    fn judge_again(&mut self, scene: &Scene<'_>, index: u32) -> Result<(), Rejects> {
        if self.orders.get(index).version == self.version {
            return Ok(());
        }
        self.orders.get_mut(index).instrument = scene.instrument.unwrap_or(NONE);
        let rejects = self.judge_uncounted(scene);
        if rejects.is_empty() {
            return Ok(());
        }
        Err(self.start_refused(scene, rejects))
    }

    /// Gives a started request up.
    ///
    /// # Errors
    /// A stale token; nothing was changed.
    pub fn abandon(&mut self, token: RequestToken) -> Result<(), TokenError> {
        self.settle_dropped();
        self.request(token)?;
        self.forget(token.index);
        Ok(())
    }

    /// What [`execute_pre_trade`](Self::execute_pre_trade) would answer now;
    /// nothing is counted or reserved (K5).
    ///
    /// # Errors
    /// Every reason against the order.
    pub fn check_order(&mut self, order: &Order, now: Nanos) -> Result<(), Rejects> {
        self.settle_dropped();
        let scene = match self.accounts.find(order.account.0) {
            Some(account) => {
                self.blocked(account)?;
                self.scene(order, account, now)
            }
            None if self.rules.config.unknown_accounts == UnknownAccounts::Open => {
                return self.check_unopened(order, now);
            }
            None => return Err(unknown_account()),
        };
        self.check_start(&scene)?;
        self.check_main(&scene)
    }

    /// Counts a cancel of `account` and says whether it may be sent (K14).
    /// Blocked accounts may cancel (K31).
    ///
    /// # Errors
    /// `RateLimitExceeded`, or `UnknownAccount`.
    pub fn allow_cancel(&mut self, account: AccountId, now: Nanos) -> Result<(), Rejects> {
        let number = self.accounts.find(account.0).ok_or_else(unknown_account)?;
        let profile = self.profile_of(number);
        let mut passes = true;
        if let Some(seat) = &mut self.seats.broker_cancels {
            passes &= seat.hit(now);
        }
        if let Some(rate) = self.rules.profile_at(profile).cancels {
            let meter = self.meters.cancels(number);
            passes &= self.pool.hit(&mut meter.orders, now, rate);
        }
        rate_verdict(passes)
    }

    /// Counts a replace of an account, as [`allow_cancel`](Self::allow_cancel).
    pub(super) fn allow_replace(&mut self, number: u32, now: Nanos) -> Result<(), Rejects> {
        let profile = self.profile_of(number);
        let mut passes = true;
        if let Some(seat) = &mut self.seats.broker_replaces {
            passes &= seat.hit(now);
        }
        if let Some(rate) = self.rules.profile_at(profile).replaces {
            let meter = self.meters.replaces(number);
            passes &= self.pool.hit(&mut meter.orders, now, rate);
        }
        rate_verdict(passes)
    }

    /// Finds the account, opening it where that is configured, and refuses what
    /// is blocked before any policy sees it.
    #[inline(always)]
    fn enter<'a>(&mut self, order: &'a Order, now: Nanos, why: &mut Rejects) -> Option<Scene<'a>> {
        self.settle_dropped();
        let account = match self.accounts.find(order.account.0) {
            Some(account) => account,
            None => match self.open_on_first_use(order.account) {
                Ok(account) => account,
                Err(rejects) => {
                    *why = rejects;
                    return None;
                }
            },
        };
        if !self.is_clear(account)
            && let Err(rejects) = self.blocked(account)
        {
            *why = rejects;
            return None;
        }
        Some(self.scene(order, account, now))
    }

    #[inline(always)]
    pub(super) fn scene<'a>(&mut self, order: &'a Order, account: u32, now: Nanos) -> Scene<'a> {
        Scene {
            order,
            account,
            profile: self.profile_of(account),
            instrument: self.rules.instruments.find(order.instrument),
            now,
        }
    }

    #[cold]
    fn open_on_first_use(&mut self, id: AccountId) -> Result<u32, Rejects> {
        if self.rules.config.unknown_accounts == UnknownAccounts::Refuse {
            return Err(unknown_account());
        }
        if self.accounts.len() >= ACCOUNTS_MAX {
            return Err(Rejects::one(
                RejectCode::CapacityExceeded,
                RejectScope::Order,
            ));
        }
        Ok(self.accounts.insert(Account::new(id.0, 0, false)))
    }

    /// An account that is not open has no state: it is judged as a new one,
    /// which is closed again.
    fn check_unopened(&mut self, order: &Order, now: Nanos) -> Result<(), Rejects> {
        let number = self.open_on_first_use(order.account)?;
        if let Err(rejects) = self.blocked(number) {
            self.accounts.remove(number);
            return Err(rejects);
        }
        let scene = self.scene(order, number, now);
        let verdict = self
            .check_start(&scene)
            .and_then(|()| self.check_main(&scene));
        self.accounts.remove(number);
        verdict
    }

    /// The start stage: counts, and judges; whether there is no reason against
    /// the order.
    #[inline(always)]
    fn start(&mut self, scene: &Scene<'_>, rejects: &mut Rejects) -> bool {
        let instrument = scene
            .instrument
            .map(|number| self.rules.instruments.get(number));
        if self.rules.config.validation.enabled {
            validation::check(scene.order, instrument, rejects);
        }
        if !self.count_order(scene) {
            rejects.add(PolicyId::RATE, RejectCode::RateLimitExceeded);
        }
        self.finish_start(scene, rejects);
        if !self.custom.is_empty() {
            self.show_custom(scene, rejects);
        }
        if rejects.is_empty() {
            return true;
        }
        *rejects = self.start_refused(scene, *rejects);
        false
    }

    /// Counts an order on every rate axis; whether all let it pass.
    #[inline]
    pub(super) fn count_order(&mut self, scene: &Scene<'_>) -> bool {
        let instrument = scene
            .instrument
            .map(|number| self.rules.instruments.get(number));
        let axes = rate_limit::Axes {
            rules: &self.rules,
            profile: self.rules.profile_at(scene.profile),
            now: scene.now,
        };
        axes.order(
            self.accounts.get_mut(scene.account),
            scene.account,
            instrument,
            &mut self.seats,
            &mut self.meters,
            &mut self.pool,
        )
    }

    /// A broker-wide breach stops everything, an account's the account.
    #[cold]
    fn start_refused(&mut self, scene: &Scene<'_>, rejects: Rejects) -> Rejects {
        if rejects.iter().any(pnl::is_broker_wide) {
            self.shared.halt(RejectCode::PnlKillSwitchTriggered);
        }
        if rejects
            .iter()
            .any(|reject| reject.scope == RejectScope::Account && !pnl::is_broker_wide(reject))
        {
            self.latch(scene.account, RejectCode::AccountBlocked);
        }
        rejects
    }

    /// The start stage's verdict, with nothing counted.
    fn check_start(&self, scene: &Scene<'_>) -> Result<(), Rejects> {
        let mut rejects = Rejects::new();
        let instrument = scene
            .instrument
            .map(|number| self.rules.instruments.get(number));
        if self.rules.config.validation.enabled {
            validation::check(scene.order, instrument, &mut rejects);
        }
        let axes = rate_limit::Axes {
            rules: &self.rules,
            profile: self.rules.profile_at(scene.profile),
            now: scene.now,
        };
        let passes = axes.peek_order(
            self.accounts.get(scene.account),
            scene.account,
            instrument,
            &self.seats,
            &self.meters,
            &self.pool,
        );
        if !passes {
            rejects.add(PolicyId::RATE, RejectCode::RateLimitExceeded);
        }
        self.finish_start(scene, &mut rejects);
        if rejects.is_empty() {
            Ok(())
        } else {
            Err(rejects)
        }
    }

    /// Validation, size and P&L: the start stage without its counts.
    pub(super) fn judge_uncounted(&self, scene: &Scene<'_>) -> Rejects {
        let mut rejects = Rejects::new();
        let instrument = scene
            .instrument
            .map(|number| self.rules.instruments.get(number));
        if self.rules.config.validation.enabled {
            validation::check(scene.order, instrument, &mut rejects);
        }
        self.finish_start(scene, &mut rejects);
        rejects
    }

    /// What of the start stage counts nothing.
    #[inline]
    fn finish_start(&self, scene: &Scene<'_>, rejects: &mut Rejects) {
        let Some(number) = scene.instrument else {
            if rejects.is_empty() {
                // Validation is off; nothing else can be evaluated either.
                rejects.add(PolicyId::ENGINE, RejectCode::UnknownInstrument);
            }
            return;
        };
        if self.rules.any_size {
            order_size::check(
                scene.order,
                self.rules.instruments.get(number),
                &self.rules,
                self.rules.profile_at(scene.profile),
                rejects,
            );
        }
        if self.rules.any_pnl {
            pnl::say(
                self.pnl_broken(scene.account, scene.profile, number),
                rejects,
            );
        }
        if !self.custom.is_empty() {
            let mut none = Mutations::new();
            self.ask_custom(scene, rejects, &mut none, |policy, context, verdict| {
                policy.start(context, verdict);
            });
        }
    }

    #[inline]
    fn reservation(&self, index: u32) -> ReservationToken {
        ReservationToken {
            shard: self.shard,
            index,
            generation: self.orders.get(index).generation,
        }
    }
}

fn rate_verdict(passes: bool) -> Result<(), Rejects> {
    if passes {
        return Ok(());
    }
    let mut rejects = Rejects::new();
    rejects.add(PolicyId::RATE, RejectCode::RateLimitExceeded);
    Err(rejects)
}

#[cold]
fn unknown_account() -> Rejects {
    Rejects::one(RejectCode::UnknownAccount, RejectScope::Order)
}
