//! What a simulation is given, and why it may fail.

use std::io;
use std::time::Duration;

use crate::dispatch::runtime::SimError;
use crate::lanes::BuildError;
use crate::limits::{SIMULATED_ACCOUNTS_MAX, SIMULATED_RATE_MAX, SIMULATED_SECONDS_MAX};
use crate::orders::decision::KeyError;
use crate::orders::venue::sim::SimConfigError;
use crate::risk::{AdjustError, ConfigError, RestoreError};
use crate::shard::AddError;

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationConfig {
    /// From which all chance follows.
    pub seed: u64,
    /// Simulated time in which orders come, 1 s to a day.
    pub duration: Duration,
    /// Accounts, 2 to 10,000.
    pub accounts: u64,
    /// New orders a second, on average, 1 to 100,000.
    pub orders_per_second: u64,
}

impl Default for SimulationConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            duration: Duration::from_secs(10),
            accounts: 64,
            orders_per_second: 1_000,
        }
    }
}

impl SimulationConfig {
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        let refused = |what, range: (u64, u64), value| SimulationError::Setting {
            what,
            value,
            least: range.0,
            most: range.1,
        };
        let settings = [
            (
                "seconds",
                (1, SIMULATED_SECONDS_MAX),
                self.duration.as_secs(),
            ),
            ("accounts", (2, SIMULATED_ACCOUNTS_MAX), self.accounts),
            (
                "orders a second",
                (1, SIMULATED_RATE_MAX),
                self.orders_per_second,
            ),
        ];
        for (what, range, value) in settings {
            if value < range.0 || value > range.1 {
                return Err(refused(what, range, value));
            }
        }
        Ok(())
    }
}

/// Why a simulation did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A setting is out of its range.
    #[error("{what}: {value}; must be {least} to {most}")]
    Setting {
        /// Which.
        what: &'static str,
        /// As it was given.
        value: u64,
        /// At least.
        least: u64,
        /// At most.
        most: u64,
    },
    /// The risk engine cannot be made.
    #[error("risk: {0}")]
    Risk(#[from] ConfigError),
    /// An opening balance is refused.
    #[error("opening balances: {0}")]
    Balance(#[from] AdjustError),
    /// The venue cannot be made.
    #[error("venue: {0}")]
    Venue(#[from] SimConfigError),
    /// The lane cannot be made.
    #[error("lane: {0}")]
    Lane(#[from] BuildError),
    /// A component cannot be added.
    #[error("component: {0}")]
    Component(#[from] AddError),
    /// A signing key cannot be made.
    #[error("key: {0}")]
    Key(KeyError),
    /// A shard does not start from its journal.
    #[error("restart: {0}")]
    Restart(#[from] RestoreError),
    /// The simulated loop gave up.
    #[error(transparent)]
    Loop(#[from] SimError),
    /// The trace cannot be written.
    #[error("the trace: {0}")]
    Trace(io::Error),
}
