//! Chains that wait: what runs meanwhile, what stands in line, and how each
//! wait ends (rule L35).

#[path = "support/toy_engine.rs"]
mod toy_engine;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pitlane::lanes::{
    AsyncEngine, Chain, ChainEnd, ChainError, ChainFuture, Decision, Desk, EngineBuilder,
    FromOrder, Heard, HookResult, Lane, LaneError, LaneFuture, NoopObserver, OfOrder, Progress,
    Submitter, Wait, WaitLimit, chain,
};
use pitlane::steps::{Compose, Step, StepResult};
use pitlane::time::{SimClock, SystemClock, UnixNanos};
use pitlane::types::{AccountId, GroupId};
use toy_engine::{Toy, ToyOrder, ToyWorld};

const LONG: Duration = Duration::from_secs(20);
const LIMIT: WaitLimit = WaitLimit::millis(50);
const A: AccountId = AccountId(1);
const B: AccountId = AccountId(2);

/// What adds the steps of a wait.
type Build = fn(&mut Step<'_>) -> StepResult;
type Log = Arc<Mutex<Vec<&'static str>>>;

fn order(account: AccountId, amount: u64) -> FromOrder<ToyOrder> {
    FromOrder(ToyOrder {
        account: Some(account.0),
        amount,
    })
}

/// One lane, turned here, on simulated time.
struct Bench {
    world: ToyWorld,
    clock: SimClock,
    engine: AsyncEngine<Desk<Toy>, NoopObserver, SimClock>,
    lane: Lane<Desk<Toy>, NoopObserver, SimClock>,
    submitter: Submitter<Desk<Toy>, NoopObserver, SimClock>,
}

impl Bench {
    fn new() -> Self {
        Self::with(EngineBuilder::new())
    }

    fn with(builder: EngineBuilder<NoopObserver, SystemClock>) -> Self {
        std::panic::set_hook(Box::new(|_| {}));
        let world = ToyWorld::new();
        let clock = SimClock::new(UnixNanos(0));
        let (engine, mut seeds) = builder
            .clock(clock.clone())
            .build_inline(world.factory())
            .expect("engine");
        let lane = seeds.remove(0).build();
        let submitter = engine.submitter().expect("submitter");
        Self {
            world,
            clock,
            engine,
            lane,
            submitter,
        }
    }

    fn turn(&mut self) {
        for _ in 0..8 {
            self.lane.turn(64);
        }
    }

    /// A chain of account `A` that reserved, and waits for a report of 7.
    fn waiting(&mut self, log: &Log) -> ChainFuture<Toy, Log> {
        let future = wait_for_seven(reserved(A, 10, log)).run(&mut self.submitter, Wait::No);
        self.turn();
        assert!(!future.is_done());
        future
    }

    fn report(
        &mut self,
        account: AccountId,
        value: u64,
    ) -> LaneFuture<u64, toy_engine::ToyError, (AccountId, u64)> {
        self.submitter
            .apply_execution_report((account, value), Wait::No)
    }

    fn check(
        &mut self,
        account: AccountId,
        amount: u64,
    ) -> LaneFuture<Result<(), Vec<&'static str>>, toy_engine::ToyError, ToyOrder> {
        self.submitter
            .check_order(order(account, amount).0, Wait::No)
    }
}

fn reserved(account: AccountId, amount: u64, log: &Log) -> Chain<Toy, Log, OfOrder> {
    let state = Arc::clone(log);
    chain(order(account, amount), move || Ok(state))
        .execute_pre_trade(|_, _| Ok(Decision::Commit), |_, _| Ok(()))
}

fn note(log: &Log, what: &'static str) -> HookResult {
    log.lock().expect("log").push(what);
    Ok(())
}

