//! Rate limit (rule K14): an attempt is counted on every axis before any axis
//! judges, so that a flood cannot hide from one limit behind another.

use crate::risk::account::Account;
use crate::risk::instruments::Instrument;
use crate::risk::meter::MeterTable;
use crate::risk::profile::{Profile, Rules, of_asset};
use crate::risk::seat::Seat;
use crate::risk::seats::Seats;
use crate::risk::window::WindowPool;
use crate::time::Nanos;

/// The most that the policy says: one reject, of the widest axis broken.
pub(crate) const REJECTS: usize = 1;

/// What an attempt is counted in.
pub(crate) struct Axes<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) profile: &'a Profile,
    pub(crate) now: Nanos,
}

impl Axes<'_> {
    /// Counts an order on every axis; whether every axis lets it pass.
    #[inline]
    pub(crate) fn order(
        &self,
        account: &mut Account,
        number: u32,
        instrument: Option<&Instrument>,
        seats: &mut Seats,
        meters: &mut MeterTable,
        pool: &mut WindowPool,
    ) -> bool {
        let mut passes = true;
        if let Some(seat) = &mut seats.broker_orders {
            passes &= seat.hit(self.now);
        }
        if let Some(instrument) = instrument {
            let asset = instrument.settlement;
            if let Some(seat) = seats.asset(instrument.settlement_slot) {
                passes &= seat.hit(self.now);
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
        instrument: Option<&Instrument>,
        seats: &Seats,
        meters: &MeterTable,
        pool: &WindowPool,
    ) -> bool {
        let shared = |seat: &Option<Seat>| seat.as_ref().is_none_or(|seat| seat.peek(self.now));
        let own = self
            .profile
            .orders
            .is_none_or(|rate| pool.peek(&account.orders, self.now, rate));
        let by_asset = instrument.is_none_or(|instrument| {
            let asset = instrument.settlement;
            let wide = seats
                .asset_orders
                .get(instrument.settlement_slot)
                .is_none_or(shared);
            let narrow =
                of_asset(&self.profile.asset_orders, asset).is_none_or(|rate| {
                    match meters.find(number, asset) {
                        Some(meter) => pool.peek(&meter.orders, self.now, rate),
                        None => rate.count > 0,
                    }
                });
            wide && narrow
        });
        shared(&seats.broker_orders) && own && by_asset
    }
}
