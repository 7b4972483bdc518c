//! Typed calls and wrappers: what crosses threads, and where it is finalized.

#[path = "support/planted.rs"]
mod planted;
#[path = "support/toy_engine.rs"]
mod toy_engine;

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pitlane::lanes::{
    AsyncEngine, AsyncReservation, Desk, EngineBuilder, LaneError, Submitter, Wait,
};
use pitlane::types::AccountId;
use toy_engine::{FAIL, MALFORMED, PANIC, PANIC_LATER, Toy, ToyError, ToyOrder, ToyWorld};

const LONG: Duration = Duration::from_secs(20);

fn order(amount: u64) -> ToyOrder {
    ToyOrder {
        account: Some(1),
        amount,
    }
}

fn start(world: &ToyWorld) -> (AsyncEngine<Desk<Toy>>, Submitter<Desk<Toy>>) {
    planted::quiet();
    let engine = EngineBuilder::new().build(world.factory()).expect("engine");
    let submitter = engine.submitter().expect("submitter");
    (engine, submitter)
}

fn accepted(submitter: &mut Submitter<Desk<Toy>>, amount: u64) -> AsyncReservation<Toy> {
    submitter
        .execute_pre_trade(order(amount), Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect("accepted")
}

/// Submits until it is refused because a stop has begun.
fn until_stopping(probe: &mut Submitter<Desk<Toy>>) {
    loop {
        match probe.try_submit(AccountId(1), |_: &mut Desk<Toy>| ()) {
            Ok(future) => drop(future),
            Err(refused) if refused.error == LaneError::Stopped => return,
            Err(_full) => thread::yield_now(),
        }
    }
}

fn open_handles(submitter: &mut Submitter<Desk<Toy>>) -> usize {
    submitter
        .submit(AccountId(1), |desk: &mut Desk<Toy>| desk.open_handles())
        .wait()
        .expect("ran")
}

#[test]
fn l10_l13_every_call_runs_in_the_accounts_lane() {
    let world = ToyWorld::new();
    let (engine, mut submitter) = start(&world);
    let mut request = submitter
        .start_pre_trade(order(10), Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect("accepted");
    let mut reservation = request.execute().wait().expect("ran").expect("accepted");
    assert_eq!(reservation.view(), Ok(&10));
    // Finalized on a thread that has no submitter.
    let finisher = thread::spawn(move || reservation.commit_and_close().wait());
    assert_eq!(finisher.join().expect("finisher"), Ok(()));
    let checked = submitter.check_order(order(500), Wait::No).wait();
    assert_eq!(checked.expect("ran"), Err(vec!["InsufficientFunds"]));
    let mut copy = submitter
        .apply_drop_copy(order(7), Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect("applied");
    assert_eq!(copy.view(), Ok(&(7, true)));
    assert_eq!(copy.close().wait(), Ok(()));
    let report = (AccountId(1), 4);
    let settled = submitter.apply_execution_report(report, Wait::AtMost(LONG));
    assert_eq!({ settled }.wait(), Ok(5));
    let mut adjusted = submitter.apply_account_adjustment(AccountId(1), vec![1, 2], Wait::ForRoom);
    assert_eq!(adjusted.wait(), Ok(()));
    assert_eq!(
        submitter.retire_account(AccountId(1), LONG).wait(),
        Ok(Ok(()))
    );
    assert_eq!(
        world.calls(),
        [
            ("start", 10),
            ("execute", 10),
            ("commit", 10),
            ("check", 500),
            ("copy", 7),
            ("rollback", 7),
            ("report", 4),
            ("adjust", 3),
            ("retire", 1)
        ]
    );
    assert!(world.one_worker());
    assert_eq!(open_handles(&mut submitter), 0);
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l14_rejects_are_values_and_driver_errors_travel_unchanged() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let mut call = |amount| {
        submitter
            .execute_pre_trade(order(amount), Wait::ForRoom)
            .wait()
            .map(|verdict| verdict.map(drop))
            .map_err(|failure| (failure.error, failure.payload))
    };
    assert_eq!(call(101), Ok(Err(vec!["InsufficientFunds"])));
    assert_eq!(call(FAIL), Err((LaneError::Driver(ToyError), None)));
    assert_eq!(call(PANIC), Err((LaneError::TaskFailed, None)));
    assert_eq!(call(1), Ok(Ok(())), "the worker lives");
    let failed = submitter.apply_execution_report((AccountId(1), FAIL), Wait::ForRoom);
    assert_eq!(
        { failed }.wait().map_err(|failure| failure.error),
        Err(LaneError::Driver(ToyError))
    );
}

#[test]
fn l15_no_account_is_refused_before_the_driver_and_no_reason_is_malformed() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let nobody = ToyOrder {
        account: None,
        amount: 1,
    };
    let mut refused = submitter.execute_pre_trade(nobody, Wait::ForRoom);
    assert!(refused.is_done(), "at once");
    let failure = refused.wait().expect_err("no account");
    assert_eq!(failure.error, LaneError::MissingAccountId);
    assert_eq!(failure.payload, Some(nobody));
    assert!(world.calls().is_empty());

    let failure = submitter
        .execute_pre_trade(order(MALFORMED), Wait::ForRoom)
        .wait()
        .expect_err("no reason");
    assert_eq!(failure.error, LaneError::DriverResult);
    let mut request = submitter
        .start_pre_trade(order(MALFORMED), Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect("started");
    let failure = request.execute().wait().expect_err("no reason");
    assert_eq!(failure.error, LaneError::DriverResult);
    assert_eq!(open_handles(&mut submitter), 0, "its handle is closed");
}

#[test]
fn l16_what_the_driver_has_not_seen_comes_back() {
    let world = ToyWorld::new();
    let (engine, mut submitter) = start(&world);
    let _gate = submitter.submit(AccountId(1), |desk: &mut Desk<Toy>| {
        desk.driver().wait_at_gate();
    });
    let mut report = submitter.apply_execution_report((AccountId(1), 4), Wait::ForRoom);
    let mut adjust = submitter.apply_account_adjustment(AccountId(1), vec![5], Wait::ForRoom);
    let mut copy = submitter.apply_drop_copy(order(6), Wait::ForRoom);
    // The lane is busy, so none of them has started.
    let world = Arc::new(world);
    let mut probe = engine.submitter().expect("submitter");
    let opener = {
        let world = Arc::clone(&world);
        thread::spawn(move || {
            until_stopping(&mut probe);
            world.open();
        })
    };
    world.until_reached();
    engine.stop_hard(LONG).expect("stop");
    opener.join().expect("opener");
    let failure = report.wait().expect_err("aborted");
    assert_eq!(
        (failure.error, failure.payload),
        (LaneError::Stopped, Some((AccountId(1), 4)))
    );
    let failure = adjust.wait().expect_err("aborted");
    assert_eq!(failure.payload, Some(vec![5]));
    let failure = copy.wait().expect_err("aborted");
    assert_eq!(failure.payload, Some(order(6)));
    let mut late = submitter.apply_execution_report((AccountId(1), 9), Wait::ForRoom);
    let failure = late.wait().expect_err("stopped");
    assert_eq!(
        (failure.error, failure.payload),
        (LaneError::Stopped, Some((AccountId(1), 9)))
    );
    let mut expired =
        submitter.apply_execution_report((AccountId(1), 8), Wait::AtMost(Duration::ZERO));
    let failure = expired.wait().expect_err("expired");
    assert_eq!(
        (failure.error, failure.payload),
        (LaneError::SubmitCancelled, Some((AccountId(1), 8)))
    );
    assert!(world.calls().is_empty());
}

#[test]
fn l17_reads_follow_the_wrappers_life() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let mut reservation = accepted(&mut submitter, 10);
    assert_eq!(reservation.view(), Ok(&10));
    // A plain commit: unreadable while it is under way, readable after it.
    let gate = submitter.submit(AccountId(1), |d: &mut Desk<Toy>| d.driver().wait_at_gate());
    let mut committed = submitter.commit(&reservation);
    assert_eq!(reservation.view(), Err(LaneError::FinalizationInProgress));
    world.open();
    assert_eq!(committed.wait(), Ok(()));
    assert_eq!(reservation.view(), Ok(&10));
    drop(gate);
    // A closing one: unreadable meanwhile, closed for good after it.
    let gate = submitter.submit(AccountId(1), |d: &mut Desk<Toy>| d.driver().wait_at_gate());
    let mut closed = reservation.close();
    assert_eq!(reservation.view(), Err(LaneError::FinalizationInProgress));
    world.open();
    assert_eq!(closed.wait(), Ok(()));
    assert_eq!(reservation.view(), Err(LaneError::Closed));
    drop(gate);
    assert_eq!(world.calls(), [("both", 10), ("commit", 10)]);
}

#[test]
fn l18_a_second_close_is_fine_and_a_commit_after_close_fails() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let mut reservation = accepted(&mut submitter, 10);
    assert_eq!(reservation.close().wait(), Ok(()));
    assert_eq!(reservation.close().wait(), Ok(()));
    let error = |outcome: Result<(), pitlane::lanes::Failure<ToyError>>| {
        outcome.map_err(|failure| failure.error)
    };
    assert_eq!(
        error(reservation.commit_and_close().wait()),
        Err(LaneError::Closed)
    );
    assert_eq!(
        error(submitter.commit(&reservation).wait()),
        Err(LaneError::Closed)
    );
    let mut twice = accepted(&mut submitter, 11);
    assert_eq!(submitter.commit(&twice).wait(), Ok(()));
    assert_eq!(
        error(submitter.rollback(&twice).wait()),
        Err(LaneError::Closed),
        "finished once"
    );
    assert_eq!(twice.close().wait(), Ok(()));
    assert_eq!(
        world.calls(),
        [("both", 10), ("rollback", 10), ("both", 11), ("commit", 11)]
    );
    assert_eq!(open_handles(&mut submitter), 0);
}

#[test]
fn l18_l26_a_hard_stop_releases_what_consumes_and_rolls_back_what_is_open() {
    let world = Arc::new(ToyWorld::new());
    let (engine, mut submitter) = start(&world);
    let mut request = submitter
        .start_pre_trade(order(1), Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect("accepted");
    let mut closing = accepted(&mut submitter, 2);
    let open = accepted(&mut submitter, 3);
    let plain = accepted(&mut submitter, 4);
    let _gate = submitter.submit(AccountId(1), |d: &mut Desk<Toy>| d.driver().wait_at_gate());
    world.until_reached();
    let mut executed = request.execute();
    let mut closed = closing.commit_and_close();
    let mut committed = submitter.commit(&plain);
    let mut probe = engine.submitter().expect("submitter");
    let opener = {
        let world = Arc::clone(&world);
        thread::spawn(move || {
            until_stopping(&mut probe);
            world.open();
        })
    };
    let report = engine.stop_hard(LONG).expect("stop");
    opener.join().expect("opener");
    assert!(report.is_balanced(), "{report:?}");
    let stopped = Some(LaneError::Stopped);
    assert_eq!(executed.wait().err().map(|f| f.error), stopped);
    assert_eq!(closed.wait().err().map(|f| f.error), stopped);
    assert_eq!(committed.wait().err().map(|f| f.error), stopped);
    let calls = world.calls();
    let after = &calls[4..];
    assert!(after.contains(&("abandon", 1)), "{after:?}");
    for amount in [2, 3, 4] {
        let rolled_back = after.iter().filter(|c| **c == ("rollback", amount)).count();
        assert_eq!(rolled_back, 1, "{amount}: {after:?}");
    }
    assert!(
        !after
            .iter()
            .any(|call| call.0 == "commit" || call.0 == "execute")
    );
    assert!(world.one_worker(), "on their worker");
    // What survives answers Closed.
    let mut open = open;
    let error = open.commit_and_close().wait().err().map(|f| f.error);
    assert_eq!(error, Some(LaneError::Closed));
    drop(plain);
}

#[test]
fn l12_l19_a_dropped_wrapper_is_rolled_back_on_its_lane_though_the_ring_is_full() {
    let world = ToyWorld::new();
    let engine = EngineBuilder::new()
        .ring_capacity(8)
        .fact_reserve(2)
        .build(world.factory())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let reservation = accepted(&mut submitter, 10);
    let _gate = submitter.submit(AccountId(1), |d: &mut Desk<Toy>| d.driver().wait_at_gate());
    world.until_reached();
    let mut sent = 0;
    while submitter
        .try_submit(AccountId(1), |_: &mut Desk<Toy>| ())
        .is_ok()
    {
        sent += 1;
    }
    assert!(sent > 0);
    // No room for an order, and not needed: dropped on a foreign thread.
    thread::spawn(move || drop(reservation))
        .join()
        .expect("dropped");
    world.open();
    assert_eq!(open_handles(&mut submitter), 0, "behind the drop, in order");
    assert_eq!(world.calls(), [("both", 10), ("rollback", 10)]);
    assert!(world.one_worker());
}

#[test]
fn l22_a_future_that_was_waited_for_and_dropped_rolls_its_wrapper_back() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let _gate = submitter.submit(AccountId(1), |d: &mut Desk<Toy>| d.driver().wait_at_gate());
    world.until_reached();
    let mut late = submitter.execute_pre_trade(order(10), Wait::ForRoom);
    // Its waiter stands in the slot when the wrapper comes, and nobody looks.
    assert!(late.wait_timeout(Duration::from_millis(1)).is_none());
    drop(late);
    world.open();
    let mut open = submitter.submit(AccountId(1), |desk: &mut Desk<Toy>| desk.open_handles());
    let open = open.wait_timeout(LONG).expect("the worker lives");
    assert!(open.is_ok());
    assert_eq!(open_handles(&mut submitter), 0);
    assert_eq!(world.calls(), [("both", 10), ("rollback", 10)]);
}

#[test]
fn l19_dropped_inside_its_own_lane_the_rollback_is_appended() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let reservation = accepted(&mut submitter, 10);
    let mut outcome = submitter.submit(AccountId(1), move |desk: &mut Desk<Toy>| {
        drop(reservation);
        desk.open_handles()
    });
    assert_eq!(outcome.wait(), Ok(1), "not in the middle of the task");
    assert_eq!(open_handles(&mut submitter), 0);
    assert_eq!(world.calls(), [("both", 10), ("rollback", 10)]);
}

