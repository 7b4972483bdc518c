//! What a step costs: ours beside a queue of boxed closures and tokio's tasks.
//!
//! The three take turns within one run, so that a noisy host is noisy for all;
//! what counts are the ratios (target P7), which are printed with the medians.
//!
//! `cargo bench --bench steps`; with `-- quick`, a tenth of the rounds.

#[path = "steps/chain.rs"]
mod chain;

use std::cell::Cell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use chain::{BATCH, CHAIN, steps};
use pitlane::steps::{EventLoop, LoopLimits};
use pitlane::time::SystemClock;

/// The same closures, boxed, in a queue: nothing of what steps do.
fn boxed<const READY: usize>(queue: &mut VecDeque<Box<dyn FnOnce()>>, sum: &Rc<Cell<u64>>) {
    for n in 0..BATCH / READY as u64 {
        for _ in 0..CHAIN * READY as u64 {
            let sum = sum.clone();
            queue.push_back(Box::new(move || sum.set(sum.get().wrapping_add(n))));
        }
        while let Some(step) = queue.pop_front() {
            black_box(step)();
        }
    }
}

/// Tasks that give way ten times each, as many at once as we have chains, on
/// tokio's single-threaded scheduler. Tokio wakes all who gave way when it next
/// polls its driver: a lone task pays for that poll at every yield, and several
/// share it, so that a yield costs less the more tasks there are. Nothing here
/// is batched beyond what tokio does by itself.
fn yields<const READY: usize>(
    runtime: &tokio::runtime::Runtime,
    local: &tokio::task::LocalSet,
    sum: &Rc<Cell<u64>>,
) {
    local.block_on(runtime, async {
        for n in 0..BATCH / READY as u64 {
            let tasks: [_; READY] = std::array::from_fn(|_| {
                let sum = sum.clone();
                tokio::task::spawn_local(async move {
                    for _ in 0..CHAIN {
                        sum.set(sum.get().wrapping_add(n));
                        tokio::task::yield_now().await;
                    }
                })
            });
            for task in tasks {
                task.await.expect("it does not panic");
            }
        }
    });
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    let steps = f64::from(u32::try_from(BATCH * CHAIN).expect("small"));
    times[times.len() / 2].as_secs_f64() * 1e9 / steps
}

/// Alternates the three for so many rounds, and prints what came of it.
fn compare<const READY: usize>(rounds: usize) {
    let event_loop = EventLoop::new(SystemClock::new(), LoopLimits::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime of one thread");
    let local = tokio::task::LocalSet::new();
    let mut queue = VecDeque::new();
    let sum = Rc::new(Cell::new(0));
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..rounds + 3 {
        let mut timed = |which: usize, run: &mut dyn FnMut()| {
            let start = Instant::now();
            run();
            let took = start.elapsed();
            // The first rounds warm up.
            if round >= 3 {
                times[which].push(took);
            }
        };
        timed(0, &mut || steps::<READY>(&event_loop, &sum));
        timed(1, &mut || boxed::<READY>(&mut queue, &sum));
        timed(2, &mut || yields::<READY>(&runtime, &local, &sum));
    }
    black_box(sum.get());
    assert_eq!(event_loop.panics(), 0);
    let [ours, boxed, yields] = times.each_mut().map(|times| median(times));
    println!("{READY} chains ready at once, medians of {rounds} alternating rounds:");
    println!("  steps                      {ours:6.1} ns");
    println!("  boxed FnOnce in a VecDeque {boxed:6.1} ns");
    println!("  tokio LocalSet yields      {yields:6.1} ns");
    println!("  steps / boxed  {:5.2} (reach: 2 at most)", ours / boxed);
    println!(
        "  yields / steps {:5.2} (reach: 10 at least)",
        yields / ours
    );
}

fn main() {
    let quick = std::env::args().any(|arg| arg == "quick");
    let rounds = if quick { 20 } else { 200 };
    println!("P7, a step of a ten-step chain");
    compare::<1>(rounds);
    compare::<8>(rounds);
}
