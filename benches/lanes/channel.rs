//! P4's peer: a bounded crossbeam channel, and a oneshot for each answer.

use std::collections::VecDeque;
use std::thread;
use std::time::Instant;

use crossbeam_channel::TryRecvError;
use tokio::sync::oneshot;

use super::alternate::{Pair, idle, pin};
use super::{BATCH, CAPACITY, WINDOW, per_item};

/// Both sides spin, as ours do; a job is nothing but where its answer goes.
pub(super) fn pipelined(items: usize, pair: Pair) -> f64 {
    let (jobs, inbox) = crossbeam_channel::bounded::<oneshot::Sender<()>>(CAPACITY);
    let worker = thread::spawn(move || {
        pin(pair.answerer);
        let mut idle = idle();
        loop {
            match inbox.try_recv() {
                Ok(job) => {
                    idle.reset();
                    let _ = job.send(());
                }
                Err(TryRecvError::Empty) => {
                    idle.pause();
                }
                Err(TryRecvError::Disconnected) => return,
            }
        }
    });
    pin(pair.caller);
    let mut answers = VecDeque::<oneshot::Receiver<()>>::with_capacity(WINDOW);
    let (mut sent, mut done) = (0, 0);
    let mut idle = idle();
    let begun = Instant::now();
    while done < items {
        let mut moved = false;
        if sent < items && answers.len() + BATCH <= WINDOW {
            for _ in 0..BATCH.min(items - sent) {
                let (job, answer) = oneshot::channel();
                jobs.send(job).expect("worker");
                answers.push_back(answer);
                sent += 1;
            }
            moved = true;
        }
        // As ours are: by the batch.
        let due = BATCH.min(answers.len());
        if due > 0 && !answers[due - 1].is_empty() {
            for mut answer in answers.drain(..due) {
                answer.try_recv().expect("answered");
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
    drop(jobs);
    worker.join().expect("worker");
    per_item(elapsed, items)
}