#[test]
fn l20_the_accounts_next_call_sees_the_finalization_done() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    for _ in 0..200 {
        let mut reservation = accepted(&mut submitter, 100);
        let rolled_back = reservation.rollback_and_close();
        // Needs the whole budget back.
        let next = submitter.execute_pre_trade(order(100), Wait::ForRoom);
        let mut next = { next }.wait().expect("ran").expect("the budget is free");
        assert_eq!(next.rollback_and_close().wait(), Ok(()));
        drop(rolled_back);
    }
    assert_eq!(open_handles(&mut submitter), 0);
}

#[test]
fn l22_f25_a_dropped_future_rolls_its_reservation_back_once() {
    let world = ToyWorld::new();
    let (engine, mut submitter) = start(&world);
    // All together within the budget.
    for amount in 1..=13 {
        let mut future = submitter.execute_pre_trade(order(amount), Wait::ForRoom);
        match amount % 3 {
            0 => drop(future),
            1 => {
                let _ = future.wait_timeout(Duration::from_micros(amount));
                drop(future);
            }
            _ => {
                while !future.is_done() {
                    thread::yield_now();
                }
                drop(future);
            }
        }
    }
    // Once behind the last order, which sends its rollback; once behind that.
    open_handles(&mut submitter);
    assert_eq!(open_handles(&mut submitter), 0);
    let calls = world.calls();
    let mut rolled_back: Vec<_> = calls.iter().filter(|c| c.0 == "rollback").collect();
    rolled_back.sort_unstable();
    assert_eq!(rolled_back.len(), 13);
    rolled_back.dedup();
    assert_eq!(rolled_back.len(), 13, "each once");
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l14_a_finalizer_that_panics_fails_its_call_and_keeps_nothing() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let mut reservation = accepted(&mut submitter, PANIC_LATER);
    let failure = reservation.commit_and_close().wait().expect_err("panics");
    assert_eq!(failure.error, LaneError::TaskFailed);
    assert_eq!(open_handles(&mut submitter), 0);
    assert!(world.calls().contains(&("panicked", 0)));
}

