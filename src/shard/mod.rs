//! A shard: one worker's risk engine, orders and venue, as a function of its inputs.

mod admission;
mod callbacks;
mod driver;
mod monitor;
mod ports;
mod reports;
mod settlement;
mod withdrawal;

pub use admission::{Admission, Counts};
pub use callbacks::RiskRequest;
pub use monitor::ShardMonitor;
pub use ports::{AddError, ComponentPorts};
pub use reports::{DROP_COPY_PORT, ReportBell, ReportReceiver, ReportSender, report_ring};