fn wait_for_seven(chain: Chain<Toy, Log, OfOrder>) -> Chain<Toy, Log, OfOrder> {
    chain
        .wait_for_report(
            LIMIT,
            |log, settled| {
                note(log, "report")?;
                let seven = settled.report().1 == 7 && *settled.settled() == 8;
                Ok(if seven { Heard::Enough } else { Heard::Waiting })
            },
            |log| note(log, "timeout"),
        )
        .then(|log| note(log, "then"))
}

#[test]
fn l35_a_chain_waits_for_its_fill_while_orders_queue_and_the_shard_goes_on() {
    let mut bench = Bench::new();
    let log = Log::default();
    let mut future = bench.waiting(&log);
    // Behind the chain, in order; another account's in between.
    let mut first = bench.check(A, 21);
    let mut other = bench.check(B, 22);
    let mut work = bench.submitter.submit(A, |_: &mut Desk<Toy>| "work");
    let mut second = bench.check(A, 23);
    bench.turn();
    assert_eq!(other.try_get().expect("ran").expect("checked"), Ok(()));
    assert!(!first.is_done() && !work.is_done() && !second.is_done());

    // A report that is not it, another account's, and the one.
    for (account, value) in [(A, 6), (B, 7), (A, 7)] {
        let mut booked = bench.report(account, value);
        bench.lane.turn(64);
        assert_eq!(booked.try_get().expect("booked at once"), Ok(value + 1));
    }
    bench.turn();
    let outcome = future.try_get().expect("done").expect("started");
    assert!(outcome.end.is_completed() && outcome.retry_unsafe);
    assert_eq!(first.try_get().expect("ran").expect("checked"), Ok(()));
    assert_eq!(work.try_get().expect("ran"), Ok("work"));
    assert_eq!(second.try_get().expect("ran").expect("checked"), Ok(()));
    assert_eq!(
        bench.world.calls(),
        [
            ("both", 10),
            ("commit", 10),
            ("check", 22),
            ("report", 6),
            ("report", 7),
            ("report", 7),
            ("check", 21),
            ("check", 23)
        ]
    );
    assert_eq!(*log.lock().expect("log"), ["report", "report", "then"]);
    // Nothing stands in line any more.
    let mut later = bench.check(A, 24);
    bench.lane.turn(64);
    assert!(later.try_get().is_some());
}

#[test]
fn l35_reports_drop_copies_adjustments_and_finalizations_run_meanwhile() {
    let mut bench = Bench::new();
    let mut made = [3, 4, 5].map(|amount| {
        let mut future = bench
            .submitter
            .execute_pre_trade(order(A, amount).0, Wait::No);
        bench.turn();
        future
            .try_get()
            .expect("ran")
            .expect("judged")
            .expect("accepted")
    });
    let log = Log::default();
    let future = bench.waiting(&log);
    let mut behind = bench.check(A, 20);

    let mut copy = bench.submitter.apply_drop_copy(order(A, 6).0, Wait::No);
    let mut adjusted = bench
        .submitter
        .apply_account_adjustment(A, vec![9], Wait::No);
    let mut plain = bench.submitter.commit(&made[0]);
    let mut closed = made[1].commit_and_close();
    let mut undone = made[2].rollback_and_close();
    bench.turn();
    assert!(copy.try_get().expect("applied").expect("no error").is_ok());
    assert_eq!(adjusted.try_get().expect("adjusted"), Ok(()));
    assert_eq!(plain.try_get().expect("committed"), Ok(()));
    assert_eq!(closed.try_get().expect("committed"), Ok(()));
    assert_eq!(undone.try_get().expect("rolled back"), Ok(()));
    assert!(!future.is_done() && behind.try_get().is_none());
}

