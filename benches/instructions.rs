//! How many instructions the product's smallest pieces of work take, by valgrind.
//!
//! `cargo bench --bench instructions` counts them, prints them beside the kept
//! figures of `benches/instructions/kept.toml`, and fails where one is more than
//! 5% above. Unlike a time, a count does not move with the host's noise: it says
//! what a change did, and nothing of caches or of other cores. With `-- keep`,
//! the kept figures are written anew. A count is the difference of two runs, of
//! one and of two portions of work, so that set-up is not in it.

#[path = "steps/chain.rs"]
mod chain;
#[path = "lanes/no_op.rs"]
mod no_op;
#[path = "dispatch/publish.rs"]
mod publish;
#[path = "peers/ours.rs"]
mod risk;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pitlane::lanes::HdrObserver;
use pitlane::risk::SharedLimits;
use pitlane::steps::{EventLoop, LoopLimits};
use pitlane::time::SystemClock;

/// Of the lanes' bench: operations of a batch.
const BATCH: usize = 256;
/// Operations of a portion of the lanes' work.
const LANE_OPERATIONS: usize = 128 * BATCH;
/// How far above its kept figure a count may be.
const TOLERANCE: f64 = 1.05;

fn per_item(elapsed: Duration, items: usize) -> f64 {
    elapsed.as_secs_f64() * 1e9 / items as f64
}

/// A piece of work: its name, how many there are in a portion, and portions of it.
struct Work {
    name: &'static str,
    pieces: u64,
    run: fn(portions: u64),
}

const WORKS: [Work; 5] = [
    Work {
        name: "P1 an order's start, execute, commit and end",
        pieces: risk::BATCH,
        run: orders,
    },
    Work {
        name: "P4 a no-op through a lane, submitted in batches",
        pieces: LANE_OPERATIONS as u64,
        run: |portions| lanes(portions, true),
    },
    Work {
        name: "P4 a no-op through a lane, submitted one by one",
        pieces: LANE_OPERATIONS as u64,
        run: |portions| lanes(portions, false),
    },
    Work {
        name: "P7 a step of a ten-step chain",
        pieces: chain::BATCH * chain::CHAIN,
        run: steps,
    },
    Work {
        name: "P8 an event published to one component",
        pieces: publish::PUBLICATIONS as u64,
        run: events,
    },
];

fn orders(portions: u64) {
    let orders = (0..risk::BATCH)
        .map(|number| risk::order(number, 0..risk::ACCOUNTS))
        .collect();
    let config = risk::config(&format!(
        "spot_funds = {{enabled = false}}\n{}",
        risk::rates()
    ));
    let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
    let mut ours = risk::Ours::new(&config, &shared, 0, orders);
    for _ in 0..portions {
        ours.batch();
    }
}

fn lanes(portions: u64, batched: bool) {
    let portions = usize::try_from(portions).expect("few");
    no_op::inline(LANE_OPERATIONS * portions, HdrObserver::new(), batched);
}

fn steps(portions: u64) {
    let event_loop = EventLoop::new(SystemClock::new(), LoopLimits::default());
    for _ in 0..portions {
        chain::steps::<1>(&event_loop, &Rc::default());
    }
}

fn events(portions: u64) {
    let ours = publish::Ours::new(1);
    for _ in 0..portions {
        ours.run(64);
    }
    assert!(ours.total.get() > 0);
}

/// What this program takes for so many portions, by valgrind's count.
fn instructions(work: usize, portions: u64) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(program)
        .args(["run", &work.to_string(), &portions.to_string()])
        .output()
        .map_err(|error| format!("valgrind cannot be run ({error}): install valgrind"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    // "==123== I refs:        1,234,567"
    let count = told
        .lines()
        .find_map(|line| line.split_once("refs:"))
        .and_then(|(_, count)| count.trim().replace(',', "").parse().ok());
    match count {
        Some(count) if output.status.success() => Ok(count),
        _ => Err(format!("valgrind ended with {}:\n{told}", output.status)),
    }
}

fn kept_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instructions/kept.toml")
}

fn kept() -> Result<BTreeMap<String, f64>, String> {
    let path = kept_path();
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{}: {error}; write it with `keep`", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn keep(counts: &[(&str, f64)]) -> Result<(), String> {
    let mut text = String::from(
        "# Instructions for one piece of work each; written by\n\
         # cargo bench --bench instructions -- keep\n",
    );
    for (name, count) in counts {
        writeln!(text, "{name:?} = {count:.1}").map_err(|error| error.to_string())?;
    }
    std::fs::write(kept_path(), text).map_err(|error| error.to_string())
}

/// Counts all; whether nothing is above its kept figure.
fn count(keeps: bool) -> Result<bool, String> {
    let mut counts = Vec::new();
    for (work, Work { name, pieces, .. }) in WORKS.iter().enumerate() {
        let once = instructions(work, 1)?;
        let twice = instructions(work, 2)?;
        counts.push((*name, (twice - once) as f64 / *pieces as f64));
    }
    if keeps {
        keep(&counts)?;
    }
    let kept = kept()?;
    let mut holds = true;
    println!("{:<50} {:>8} {:>8}", "instructions for", "now", "kept");
    for (name, count) in counts {
        let Some(&before) = kept.get(name) else {
            return Err(format!("{name:?} is not kept; write it with `keep`"));
        };
        let verdict = match count / before {
            ratio if ratio > TOLERANCE => "more than 5% above",
            ratio if ratio < 1.0 / TOLERANCE => "less: keep it",
            _ => "",
        };
        holds &= count <= before * TOLERANCE;
        println!("{name:<50} {count:>8.1} {before:>8.1}  {verdict}");
    }
    Ok(holds)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["run", work, portions] = words[..] {
        let work: usize = work.parse().expect("a place in the list");
        (WORKS[work].run)(portions.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    match count(words.contains(&"keep")) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
