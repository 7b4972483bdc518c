//! Chains: one task of a lane, its hooks, and what became of it.

#[path = "support/toy_engine.rs"]
mod toy_engine;

use std::rc::Rc;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pitlane::lanes::{
    AsyncEngine, ChainEnd, ChainError, ChainOutcome, Decision, Desk, EngineBuilder, FromOrder,
    LaneError, Submitter, Wait, chain,
};
use pitlane::types::{AccountId, GroupId};
use toy_engine::{FAIL, MALFORMED, PANIC, PANIC_LATER, Toy, ToyError, ToyOrder, ToyWorld};

const LONG: Duration = Duration::from_secs(20);

type Engine = (AsyncEngine<Desk<Toy>>, Submitter<Desk<Toy>>);
type End = ChainOutcome<ToyError>;
type Heard = Arc<Mutex<Vec<String>>>;

fn order(amount: u64) -> FromOrder<ToyOrder> {
    FromOrder(ToyOrder {
        account: Some(1),
        amount,
    })
}

fn start(world: &ToyWorld) -> Engine {
    std::panic::set_hook(Box::new(|_| {}));
    let engine = EngineBuilder::new().build(world.factory()).expect("engine");
    let submitter = engine.submitter().expect("submitter");
    (engine, submitter)
}

fn note(heard: &Heard, what: impl Into<String>) {
    heard.lock().expect("heard").push(what.into());
}

fn heard(heard: &Heard) -> Vec<String> {
    heard.lock().expect("heard").clone()
}

/// Runs a one-step order chain whose hook answers `decision`.
fn reserve(
    submitter: &mut Submitter<Desk<Toy>>,
    amount: u64,
    decision: fn() -> Result<Decision, Box<dyn std::error::Error + Send + Sync>>,
) -> End {
    chain::<Toy, _, _>(order(amount), || Ok(()))
        .execute_pre_trade(move |(), _| decision(), |(), _| Ok(()))
        .run(submitter, Wait::ForRoom)
        .wait()
        .expect("started")
}

#[test]
fn l31_the_whole_chain_is_one_task_on_state_that_stays_in_the_lane() {
    let world = ToyWorld::new();
    let (engine, mut submitter) = start(&world);
    let mut gate = submitter.submit(AccountId(1), |d: &mut Desk<Toy>| d.driver().wait_at_gate());
    // `!Send` state: made, used and dropped in the lane.
    let mut outcome = chain::<Toy, _, _>(order(10), || Ok(Rc::new(thread::current().id())))
        .check_order(|state, checked| {
            assert_eq!((checked.order().amount, checked.passed()), (10, true));
            assert_eq!(**state, thread::current().id());
            Ok(())
        })
        .execute_pre_trade(
            |_, reserved| {
                assert_eq!((reserved.order().amount, *reserved.view()), (10, 10));
                Ok(Decision::Commit)
            },
            |_, _| Ok(()),
        )
        .apply_execution_report(
            |_| Ok((AccountId(1), 4)),
            |_, settled| {
                assert_eq!(*settled.report(), (AccountId(1), 4));
                assert_eq!(*settled.settled(), 5);
                Ok(())
            },
        )
        .then(|_| Ok(()))
        .run(&mut submitter, Wait::ForRoom);
    // Submitted while the chain waits its turn: behind all of it.
    let mut next = submitter.check_order(order(33).0, Wait::ForRoom);
    world.open();
    let outcome = outcome.wait().expect("started");
    assert!(outcome.end.is_completed(), "{outcome:?}");
    assert_eq!(gate.wait(), Ok(()));
    assert_eq!(next.wait().expect("ran"), Ok(()));
    assert_eq!(
        world.calls(),
        [
            ("check", 10),
            ("both", 10),
            ("commit", 10),
            ("report", 4),
            ("check", 33)
        ]
    );
    assert!(world.one_worker());
    let report = engine.stop_graceful(LONG).expect("stop");
    assert!(report.is_balanced(), "{report:?}");
}

