//! A shard: one worker's risk engine, orders and venue, as a function of its inputs.

mod reports;

pub use reports::{ReportBell, ReportReceiver, ReportSender, report_ring};
