//! A no-op in a lane: submitted, and run on the submitting thread.

use std::collections::VecDeque;
use std::time::Instant;

use pitlane::lanes::{EngineBuilder, LaneFuture, LaneKey, LocalDriver, Observer, Rest, Submitter};
use pitlane::time::{Nanos, SystemClock};
use pitlane::types::AccountId;

use super::{BATCH, per_item};

/// A lane that does nothing.
pub(super) struct Nothing;

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

#[inline]
pub(super) fn submit<O: Observer>(
    submitter: &mut Submitter<Nothing, O, SystemClock>,
    batched: bool,
    count: usize,
    futures: &mut VecDeque<LaneFuture<()>>,
) {
    let account = AccountId(1);
    if batched {
        submitter.batch(|batch| {
            for _ in 0..count {
                let submitted = batch.submit(account, |_: &mut Nothing| ());
                futures.push_back(submitted.expect("room"));
            }
        });
    } else {
        for _ in 0..count {
            let submitted = submitter.try_submit(account, |_: &mut Nothing| ());
            futures.push_back(submitted.expect("room"));
        }
    }
}

/// The cost of both sides without the second core: submit, turn and take on one
/// thread.
pub(super) fn inline<O: Observer>(items: usize, observer: O, batched: bool) -> f64 {
    let (engine, mut seeds) = EngineBuilder::new()
        .observer(observer)
        .build_inline(|_| Nothing)
        .expect("engine");
    let mut lane = seeds.remove(0).build();
    let mut submitter = engine.submitter().expect("submitter");
    let mut futures = VecDeque::with_capacity(BATCH);
    let begun = Instant::now();
    for _ in 0..items / BATCH {
        submit(&mut submitter, batched, BATCH, &mut futures);
        lane.turn(BATCH);
        for mut future in futures.drain(..) {
            future.try_get().expect("done").expect("ran");
        }
    }
    per_item(begun.elapsed(), items / BATCH * BATCH)
}