#[test]
fn l31_each_source_routes_by_its_own_key() {
    let world = ToyWorld::new();
    std::panic::set_hook(Box::new(|_| {}));
    let engine = EngineBuilder::new()
        .shards(3)
        .build(world.factory())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let worker = |submitter: &mut Submitter<Desk<Toy>>, key: pitlane::lanes::LaneKey| {
        let here = |_: &mut Desk<Toy>| thread::current().id();
        submitter.submit(key, here).wait().expect("ran")
    };
    for id in 1..20u32 {
        let (account, group) = (AccountId(id.into()), GroupId::new(7 + id).expect("group"));
        let places: Arc<Mutex<Vec<thread::ThreadId>>> = Arc::default();
        let begin = || {
            let places = Arc::clone(&places);
            move || {
                places.lock().expect("places").push(thread::current().id());
                Ok(())
            }
        };
        let from_order = FromOrder(ToyOrder {
            account: Some(id.into()),
            amount: 1,
        });
        let wait = Wait::ForRoom;
        let mut first = chain::<Toy, _, _>(from_order, begin()).run(&mut submitter, wait);
        assert!(first.wait().expect("started").end.is_completed());
        let mut second = chain::<Toy, _, _>(account, begin()).run(&mut submitter, wait);
        assert!(second.wait().expect("started").end.is_completed());
        let mut third = chain::<Toy, _, _>(group, begin()).run(&mut submitter, wait);
        assert!(third.wait().expect("started").end.is_completed());
        let of_account = worker(&mut submitter, account.into());
        let of_group = worker(&mut submitter, group.into());
        let places = places.lock().expect("places");
        assert_eq!(*places, [of_account, of_account, of_group]);
    }
}

#[test]
fn l32_a_rollback_ends_rejected_and_an_error_or_a_panic_fails() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let outcome = reserve(&mut submitter, 100, || Ok(Decision::Rollback));
    assert!(outcome.end.is_rejected() && outcome.retry_unsafe);
    let outcome = reserve(&mut submitter, 100, || Err("no disk".into()));
    let Some(ChainError::Hook(error)) = outcome.end.error() else {
        panic!("{outcome:?}");
    };
    assert_eq!(error.to_string(), "no disk");
    let outcome = reserve(&mut submitter, 100, || panic!("a planted panic"));
    let error = outcome.end.error();
    assert!(matches!(error, Some(ChainError::HookPanicked)), "{error:?}");
    // The whole budget is free again each time, and then kept.
    let outcome = reserve(&mut submitter, 100, || Ok(Decision::Commit));
    assert!(outcome.end.is_completed(), "{outcome:?}");
    let outcome = reserve(&mut submitter, 1, || Ok(Decision::Commit));
    assert!(outcome.end.is_rejected(), "nothing is left: {outcome:?}");
    let ends: Vec<_> = world.calls().into_iter().map(|call| call.0).collect();
    assert_eq!(
        ends,
        [
            "both", "rollback", "both", "rollback", "both", "rollback", "both", "commit", "both"
        ]
    );
    assert!(
        !ends.contains(&"panicked"),
        "a caller's panic is not the driver's"
    );
}

#[test]
fn l32_a_failed_check_does_not_end_the_chain_and_a_reject_does() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let said = Heard::default();
    let state = Arc::clone(&said);
    let mut outcome = chain::<Toy, _, _>(order(101), move || Ok(state))
        .check_order(|said, checked| {
            note(said, format!("checked {}", checked.passed()));
            Ok(())
        })
        .then(|said| {
            note(said, "between");
            Ok(())
        })
        .execute_pre_trade(
            |said, _| {
                note(said, "reserved");
                Ok(Decision::Commit)
            },
            |said, rejects| {
                note(said, format!("rejected {rejects:?}"));
                Ok(())
            },
        )
        .then(|said| {
            note(said, "after");
            Ok(())
        })
        .run(&mut submitter, Wait::ForRoom);
    let outcome = outcome.wait().expect("started");
    assert!(outcome.end.is_rejected(), "{outcome:?}");
    assert_eq!(
        heard(&said),
        [
            "checked false",
            "between",
            "rejected [\"InsufficientFunds\"]"
        ]
    );
}

#[test]
fn l32_what_cannot_be_undone_stands_when_its_hook_fails() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let mut outcome = chain::<Toy, _, _>(AccountId(1), || Ok(()))
        .apply_account_adjustment(
            |()| Ok(vec![2, 3]),
            |(), adjusted| {
                assert_eq!(*adjusted.adjustments(), [2, 3]);
                Ok(())
            },
        )
        .retire_account(|()| Err("not told to anyone".into()))
        .then(|()| panic!("no step runs after a failure"))
        .run(&mut submitter, Wait::ForRoom);
    let outcome = outcome.wait().expect("started");
    assert!(matches!(outcome.end, ChainEnd::Failed(ChainError::Hook(_))));
    assert!(outcome.retry_unsafe);
    assert_eq!(world.calls(), [("adjust", 5), ("retire", 1)]);
}

