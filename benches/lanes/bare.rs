//! The floors: bare rings of 64-byte messages, one thread asking, one answering.
//!
//! A floor is the simplest code that does the job, and the job is a request
//! that is made, looked at, answered and the answer looked at, one by one; rings
//! let 256 of them become visible at once. Copying whole slices instead, as
//! `copied` does, moves the same bytes, but nobody looks at a request: it is
//! what memory gives, and shown beside the floor.

use std::hint::black_box;
use std::thread::{self, Builder};
use std::time::Instant;

use rtrb::{Consumer, Producer, RingBuffer};

use super::alternate::{Pair, idle, pin};
use super::{BATCH, CAPACITY, WINDOW, nanos, p50, per_item};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// What a request asks for.
fn request(number: usize) -> Line {
    let mut words = [0; 8];
    words[0] = number as u64;
    words[1] = 1;
    Line(words)
}

/// Looks at a request, and answers it.
#[inline]
fn answer(line: &Line) -> Line {
    let mut words = [0; 8];
    words[0] = line.0[0];
    words[1] = line.0[1] + 1;
    Line(words)
}

/// How messages are moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    One,
    Slice,
    /// As `One`, and each request is in sight by itself.
    Push,
}

/// P4's floor.
pub(super) fn answered(items: usize, pair: Pair) -> f64 {
    pipelined(items, pair, By::One)
}

/// The same without anyone's looking at a message before it is answered.
pub(super) fn copied(items: usize, pair: Pair) -> f64 {
    pipelined(items, pair, By::Slice)
}

/// The floor of submits that are made one by one.
pub(super) fn pushed(items: usize, pair: Pair) -> f64 {
    pipelined(items, pair, By::Push)
}

fn pipelined(items: usize, pair: Pair, by: By) -> f64 {
    let (mut to, from) = RingBuffer::<Line>::new(CAPACITY);
    let (back, mut results) = RingBuffer::<Line>::new(CAPACITY);
    let worker = Builder::new()
        .spawn(move || {
            pin(pair.answerer);
            answer_all(from, back, by);
        })
        .expect("worker");
    pin(pair.caller);
    let staged = [request(1); BATCH];
    let (mut sent, mut done, mut sum) = (0, 0, 0);
    let mut idle = idle();
    let begun = Instant::now();
    while done < items {
        let mut moved = false;
        if sent < items && sent - done + BATCH <= WINDOW {
            let count = BATCH.min(items - sent);
            match by {
                By::One => {
                    let chunk = to.write_chunk_uninit(count).expect("the window fits");
                    chunk.fill_from_iter((sent..).take(count).map(request));
                }
                By::Slice => {
                    let _ = to.push_entire_slice(&staged[..count]);
                }
                By::Push => {
                    for number in sent..sent + count {
                        let _ = to.push(request(number));
                    }
                }
            }
            sent += count;
            moved = true;
        }
        // By the batch, as ours.
        let due = BATCH.min(sent - done);
        if due > 0
            && let Ok(chunk) = results.read_chunk(due)
        {
            let (a, b) = chunk.as_slices();
            sum += a.iter().chain(b).map(|line| line.0[1]).sum::<u64>();
            chunk.commit_all();
            done += due;
            moved = true;
        }
        if moved {
            idle.reset();
        } else {
            idle.pause();
        }
    }
    let elapsed = begun.elapsed();
    let each = if by == By::Slice { 1 } else { 2 };
    assert_eq!(sum, each * items as u64, "every answer is to a request");
    drop(to);
    worker.join().expect("worker");
    per_item(elapsed, items)
}

