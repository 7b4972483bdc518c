//! Lanes against what the hardware gives to the simplest code that does the job.
//!
//! Ours and each peer run in turn, round after round, on two pinned threads
//! that spin; the medians are compared. `cargo bench --bench lanes`, or with
//! `quick` behind `--` for fewer rounds; with `P4` or the like for that alone.

#[path = "lanes/alternate.rs"]
mod alternate;
#[path = "lanes/bare.rs"]
mod bare;
#[path = "lanes/channel.rs"]
mod channel;
#[path = "lanes/dynamic.rs"]
mod dynamic;
#[path = "lanes/no_op.rs"]
mod no_op;
#[path = "lanes/ours.rs"]
mod ours;
#[path = "lanes/predicted.rs"]
mod predicted;
#[path = "../tests/risk_support/mod.rs"]
mod risk_support;

use std::time::Duration;

use pitlane::lanes::{HdrObserver, NoopObserver};

use alternate::{Pair, compare, median};
use ours::Way;
use predicted::{Run, Workload};

const WINDOW: usize = 1_024;
const BATCH: usize = 256;
/// Of the peers' rings and channels; ours are of the same size.
const CAPACITY: usize = pitlane::limits::RING_CAPACITY;

/// Nanoseconds per item.
fn per_item(elapsed: Duration, items: usize) -> f64 {
    elapsed.as_secs_f64() * 1e9 / items as f64
}

/// The middle of the sorted round trips.
fn p50(mut samples: Vec<u64>) -> f64 {
    samples.sort_unstable();
    samples[samples.len() / 2] as f64
}

