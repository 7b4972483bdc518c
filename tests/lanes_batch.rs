//! Batches of submits: room, reserve, stop and re-entry are those of submits
//! made one by one.

#[path = "support/book.rs"]
mod book;

use std::time::Duration;

use book::{Book, Entry, library};
use pitlane::lanes::{EngineBuilder, LaneError, Progress};
use pitlane::types::AccountId;

const LONG: Duration = Duration::from_secs(20);
const CAPACITY: usize = 128;
const RESERVE: usize = 16;

fn entry(account: u64) -> Entry {
    Entry { account, value: 1 }
}

fn builder() -> EngineBuilder<pitlane::lanes::NoopObserver, pitlane::time::SystemClock> {
    EngineBuilder::new()
        .shards(2)
        .ring_capacity(CAPACITY)
        .fact_reserve(RESERVE)
}

#[test]
fn l12_a_batch_leaves_the_reserve_of_each_ring_to_facts() {
    let (ledger, _opener, factory) = library();
    let (engine, seeds) = builder().build_inline(factory).expect("engine");
    let mut lanes: Vec<_> = seeds.into_iter().map(|seed| seed.build()).collect();
    let mut submitter = engine.submitter().expect("submitter");
    let on = |shard: u16| {
        (0..)
            .find(|&account| engine.shard_of(AccountId(account)).0 == shard)
            .expect("an account")
    };
    let shards = [on(0), on(1)];
    for round in 0..3 {
        // Orders of two shards and facts of the first in turn: a third of what
        // goes to the first ring is facts, which may use the orders' places.
        let (orders, facts) = submitter.batch(|batch| {
            let (mut orders, mut facts) = ([0; 2], 0);
            for turn in 0..3 * CAPACITY {
                let shard = turn % 2;
                if turn % 4 == 0 {
                    facts += usize::from(batch.send_fact(entry(shards[0])).is_ok());
                }
                match batch.send(entry(shards[shard])) {
                    Ok(()) => orders[shard] += 1,
                    Err(refused) => assert_eq!(refused.error, LaneError::Full),
                }
            }
            (orders, facts)
        });
        assert_eq!(orders[1], CAPACITY - RESERVE, "round {round}");
        assert_eq!(orders[0] + facts, CAPACITY, "every place, round {round}");
        // One fact for two orders until the orders' places are taken.
        assert_eq!(facts, CAPACITY - orders[0]);
        assert!(facts >= RESERVE, "the reserve, round {round}");
        for lane in &mut lanes {
            while lane.turn(CAPACITY) == Progress::Worked {}
        }
    }
    let written: usize = shards
        .map(|account| ledger.values(account).len())
        .iter()
        .sum();
    assert_eq!(written, 3 * (2 * CAPACITY - RESERVE));
}

#[test]
fn l24_a_batch_sees_room_that_the_worker_made() {
    let (_ledger, _opener, factory) = library();
    let (engine, mut seeds) = builder().shards(1).build_inline(factory).expect("engine");
    let mut lane = seeds.remove(0).build();
    let mut submitter = engine.submitter().expect("submitter");
    let mut sent = 0;
    for _ in 0..40 {
        sent += submitter.batch(|batch| (0..100).filter(|_| batch.send(entry(1)).is_ok()).count());
        // Less than was sent, and more: all fillings of the ring.
        lane.turn(70);
    }
    assert!(sent >= 40 * 70, "{sent}: room was made for as many");
}

#[test]
fn l25_a_batch_that_meets_a_stop_is_refused_and_what_it_sent_runs() {
    let (ledger, _opener, factory) = library();
    let engine = builder().shards(1).build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    std::thread::scope(|scope| {
        let engine = &engine;
        let stopper = submitter.batch(|batch| {
            batch.send(entry(1)).expect("room");
            let stopper = scope.spawn(move || engine.stop_graceful(LONG));
            // The stop waits for this batch, so it is met here or nowhere.
            let refused = loop {
                match batch.submit(AccountId(1), |book: &mut Book| book.write(1, 2)) {
                    Ok(future) => drop(future),
                    Err(refused) if refused.error == LaneError::Full => std::thread::yield_now(),
                    Err(refused) => break refused.error,
                }
            };
            assert_eq!(refused, LaneError::Stopped);
            stopper
        });
        let report = stopper.join().expect("stopper").expect("stopped");
        assert!(report.is_balanced(), "{report:?}");
        assert_eq!(report.completed, report.accepted);
    });
    assert_eq!(ledger.values(1)[0], 1);
}
