//! P6: the dynamic strategy over many accounts, and a tokio task with an mpsc
//! channel for each of them.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use pitlane::lanes::{DynamicBuilder, LaneFuture, LaneKey, LocalDriver};
use pitlane::time::Nanos;
use pitlane::types::AccountId;
use tokio::sync::{mpsc, oneshot};

use super::alternate::{Pair, idle, pin};
use super::{BATCH, WINDOW, per_item};

const ACCOUNTS: usize = 256;

/// A key's driver that does nothing.
struct Nothing;

impl LocalDriver for Nothing {
    type Command = ();
    fn key((): &()) -> LaneKey {
        LaneKey::Engine
    }
    fn command(&mut self, (): &(), _: Nanos) {}
}

/// Keeps `WINDOW` operations under way, `run` in a row for each account;
/// nanoseconds for each.
fn pipelined<F>(
    items: usize,
    run: usize,
    mut submit: impl FnMut(usize) -> F,
    mut take: impl FnMut(&mut F) -> bool,
) -> f64 {
    let mut futures = VecDeque::with_capacity(WINDOW);
    let (mut sent, mut done) = (0, 0);
    let mut idle = idle();
    let begun = Instant::now();
    while done < items {
        let before = done;
        while sent < items && futures.len() < WINDOW && sent - done < WINDOW {
            futures.push_back(submit(sent / run % ACCOUNTS));
            sent += 1;
            if sent % BATCH == 0 {
                break;
            }
        }
        while futures.front_mut().is_some_and(&mut take) {
            futures.pop_front();
            done += 1;
        }
        if done == before && (futures.len() == WINDOW || sent == items) {
            idle.pause();
        } else {
            idle.reset();
        }
    }
    per_item(begun.elapsed(), items)
}

/// Ours, with one worker.
pub(super) fn ours(items: usize, run: usize, pair: Pair) -> f64 {
    let engine = DynamicBuilder::new()
        .workers(1)
        .max_workers(1)
        .max_queues(ACCOUNTS)
        .idle(idle())
        .build(|_| Nothing)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    pin(pair.caller);
    let submit = |account| {
        let account = AccountId(account as u64);
        let submitted = submitter.try_submit(account, |_: &mut Nothing| ());
        submitted.expect("room")
    };
    let elapsed = pipelined(items, run, submit, |future: &mut LaneFuture<()>| {
        future.try_get().is_some()
    });
    engine.stop_graceful(Duration::from_secs(10)).expect("stop");
    elapsed
}

/// The peer: every task on one thread, an answer by a oneshot.
pub(super) fn tasks(items: usize, run: usize, pair: Pair) -> f64 {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..ACCOUNTS)
        .map(|_| mpsc::channel::<oneshot::Sender<()>>(WINDOW))
        .unzip();
    let worker = thread::spawn(move || {
        pin(pair.answerer);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("runtime");
        runtime.block_on(async {
            let tasks: Vec<_> = inboxes
                .into_iter()
                .map(|mut inbox| {
                    tokio::spawn(async move {
                        while let Some(job) = inbox.recv().await {
                            let _ = job.send(());
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("task");
            }
        });
    });
    pin(pair.caller);
    let submit = |account: usize| {
        let (job, answer) = oneshot::channel();
        senders[account].try_send(job).expect("room");
        answer
    };
    let elapsed = pipelined(items, run, submit, |answer: &mut oneshot::Receiver<()>| {
        answer.try_recv().is_ok()
    });
    drop(senders);
    worker.join().expect("worker");
    elapsed
}
