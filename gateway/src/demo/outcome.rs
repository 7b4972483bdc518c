//! What came of a demo, as an object and as a table.

use core::fmt;
use std::time::Duration;

use pitlane::telemetry::Distribution;
use serde::Serialize;

use super::DemoError;
use super::setup::DemoSettings;
use super::traffic::Traffic;
use crate::assembly::Gateway;
use crate::config::JournalMode;
use crate::flow::FlowReport;
use crate::server::IoUsed;

/// How long the gateway may take to stop.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// What came of a demo.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// New orders sent.
    pub submitted: u64,
    /// Orders that risk took.
    pub accepted: u64,
    /// Orders refused.
    pub rejected: u64,
    /// Orders filled in full.
    pub filled: u64,
    /// Orders cancelled, by their client or as the rest of an immediate one.
    pub canceled: u64,
    /// Orders that ended: rejected, filled or canceled; each once.
    pub resolved: u64,
    /// Executions, both sides counted.
    pub executions: u64,
    /// Cancels and replaces sent.
    pub changes: u64,
    /// Of them, refused: the order was over.
    pub changes_refused: u64,
    /// New orders a second, from the first sent to the last resolved.
    pub orders_per_second: u64,
    /// Messages a second, cancels and replaces counted.
    pub messages_per_second: u64,
    /// From queueing an order to its `Accepted` or `Rejected`.
    pub latency_ns: LatencyOutcome,
    /// In the shards, measured by the observer: one command in 16.
    pub shard_ns: ShardOutcome,
    /// How long it took, in ms.
    pub elapsed_ms: u64,
    /// What survives a restart: `sync`, all; `off`, nothing.
    pub journal_mode: &'static str,
    /// How sockets were served: `uring` or `epoll`.
    pub io: &'static str,
    /// Why not by io_uring, where that was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_refused: Option<String>,
    /// Where the shards ran: `inline` or `ring`.
    pub mode: &'static str,
    /// How many shards there were.
    pub shards: u16,
    /// Accounts that sent orders.
    pub accounts: u32,
    /// Messages that could be unanswered at once.
    pub window: u32,
    /// Messages never answered, and orders that never ended.
    pub lost: u64,
    /// Reports that fit nothing that was sent, or came twice.
    pub unexpected: u64,
    /// What the recorded flow came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowOutcome>,
}

/// Percentiles of a latency, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatencyOutcome {
    /// Half were faster.
    pub p50: u64,
    /// 99 of 100 were faster.
    pub p99: u64,
    /// 999 of 1,000 were faster.
    pub p99_9: u64,
    /// The slowest.
    pub max: u64,
}

/// What the lanes' observer measured, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShardOutcome {
    /// From a ring's entry to the batch that took it; zero where inline.
    pub queue_wait: LatencyOutcome,
    /// Risk, order and simulated venue of one command.
    pub run: LatencyOutcome,
}

impl LatencyOutcome {
    fn of(distribution: &Distribution) -> Self {
        Self {
            p50: distribution.at_quantile(0.5),
            p99: distribution.at_quantile(0.99),
            p99_9: distribution.at_quantile(0.999),
            max: distribution.at_quantile(1.0),
        }
    }
}

/// What a recorded flow came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowOutcome {
    /// The file.
    #[serde(skip)]
    pub file: String,
    /// Its rows, without the header.
    pub rows: u64,
    /// New orders sent, aggressors counted.
    pub orders: u64,
    /// Sums of fills, by order and price, that the file has.
    pub fills_expected: usize,
    /// Of them, those that our venue made to the unit.
    pub fills_matched: usize,
    /// The first that differs, and why; `null` where none does.
    pub first_difference: Option<String>,
    /// More of them, for the table.
    #[serde(skip)]
    differences: Vec<String>,
}

impl FlowOutcome {
    pub(super) fn new(file: String, rows: u64, orders: u64, report: &FlowReport) -> Self {
        let differences: Vec<_> = report
            .first_differences
            .iter()
            .map(ToString::to_string)
            .collect();
        Self {
            file,
            rows,
            orders,
            fills_expected: report.fills,
            fills_matched: report.exact,
            first_difference: differences.first().cloned(),
            differences,
        }
    }
}

