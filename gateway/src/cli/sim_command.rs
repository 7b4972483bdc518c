//! `pitlane sim`: a whole shard from a seed, and the hash of what it did.

use core::fmt::Write;
use core::time::Duration;
use std::fs::File;
use std::io::{self, BufWriter};
use std::time::Instant;

use pitlane::simulation::{Simulated, SimulationConfig, SimulationError, simulate};
use pitlane::types::ReportKind;
use serde::Serialize;

use super::args::SimArgs;
use super::run::{Failure, print};
use super::sim_decisions;
use crate::progress::Progress;

pub(super) fn run(args: &SimArgs) -> Result<(), Failure> {
    if args.decisions {
        return sim_decisions::run(args);
    }
    let config = SimulationConfig {
        seed: args.seed,
        duration: Duration::from_secs(args.seconds),
        accounts: args.accounts,
        orders_per_second: args.rate,
    };
    let sink = sink(args)?;
    let begun = Instant::now();
    let mut progress = Progress::new(true);
    let mut watch = |now: Duration| {
        progress.tick(|| format!("{} s of {} simulated", now.as_secs(), args.seconds));
    };
    let simulated = simulate(&config, sink, &mut watch).map_err(|error| match error {
        SimulationError::Setting { .. } => Failure::input(error),
        _ => Failure::run(error),
    })?;
    let took = begun.elapsed();
    print(&if args.json {
        json(&config, &simulated)?
    } else {
        text(&config, &simulated, took)
    });
    if simulated.violations.is_empty() {
        return Ok(());
    }
    let seed = config.seed;
    Err(Failure::run(format!(
        "{}; replay: pitlane sim --seed {seed} --seconds {} --accounts {} --rate {} --trace FILE",
        simulated.violations.join("; "),
        args.seconds,
        args.accounts,
        args.rate,
    )))
}

/// Where the trace goes, if somebody wants it.
pub(super) fn sink(args: &SimArgs) -> Result<Option<Box<dyn io::Write>>, Failure> {
    let Some(path) = &args.trace else {
        return Ok(None);
    };
    let file = File::create(path).map_err(|error| {
        let path = path.display();
        Failure::input(format!("the trace cannot be written to {path}: {error}"))
    })?;
    Ok(Some(Box::new(BufWriter::new(file))))
}

pub(super) fn hex(hash: &[u8]) -> String {
    hash.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[derive(Serialize)]
struct Line<'a> {
    seed: u64,
    seconds: u64,
    commands: u64,
    accepted: u64,
    rejected: u64,
    executed: u64,
    replaced: u64,
    canceled: u64,
    cancel_rejected: u64,
    flows: u64,
    refused: u64,
    timeouts: u64,
    contingents: u64,
    stopped: u64,
    open: usize,
    trace_lines: u64,
    trace_sha256: String,
    violations: &'a [String],
}

fn json(config: &SimulationConfig, of: &Simulated) -> Result<String, Failure> {
    let count = |kind| of.reports.count(kind);
    let line = Line {
        seed: config.seed,
        seconds: config.duration.as_secs(),
        commands: of.commands,
        accepted: count(ReportKind::Accepted),
        rejected: count(ReportKind::Rejected),
        executed: count(ReportKind::Executed),
        replaced: count(ReportKind::Replaced),
        canceled: count(ReportKind::Canceled),
        cancel_rejected: count(ReportKind::CancelRejected),
        flows: of.flows,
        refused: of.refused,
        timeouts: of.timeouts,
        contingents: of.contingents,
        stopped: of.stopped,
        open: of.open,
        trace_lines: of.lines,
        trace_sha256: hex(&of.hash),
        violations: &of.violations,
    };
    let mut text = serde_json::to_string(&line).map_err(Failure::run)?;
    text.push('\n');
    Ok(text)
}

fn text(config: &SimulationConfig, of: &Simulated, took: Duration) -> String {
    let count = |kind| of.reports.count(kind);
    let rows = [
        ("client commands", of.commands),
        ("accepted", count(ReportKind::Accepted)),
        ("rejected", count(ReportKind::Rejected)),
        ("executions", count(ReportKind::Executed)),
        ("replaced", count(ReportKind::Replaced)),
        ("canceled", count(ReportKind::Canceled)),
        ("cancels refused", count(ReportKind::CancelRejected)),
        ("client flows", of.flows),
        ("  ended by a refusal", of.refused),
        ("  ended by a time-out", of.timeouts),
        ("contingent orders", of.contingents),
        ("  stopped", of.stopped),
        ("trace lines", of.lines),
    ];
    let mut text = format!(
        "seed {}: {} s simulated in {:.2} s\n",
        config.seed,
        config.duration.as_secs(),
        took.as_secs_f64()
    );
    for (what, count) in rows {
        let _ = writeln!(text, "  {what:<22} {count:>10}");
    }
    let _ = writeln!(text, "trace sha256 {}", hex(&of.hash));
    text
}
