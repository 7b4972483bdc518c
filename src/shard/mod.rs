//! A shard: one worker's risk engine, orders and venue, as a function of its inputs.

mod admission;
mod driver;
mod reports;
mod settlement;
mod withdrawal;

pub use admission::{Admission, Counts};
pub use reports::{ReportBell, ReportReceiver, ReportSender, report_ring};
