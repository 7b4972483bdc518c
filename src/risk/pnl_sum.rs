//! Realized P&L: each account's, exact, and the broker's, in units (rule K18).

use super::engine::RiskEngine;
use super::policies::pnl::Broken;
use super::profile::of_asset;
use super::shared_sum::Round;

impl RiskEngine {
    /// Books a change; what it broke, or `None` where it is out of range and
    /// was not booked.
    pub(super) fn add_pnl(&mut self, account: u32, instrument: u32, delta: i128) -> Option<Broken> {
        let (settlement, slot) = {
            let instrument = self.rules.instruments.get(instrument);
            (instrument.settlement, instrument.settlement_slot)
        };
        let meter = self.meters.of(account, settlement);
        meter.pnl = meter.pnl.checked_add(delta)?;
        let unit = self.rules.config.pnl.unit.raw();
        if let (Some(shared), Some((low, high))) = (self.shared.slot(slot), self.pnl.get_mut(slot))
        {
            low.add(&shared.pnl_low, delta, unit, Round::Down);
            high.add(&shared.pnl_high, delta, unit, Round::Up);
        }
        if !self.rules.any_pnl {
            return Some(Broken::default());
        }
        let profile = self.profile_of(account);
        Some(self.pnl_broken(account, profile, instrument))
    }

    /// Whether the account's P&L, or the broker's, is out of bounds now.
    pub(super) fn pnl_broken(&self, account: u32, profile: u32, instrument: u32) -> Broken {
        let instrument = self.rules.instruments.get(instrument);
        let settlement = instrument.settlement;
        let own = of_asset(&self.rules.profile_at(profile).pnl, settlement);
        let broker = of_asset(&self.rules.broker_pnl, settlement);
        let unit = self.rules.config.pnl.unit.raw();
        Broken {
            account: own.is_some_and(|bounds| {
                let meter = self.meters.find(account, settlement);
                bounds.broken_by(meter.map_or(0, |meter| meter.pnl))
            }),
            broker: broker.is_some_and(|bounds| {
                let Some(shared) = self.shared.slot(instrument.settlement_slot) else {
                    return true;
                };
                let value = |units: i64| i128::from(units).checked_mul(unit);
                match (value(shared.pnl_low.get()), value(shared.pnl_high.get())) {
                    (Some(low), Some(high)) => bounds.broken_between(low, high),
                    _ => true,
                }
            }),
        }
    }
}
