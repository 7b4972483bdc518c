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
#[path = "lanes/ours.rs"]
mod ours;

use std::time::Duration;

use pitlane::lanes::{HdrObserver, NoopObserver};

use alternate::compare;
use ours::Way;

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
                Box::new(|_| ours::inline(items, HdrObserver::new(), true)),
            ),
            (
                "lane, batched, nobody watching",
                Box::new(|_| ours::inline(items, NoopObserver, true)),
            ),
            (
                "lane, one submit at a time",
                Box::new(|_| ours::inline(items, HdrObserver::new(), false)),
            ),
        ],
    );
}

fn pipelined(rounds: usize, items: usize) {
    let lane = |batched, submitters| Way {
        batched,
        submitters,
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

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let parts = ["one-thread", "P4", "P5"];
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
}
