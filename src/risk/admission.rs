//! The way of an order: blocks ▸ start ▸ main ▸ reservation (rules K1 to K6).

use super::account::{Account, NONE};
use super::config::UnknownAccounts;
use super::engine::RiskEngine;
use super::order_table::Status;
use super::policies::{order_size, rate_limit, validation};
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
    pub fn execute_pre_trade(
        &mut self,
        order: &Order,
        now: Nanos,
    ) -> Result<ReservationToken, Rejects> {
        self.settle_dropped();
        let scene = self.enter(order, now)?;
        self.start(&scene)?;
        let index = self.main(&scene, None)?;
        Ok(self.reservation(index))
    }

    /// The first stage alone: what must see every order (K1).
    ///
    /// # Errors
    /// The order is refused; nothing of it is left but its rate slots.
    pub fn start_pre_trade(&mut self, order: &Order, now: Nanos) -> Result<RequestToken, Rejects> {
        self.settle_dropped();
        let scene = self.enter(order, now)?;
        self.start(&scene)?;
        let instrument = scene.instrument.unwrap_or(NONE);
        if self.orders.is_full() {
            return Err(Rejects::one(
                RejectCode::CapacityExceeded,
                RejectScope::Order,
            ));
        }
        let index = self
            .orders
            .add(Status::Request, scene.account, instrument, order);
        self.link(index);
        Ok(RequestToken {
            shard: self.shard,
            index,
            generation: self.orders.get(index).generation,
        })
    }

    /// The second stage of a started request; blocks are looked up again (K4).
    ///
    /// # Errors
    /// A stale token, or the order is refused, and the request is finished.
    pub fn execute(
        &mut self,
        token: RequestToken,
        now: Nanos,
    ) -> Result<ReservationToken, ExecuteError> {
        self.settle_dropped();
        let order = self.request(token)?.order;
        let account = self.request(token)?.account;
        let scene = self.scene(&order, account, now);
        let verdict = self
            .blocked(account)
            .and_then(|()| self.main(&scene, Some(token.index)));
        match verdict {
            Ok(index) => Ok(self.reservation(index)),
            Err(rejects) => {
                self.forget(token.index);
                Err(ExecuteError::Rejected(rejects))
            }
        }
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
        if let Some(rate) = self.rules.broker_cancels {
            passes &= self
                .shared
                .broker_cancels()
                .is_some_and(|window| window.hit(now, rate.count, rate.window_ns));
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
        if let Some(rate) = self.rules.broker_replaces {
            passes &= self
                .shared
                .broker_replaces()
                .is_some_and(|window| window.hit(now, rate.count, rate.window_ns));
        }
        if let Some(rate) = self.rules.profile_at(profile).replaces {
            let meter = self.meters.replaces(number);
            passes &= self.pool.hit(&mut meter.orders, now, rate);
        }
        rate_verdict(passes)
    }

    /// Finds the account, opening it where that is configured, and refuses what
    /// is blocked before any policy sees it.
    fn enter<'a>(&mut self, order: &'a Order, now: Nanos) -> Result<Scene<'a>, Rejects> {
        let account = match self.accounts.find(order.account.0) {
            Some(account) => account,
            None => self.open_on_first_use(order.account)?,
        };
        self.blocked(account)?;
        Ok(self.scene(order, account, now))
    }

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
        if let Some(cause) = self.shared.halted() {
            return Err(Rejects::one(cause, RejectScope::Account));
        }
        let number = self.open_on_first_use(order.account)?;
        let scene = self.scene(order, number, now);
        let verdict = self
            .check_start(&scene)
            .and_then(|()| self.check_main(&scene));
        self.accounts.remove(number);
        verdict
    }

    /// Blocks, narrowest first: account, then all (K1).
    #[inline]
    fn blocked(&self, account: u32) -> Result<(), Rejects> {
        let cause = self
            .accounts
            .get(account)
            .block
            .or_else(|| self.shared.halted());
        match cause {
            None => Ok(()),
            Some(cause) => Err(Rejects::one(cause, RejectScope::Account)),
        }
    }

    /// The start stage: counts, and judges.
    #[inline]
    fn start(&mut self, scene: &Scene<'_>) -> Result<(), Rejects> {
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
            shared: &self.shared,
            now: scene.now,
        };
        let passes = axes.order(
            self.accounts.get_mut(scene.account),
            scene.account,
            instrument.map(|instrument| instrument.settlement),
            &mut self.meters,
            &mut self.pool,
        );
        if !passes {
            rejects.add(PolicyId::RATE, RejectCode::RateLimitExceeded);
        }
        self.finish_start(scene, rejects)
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
            shared: &self.shared,
            now: scene.now,
        };
        let passes = axes.peek_order(
            self.accounts.get(scene.account),
            scene.account,
            instrument.map(|instrument| instrument.settlement),
            &self.meters,
            &self.pool,
        );
        if !passes {
            rejects.add(PolicyId::RATE, RejectCode::RateLimitExceeded);
        }
        self.finish_start(scene, rejects)
    }

    /// What of the start stage counts nothing.
    #[inline]
    fn finish_start(&self, scene: &Scene<'_>, mut rejects: Rejects) -> Result<(), Rejects> {
        if let Some(number) = scene.instrument {
            if self.rules.any_size {
                order_size::check(
                    scene.order,
                    self.rules.instruments.get(number),
                    &self.rules,
                    self.rules.profile_at(scene.profile),
                    &mut rejects,
                );
            }
        } else if rejects.is_empty() {
            // Validation is off; nothing else can be evaluated either.
            rejects.add(PolicyId::ENGINE, RejectCode::UnknownInstrument);
        }
        if rejects.is_empty() {
            Ok(())
        } else {
            Err(rejects)
        }
    }

    /// The main stage's verdict, with nothing reserved.
    fn check_main(&self, _scene: &Scene<'_>) -> Result<(), Rejects> {
        if self.orders.is_full() {
            return Err(Rejects::one(
                RejectCode::CapacityExceeded,
                RejectScope::Order,
            ));
        }
        Ok(())
    }

    /// The main stage; where the reservation is. `request` is a started one's
    /// place, which becomes the reservation's.
    #[inline]
    fn main(&mut self, scene: &Scene<'_>, request: Option<u32>) -> Result<u32, Rejects> {
        if request.is_none() {
            self.check_main(scene)?;
        }
        let index = match request {
            Some(index) => {
                self.orders.get_mut(index).status = Status::Reserved;
                index
            }
            None => {
                let instrument = scene.instrument.unwrap_or(NONE);
                let index =
                    self.orders
                        .add(Status::Reserved, scene.account, instrument, scene.order);
                self.link(index);
                index
            }
        };
        Ok(index)
    }

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