#[test]
fn l32_a_drop_copy_is_decided_on_like_an_order() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    for decision in [Decision::Commit, Decision::Rollback] {
        let mut outcome = chain::<Toy, _, _>(order(7), || Ok(()))
            .apply_drop_copy(
                move |(), followed| {
                    assert_eq!(
                        *followed.view(),
                        (7, true),
                        "its account's block at that time"
                    );
                    assert_eq!(followed.order().amount, 7);
                    Ok(decision)
                },
                |(), _| Ok(()),
            )
            .run(&mut submitter, Wait::ForRoom);
        let outcome = outcome.wait().expect("started");
        assert_eq!(outcome.end.is_completed(), decision == Decision::Commit);
    }
    assert_eq!(
        world.calls(),
        [("copy", 7), ("commit", 7), ("copy", 7), ("rollback", 7)]
    );
}

#[test]
fn l33_a_checks_verdict_may_be_kept() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let (kept, verdicts) = channel();
    let mut outcome = chain::<Toy, _, _>(order(101), || Ok(None))
        .check_order(|state, checked| {
            *state = Some(checked.into_verdict());
            Ok(())
        })
        .finally(move |state, _| Ok(kept.send(state.take())?))
        .run(&mut submitter, Wait::ForRoom);
    assert!(outcome.wait().expect("started").end.is_completed());
    let verdict = verdicts.recv().expect("kept");
    assert_eq!(verdict, Some(Err(vec!["InsufficientFunds"])));
}

#[test]
fn l34_retry_is_unsafe_from_the_entry_of_a_changing_call() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    // Before any such call: a failing hook, a check, a report that is not made.
    let mut checked = chain::<Toy, _, _>(order(10), || Ok(()))
        .check_order(|(), _| Ok(()))
        .then(|()| Ok(()))
        .run(&mut submitter, Wait::ForRoom);
    let outcome = checked.wait().expect("started");
    assert!(outcome.end.is_completed() && !outcome.retry_unsafe);
    let mut unmade = chain::<Toy, _, _>(AccountId(1), || Ok(()))
        .apply_execution_report(|()| Err("no report".into()), |(), _| Ok(()))
        .run(&mut submitter, Wait::ForRoom);
    let outcome = unmade.wait().expect("started");
    assert!(outcome.end.error().is_some() && !outcome.retry_unsafe);
    let mut foreign = chain::<Toy, _, _>(AccountId(1), || Ok(()))
        .apply_execution_report(|()| Ok((AccountId(2), 4)), |(), _| Ok(()))
        .run(&mut submitter, Wait::ForRoom);
    let outcome = foreign.wait().expect("started");
    assert!(matches!(
        outcome.end.error(),
        Some(ChainError::OtherAccount)
    ));
    assert!(!outcome.retry_unsafe);
    assert_eq!(
        world.calls(),
        [("check", 10)],
        "the foreign one is not booked"
    );
    // Once entered, whatever came of it.
    for amount in [FAIL, PANIC, MALFORMED, 101] {
        let outcome = reserve(&mut submitter, amount, || Ok(Decision::Commit));
        assert!(outcome.retry_unsafe, "{amount}: {outcome:?}");
    }
    let mut settled = chain::<Toy, _, _>(AccountId(1), || Ok(()))
        .apply_execution_report(|()| Ok((AccountId(1), FAIL)), |(), _| Ok(()))
        .run(&mut submitter, Wait::ForRoom);
    let outcome = settled.wait().expect("started");
    assert!(matches!(
        outcome.end.error(),
        Some(ChainError::Driver(ToyError))
    ));
    assert!(outcome.retry_unsafe);
}

#[test]
fn l34_the_drivers_failures_are_told_apart_and_its_panic_reaches_it() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let mut run = |amount| reserve(&mut submitter, amount, || Ok(Decision::Commit)).end;
    assert!(matches!(
        run(FAIL).error(),
        Some(ChainError::Driver(ToyError))
    ));
    assert!(matches!(
        run(MALFORMED).error(),
        Some(ChainError::DriverResult)
    ));
    assert!(matches!(
        run(PANIC).error(),
        Some(ChainError::DriverPanicked)
    ));
    let panics = || world.calls().iter().filter(|c| c.0 == "panicked").count();
    assert_eq!(panics(), 1);
    // A finalizer that panics.
    assert!(matches!(
        run(PANIC_LATER).error(),
        Some(ChainError::DriverPanicked)
    ));
    assert_eq!(panics(), 2);
    assert!(run(5).is_completed(), "the worker lives");
}

