//! What the shards of one broker share: logs of attempts and the halt
//! (rules K7, K14).
//!
//! Given to every [`RiskEngine`](super::RiskEngine) when it is built. Orders
//! touch it by atomics only; no lock, no allocation.

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;

use super::ConfigError;
use super::config::RiskConfig;
use super::profile::Rules;
use super::shared_sum::SharedSum;
use super::shared_window::SharedWindow;
use super::sync::{AtomicU32, Ordering};
use super::window::Rate;
use crate::limits::SHARED_RATE_SLOTS_MIN;
use crate::types::{AssetId, RejectCode};

/// See the module.
pub struct SharedLimits {
    broker_orders: OnceLock<Arc<SharedWindow>>,
    broker_cancels: OnceLock<Arc<SharedWindow>>,
    broker_replaces: OnceLock<Arc<SharedWindow>>,
    /// Every asset that an instrument settles in, in the order of first use.
    assets: Vec<(AssetId, SharedAsset)>,
    /// The cause's number while everything is blocked, else zero.
    halt: CachePadded<AtomicU32>,
}

/// What is shared of one settlement asset.
#[derive(Default)]
pub(super) struct SharedAsset {
    pub(super) orders: OnceLock<Arc<SharedWindow>>,
    /// Gross credit of the firm, rounded up.
    pub(super) credit: SharedSum,
    /// The broker's realized P&L, rounded down, and rounded up.
    pub(super) pnl_low: SharedSum,
    pub(super) pnl_high: SharedSum,
}

impl SharedLimits {
    /// For all engines of a broker that are built from this configuration.
    ///
    /// # Errors
    /// The configuration's first fault.
    pub fn new(config: &RiskConfig) -> Result<Self, ConfigError> {
        let rules = Rules::new(config)?;
        let assets = rules.instruments.settlements().iter();
        let assets = assets.map(|id| (*id, SharedAsset::default())).collect();
        let shared = Self {
            broker_orders: OnceLock::new(),
            broker_cancels: OnceLock::new(),
            broker_replaces: OnceLock::new(),
            assets,
            halt: CachePadded::new(AtomicU32::new(0)),
        };
        shared.prepare(&rules)?;
        Ok(shared)
    }

    /// Makes the logs that the rules need; those that are there keep what they
    /// have seen.
    ///
    /// # Errors
    /// A limit is larger than the log that was made for a smaller one.
    pub(super) fn prepare(&self, rules: &Rules) -> Result<(), ConfigError> {
        let known = self.assets.iter().map(|(id, _)| id);
        if !known.eq(rules.instruments.settlements()) {
            return Err(ConfigError::value(
                "instruments",
                "the settlement assets are not those that the shards were started with; restart",
            ));
        }
        prepare(&self.broker_orders, rules.broker_orders)?;
        prepare(&self.broker_cancels, rules.broker_cancels)?;
        prepare(&self.broker_replaces, rules.broker_replaces)?;
        for (asset, rate) in &rules.asset_orders {
            if let Some(shared) = self.asset(*asset) {
                prepare(&shared.orders, Some(*rate))?;
            }
        }
        Ok(())
    }

    fn asset(&self, asset: AssetId) -> Option<&SharedAsset> {
        self.assets
            .iter()
            .find(|(id, _)| *id == asset)
            .map(|(_, shared)| shared)
    }

    /// By the slot of the settlement asset.
    pub(super) fn slot(&self, slot: usize) -> Option<&SharedAsset> {
        self.assets.get(slot).map(|(_, shared)| shared)
    }

    pub(super) fn broker_orders(&self) -> Option<&Arc<SharedWindow>> {
        self.broker_orders.get()
    }

    pub(super) fn broker_cancels(&self) -> Option<&Arc<SharedWindow>> {
        self.broker_cancels.get()
    }

    pub(super) fn broker_replaces(&self) -> Option<&Arc<SharedWindow>> {
        self.broker_replaces.get()
    }

    /// By the slot of the settlement asset.
    pub(super) fn asset_orders(&self, slot: usize) -> Option<&Arc<SharedWindow>> {
        self.slot(slot)?.orders.get()
    }

    /// Why everything is blocked, if it is.
    #[must_use]
    pub fn halted(&self) -> Option<RejectCode> {
        // Acquire pairs with the release of `halt`: who sees the halt sees what
        // led to it.
        match self.halt.load(Ordering::Acquire) {
            0 => None,
            number => Some(
                u16::try_from(number)
                    .ok()
                    .and_then(RejectCode::from_number)
                    .unwrap_or(RejectCode::AccountBlocked),
            ),
        }
    }

    /// Blocks everything, on every shard, before it returns; the first cause
    /// stays.
    pub fn halt(&self, cause: RejectCode) {
        let _ = self.halt.compare_exchange(
            0,
            u32::from(cause.number()),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
    }

    /// Replaces the cause, or clears the halt.
    pub(super) fn set_halt(&self, cause: Option<RejectCode>) {
        self.halt.store(
            cause.map_or(0, |code| u32::from(code.number())),
            Ordering::Release,
        );
    }
}

fn prepare(window: &OnceLock<Arc<SharedWindow>>, rate: Option<Rate>) -> Result<(), ConfigError> {
    let Some(rate) = rate else { return Ok(()) };
    let made =
        window.get_or_init(|| Arc::new(SharedWindow::new(rate.count.max(SHARED_RATE_SLOTS_MIN))));
    if made.capacity() < rate.count as usize {
        return Err(ConfigError::value(
            "rate_limit",
            format!(
                "a limit that spans shards can be raised to {} while the engine runs; restart for more",
                made.capacity()
            ),
        ));
    }
    Ok(())
}
