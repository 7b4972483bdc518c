//! A shard: one worker's risk engine, orders and venue, as a function of its inputs.

mod admission;
pub mod authority;
mod callbacks;
mod driver;
mod held;
mod journaling;
mod monitor;
mod outlet;
mod ports;
mod reconciliation;
pub mod record;
mod recovery;
mod reports;
mod settlement;
mod snapshot;
mod state;
mod withdrawal;

#[cfg(test)]
mod snapshot_tests;

pub use admission::{Admission, Counts};
pub use callbacks::RiskRequest;
pub use monitor::ShardMonitor;
pub use ports::{AddError, ComponentPorts};
pub use reconciliation::VenueMemory;
pub use reports::{
    DROP_COPY_PORT, RECOVERED_PORT, ReportBell, ReportReceiver, ReportSender, report_ring,
};
pub use snapshot::{BuildSnapshotError, IntakeError, ShardIntake, SnapshotBuilder};
pub use state::{ShardState, StateError};
