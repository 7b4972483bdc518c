//! `pitlane sim --decisions`: authorizer, executor and venues from a seed, or from
//! many seeds one after the other.

use core::fmt::Write;
use std::time::Instant;

use pitlane::simulation::{
    DecisionsConfig, DecisionsSimulated, SimulationError, simulate_decisions,
};
use serde::Serialize;

use super::args::SimArgs;
use super::run::{Failure, print};
use super::sim_command::{hex, sink};
use crate::progress::Progress;

pub(super) fn run(args: &SimArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut progress = Progress::new(true);
    let mut sink = sink(args)?;
    let mut total = DecisionsSimulated::default();
    for seed in (args.seed..).take(usize::try_from(args.seeds).unwrap_or(usize::MAX)) {
        let steps = args.steps;
        let config = DecisionsConfig { seed, steps };
        let one = simulate_decisions(&config, sink.take()).map_err(|error| match error {
            SimulationError::Setting { .. } => Failure::input(error),
            _ => Failure::run(error),
        })?;
        if let Some(violation) = one.violation {
            return Err(Failure::run(format!(
                "{violation}; replay: pitlane sim --decisions --seed {seed} --steps {steps} \
                 --trace FILE"
            )));
        }
        add(&mut total, &one);
        progress.tick(|| format!("seed {seed}"));
    }
    let line = line(args, &total);
    print(&if args.json {
        let mut text = serde_json::to_string(&line).map_err(Failure::run)?;
        text.push('\n');
        text
    } else {
        text(&line, begun.elapsed().as_secs_f64())
    });
    Ok(())
}

fn add(total: &mut DecisionsSimulated, one: &DecisionsSimulated) {
    let sums = [
        (&mut total.allowed, one.allowed),
        (&mut total.denied, one.denied),
        (&mut total.lost, one.lost),
        (&mut total.brought, one.brought),
        (&mut total.refused, one.refused),
        (&mut total.sent, one.sent),
        (&mut total.own_sent, one.own_sent),
        (&mut total.settled, one.settled),
        (&mut total.crashes, one.crashes),
        (&mut total.voided, one.voided),
        (&mut total.busts, one.busts),
        (&mut total.overfills, one.overfills),
        (&mut total.lines, one.lines),
    ];
    for (sum, count) in sums {
        *sum += count;
    }
    total.hash = one.hash;
}

#[derive(Serialize)]
struct Line {
    seed: u64,
    seeds: u64,
    steps: u64,
    allowed: u64,
    denied: u64,
    lost: u64,
    brought: u64,
    refused: u64,
    sent: u64,
    own_sent: u64,
    settled: u64,
    crashes: u64,
    voided: u64,
    busts: u64,
    overfills: u64,
    trace_lines: u64,
    /// Of the last seed.
    trace_sha256: String,
}

fn line(args: &SimArgs, of: &DecisionsSimulated) -> Line {
    Line {
        seed: args.seed,
        seeds: args.seeds,
        steps: args.steps,
        allowed: of.allowed,
        denied: of.denied,
        lost: of.lost,
        brought: of.brought,
        refused: of.refused,
        sent: of.sent,
        own_sent: of.own_sent,
        settled: of.settled,
        crashes: of.crashes,
        voided: of.voided,
        busts: of.busts,
        overfills: of.overfills,
        trace_lines: of.lines,
        trace_sha256: hex(&of.hash),
    }
}

fn text(of: &Line, seconds: f64) -> String {
    let rows = [
        ("decisions allowed", of.allowed),
        ("  denied", of.denied),
        ("  lost in a crash", of.lost),
        ("brought", of.brought),
        ("  refused", of.refused),
        ("orders at the venue", of.sent),
        ("own orders at venues", of.own_sent),
        ("messages settled", of.settled),
        ("processes killed", of.crashes),
        ("never brought, voided", of.voided),
        ("fills taken back", of.busts),
        ("overfills", of.overfills),
        ("trace lines", of.trace_lines),
    ];
    let mut text = format!("{} seeds from {} in {seconds:.2} s\n", of.seeds, of.seed);
    for (what, count) in rows {
        let _ = writeln!(text, "  {what:<22} {count:>10}");
    }
    let _ = writeln!(text, "trace sha256 {}", of.trace_sha256);
    text
}