impl Outcome {
    /// Ends a run: the session, then the gateway.
    pub(super) fn of(
        gateway: Gateway,
        traffic: Traffic,
        settings: &DemoSettings,
        flow: Option<FlowOutcome>,
    ) -> Result<Self, DemoError> {
        let elapsed = traffic.elapsed();
        let layout = gateway.layout();
        let (io, io_refused) = match gateway.io().first() {
            Some(IoUsed::Epoll { refused }) => ("epoll", refused.map(|why| why.to_string())),
            Some(IoUsed::Uring) | None => ("uring", None),
        };
        let ledger = traffic.close()?;
        let stopped = gateway.stop(STOP_WAIT);
        let counts = ledger.counts();
        let latency = ledger.latency();
        let lost = ledger.in_flight().max(counts.submitted - counts.resolved());
        let undelivered = stopped.stats.undelivered + stopped.summary.in_flight;
        Ok(Self {
            submitted: counts.submitted,
            accepted: counts.accepted,
            rejected: counts.rejected,
            filled: counts.filled,
            canceled: counts.canceled,
            resolved: counts.resolved(),
            executions: counts.executions,
            changes: counts.changes,
            changes_refused: counts.changes_refused,
            orders_per_second: per_second(counts.submitted, elapsed),
            messages_per_second: per_second(counts.submitted + counts.changes, elapsed),
            latency_ns: LatencyOutcome {
                p50: latency.value_at_quantile(0.5),
                p99: latency.value_at_quantile(0.99),
                p99_9: latency.value_at_quantile(0.999),
                max: latency.max(),
            },
            shard_ns: ShardOutcome {
                queue_wait: LatencyOutcome::of(&stopped.measured.queue_wait_ns),
                run: LatencyOutcome::of(&stopped.measured.run_ns),
            },
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            journal_mode: match settings.journal.mode {
                JournalMode::Sync => "sync",
                JournalMode::Async => "async",
                JournalMode::Off => "off",
            },
            io,
            io_refused,
            mode: if layout.inline { "inline" } else { "ring" },
            shards: layout.shards,
            accounts: settings.accounts,
            window: settings.window,
            lost: lost + undelivered,
            unexpected: counts.unexpected,
            flow,
        })
    }

    /// Whether nothing was lost and every order resolved once.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.lost == 0 && self.unexpected == 0 && self.resolved == self.submitted
    }
}

fn per_second(count: u64, elapsed: Duration) -> u64 {
    let nanos = elapsed.as_nanos().max(1);
    u64::try_from(u128::from(count) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shards = if self.shards == 1 { "shard" } else { "shards" };
        let way = if self.mode == "inline" {
            "inline, no ring hop"
        } else {
            "behind rings"
        };
        writeln!(
            f,
            "pitlane demo: 1 session over TCP ({}), {} {shards} {way}, {} accounts",
            self.io, self.shards, self.accounts
        )?;
        if let Some(why) = &self.io_refused {
            writeln!(f, "  on epoll because {why}")?;
        }
        let survives = match self.journal_mode {
            "sync" => "synced to the disk before anything left",
            "async" => "synced every 10 ms; what left before a sync can be lost",
            _ => "nothing survives a restart",
        };
        writeln!(f, "  journal {}: {survives}", self.journal_mode)?;
        writeln!(f)?;
        for (name, count, note) in [
            ("orders sent", self.submitted, ""),
            ("  accepted", self.accepted, "by the risk checks"),
            ("  rejected", self.rejected, "by a risk check or the venue"),
            (
                "  filled",
                self.filled,
                "in full, by the simulated venue's book",
            ),
            (
                "  canceled",
                self.canceled,
                "by request, or as the rest of an immediate order",
            ),
            ("  resolved", self.resolved, "each order ends exactly once"),
            ("executions", self.executions, "both sides of each trade"),
            ("cancels, replaces", self.changes, ""),
            (
                "  refused",
                self.changes_refused,
                "the order was over already",
            ),
            ("lost", self.lost, ""),
        ] {
            writeln!(
                f,
                "{}",
                format!("{name:<20}{:>14}  {note}", grouped(count)).trim_end()
            )?;
        }
        if self.unexpected > 0 {
            writeln!(
                f,
                "{:<20}{:>14}  reports that fit nothing",
                "unexpected", self.unexpected
            )?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "{:<20}{:>14}",
            "orders/s",
            grouped(self.orders_per_second)
        )?;
        writeln!(
            f,
            "{:<20}{:>14}",
            "messages/s",
            grouped(self.messages_per_second)
        )?;
        writeln!(f, "order to answer, {} in flight at most:", self.window)?;
        let latency = &self.latency_ns;
        for (name, nanos) in [
            ("  p50", latency.p50),
            ("  p99", latency.p99),
            ("  p99.9", latency.p99_9),
            ("  max", latency.max),
        ] {
            writeln!(f, "{name:<20}{:>14} µs", micros(nanos))?;
        }
        writeln!(f, "one command in its shard (risk, order, venue's book):")?;
        for (name, nanos) in [
            ("  p50", self.shard_ns.run.p50),
            ("  p99", self.shard_ns.run.p99),
        ] {
            writeln!(f, "{name:<20}{:>14} µs", micros(nanos))?;
        }
        if let Some(flow) = &self.flow {
            write!(f, "\n{flow}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FlowOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} rows", self.file, grouped(self.rows))?;
        let share = (self.fills_matched * 10_000).checked_div(self.fills_expected);
        let share = share.unwrap_or(10_000);
        writeln!(
            f,
            "{} of its {} fills, summed by order and price, were made exactly ({}.{:02}%)",
            grouped(self.fills_matched as u64),
            grouped(self.fills_expected as u64),
            share / 100,
            share % 100
        )?;
        if !self.differences.is_empty() {
            writeln!(f, "the first that differ:")?;
        }
        for difference in &self.differences {
            writeln!(f, "  {difference}")?;
        }
        Ok(())
    }
}

/// `1234567` as `1,234,567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds as microseconds with one decimal.
fn micros(nanos: u64) -> String {
    format!("{}.{}", grouped(nanos / 1_000), nanos % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(micros(1_234_567), "1,234.5");
    }
}
