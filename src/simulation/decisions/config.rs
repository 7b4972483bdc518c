//! What such a simulation is given, and what came of it.

use crate::limits::SIMULATED_STEPS_MAX;
use crate::simulation::SimulationError;

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionsConfig {
    /// From which all chance follows.
    pub seed: u64,
    /// Things that happen before everything is mended, 1 to 100,000.
    pub steps: u64,
}

impl Default for DecisionsConfig {
    fn default() -> Self {
        Self { seed: 1, steps: 80 }
    }
}

impl DecisionsConfig {
    pub(super) const fn check(&self) -> Result<(), SimulationError> {
        if self.steps == 0 || self.steps > SIMULATED_STEPS_MAX {
            return Err(SimulationError::Setting {
                what: "steps",
                value: self.steps,
                least: 1,
                most: SIMULATED_STEPS_MAX,
            });
        }
        Ok(())
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionsSimulated {
    /// Decisions that agents were given.
    pub allowed: u64,
    /// Orders that were refused a decision.
    pub denied: u64,
    /// Questions that a crash left without an answer.
    pub lost: u64,
    /// Bodies that were brought, altered and repeated ones included.
    pub brought: u64,
    /// Requests that the executor refused.
    pub refused: u64,
    /// Orders at the executor's venue.
    pub sent: u64,
    /// Orders of the shards' own clients at their venues.
    pub own_sent: u64,
    /// Executions and reversals that were settled.
    pub settled: u64,
    /// Processes that were killed.
    pub crashes: u64,
    /// Decisions that were never brought, and found void.
    pub voided: u64,
    /// Executions that the venue took back.
    pub busts: u64,
    /// Orders that were filled beyond their size.
    pub overfills: u64,
    /// Lines of the trace.
    pub lines: u64,
    /// Their SHA-256.
    pub hash: [u8; 32],
    /// What must not be, in a sentence; the run ends there.
    pub violation: Option<String>,
}