#[test]
fn l34_finally_runs_once_after_clean_up_and_before_the_future_resolves() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    for (amount, end) in [(10, "Rejected"), (101, "Rejected"), (FAIL, "Failed")] {
        let before = world.calls().len();
        let log = Arc::clone(&world.log);
        let said = Heard::default();
        let hears = Arc::clone(&said);
        let mut outcome = chain::<Toy, _, _>(order(amount), || Ok(()))
            .execute_pre_trade(|(), _| Ok(Decision::Rollback), |(), _| Ok(()))
            .finally(move |(), outcome| {
                let calls = log.lock().expect("log").len();
                note(&hears, format!("{:?} {calls}", outcome.end));
                Ok(())
            })
            .run(&mut submitter, Wait::ForRoom);
        outcome.wait().expect("started");
        // Heard at once: it ran before.
        let said = heard(&said);
        assert_eq!(said.len(), 1, "{amount}: once");
        assert!(said[0].starts_with(end), "{amount}: {said:?}");
        let calls = world.calls();
        assert!(said[0].ends_with(&calls.len().to_string()), "nothing after");
        assert_eq!(calls.len() - before, if amount == 10 { 2 } else { 1 });
    }
}

#[test]
fn l34_the_future_carries_the_last_hooks_own_failure() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let mut run = |amount, panics: bool| {
        chain::<Toy, _, _>(order(amount), || Ok(()))
            .execute_pre_trade(|(), _| Ok(Decision::Commit), |(), _| Ok(()))
            .finally(move |(), _| {
                assert!(!panics, "a planted panic");
                Err("not told".into())
            })
            .run(&mut submitter, Wait::ForRoom)
            .wait()
            .expect("started")
    };
    let outcome = run(1, false);
    assert!(matches!(outcome.end.error(), Some(ChainError::Finally(_))));
    assert!(outcome.retry_unsafe);
    let outcome = run(1, true);
    assert!(matches!(
        outcome.end.error(),
        Some(ChainError::HookPanicked)
    ));
    // What failed first is what is told.
    let outcome = run(FAIL, false);
    assert!(matches!(outcome.end.error(), Some(ChainError::Driver(_))));
}

#[test]
fn l34_without_a_state_no_hook_runs() {
    let world = ToyWorld::new();
    let (_engine, mut submitter) = start(&world);
    let said = Heard::default();
    for panics in [false, true] {
        let (first, last) = (Arc::clone(&said), Arc::clone(&said));
        let begin = move || {
            assert!(!panics, "a planted panic");
            Err::<(), _>("no state".into())
        };
        let mut outcome = chain::<Toy, _, _>(order(1), begin)
            .then(move |()| {
                note(&first, "then");
                Ok(())
            })
            .finally(move |(), _| {
                note(&last, "finally");
                Ok(())
            })
            .run(&mut submitter, Wait::ForRoom);
        let outcome = outcome.wait().expect("started");
        match outcome.end.error() {
            Some(ChainError::HookPanicked) => assert!(panics),
            Some(ChainError::Begin(error)) => assert_eq!(error.to_string(), "no state"),
            other => panic!("{other:?}"),
        }
        assert!(!outcome.retry_unsafe);
    }
    assert!(heard(&said).is_empty());
    assert!(world.calls().is_empty());
}

