//! Order across submitters under stress (rule L7), and the proof that the
//! stress finds a merge that is missing.
//!
//! Threads pass a token in a random pattern. Whoever holds it submits the next
//! numbers of one counter and hands it over: each submit has returned before
//! the next begins, on whatever thread. Meanwhile every thread also sends noise
//! that overlaps everything. The numbers must run in order.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::time::{IdleStrategy, Nanos};
use crate::types::AccountId;

use super::builder::EngineBuilder;
use super::driver::LocalDriver;
use super::key::LaneKey;
use super::lane::{Lane, Progress};

/// Notes numbers; noise is zero.
struct Notes(Arc<Mutex<Vec<u64>>>);

impl LocalDriver for Notes {
    type Command = u64;
    fn key(_: &u64) -> LaneKey {
        LaneKey::Account(AccountId(1))
    }
    fn command(&mut self, number: &u64, _: Nanos) {
        if *number > 0 {
            self.0.lock().expect("notes").push(*number);
        }
    }
}

const NUMBERS: u64 = 6_000;
const THREADS: usize = 4;

/// A cheap reproducible sequence.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Runs the hand-over; the numbers in the order in which they ran.
fn hand_over(seed: u64, prepare: impl Fn(&mut Lane<Notes>) + Send + 'static) -> Vec<u64> {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&notes);
    let (engine, mut seeds) = EngineBuilder::new()
        .ring_capacity(256)
        .fact_reserve(0)
        .build_inline(move |_| Notes(Arc::clone(&shared)))
        .expect("engine");
    let engine = Arc::new(engine);
    let seed_lane = seeds.remove(0);
    let worker = thread::spawn(move || {
        let mut lane = seed_lane.build();
        prepare(&mut lane);
        let mut idle = IdleStrategy::shared();
        let mut budget = 1;
        loop {
            // All kinds of batch ends.
            budget = budget % 97 + 1;
            match lane.turn(budget) {
                Progress::Worked => idle.reset(),
                Progress::Idle => {
                    if !idle.pause() {
                        thread::yield_now();
                    }
                }
                Progress::Finished => return,
            }
        }
    });
    // The holder's index; the next number; who ends, ends all.
    let holder = Arc::new(AtomicUsize::new(0));
    let number = Arc::new(AtomicU64::new(1));
    let done = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..THREADS)
        .map(|me| {
            let engine = Arc::clone(&engine);
            let (holder, number, done) =
                (Arc::clone(&holder), Arc::clone(&number), Arc::clone(&done));
            thread::spawn(move || {
                let mut random = seed.wrapping_mul(0x9E37_79B9).wrapping_add(me as u64 + 1);
                let mut submitter = engine.submitter().expect("submitter");
                while !done.load(Ordering::Acquire) {
                    let dice = next_random(&mut random);
                    if holder.load(Ordering::Acquire) != me {
                        if dice.is_multiple_of(4) {
                            let _ = submitter.try_send(0);
                        } else {
                            thread::yield_now();
                        }
                        continue;
                    }
                    if dice.is_multiple_of(64) {
                        // A new submitter in the middle of it; the old one is
                        // still being drained.
                        submitter = engine.submitter().unwrap_or(submitter);
                    }
                    for _ in 0..1 + dice % 5 {
                        let mine = number.load(Ordering::Relaxed);
                        let sent = if dice.is_multiple_of(3) {
                            submitter.batch(|batch| batch.send(mine).is_ok())
                        } else {
                            submitter.try_send(mine).is_ok()
                        };
                        if sent {
                            number.store(mine + 1, Ordering::Relaxed);
                        } else {
                            thread::yield_now();
                        }
                    }
                    if number.load(Ordering::Relaxed) > NUMBERS {
                        done.store(true, Ordering::Release);
                    }
                    holder.store(
                        usize::try_from(dice >> 32).unwrap_or(0) % THREADS,
                        Ordering::Release,
                    );
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("submitting thread");
    }
    let report = engine
        .stop_graceful(std::time::Duration::from_secs(20))
        .expect("stop");
    assert!(report.is_balanced());
    worker.join().expect("worker");
    let notes = notes.lock().expect("notes");
    notes.clone()
}

/// Whether the numbers ran in order; they must all be there in any case.
fn in_order(ran: &[u64]) -> bool {
    let mut sorted = ran.to_vec();
    sorted.sort_unstable();
    assert!(sorted.iter().copied().eq(1..=sorted.len() as u64));
    assert!(sorted.len() as u64 >= NUMBERS);
    sorted == ran
}

#[test]
fn l07_submits_run_in_order_whatever_threads_they_came_from() {
    for seed in 1..=4 {
        assert!(in_order(&hand_over(seed, |_| {})), "seed {seed}");
    }
}

#[test]
fn l07_the_stress_finds_a_lane_that_takes_rings_in_turn() {
    let found = (1..=20).any(|seed| !in_order(&hand_over(seed, Lane::ignore_order)));
    assert!(found, "the planted fault was not found");
}
