//! Lanes against what the hardware gives to the simplest code that does the job.
//!
//! Ours and each peer run in turn, round after round; the medians are compared.
//! `cargo bench --bench lanes`, or with `quick` behind `--` for fewer rounds.

use std::collections::VecDeque;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use pitlane::lanes::{
    EngineBuilder, HdrObserver, LaneFuture, LaneKey, LocalDriver, NoopObserver, Observer, Rest,
};
use pitlane::time::{IdleStrategy, Nanos};
use pitlane::types::AccountId;

const WINDOW: usize = 1_024;
const BATCH: usize = 256;

/// A lane that does nothing.
struct Nothing;

impl LocalDriver for Nothing {
    type Command = ();
    fn key((): &()) -> LaneKey {
        LaneKey::Account(AccountId(0))
    }
    fn command(&mut self, (): &(), _: Nanos) {}
    fn rest(&self, _: Nanos) -> Rest {
        Rest::UntilWoken
    }
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

fn idle() -> IdleStrategy {
    IdleStrategy::for_threads(2, thread::available_parallelism().map_or(1, usize::from))
}

/// Nanoseconds per item.
fn per_item(elapsed: Duration, items: usize) -> f64 {
    elapsed.as_secs_f64() * 1e9 / items as f64
}

/// P4's floor: two bare rings of 64-byte messages, one answering the other.
fn rings_pipelined(items: usize) -> f64 {
    let (mut to, mut from) = rtrb::RingBuffer::<Line>::new(4_096);
    let (mut back, mut results) = rtrb::RingBuffer::<Line>::new(4_096);
    let worker = thread::spawn(move || {
        let mut idle = idle();
        loop {
            let there = from.slots().min(BATCH);
            if there == 0 {
                if from.is_abandoned() {
                    return;
                }
                if !idle.pause() {
                    thread::yield_now();
                }
                continue;
            }
            idle.reset();
            let Ok(chunk) = from.read_chunk(there) else {
                continue;
            };
            let (a, b) = chunk.as_slices();
            // The window keeps this ring from being full.
            let _ = back.push_entire_slice(a);
            let _ = back.push_entire_slice(b);
            chunk.commit_all();
        }
    });
    let mut sent = 0;
    let mut done = 0;
    let mut sum = 0u64;
    let staged = [Line([1; 8]); BATCH];
    let mut idle = idle();
    let begun = Instant::now();
    while done < items {
        let mut moved = false;
        if sent < items && sent - done + BATCH <= WINDOW {
            let count = BATCH.min(items - sent);
            let _ = to.push_entire_slice(&staged[..count]);
            sent += count;
            moved = true;
        }
        let there = results.slots();
        if let Ok(chunk) = results.read_chunk(there)
            && there > 0
        {
            let (a, b) = chunk.as_slices();
            sum += a.iter().chain(b).map(|line| line.0[0]).sum::<u64>();
            chunk.commit_all();
            done += there;
            moved = true;
        }
        if moved {
            idle.reset();
        } else if !idle.pause() {
            thread::yield_now();
        }
    }
    let elapsed = begun.elapsed();
    black_box(sum);
    drop(to);
    worker.join().expect("worker");
    per_item(elapsed, items)
}

/// P4, ours: submits in batches, every future resolved, in order.
fn lane_pipelined<O: Observer>(items: usize, observer: O, submitters: usize, batched: bool) -> f64 {
    let engine = EngineBuilder::new()
        .idle(idle())
        .observer(observer)
        .build(|_| Nothing)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    // Others that exist make every submit take a ticket.
    let others: Vec<_> = (1..submitters)
        .map(|_| engine.submitter().expect("submitter"))
        .collect();
    let mut futures: VecDeque<LaneFuture<()>> = VecDeque::with_capacity(WINDOW);
    let mut sent = 0;
    let mut done = 0;
    let account = AccountId(1);
    let mut idle = idle();
    let begun = Instant::now();
    while done < items {
        let mut moved = false;
        if sent < items && futures.len() + BATCH <= WINDOW {
            let count = BATCH.min(items - sent);
            if batched {
                submitter.batch(|batch| {
                    for _ in 0..count {
                        futures
                            .push_back(batch.submit(account, |_: &mut Nothing| ()).expect("room"));
                    }
                });
            } else {
                for _ in 0..count {
                    futures.push_back(
                        submitter
                            .try_submit(account, |_: &mut Nothing| ())
                            .expect("room"),
                    );
                }
            }
            sent += count;
            moved = true;
        }
        while let Some(front) = futures.front_mut()
            && let Some(result) = front.try_get()
        {
            result.expect("ran");
            futures.pop_front();
            done += 1;
            moved = true;
        }
        if moved {
            idle.reset();
        } else if !idle.pause() {
            thread::yield_now();
        }
    }
    let elapsed = begun.elapsed();
    drop(others);
    engine.stop_graceful(Duration::from_secs(10)).expect("stop");
    per_item(elapsed, items)
}

/// The cost of both sides without the second core: submit, turn and take on one
/// thread.
fn lane_inline<O: Observer>(items: usize, observer: O, batched: bool) -> f64 {
    let (engine, mut seeds) = EngineBuilder::new()
        .observer(observer)
        .build_inline(|_| Nothing)
        .expect("engine");
    let mut lane = seeds.remove(0).build();
    let mut submitter = engine.submitter().expect("submitter");
    let mut futures: Vec<LaneFuture<()>> = Vec::with_capacity(BATCH);
    let account = AccountId(1);
    let begun = Instant::now();
    for _ in 0..items / BATCH {
        if batched {
            submitter.batch(|batch| {
                for _ in 0..BATCH {
                    futures.push(batch.submit(account, |_: &mut Nothing| ()).expect("room"));
                }
            });
        } else {
            for _ in 0..BATCH {
                futures.push(
                    submitter
                        .try_submit(account, |_: &mut Nothing| ())
                        .expect("room"),
                );
            }
        }
        lane.turn(BATCH);
        for mut future in futures.drain(..) {
            future.try_get().expect("done").expect("ran");
        }
    }
    per_item(begun.elapsed(), items / BATCH * BATCH)
}

/// What the same messages cost in bare rings on one thread.
fn rings_inline(items: usize) -> f64 {
    let (mut to, mut from) = rtrb::RingBuffer::<Line>::new(4_096);
    let (mut back, mut results) = rtrb::RingBuffer::<Line>::new(4_096);
    let staged = [Line([1; 8]); BATCH];
    let mut sum = 0;
    let begun = Instant::now();
    for _ in 0..items / BATCH {
        let _ = to.push_entire_slice(&staged);
        let chunk = from.read_chunk(BATCH).expect("pushed");
        let (a, b) = chunk.as_slices();
        let _ = back.push_entire_slice(a);
        let _ = back.push_entire_slice(b);
        chunk.commit_all();
        let chunk = results.read_chunk(BATCH).expect("pushed");
        let (a, b) = chunk.as_slices();
        sum += a.iter().chain(b).map(|line| line.0[0]).sum::<u64>();
        chunk.commit_all();
    }
    black_box(sum);
    per_item(begun.elapsed(), items / BATCH * BATCH)
}

/// P4's peer: a bounded channel of jobs, each with a channel for its answer.
fn channel_pipelined(items: usize) -> f64 {
    type Job = Box<dyn FnOnce() + Send>;
    let (jobs, inbox) = crossbeam_channel::bounded::<Job>(4_096);
    let worker = thread::spawn(move || {
        for job in inbox {
            job();
        }
    });
    let mut answers = VecDeque::with_capacity(WINDOW);
    let mut sent = 0;
    let mut done = 0;
    let begun = Instant::now();
    while done < items {
        if sent < items && answers.len() + BATCH <= WINDOW {
            for _ in 0..BATCH.min(items - sent) {
                let (answer, future) = crossbeam_channel::bounded::<()>(1);
                let job: Job = Box::new(move || {
                    let _ = answer.send(());
                });
                jobs.send(job).expect("worker");
                answers.push_back(future);
                sent += 1;
            }
        }
        for _ in 0..BATCH.min(answers.len()) {
            let future = answers.pop_front().expect("counted");
            future.recv().expect("answer");
            done += 1;
        }
    }
    let elapsed = begun.elapsed();
    drop(jobs);
    worker.join().expect("worker");
    per_item(elapsed, items)
}

/// The middle of the sorted round trips.
fn p50(mut samples: Vec<u64>) -> f64 {
    samples.sort_unstable();
    samples[samples.len() / 2] as f64
}

/// P5's floor: a value to and fro between two rings.
fn rings_ping_pong(items: usize) -> f64 {
    let (mut to, mut from) = rtrb::RingBuffer::<Line>::new(64);
    let (mut back, mut results) = rtrb::RingBuffer::<Line>::new(64);
    let worker = thread::spawn(move || {
        let mut idle = idle();
        loop {
            if let Ok(line) = from.pop() {
                idle.reset();
                let _ = back.push(line);
            } else if from.is_abandoned() {
                return;
            } else if !idle.pause() {
                thread::yield_now();
            }
        }
    });
    let mut samples = Vec::with_capacity(items);
    for _ in 0..items {
        let begun = Instant::now();
        let _ = to.push(Line([1; 8]));
        let mut idle = idle();
        while results.pop().is_err() {
            if !idle.pause() {
                thread::yield_now();
            }
        }
        samples.push(nanos(begun.elapsed()));
    }
    drop(to);
    worker.join().expect("worker");
    p50(samples)
}

/// P5, ours.
fn lane_ping_pong(items: usize) -> f64 {
    let engine = EngineBuilder::new()
        .idle(idle())
        .observer(HdrObserver::new())
        .build(|_| Nothing)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut samples = Vec::with_capacity(items);
    for _ in 0..items {
        let begun = Instant::now();
        submitter
            .submit(AccountId(1), |_: &mut Nothing| ())
            .wait()
            .expect("ran");
        samples.push(nanos(begun.elapsed()));
    }
    engine.stop_graceful(Duration::from_secs(10)).expect("stop");
    p50(samples)
}

fn nanos(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One contestant of a comparison.
type Contestant<'a> = (&'a str, Box<dyn Fn() -> f64>);

/// Runs all in turn, `rounds` times; the medians, the first as the yardstick.
fn compare(title: &str, rounds: usize, contestants: &[Contestant<'_>]) {
    let mut results = vec![Vec::with_capacity(rounds); contestants.len()];
    for _ in 0..rounds {
        for ((_, run), results) in contestants.iter().zip(&mut results) {
            results.push(run());
        }
    }
    let medians: Vec<f64> = results.into_iter().map(median).collect();
    println!("{title}");
    for ((name, _), ns) in contestants.iter().zip(&medians) {
        println!("  {name:<44} {ns:>9.1} ns  {:>6.2} x", ns / medians[0]);
    }
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "quick");
    let (rounds, items, trips) = if quick {
        (3, 200_000, 20_000)
    } else {
        (9, 1_000_000, 100_000)
    };
    compare(
        "both sides on one thread, per operation",
        rounds,
        &[
            ("two bare rtrb rings", Box::new(move || rings_inline(items))),
            (
                "lane, batched, HDR observer on",
                Box::new(move || lane_inline(items, HdrObserver::new(), true)),
            ),
            (
                "lane, batched, nobody watching",
                Box::new(move || lane_inline(items, NoopObserver, true)),
            ),
            (
                "lane, one submit at a time",
                Box::new(move || lane_inline(items, HdrObserver::new(), false)),
            ),
        ],
    );
    compare(
        "P4: a no-op, pipelined, window 1,024, batch 256, per operation",
        rounds,
        &[
            (
                "floor: two bare rtrb rings",
                Box::new(move || rings_pipelined(items)),
            ),
            (
                "lane, batched, HDR observer on",
                Box::new(move || lane_pipelined(items, HdrObserver::new(), 1, true)),
            ),
            (
                "lane, batched, nobody watching",
                Box::new(move || lane_pipelined(items, NoopObserver, 1, true)),
            ),
            (
                "lane, batched, with tickets",
                Box::new(move || lane_pipelined(items, HdrObserver::new(), 2, true)),
            ),
            (
                "lane, one submit at a time",
                Box::new(move || lane_pipelined(items, HdrObserver::new(), 1, false)),
            ),
            (
                "lane, one at a time, with tickets",
                Box::new(move || lane_pipelined(items, HdrObserver::new(), 2, false)),
            ),
            (
                "crossbeam-channel with an answer channel",
                Box::new(move || channel_pipelined(items / 4)),
            ),
        ],
    );
    compare(
        "P5: a no-op, one at a time, spinning, p50",
        rounds,
        &[
            (
                "floor: rtrb ping-pong",
                Box::new(move || rings_ping_pong(trips)),
            ),
            ("lane", Box::new(move || lane_ping_pong(trips))),
        ],
    );
}
