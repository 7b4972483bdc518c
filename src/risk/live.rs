//! Configuration that changes while the engine runs (rule K35): by a call or
//! from TOML, between two orders, one version for each request.
//!
//! Every shard is given the same configurations in the same order, through its
//! ring; who changed what and when is the journal's to keep.

use super::ConfigError;
use super::account::Account;
use super::config::RiskConfig;
use super::engine::RiskEngine;
use super::order_table::Status;
use super::profile::Rules;
use crate::types::GroupId;

impl RiskEngine {
    /// Takes a new configuration from now on; its version. Counts, balances,
    /// blocks and working orders stay. Accounts that it names in addition are
    /// opened; groups of accounts that are open stay as they are.
    ///
    /// # Errors
    /// The configuration's first fault, or it would change an instrument that
    /// there is; the old one stays.
    pub fn reconfigure(&mut self, config: &RiskConfig) -> Result<u32, ConfigError> {
        self.settle_dropped();
        let rules = Rules::new(config)?;
        let same = self
            .rules
            .instruments
            .iter()
            .zip(rules.instruments.iter())
            .all(|(old, new)| {
                (old.id, old.base, old.settlement) == (new.id, new.base, new.settlement)
            });
        if !same || rules.instruments.len() < self.rules.instruments.len() {
            return Err(ConfigError::value(
                "instruments",
                "instruments are added at the end while the engine runs; restart to change or remove one",
            ));
        }
        if config.pnl.unit != self.rules.config.pnl.unit
            || config.gross_credit.unit != self.rules.config.gross_credit.unit
        {
            return Err(ConfigError::value(
                "unit",
                "what shards count in cannot change while the engine runs; restart",
            ));
        }
        self.shared.prepare(&rules)?;
        self.seats.follow(&self.shared, &rules)?;
        let counted = self.rules.counts_positions();
        let credited = self.rules.any_credit;
        self.rules = rules;
        self.version = self.version.wrapping_add(1).max(1);
        self.market
            .configure(self.rules.instruments.len(), config.quote_ttl_ms);
        for number in 0..self.accounts.numbers() {
            self.accounts.get_mut(number).configured = false;
        }
        for entry in &config.accounts {
            match self.accounts.find(entry.id.0) {
                Some(number) => self.accounts.get_mut(number).configured = true,
                None => {
                    let group = entry.group.map_or(0, GroupId::get);
                    self.accounts.insert(Account::new(entry.id.0, group, true));
                }
            }
        }
        self.count_working(!counted, !credited);
        Ok(self.version)
    }

    /// As [`reconfigure`](Self::reconfigure), from TOML.
    ///
    /// # Errors
    /// As there, and what is wrong with the text.
    pub fn reconfigure_toml(&mut self, text: &str) -> Result<u32, ConfigError> {
        self.reconfigure(&RiskConfig::from_toml(text)?)
    }

    /// The version of the configuration that holds now, from 1.
    #[must_use]
    pub const fn config_version(&self) -> u32 {
        self.version
    }

    /// A policy that was switched on counts what is working already.
    fn count_working(&mut self, positions: bool, credit: bool) {
        let positions = positions && self.rules.counts_positions();
        let credit = credit && self.rules.any_credit;
        if !positions && !credit {
            return;
        }
        for account in 0..self.accounts.numbers() {
            if credit {
                self.credit_positions(account);
            }
            let mut index = self.accounts.get(account).first_order;
            while index != super::account::NONE {
                let entry = *self.orders.get(index);
                if matches!(entry.status, Status::Reserved | Status::Working) {
                    self.count_order_now(index, positions, credit);
                }
                index = entry.next;
            }
        }
    }

    /// Credit from nothing: while the policy was off only orders gave back.
    fn credit_positions(&mut self, account: u32) {
        let instruments = u32::try_from(self.rules.instruments.len()).unwrap_or(u32::MAX);
        for instrument in 0..instruments {
            let (_, settlement) = self.assets_of(instrument);
            let counted = self.meters.find(account, settlement);
            if let Some(counted) = counted.map(|meter| meter.credit).filter(|sum| *sum != 0) {
                self.change_credit(account, instrument, -counted);
            }
        }
        for instrument in 0..instruments {
            let value = self
                .positions
                .find(account, instrument)
                .map_or(0, |position| position.value());
            if value != 0 {
                self.change_credit(account, instrument, value);
            }
        }
    }

    fn count_order_now(&mut self, index: u32, positions: bool, credit: bool) {
        let entry = *self.orders.get(index);
        let scene = self.scene(&entry.order, entry.account, crate::time::Nanos(u64::MAX));
        let lock_price = match entry.hold.lock_price {
            0 => self.worth(&scene, entry.instrument).ok(),
            raw => {
                let price = crate::types::Price::from_raw(raw);
                let order = crate::types::Order {
                    price: Some(price),
                    ..entry.order
                };
                let scene = super::admission::Scene {
                    order: &order,
                    ..scene
                };
                self.worth(&scene, entry.instrument).ok()
            }
        };
        let Some(value) = lock_price else { return };
        let left = value.quantity_up.saturating_sub(entry.hold.filled).max(0);
        self.orders.get_mut(index).hold.lock_price = value.lock_price.raw();
        if positions && entry.hold.counted == 0 {
            self.orders.get_mut(index).hold.counted = left;
            let position = self.positions.of(entry.account, entry.instrument);
            *position.working(entry.order.side) += i128::from(left);
        }
        if credit {
            let notional = value
                .lock_price
                .notional(crate::types::Quantity::from_raw(left))
                .raw()
                .saturating_abs();
            self.orders.get_mut(index).hold.credit = notional;
            self.change_credit(entry.account, entry.instrument, notional);
        }
    }
}