fn nanos(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

fn one_thread(rounds: usize, items: usize) {
    compare(
        "both sides on one thread, per operation",
        rounds,
        &[
            ("two bare rings", Box::new(|_| bare::inline(items))),
            (
                "lane, batched, HDR observer on",
                Box::new(|_| no_op::inline(items, HdrObserver::new(), true)),
            ),
            (
                "lane, batched, nobody watching",
                Box::new(|_| no_op::inline(items, NoopObserver, true)),
            ),
            (
                "lane, one submit at a time",
                Box::new(|_| no_op::inline(items, HdrObserver::new(), false)),
            ),
        ],
    );
}

fn pipelined(rounds: usize, items: usize) {
    let lane = |batched, submitters| Way {
        batched,
        submitters,
        by_batch: true,
    };
    let polled = Way {
        by_batch: false,
        ..lane(true, 1)
    };
    compare(
        "P4: a no-op, pipelined, window 1,024, batch 256, per operation",
        rounds,
        &[
            (
                "floor: two bare rings, answered one by one",
                Box::new(|pair| bare::answered(items, pair)),
            ),
            (
                "two bare rings, slices copied",
                Box::new(|pair| bare::copied(items, pair)),
            ),
            (
                "two bare rings, pushed one by one",
                Box::new(|pair| bare::pushed(items, pair)),
            ),
            (
                "lane, batched, HDR observer on",
                Box::new(|pair| ours::pipelined(items, pair, HdrObserver::new(), lane(true, 1))),
            ),
            (
                "lane, batched, nobody watching",
                Box::new(|pair| ours::pipelined(items, pair, NoopObserver, lane(true, 1))),
            ),
            (
                "lane, batched, HDR on, two submitters",
                Box::new(|pair| ours::pipelined(items, pair, HdrObserver::new(), lane(true, 2))),
            ),
            (
                "lane, batched, HDR on, each result polled for",
                Box::new(move |pair| ours::pipelined(items, pair, HdrObserver::new(), polled)),
            ),
            (
                "lane, one by one, HDR on",
                Box::new(|pair| ours::pipelined(items, pair, HdrObserver::new(), lane(false, 1))),
            ),
            (
                "lane, one by one, HDR on, two submitters",
                Box::new(|pair| ours::pipelined(items, pair, HdrObserver::new(), lane(false, 2))),
            ),
            (
                "crossbeam-channel with a tokio oneshot",
                Box::new(|pair| channel::pipelined(items / 4, pair)),
            ),
        ],
    );
}

fn one_at_a_time(rounds: usize, trips: usize) {
    compare(
        "P5: a no-op, one at a time, p50",
        rounds,
        &[
            (
                "floor: two bare rings, to and fro",
                Box::new(|pair| bare::ping_pong(trips, pair)),
            ),
            ("lane", Box::new(|pair| ours::ping_pong(trips, pair))),
        ],
    );
}

/// P6: the dynamic strategy, by how many operations of an account follow each
/// other.
fn many_accounts(rounds: usize, items: usize) {
    for run in [1, 4] {
        let title = format!("P6: a no-op, 256 accounts, {run} in a row of each, per operation");
        compare(
            &title,
            rounds,
            &[
                (
                    "dynamic strategy, one worker",
                    Box::new(move |pair| dynamic::ours(items, run, pair)),
                ),
                (
                    "a tokio task and an mpsc channel each",
                    Box::new(move |pair| dynamic::tasks(items, run, pair)),
                ),
            ],
        );
    }
}

/// P14: open loop at the rate of the target, then at rising ones.
fn predicted(operations: usize) {
    let workload = Workload::predict(operations);
    let pair = Pair::find();
    let run = |rate| pair.apart(|| predicted::run(&workload, rate, pair, HdrObserver::new()));
    let tell = |name: &str, run: &Run| {
        println!(
            "  {name:<24} {:>9.0}/s  p50 {:>7.1}  p99 {:>8.1}  p99.9 {:>8.1} us",
            run.per_second,
            run.at(500),
            run.at(990),
            run.at(999)
        );
    };
    println!("P14: {operations} operations, predicted, open loop, one pacing thread");
    tell("50,000/s", &run(Some(50_000)));
    let bare = pair.apart(|| Run {
        per_second: 50_000.0,
        latencies: bare::paced(operations, 50_000, pair),
    });
    tell("two bare rings, the same", &bare);
    println!("  and at rates up to the knee, and beyond it");
    for thousands in [1_000, 1_500, 2_000, 2_500, 3_000, 4_000, 8_000] {
        let name = format!("{}.{} M/s", thousands / 1_000, thousands % 1_000 / 100);
        tell(&name, &run(Some(thousands * 1_000)));
    }
    tell("window of 1,024", &run(None));
}

/// P15: the knee with the observer and without.
fn observed(rounds: usize, operations: usize) {
    let workload = Workload::predict(operations);
    let pair = Pair::find();
    let (mut on, mut off) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let run = pair.apart(|| predicted::run(&workload, None, pair, HdrObserver::new()));
        on.push(run.per_second);
        let run = pair.apart(|| predicted::run(&workload, None, pair, NoopObserver));
        off.push(run.per_second);
    }
    let (on, off) = (median(on), median(off));
    println!("P15: the predicted workload as fast as a window of 1,024 lets it");
    println!("  HDR observer on   {on:>10.0}/s");
    println!("  nobody watching   {off:>10.0}/s  {:.3} x", on / off);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let parts = ["one-thread", "P4", "P5", "P6", "P14", "P15"];
    let asked = |part: &str| has(part) || !parts.iter().any(|part| has(part));
    let (rounds, items, trips) = if has("quick") {
        (5, 500_000, 20_000)
    } else {
        (21, 1_000_000, 100_000)
    };
    if asked("one-thread") {
        one_thread(rounds, items);
    }
    if asked("P4") {
        pipelined(rounds, items);
    }
    if asked("P5") {
        one_at_a_time(rounds, trips);
    }
    if asked("P6") {
        many_accounts(rounds, items / 2);
    }
    if asked("P14") {
        predicted(if has("quick") { 100_000 } else { 2_000_000 });
    }
    if asked("P15") {
        observed(rounds, items);
    }
}