#[test]
fn l36_finalizing_inside_the_own_lane_is_refused_and_keeps_the_handle() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let mut reservation = accepted(&mut submitter, 10);
    let mut outcome = submitter.submit(AccountId(1), move |_: &mut Desk<Toy>| {
        let refused = reservation.commit_and_close().wait();
        (refused.err().map(|f| f.error), reservation)
    });
    let (refused, mut reservation) = outcome.wait().expect("ran");
    assert_eq!(refused, Some(LaneError::ReentrantLane));
    assert_eq!(reservation.commit_and_close().wait(), Ok(()));
    assert_eq!(world.calls(), [("both", 10), ("commit", 10)]);
}

#[test]
fn l04_the_sequencer_gives_every_shard_the_same_order() {
    let world = ToyWorld::new();
    let engine = EngineBuilder::new()
        .shards(3)
        .build(world.factory())
        .map(Arc::new)
        .expect("engine");
    let sequencer = Arc::new(engine.sequencer().expect("sequencer"));
    type Seen = Arc<Mutex<Vec<(thread::ThreadId, u64)>>>;
    let seen = Seen::default();
    let senders: Vec<_> = (0..3u64)
        .map(|sender| {
            let (sequencer, seen) = (Arc::clone(&sequencer), Arc::clone(&seen));
            thread::spawn(move || {
                for n in 0..50 {
                    let seen = Arc::clone(&seen);
                    let number = sender * 1_000 + n;
                    let done = sequencer
                        .everywhere(move |_: &mut Desk<Toy>| {
                            let entry = (thread::current().id(), number);
                            seen.lock().expect("seen").push(entry);
                        })
                        .expect("running");
                    let outcomes = done.wait();
                    assert_eq!(outcomes.len(), 3);
                    assert!(outcomes.iter().all(Result::is_ok));
                }
            })
        })
        .collect();
    for sender in senders {
        sender.join().expect("sender");
    }
    let seen = seen.lock().expect("seen");
    let mut by_shard: std::collections::HashMap<_, Vec<u64>> = Default::default();
    for (thread, number) in seen.iter() {
        by_shard.entry(*thread).or_default().push(*number);
    }
    let orders: Vec<_> = by_shard.into_values().collect();
    assert_eq!(orders.len(), 3);
    assert_eq!(orders[0].len(), 150);
    assert!(orders.iter().all(|order| *order == orders[0]));
}