#[test]
fn l35_the_second_stage_of_an_order_stands_in_line() {
    let mut bench = Bench::new();
    let mut started = bench.submitter.start_pre_trade(order(A, 30).0, Wait::No);
    let mut dropped = bench.submitter.start_pre_trade(order(A, 31).0, Wait::No);
    bench.turn();
    let mut request = started
        .try_get()
        .expect("ran")
        .expect("judged")
        .expect("accepted");
    let log = Log::default();
    let mut future = bench.waiting(&log);
    let mut first = bench.check(A, 21);
    let mut executed = request.execute();
    let mut last = bench.check(A, 22);
    drop(dropped.try_get());
    bench.turn();
    assert!(!executed.is_done() && !first.is_done() && !last.is_done());
    drop(bench.report(A, 7));
    bench.turn();
    assert!(future.try_get().is_some() && first.try_get().is_some() && last.try_get().is_some());
    assert!(executed.try_get().expect("ran").expect("judged").is_ok());
    let calls = bench.world.calls();
    let of = |what| calls.iter().position(|call| *call == what).expect("called");
    assert!(of(("check", 21)) < of(("execute", 30)) && of(("execute", 30)) < of(("check", 22)));
    // To give a request up is no new order.
    assert!(of(("abandon", 31)) < of(("check", 21)));
}

#[test]
fn l35_when_the_time_is_up_the_hook_decides() {
    for fails in [false, true] {
        let mut bench = Bench::new();
        let log = Log::default();
        let mut future = reserved(A, 10, &log)
            .wait_for_report(
                LIMIT,
                |_, _| Ok(Heard::Waiting),
                move |log| {
                    note(log, "timeout")?;
                    if fails { Err("late".into()) } else { Ok(()) }
                },
            )
            .then(|log| note(log, "then"))
            .finally(|log, _| note(log, "finally"))
            .run(&mut bench.submitter, Wait::No);
        let mut behind = bench.check(A, 20);
        bench.turn();
        bench
            .clock
            .advance(LIMIT.as_duration() - Duration::from_nanos(1));
        drop(bench.report(A, 7));
        bench.turn();
        assert!(!future.is_done() && !behind.is_done());
        bench.clock.advance(Duration::from_nanos(1));
        bench.turn();
        let outcome = future.try_get().expect("done").expect("started");
        let heard = log.lock().expect("log").clone();
        if fails {
            assert!(matches!(
                outcome.end,
                ChainEnd::Failed(ChainError::Hook(ref error)) if error.to_string() == "late"
            ));
            assert_eq!(heard, ["timeout", "finally"]);
        } else {
            assert!(outcome.end.is_completed());
            assert_eq!(heard, ["timeout", "then", "finally"]);
        }
        assert!(behind.try_get().is_some());
    }
}

#[test]
fn l35_a_chain_goes_on_by_a_report_before_the_next_one_of_the_same_batch() {
    let mut bench = Bench::new();
    let log = Log::default();
    let mut future = wait_for_seven(wait_for_seven(wait_for_seven(reserved(A, 10, &log))))
        .run(&mut bench.submitter, Wait::No);
    bench.turn();
    for _ in 0..3 {
        drop(bench.report(A, 7));
    }
    assert_eq!(bench.lane.turn(64), Progress::Worked);
    assert!(
        future
            .try_get()
            .expect("done")
            .expect("started")
            .end
            .is_completed()
    );
    let each = ["report", "then"].repeat(3);
    assert_eq!(*log.lock().expect("log"), each);
}

#[test]
fn l35_chains_wait_one_behind_the_other() {
    let mut bench = Bench::new();
    let log = Log::default();
    let mut chains: Vec<_> = (0..3)
        .map(|_| wait_for_seven(reserved(A, 10, &log)).run(&mut bench.submitter, Wait::No))
        .collect();
    let mut last = bench.check(A, 20);
    for done in 1..=3 {
        bench.turn();
        drop(bench.report(A, 7));
        bench.turn();
        assert_eq!(chains.iter().filter(|chain| chain.is_done()).count(), done);
    }
    for chain in &mut chains {
        assert!(
            chain
                .try_get()
                .expect("done")
                .expect("started")
                .end
                .is_completed()
        );
    }
    assert!(last.try_get().is_some());
    let last = bench.world.calls().last().copied();
    assert_eq!(last, Some(("check", 20)));
}