#[test]
fn l34_a_chain_that_never_started_runs_no_code_and_comes_back() {
    let world = Arc::new(ToyWorld::new());
    let (engine, mut submitter) = start(&world);
    let said = Heard::default();
    let make = |from| {
        let [begin, then, last] = [(); 3].map(|()| Arc::clone(&said));
        chain::<Toy, _, _>(from, move || {
            note(&begin, "begin");
            Ok(())
        })
        .then(move |()| {
            note(&then, "then");
            Ok(())
        })
        .finally(move |(), _| {
            note(&last, "finally");
            Ok(())
        })
    };
    // No account: at once.
    let nobody = FromOrder(ToyOrder {
        account: None,
        amount: 1,
    });
    let mut refused = make(nobody).run(&mut submitter, Wait::ForRoom);
    assert!(refused.is_done());
    let failure = refused.wait().expect_err("no account");
    assert_eq!(failure.error, LaneError::MissingAccountId);
    assert!(failure.payload.is_some());
    // An expired deadline.
    let mut late = make(order(1)).run(&mut submitter, Wait::AtMost(Duration::ZERO));
    let failure = late.wait().expect_err("expired");
    assert_eq!(failure.error, LaneError::SubmitCancelled);
    // What came back can run.
    let again = failure.payload.expect("comes back");
    let mut ran = again.run(&mut submitter, Wait::ForRoom);
    assert!(ran.wait().expect("started").end.is_completed());
    assert_eq!(heard(&said), ["begin", "then", "finally"]);
    // A hard stop before it started.
    let mut gate = submitter.submit(AccountId(1), |d: &mut Desk<Toy>| d.driver().wait_at_gate());
    while gate.wait_timeout(Duration::from_millis(5)).is_some() {}
    let mut aborted = make(order(1)).run(&mut submitter, Wait::ForRoom);
    let stopper = thread::spawn(move || engine.stop_hard(LONG).expect("stop"));
    // The gate opens only once the stop has begun to refuse; the ring may fill
    // before that.
    loop {
        match submitter.try_submit(AccountId(1), |_: &mut Desk<Toy>| ()) {
            Err(refused) if refused.error == LaneError::Stopped => break,
            _ => thread::yield_now(),
        }
    }
    world.open();
    let report = stopper.join().expect("stopper");
    assert!(report.is_balanced(), "{report:?}");
    let failure = aborted.wait().expect_err("aborted");
    assert_eq!(failure.error, LaneError::Stopped);
    assert!(failure.payload.is_some());
    assert_eq!(heard(&said).len(), 3, "no more code ran");
}

#[test]
fn l36_a_hook_that_comes_back_to_its_own_engine_is_refused_on_every_path() {
    let world = ToyWorld::new();
    let (engine, mut submitter) = start(&world);
    let engine = Arc::new(engine);
    let mut inner = engine.submitter().expect("submitter");
    let mut reservation = submitter
        .execute_pre_trade(order(3).0, Wait::ForRoom)
        .wait()
        .expect("ran")
        .expect("accepted");
    let (out, results) = channel();
    let inside = Arc::clone(&engine);
    let mut outcome = chain::<Toy, _, _>(order(10), || Ok(()))
        .execute_pre_trade(
            move |(), _| {
                let wait = Wait::ForRoom;
                let account = AccountId(1);
                let mut errors = Vec::new();
                // A chain: with itself back, and no code of it run.
                let failure = chain::<Toy, _, _>(order(1), || -> Result<(), _> {
                    panic!("a refused chain runs nothing")
                })
                .run(&mut inner, wait)
                .wait()
                .expect_err("re-entrant");
                assert!(failure.payload.is_some());
                errors.push(failure.error);
                // Typed calls, with their payload.
                let mut call = inner.apply_execution_report((account, 4), wait);
                let failure = call.wait().expect_err("re-entrant");
                assert_eq!(failure.payload, Some((account, 4)));
                assert_eq!(failure.error, LaneError::ReentrantLane);
                let mut call = inner.execute_pre_trade(order(1).0, wait);
                let failure = call.wait().expect_err("re-entrant");
                assert!(failure.payload.is_some());
                assert_eq!(failure.error, LaneError::ReentrantLane);
                // Work, finalization, a batch, a stop.
                let refused = inner.try_submit(account, |_: &mut Desk<Toy>| ());
                errors.push(refused.expect_err("re-entrant").error);
                inner.batch(|batch| {
                    let refused = batch.submit(account, |_: &mut Desk<Toy>| ());
                    errors.push(refused.expect_err("re-entrant").error);
                });
                let closed = reservation.commit_and_close().wait();
                assert_eq!(
                    closed.expect_err("re-entrant").error,
                    LaneError::ReentrantLane
                );
                assert!(inside.stop_hard(LONG).is_err(), "a stop from a worker");
                out.send((errors, reservation, inner)).expect("sent");
                Ok(Decision::Commit)
            },
            |(), _| Ok(()),
        )
        .run(&mut submitter, Wait::ForRoom);
    let outcome = outcome.wait().expect("started");
    assert!(outcome.end.is_completed(), "{outcome:?}");
    let (errors, mut reservation, mut inner) = results.recv().expect("results");
    assert_eq!(errors, [LaneError::ReentrantLane; 3]);
    // Left, so no longer refused: the handle is still good.
    assert_eq!(reservation.commit_and_close().wait(), Ok(()));
    let mut after = inner.submit(AccountId(1), |desk: &mut Desk<Toy>| desk.open_handles());
    assert_eq!(after.wait(), Ok(0));
    assert_eq!(
        world.calls(),
        [("both", 3), ("both", 10), ("commit", 10), ("commit", 3)]
    );
}
