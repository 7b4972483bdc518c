//! Ours: a no-op through a lane, pipelined and one at a time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pitlane::host::PinPlan;
use pitlane::lanes::{AsyncEngine, EngineBuilder, HdrObserver, LaneFuture, Observer};
use pitlane::types::AccountId;

use super::alternate::{Pair, idle, pin};
use super::no_op::{Nothing, submit};
use super::{BATCH, WINDOW, nanos, p50, per_item};

/// How submits are made.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// In batches of 256, else one by one.
    pub(super) batched: bool,
    /// Submitters that exist; the second makes every submit take a ticket.
    pub(super) submitters: usize,
    /// Results by the batch, else each as soon as it is there.
    pub(super) by_batch: bool,
}

fn engine<O: Observer>(observer: O, pair: Pair) -> AsyncEngine<Nothing, O> {
    EngineBuilder::new()
        .idle(idle())
        .pin(PinPlan::Cpus(vec![pair.answerer.0]))
        .observer(observer)
        .build(|_| Nothing)
        .expect("engine")
}

/// P4: every future resolved, in order.
pub(super) fn pipelined<O: Observer>(items: usize, pair: Pair, observer: O, way: Way) -> f64 {
    let engine = engine(observer, pair);
    let mut submitter = engine.submitter().expect("submitter");
    let others: Vec<_> = (1..way.submitters)
        .map(|_| engine.submitter().expect("submitter"))
        .collect();
    pin(pair.caller);
    let mut futures = VecDeque::with_capacity(WINDOW);
    let (mut sent, mut done) = (0, 0);
    let mut idle = idle();
    let begun = Instant::now();
    while done < items {
        let mut moved = false;
        if sent < items && futures.len() + BATCH <= WINDOW {
            let count = BATCH.min(items - sent);
            submit(&mut submitter, way.batched, count, &mut futures);
            sent += count;
            moved = true;
        }
        // One lane's results come in order, so the last of a batch says that all
        // of it is there, and nobody looks at the line that the worker is about
        // to write.
        let due = match way.by_batch {
            true => BATCH.min(futures.len()),
            false => 1.min(futures.len()),
        };
        while due > 0 && futures.len() >= due && LaneFuture::is_done(&futures[due - 1]) {
            for mut future in futures.drain(..due) {
                future.try_get().expect("done").expect("ran");
            }
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
    drop(others);
    engine.stop_graceful(Duration::from_secs(10)).expect("stop");
    per_item(elapsed, items)
}

/// P5: one at a time.
pub(super) fn ping_pong(items: usize, pair: Pair) -> f64 {
    let engine = engine(HdrObserver::new(), pair);
    let mut submitter = engine.submitter().expect("submitter");
    pin(pair.caller);
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
