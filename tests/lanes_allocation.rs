//! No allocation per operation in steady state (rule L23).

#[path = "support/counting_allocator.rs"]
mod counting_allocator;
#[path = "risk_support/mod.rs"]
mod risk_support;

use std::sync::{Arc, Mutex};

use counting_allocator::{CountingAllocator, Counts, counted};
use pitlane::lanes::{
    Decision, Desk, EngineBuilder, HdrObserver, Heard, LaneFuture, LaneKey, LocalDriver, Progress,
    Wait, WaitLimit, chain,
};
use pitlane::time::Nanos;
use pitlane::types::AccountId;
use risk_support::{ONE, TWO, buy, report, seeded};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

struct Sum(u64);

impl LocalDriver for Sum {
    type Command = [u64; 14];
    fn key(command: &[u64; 14]) -> LaneKey {
        LaneKey::Account(AccountId(command[0]))
    }
    fn command(&mut self, command: &[u64; 14], _: Nanos) {
        self.0 += command[1];
    }
}

/// Both sides on one thread, so that both are counted: the lane is turned here.
#[test]
fn l23_submit_run_complete_and_take_allocate_nothing() {
    let (engine, mut seeds) = EngineBuilder::new()
        .shards(2)
        .observer(HdrObserver::new())
        .build_inline(|_| Sum(0))
        .expect("engine");
    let mut lanes: Vec<_> = seeds.drain(..).map(|seed| seed.build()).collect();
    // Two, so that tickets and the merge are counted too.
    let mut submitters = [
        engine.submitter().expect("submitter"),
        engine.submitter().expect("submitter"),
    ];
    let mut futures: Vec<LaneFuture<u64>> = Vec::with_capacity(1_024);
    let mut sum = 0;
    let mut round = |futures: &mut Vec<LaneFuture<u64>>| {
        for n in 0..500u64 {
            let submitter = &mut submitters[usize::from(n % 2 == 0)];
            let weight = [n; 24];
            let future = submitter
                .try_submit(AccountId(n), move |sum: &mut Sum| sum.0 + weight[23] - n)
                .expect("room");
            futures.push(future);
            submitter.try_send([n; 14]).expect("room");
            submitter.batch(|batch| batch.send_fact([n; 14]).expect("room"));
        }
        for lane in &mut lanes {
            while lane.turn(256) == Progress::Worked {}
        }
        for mut future in futures.drain(..) {
            sum += future.try_get().expect("done").expect("ran");
        }
        // Dropped before they ran, and refused.
        for n in 0..10 {
            drop(submitters[0].try_submit(AccountId(n), |sum: &mut Sum| sum.0));
            let mut waited = submitters[1].submit(AccountId(n), |_: &mut Sum| 1);
            assert!(waited.wait_timeout(std::time::Duration::ZERO).is_none());
        }
        for lane in &mut lanes {
            while lane.turn(256) == Progress::Worked {}
        }
    };
    round(&mut futures);
    let ((), counts) = counted(|| round(&mut futures));
    assert_eq!(counts, Counts::default());
    assert!(sum > 0);
}

/// Typed calls and wrappers over the real risk engine: each way to finish one.
#[test]
fn l23_typed_calls_and_wrappers_allocate_nothing() {
    let (engine, mut seeds) = EngineBuilder::new()
        .observer(HdrObserver::new())
        .build_inline(|shard| Desk::new(shard, seeded(risk_support::FUNDS)))
        .expect("engine");
    let mut lane = seeds.remove(0).build();
    let mut submitter = engine.submitter().expect("submitter");
    let mut round = || {
        for way in 0..200 {
            let mut turn = || while lane.turn(256) == Progress::Worked {};
            let order = buy(ONE, "1", "10");
            let mut checked = submitter.check_order(order, Wait::No);
            let mut started = submitter.start_pre_trade(order, Wait::No);
            turn();
            assert!(checked.try_get().expect("done").expect("ran").is_ok());
            let started = started.try_get().expect("done").expect("ran");
            let mut request = started.expect("funds");
            if way % 5 == 0 {
                drop(request);
                turn();
                continue;
            }
            let mut executed = request.execute();
            turn();
            let executed = executed.try_get().expect("done").expect("ran");
            let mut reservation = executed.expect("funds");
            let token = *reservation.view().expect("open");
            match way % 5 {
                1 => drop(reservation),
                2 => {
                    let mut closed = reservation.rollback_and_close();
                    turn();
                    closed.try_get().expect("done").expect("ran");
                }
                3 => {
                    let mut plain = submitter.rollback(&reservation);
                    turn();
                    plain.try_get().expect("done").expect("ran");
                    drop(reservation.close());
                }
                _ => {
                    let mut closed = reservation.commit_and_close();
                    turn();
                    closed.try_get().expect("done").expect("ran");
                    let mut end = report(&order, Some(token));
                    end.is_final = true;
                    let mut settled = submitter.apply_execution_report(end, Wait::No);
                    turn();
                    settled.try_get().expect("done").expect("ran");
                }
            }
            turn();
        }
    };
    round();
    let ((), counts) = counted(&mut round);
    assert_eq!(counts, Counts::default());
}

/// A chain allocates itself; what stands in line behind it, and what runs
/// meanwhile, allocates nothing, however much it is.
#[test]
fn l35_standing_in_line_behind_a_chain_that_waits_allocates_nothing() {
    let (engine, mut seeds) = EngineBuilder::new()
        .observer(HdrObserver::new())
        .build_inline(|shard| Desk::new(shard, seeded(risk_support::FUNDS)))
        .expect("engine");
    let mut lane = seeds.remove(0).build();
    let mut submitter = engine.submitter().expect("submitter");
    let order = buy(ONE, "1", "10");
    let token = Arc::new(Mutex::new(None));
    let mut line = Vec::with_capacity(512);
    let mut round = |orders: usize| {
        let mut turn = || while lane.turn(256) == Progress::Worked {};
        let place = Arc::clone(&token);
        let mut waiting = chain(order, || Ok(()))
            .execute_pre_trade(
                move |(), reserved| {
                    *place.lock().expect("token") = Some(*reserved.view());
                    Ok(Decision::Commit)
                },
                |(), _| Ok(()),
            )
            .wait_for_report(
                WaitLimit::millis(20_000),
                |(), _| Ok(Heard::Enough),
                |()| Err("too late".into()),
            )
            .run(&mut submitter, Wait::No);
        turn();
        let ((), counts) = counted(|| {
            for _ in 0..orders {
                line.push(submitter.check_order(order, Wait::No));
                let mut other = submitter.check_order(buy(TWO, "1", "10"), Wait::No);
                turn();
                assert!(other.try_get().is_some());
            }
            assert!(line.iter().all(|check| !check.is_done()));
        });
        let token = token.lock().expect("token").take();
        let mut end = report(&order, token);
        end.is_final = true;
        let mut settled = submitter.apply_execution_report(end, Wait::No);
        turn();
        let done = waiting.try_get().expect("done").expect("started");
        assert!(done.end.is_completed(), "{done:?}");
        settled.try_get().expect("done").expect("ran");
        let ((), released) = counted(|| {
            for mut check in line.drain(..) {
                check
                    .try_get()
                    .expect("ran")
                    .expect("judged")
                    .expect("funds");
            }
        });
        (counts, released)
    };
    round(500);
    let none = (Counts::default(), Counts::default());
    let (quiet, alone) = counted(|| round(0));
    let (busy, with_line) = counted(|| round(500));
    assert_eq!((quiet, busy), (none, none));
    assert_eq!(with_line.allocations, alone.allocations);
}
