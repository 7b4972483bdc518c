//! A shard's seats at every window that its broker's shards share (rule K14):
//! one for each rule that spans them.

use std::sync::Arc;

use super::ConfigError;
use super::profile::{Rules, of_asset};
use super::seat::Seat;
use super::shared::SharedLimits;
use super::shared_window::SharedWindow;
use super::window::Rate;
use crate::limits::SHARDS_MAX;

/// See the module.
#[derive(Default)]
pub(crate) struct Seats {
    pub(crate) broker_orders: Option<Seat>,
    pub(crate) broker_cancels: Option<Seat>,
    pub(crate) broker_replaces: Option<Seat>,
    /// By the slot of the settlement asset.
    pub(crate) asset_orders: Vec<Option<Seat>>,
}

impl Seats {
    /// Sits where the rules say, and nowhere else. The windows were made.
    ///
    /// # Errors
    /// More engines than shards are possible share the windows; the seats that
    /// were there stay usable.
    pub(crate) fn follow(
        &mut self,
        shared: &SharedLimits,
        rules: &Rules,
    ) -> Result<(), ConfigError> {
        let settlements = rules.instruments.settlements();
        self.asset_orders.resize_with(settlements.len(), || None);
        // New seats first: what can fail changes no limit.
        for apply in [false, true] {
            let sit = |seat: &mut _, window, rate| take(seat, window, rate, apply);
            sit(
                &mut self.broker_orders,
                shared.broker_orders(),
                rules.broker_orders,
            )?;
            sit(
                &mut self.broker_cancels,
                shared.broker_cancels(),
                rules.broker_cancels,
            )?;
            sit(
                &mut self.broker_replaces,
                shared.broker_replaces(),
                rules.broker_replaces,
            )?;
            for (slot, (seat, asset)) in self.asset_orders.iter_mut().zip(settlements).enumerate() {
                let rate = of_asset(&rules.asset_orders, *asset);
                sit(seat, shared.asset_orders(slot), rate)?;
            }
        }
        Ok(())
    }

    /// Counts an order of a settlement asset in the asset's window.
    #[inline]
    pub(crate) fn asset(&mut self, slot: usize) -> Option<&mut Seat> {
        self.asset_orders.get_mut(slot)?.as_mut()
    }
}

fn take(
    seat: &mut Option<Seat>,
    window: Option<&Arc<SharedWindow>>,
    rate: Option<Rate>,
    apply: bool,
) -> Result<(), ConfigError> {
    match (seat.as_mut(), rate) {
        (None, None) => {}
        (Some(_), None) if apply => *seat = None,
        (Some(seat), Some(rate)) if apply => seat.set_limit(rate.count, rate.window_ns),
        (Some(_), _) => {}
        (None, Some(rate)) => {
            let new = window.and_then(|window| Seat::new(window, rate.count, rate.window_ns));
            *seat = Some(new.ok_or_else(|| {
                ConfigError::value(
                    "rate_limit",
                    format!("more than {SHARDS_MAX} engines would share a limit; run fewer shards"),
                )
            })?);
        }
    }
    Ok(())
}