#[test]
fn l35_steps_wait_on_the_state_and_another_thread_ends_them() {
    std::panic::set_hook(Box::new(|_| {}));
    let world = ToyWorld::new();
    let engine = EngineBuilder::new().build(world.factory()).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let (send, handles) = channel();
    let mut future = chain::<Toy, _, _>(A, || Ok(vec![1u64]))
        .wait_for_steps(
            WaitLimit::millis(20_000),
            move |step| {
                step.state().root::<Vec<u64>>()?.push(2);
                step.add(move |step, ()| {
                    let handle = step.wait_external()?;
                    let _ = send.send(step.remote(handle));
                    Ok(())
                })
                .add(|step, (value,): (u64,)| {
                    step.state().root::<Vec<u64>>()?.push(value);
                    Ok(())
                });
                Ok(())
            },
            |state, end| {
                end?;
                state.push(4);
                Ok(())
            },
        )
        .then(|state| {
            assert_eq!(*state, [1, 2, 3, 4]);
            Ok(())
        })
        .run(&mut submitter, Wait::ForRoom);
    let mut behind = submitter.check_order(order(A, 20).0, Wait::ForRoom);
    let remote = handles.recv().expect("the steps wait");
    // The lane serves others, and sleeps.
    let other = submitter.check_order(order(B, 21).0, Wait::ForRoom).wait();
    assert_eq!(other.expect("ran"), Ok(()));
    assert!(!future.is_done() && !behind.is_done());
    remote.complete((3u64,)).expect("room");
    let outcome = future
        .wait_timeout(LONG)
        .expect("in time")
        .expect("started");
    assert!(outcome.end.is_completed(), "{outcome:?}");
    assert_eq!(behind.wait().expect("ran"), Ok(()));
    let report = engine.stop_graceful(LONG).expect("stop");
    assert!(report.is_balanced(), "{report:?}");
}

#[test]
fn l35_steps_that_fail_or_are_late_tell_the_hook_and_leave_the_state() {
    let cases: [(&str, Build); 4] = [
        ("Timeout", |step| step.wait_external().map(drop)),
        ("Planted", |step| step.error("Planted", "")),
        ("InternalError", |_| panic!("a planted panic")),
        ("LoopBreak", |step| {
            step.add(|step, ()| step.break_loop());
            Ok(())
        }),
    ];
    for (code, build) in cases {
        let mut bench = Bench::new();
        let mut future = chain::<Toy, _, _>(A, || Ok(5u64))
            .wait_for_steps(LIMIT, build, move |state, end| {
                assert_eq!(*state, 5);
                assert!(end.is_err_and(|error| error.is(code)));
                Err("ended".into())
            })
            .finally(|state, outcome| {
                assert_eq!((*state, outcome.end.error().is_some()), (5, true));
                Ok(())
            })
            .run(&mut bench.submitter, Wait::No);
        bench.turn();
        bench.clock.advance(LIMIT.as_duration());
        bench.turn();
        let outcome = future.try_get().expect("done").expect("started");
        assert!(
            matches!(outcome.end, ChainEnd::Failed(ChainError::Hook(ref e)) if e.to_string() == "ended"),
            "{code}: {outcome:?}"
        );
    }
}

#[test]
fn l35_a_hook_that_fails_while_a_report_is_booked_fails_the_chain_and_not_the_report() {
    for panics in [false, true] {
        let mut bench = Bench::new();
        let log = Log::default();
        let mut future = reserved(A, 10, &log)
            .wait_for_report(
                LIMIT,
                move |_, _| {
                    assert!(!panics, "a planted panic");
                    Err("no".into())
                },
                |_| unreachable!("it failed before"),
            )
            .finally(|log, _| note(log, "finally"))
            .run(&mut bench.submitter, Wait::No);
        bench.turn();
        let mut booked = bench.report(A, 7);
        bench.turn();
        assert_eq!(booked.try_get().expect("booked"), Ok(8));
        let outcome = future.try_get().expect("done").expect("started");
        assert!(match outcome.end {
            ChainEnd::Failed(ChainError::Hook(_)) => !panics,
            ChainEnd::Failed(ChainError::HookPanicked) => panics,
            _ => false,
        });
        assert_eq!(*log.lock().expect("log"), ["finally"]);
        // A caller's panic arms nothing.
        assert!(!bench.world.calls().contains(&("panicked", 0)));
    }
}