fn answer_all(mut from: Consumer<Line>, mut back: Producer<Line>, by: By) {
    let mut idle = idle();
    loop {
        let there = from.slots().min(BATCH);
        if there == 0 {
            if from.is_abandoned() {
                return;
            }
            idle.pause();
            continue;
        }
        idle.reset();
        let Ok(chunk) = from.read_chunk(there) else {
            continue;
        };
        let (a, b) = chunk.as_slices();
        // The window keeps the ring of answers from being full.
        match by {
            By::One | By::Push => {
                let answers = back.write_chunk_uninit(there).expect("the window fits");
                answers.fill_from_iter(a.iter().chain(b).map(answer));
            }
            By::Slice => {
                let _ = back.push_entire_slice(a);
                let _ = back.push_entire_slice(b);
            }
        }
        chunk.commit_all();
    }
}

/// What the same round trips cost on one thread.
pub(super) fn inline(items: usize) -> f64 {
    let (mut to, mut from) = RingBuffer::<Line>::new(CAPACITY);
    let (mut back, mut results) = RingBuffer::<Line>::new(CAPACITY);
    let mut sum = 0;
    let begun = Instant::now();
    for round in 0..items / BATCH {
        let chunk = to.write_chunk_uninit(BATCH).expect("empty");
        chunk.fill_from_iter((round..).take(BATCH).map(request));
        let chunk = from.read_chunk(BATCH).expect("pushed");
        let (a, b) = chunk.as_slices();
        let answers = back.write_chunk_uninit(BATCH).expect("empty");
        answers.fill_from_iter(a.iter().chain(b).map(answer));
        chunk.commit_all();
        let chunk = results.read_chunk(BATCH).expect("pushed");
        let (a, b) = chunk.as_slices();
        sum += a.iter().chain(b).map(|line| line.0[1]).sum::<u64>();
        chunk.commit_all();
    }
    black_box(sum);
    per_item(begun.elapsed(), items / BATCH * BATCH)
}

/// P5's floor: a message to and fro between two rings.
pub(super) fn ping_pong(items: usize, pair: Pair) -> f64 {
    let (mut to, mut from) = RingBuffer::<Line>::new(64);
    let (mut back, mut results) = RingBuffer::<Line>::new(64);
    let worker = thread::spawn(move || {
        pin(pair.answerer);
        let mut idle = idle();
        loop {
            if let Ok(line) = from.pop() {
                idle.reset();
                let _ = back.push(answer(&line));
            } else if from.is_abandoned() {
                return;
            } else {
                idle.pause();
            }
        }
    });
    pin(pair.caller);
    let mut samples = Vec::with_capacity(items);
    for number in 0..items {
        let begun = Instant::now();
        let _ = to.push(request(number));
        let mut idle = idle();
        while results.pop().is_err() {
            idle.pause();
        }
        samples.push(nanos(begun.elapsed()));
    }
    drop(to);
    worker.join().expect("worker");
    p50(samples)
}

/// What the host makes of P14's schedule: nothing but two rings, and nothing
/// done. From the time that was meant to the answer in hand; ns, sorted.
pub(super) fn paced(items: usize, rate: u64, pair: Pair) -> Vec<u64> {
    let (mut to, from) = RingBuffer::<Line>::new(CAPACITY);
    let (back, mut results) = RingBuffer::<Line>::new(CAPACITY);
    let worker = thread::spawn(move || {
        pin(pair.answerer);
        answer_all(from, back, By::One);
    });
    pin(pair.caller);
    let mut latencies = Vec::with_capacity(items);
    let (mut next, mut idle) = (0, idle());
    let due = |number: u64| number * 1_000_000_000 / rate;
    let begun = Instant::now();
    while latencies.len() < items {
        let now = nanos(begun.elapsed());
        if next < items && due(next as u64) <= now && to.push(request(next)).is_ok() {
            next += 1;
            idle.reset();
        }
        match results.pop() {
            Ok(line) => latencies.push(nanos(begun.elapsed()) - due(line.0[0])),
            Err(_) => {
                idle.pause();
            }
        }
    }
    drop(to);
    worker.join().expect("worker");
    latencies.sort_unstable();
    latencies
}
