//! Rate limit (rule K14): an attempt is counted on every axis before any axis
//! judges, so that a flood cannot hide from one limit behind another.

use crate::risk::account::Account;
use crate::risk::meter::MeterTable;
use crate::risk::profile::{Profile, Rules, of_asset};
use crate::risk::shared::SharedLimits;
use crate::risk::window::{Rate, WindowPool};
use crate::time::Nanos;
use crate::types::AssetId;

/// The most that the policy says: one reject, of the widest axis broken.
pub(crate) const REJECTS: usize = 1;

/// What an attempt is counted in.
pub(crate) struct Axes<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) profile: &'a Profile,
    pub(crate) shared: &'a SharedLimits,
    pub(crate) now: Nanos,
}

impl Axes<'_> {
    /// Counts an order on every axis; whether every axis lets it pass.
    #[inline]
    pub(crate) fn order(
        &self,
        account: &mut Account,
        number: u32,
        settlement: Option<AssetId>,
        meters: &mut MeterTable,
        pool: &mut WindowPool,
    ) -> bool {
        let mut passes = true;
        if let Some(rate) = self.rules.broker_orders {
            passes &= self
                .shared
                .broker_orders()
                .is_some_and(|window| window.hit(self.now, rate.count, rate.window_ns));
        }
        if let Some(asset) = settlement {
            if !self.rules.asset_orders.is_empty()
                && let Some(rate) = of_asset(&self.rules.asset_orders, asset)
            {
                passes &= self
                    .shared
                    .asset_orders(asset)
                    .is_some_and(|window| window.hit(self.now, rate.count, rate.window_ns));
            }
            if self.rules.any_account_asset_rate
                && let Some(rate) = of_asset(&self.profile.asset_orders, asset)
            {
                let meter = meters.of(number, asset);
                passes &= pool.hit(&mut meter.orders, self.now, rate);
            }
        }
        if let Some(rate) = self.profile.orders {
            passes &= pool.hit(&mut account.orders, self.now, rate);
        }
        passes
    }

    /// What [`order`](Self::order) would answer, without counting (K5).
    pub(crate) fn peek_order(
        &self,
        account: &Account,
        number: u32,
        settlement: Option<AssetId>,
        meters: &MeterTable,
        pool: &WindowPool,
    ) -> bool {
        let shared = |window: Option<&crate::risk::shared_window::SharedWindow>, rate: Rate| {
            window.is_some_and(|window| window.peek(self.now, rate.count, rate.window_ns))
        };
        let broker = self
            .rules
            .broker_orders
            .is_none_or(|rate| shared(self.shared.broker_orders(), rate));
        let own = self
            .profile
            .orders
            .is_none_or(|rate| pool.peek(&account.orders, self.now, rate));
        let by_asset = settlement.is_none_or(|asset| {
            let wide = of_asset(&self.rules.asset_orders, asset)
                .is_none_or(|rate| shared(self.shared.asset_orders(asset), rate));
            let narrow =
                of_asset(&self.profile.asset_orders, asset).is_none_or(|rate| {
                    match meters.find(number, asset) {
                        Some(meter) => pool.peek(&meter.orders, self.now, rate),
                        None => rate.count > 0,
                    }
                });
            wide && narrow
        });
        broker && own && by_asset
    }
}