#[test]
fn l35_what_a_hook_sends_to_its_lane_is_refused_while_the_chain_waits_too() {
    let mut bench = Bench::new();
    let log = Log::default();
    let inner = Arc::new(Mutex::new(bench.engine.submitter().expect("submitter")));
    let mut future = reserved(A, 10, &log)
        .wait_for_report(
            LIMIT,
            move |log, _| {
                let mut inner = inner.lock().expect("submitter");
                let refused = inner.try_submit(A, |_: &mut Desk<Toy>| ()).map(drop);
                if refused.is_err_and(|refused| refused.error == LaneError::ReentrantLane) {
                    note(log, "refused")?;
                }
                Ok(Heard::Enough)
            },
            |_| Ok(()),
        )
        .run(&mut bench.submitter, Wait::No);
    bench.turn();
    drop(bench.report(A, 1));
    bench.turn();
    assert!(
        future
            .try_get()
            .expect("done")
            .expect("started")
            .end
            .is_completed()
    );
    assert_eq!(*log.lock().expect("log"), ["refused"]);
}

#[test]
fn l35_l27_a_hard_stop_ends_the_wait_and_gives_back_what_stands_in_line() {
    for dropped in [false, true] {
        let mut bench = Bench::new();
        let log = Log::default();
        let mut request = {
            let mut started = bench.submitter.start_pre_trade(order(A, 30).0, Wait::No);
            bench.turn();
            started
                .try_get()
                .expect("ran")
                .expect("judged")
                .expect("accepted")
        };
        let mut future = wait_for_seven(reserved(A, 10, &log))
            .finally(|log, outcome| {
                assert!(outcome.end.error().is_some());
                note(log, "finally")
            })
            .run(&mut bench.submitter, Wait::No);
        bench.turn();
        let mut check = bench.check(A, 21);
        let mut executed = request.execute();
        let mut behind = wait_for_seven(reserved(A, 11, &log)).run(&mut bench.submitter, Wait::No);
        bench.turn();
        let Bench {
            world,
            engine,
            mut lane,
            submitter,
            ..
        } = bench;
        let stopped = if dropped {
            drop(lane);
            drop(submitter);
            engine.stop_hard(LONG)
        } else {
            drop(submitter);
            let stopping = std::thread::spawn(move || engine.stop_hard(LONG));
            while lane.turn(64) != Progress::Finished {}
            stopping.join().expect("stopped")
        };
        let report = stopped.expect("stopped");
        assert!(report.is_balanced(), "{report:?}");
        let outcome = future.try_get().expect("done").expect("started");
        assert!(
            matches!(outcome.end, ChainEnd::Failed(ChainError::Stopped)),
            "{outcome:?}"
        );
        assert_eq!(*log.lock().expect("log"), ["finally"]);
        let back = check.try_get().expect("resolved").expect_err("stopped");
        assert_eq!(
            (back.error, back.payload),
            (LaneError::Stopped, Some(order(A, 21).0))
        );
        let back = behind.try_get().expect("resolved").expect_err("stopped");
        assert!(back.error == LaneError::Stopped && back.payload.is_some());
        assert_eq!(
            executed
                .try_get()
                .expect("resolved")
                .expect_err("stopped")
                .error,
            LaneError::Stopped
        );
        assert!(world.calls().contains(&("abandon", 30)));
    }
}

#[test]
fn l35_l25_a_graceful_stop_waits_for_the_chain_and_runs_what_stands_in_line() {
    let world = ToyWorld::new();
    let engine = EngineBuilder::new().build(world.factory()).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let (began, begun) = channel();
    let log = Log::default();
    let state = Arc::clone(&log);
    let mut future = chain::<Toy, _, _>(A, move || Ok(state))
        .wait_for_steps(
            WaitLimit::millis(30),
            move |step| {
                let _ = began.send(());
                step.wait_external().map(drop)
            },
            |log, end| {
                assert!(end.is_err());
                note(log, "late")
            },
        )
        .run(&mut submitter, Wait::ForRoom);
    let mut behind = submitter.check_order(order(A, 21).0, Wait::ForRoom);
    begun.recv().expect("it waits");
    let report = engine.stop_graceful(LONG).expect("stop");
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!((report.completed, report.aborted), (2, 0));
    assert!(future.wait().expect("started").end.is_completed());
    assert_eq!(behind.wait().expect("ran"), Ok(()));
    assert_eq!(*log.lock().expect("log"), ["late"]);
}

#[test]
fn l35_a_line_has_an_end_and_leaves_slots_for_the_report_that_ends_the_wait() {
    // 32 slots: 16 may stand in line, 4 of them of one account.
    let mut bench = Bench::with(EngineBuilder::new().completion_slots(32));
    let log = Log::default();
    let mut future = bench.waiting(&log);
    let mut line: Vec<_> = (20..26).map(|amount| bench.check(A, amount)).collect();
    bench.turn();
    for (place, check) in line.iter_mut().enumerate() {
        match check.try_get() {
            None => assert!(place < 4),
            Some(refused) => {
                let back = refused.expect_err("no room");
                assert!(place >= 4 && back.error == LaneError::Full);
                assert_eq!(
                    back.payload.map(|order| order.amount),
                    Some(20 + place as u64)
                );
            }
        }
    }
    let mut booked = bench.report(A, 7);
    bench.turn();
    assert!(booked.try_get().is_some() && future.try_get().is_some());
    assert!(line[..4].iter_mut().all(|check| check.try_get().is_some()));
    let checks: Vec<_> = bench
        .world
        .calls()
        .into_iter()
        .filter(|call| call.0 == "check")
        .collect();
    assert_eq!(
        checks,
        [("check", 20), ("check", 21), ("check", 22), ("check", 23)]
    );
}

#[test]
fn l35_all_accounts_together_leave_half_of_the_slots() {
    let mut bench = Bench::with(EngineBuilder::new().completion_slots(32));
    let log = Log::default();
    let accounts = [1, 2, 3, 4, 5].map(AccountId);
    let _chains = accounts.map(|account| {
        wait_for_seven(reserved(account, 1, &log)).run(&mut bench.submitter, Wait::No)
    });
    bench.turn();
    let mut line = Vec::new();
    for account in accounts {
        line.extend((0..4).map(|amount| bench.check(account, amount)));
        bench.turn();
    }
    let refused = line.iter().filter(|check| check.is_done()).count();
    assert_eq!((line.len(), refused), (20, 4));
}

#[test]
fn l35_a_group_waits_too_and_holds_back_its_own_lane_alone() {
    let mut bench = Bench::new();
    let group = GroupId::new(7).expect("not zero");
    let mut future = chain::<Toy, _, _>(group, || Ok(()))
        .wait_for_steps(
            LIMIT,
            |step| step.set_timeout(Duration::from_millis(5)),
            |(), _| Ok(()),
        )
        .run(&mut bench.submitter, Wait::No);
    bench.turn();
    let mut same = bench.submitter.submit(group, |_: &mut Desk<Toy>| ());
    let mut account = bench.submitter.submit(AccountId(7), |_: &mut Desk<Toy>| ());
    bench.turn();
    assert!(account.try_get().is_some() && !same.is_done() && !future.is_done());
    bench.clock.advance(Duration::from_millis(5));
    bench.turn();
    assert!(same.try_get().is_some());
    assert!(
        future
            .try_get()
            .expect("done")
            .expect("started")
            .end
            .is_completed()
    );
}
