//! Stopping an engine: what was accepted resolves, the driver is released once,
//! counts balance.

#[path = "support/book.rs"]
mod book;
#[path = "support/planted.rs"]
mod planted;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use book::{Book, Entry, WAIT, library};
use pitlane::lanes::{
    Class, EngineBuilder, Hooks, LaneError, LaneKey, Observer, Place, StopError, SubmitterError,
};
use pitlane::time::{Clock, IdleStrategy, Nanos, SystemClock, UnixNanos};
use pitlane::types::AccountId;

const LONG: Duration = Duration::from_secs(20);

fn entry(account: u64, value: u64) -> Entry {
    Entry { account, value }
}

#[test]
fn l25_graceful_runs_all_that_was_accepted_and_refuses_the_rest() {
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .shards(2)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for value in 0..1_000 {
        submitter
            .try_send(entry(value % 9, value))
            .expect("room for 1,000");
    }
    let report = engine.stop_graceful(LONG).expect("stop");
    assert_eq!((report.accepted, report.completed), (1_000, 1_000));
    assert_eq!(ledger.entries.lock().expect("ledger").len(), 1_000);
    let refused = submitter.try_send(entry(1, 1)).expect_err("stopped");
    assert_eq!(
        (refused.error, refused.payload),
        (LaneError::Stopped, entry(1, 1))
    );
    let mut future = submitter.submit(AccountId(1), |_: &mut Book| ());
    assert_eq!(
        future.wait().map_err(|f| f.error),
        Err(LaneError::Stopped),
        "resolved, without the driver"
    );
    assert_eq!(engine.submitter().map(drop), Err(SubmitterError::Stopped));
    // Twice is fine, either way, and changes nothing.
    assert_eq!(engine.stop_graceful(LONG), Ok(report));
    assert_eq!(engine.stop_hard(LONG), Ok(report));
    assert_eq!(ledger.released(), 2);
}

#[test]
fn l25_l27_hard_aborts_what_has_not_started_and_lets_what_runs_end() {
    let (ledger, opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let running = Arc::new(AtomicBool::new(false));
    let runs = Arc::clone(&running);
    let mut started = submitter.submit(AccountId(1), move |book: &mut Book| {
        runs.store(true, Ordering::SeqCst);
        book.wait_at_gate();
        1
    });
    let mut waiting = submitter.submit(AccountId(1), |_: &mut Book| 2);
    submitter.try_send(entry(1, 3)).expect("room");
    while !running.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    assert_eq!(
        engine.stop_hard(Duration::from_millis(20)),
        Err(StopError::DeadlinePassed),
        "what runs is waited for"
    );
    assert_eq!(ledger.released(), 0, "L26: not before a successful stop");
    assert!(!started.is_done());
    opener.open();
    let report = engine.stop_hard(LONG).expect("stop");
    assert_eq!(started.wait(), Ok(1));
    assert_eq!(waiting.wait().map_err(|f| f.error), Err(LaneError::Stopped));
    assert_eq!(*ledger.aborted.lock().expect("ledger"), [entry(1, 3)]);
    assert_eq!(
        (report.accepted, report.completed, report.aborted),
        (3, 1, 2)
    );
    assert!(report.is_balanced());
    assert_eq!(ledger.released(), 1);
}

#[test]
fn l25_a_missed_graceful_deadline_may_be_followed_by_a_hard_stop() {
    let (ledger, opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for value in [WAIT, 1, 2] {
        submitter.try_send(entry(1, value)).expect("room");
    }
    opener.until_reached();
    assert_eq!(
        engine.stop_graceful(Duration::from_millis(10)),
        Err(StopError::DeadlinePassed)
    );
    assert_eq!(
        engine.stop_hard(Duration::ZERO),
        Err(StopError::DeadlinePassed)
    );
    opener.open();
    let report = engine.stop_graceful(LONG).expect("the hard stop stands");
    assert_eq!((report.completed, report.aborted), (1, 2));
    assert_eq!(ledger.values(1), [WAIT]);
}

/// Tells when a submit has found no room and waits for some.
struct Blocked(Sender<()>);

impl Observer for Blocked {
    type Hooks = Self;
    fn hooks(&self, _place: Place) -> Self {
        Self(self.0.clone())
    }
}

impl Hooks for Blocked {
    fn on_slow_submit(&mut self, _key: LaneKey, _waiting_ns: u64, _attempt: u32) {
        // The test looks once.
        let _ = self.0.send(());
    }
}

/// A producer blocked on a full ring when a stop comes.
fn blocked_producer(hard: bool) -> (Result<(), LaneError>, Vec<u64>) {
    let (ledger, opener, factory) = library();
    let (tell, told) = channel();
    let engine = EngineBuilder::new()
        .ring_capacity(4)
        .fact_reserve(0)
        .idle(IdleStrategy::new(10, 10))
        .slow_submit_after(Duration::from_micros(100))
        .observer(Blocked(tell))
        .build(factory)
        .map(Arc::new)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut probe = engine.submitter().expect("submitter");
    for value in [WAIT, 1, 2, 3] {
        submitter.try_send(entry(1, value)).expect("room");
    }
    opener.until_reached();
    let producer = thread::spawn(move || {
        submitter
            .send_within(entry(1, 4), Class::Order, LONG)
            .map_err(|refused| refused.error)
    });
    told.recv().expect("the producer is blocked");
    let stopping = Arc::clone(&engine);
    let stopper = thread::spawn(move || {
        if hard {
            stopping.stop_hard(LONG)
        } else {
            stopping.stop_graceful(LONG)
        }
    });
    loop {
        match probe.try_send(entry(2, 0)) {
            Err(refused) if refused.error == LaneError::Stopped => break,
            _ => thread::yield_now(),
        }
    }
    assert!(!stopper.is_finished(), "the stop waits");
    if hard {
        // Refused at once, before the lane moves.
        let outcome = producer.join().expect("producer");
        opener.open();
        assert!(
            stopper
                .join()
                .expect("stopper")
                .expect("stop")
                .is_balanced()
        );
        return (outcome, ledger.values(1));
    }
    opener.open();
    let report = stopper.join().expect("stopper").expect("stop");
    assert!(report.is_balanced());
    (producer.join().expect("producer"), ledger.values(1))
}

#[test]
fn l25_graceful_lets_a_blocked_producer_in() {
    assert_eq!(blocked_producer(false), (Ok(()), vec![WAIT, 1, 2, 3, 4]));
}

#[test]
fn l25_hard_refuses_a_blocked_producer() {
    assert_eq!(
        blocked_producer(true),
        (Err(LaneError::Stopped), vec![WAIT])
    );
}

#[test]
fn l25_drop_stops_hard_and_leaves_no_thread() {
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .shards(3)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for value in 0..300 {
        submitter.try_send(entry(value, value)).expect("room");
    }
    drop(engine);
    assert_eq!(ledger.released(), 3, "joined before drop returned");
    assert!(submitter.try_send(entry(1, 1)).is_err());
}

#[test]
fn l25_an_engine_dropped_on_its_own_worker_is_joined_elsewhere() {
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .shards(2)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut future = submitter.submit(AccountId(1), move |_: &mut Book| drop(engine));
    assert_eq!(future.wait(), Ok(()));
    let deadline = Instant::now() + LONG;
    while ledger.released() < 2 {
        assert!(Instant::now() < deadline, "the workers never ended");
        thread::yield_now();
    }
}

#[test]
fn l26_each_driver_is_released_once_on_its_own_worker() {
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .shards(2)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut workers: Vec<_> = (0..40)
        .map(|account| {
            submitter
                .submit(AccountId(account), |_: &mut Book| thread::current().id())
                .wait()
                .expect("ran")
        })
        .collect();
    workers.sort_by_key(|id| format!("{id:?}"));
    workers.dedup();
    engine.stop_graceful(LONG).expect("stop");
    drop(engine);
    let mut released_on = ledger.released_on.lock().expect("ledger").clone();
    released_on.sort_by_key(|id| format!("{id:?}"));
    assert_eq!(released_on, workers);
}

#[test]
fn l27_f26_a_stop_under_load_balances_and_every_future_resolves() {
    for round in 0..20 {
        let (_ledger, _opener, factory) = library();
        let engine = EngineBuilder::new()
            .shards(2)
            .ring_capacity(64)
            .fact_reserve(8)
            .build(factory)
            .map(Arc::new)
            .expect("engine");
        // Stopped while they are at it, a little later each round.
        let under_way = Arc::new(AtomicU64::new(0));
        let producers: Vec<_> = (0..3)
            .map(|producer: u64| {
                let under_way = Arc::clone(&under_way);
                let mut submitter = engine.submitter().expect("submitter");
                thread::spawn(move || {
                    let mut futures = Vec::new();
                    let mut accepted = 0u64;
                    for n in 0..100_000u64 {
                        let account = AccountId(n % 8);
                        let sent = match n % 3 {
                            0 => submitter
                                .try_submit(account, move |_: &mut Book| n)
                                .map(|future| futures.push(future))
                                .map_err(|refused| refused.error),
                            1 => submitter
                                .try_send_fact(entry(n % 8, producer))
                                .map_err(|refused| refused.error),
                            _ => submitter
                                .batch(|batch| batch.send(entry(n % 8, producer)))
                                .map_err(|refused| refused.error),
                        };
                        match sent {
                            Ok(()) => {
                                accepted += 1;
                                under_way.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(LaneError::Full) => thread::yield_now(),
                            Err(error) => {
                                assert_eq!(error, LaneError::Stopped);
                                break;
                            }
                        }
                        if futures.len() == 1_000 {
                            futures.clear();
                        }
                    }
                    (accepted, futures)
                })
            })
            .collect();
        while under_way.load(Ordering::Relaxed) < 50 + 97 * round {
            thread::yield_now();
        }
        let report = if round % 2 == 0 {
            engine.stop_graceful(LONG)
        } else {
            engine.stop_hard(LONG)
        }
        .expect("stop");
        let mut accepted = 0;
        for producer in producers {
            let (count, futures) = producer.join().expect("producer");
            accepted += count;
            for mut future in futures {
                match future.try_get().expect("resolved by the stop") {
                    Ok(_) => {}
                    Err(failure) => assert_eq!(failure.error, LaneError::Stopped),
                }
            }
        }
        assert_eq!(report.accepted, accepted, "round {round}");
        assert!(report.is_balanced(), "round {round}: {report:?}");
        assert_eq!(report.panicked, 0);
    }
}

/// A clock that takes its worker down.
#[derive(Clone)]
struct Failing(SystemClock, Arc<AtomicBool>);

impl Clock for Failing {
    fn now(&self) -> Nanos {
        let mine = thread::current()
            .name()
            .is_some_and(|name| name == "pitlane-0");
        assert!(
            !(mine && self.1.load(Ordering::SeqCst)),
            "a planted fault in shard 0's worker"
        );
        self.0.now()
    }
    fn wall(&self) -> UnixNanos {
        self.0.wall()
    }
}

#[test]
fn f21_a_worker_that_panics_fails_its_shard_closed_and_others_live() {
    planted::quiet();
    let (ledger, opener, factory) = library();
    let fail = Arc::new(AtomicBool::new(false));
    let engine = EngineBuilder::new()
        .shards(2)
        .clock(Failing(SystemClock::new(), Arc::clone(&fail)))
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let on = |shard: u16| {
        (0..)
            .find(|&account| engine.shard_of(AccountId(account)).0 == shard)
            .expect("an account")
    };
    let (down, up) = (on(0), on(1));
    let running = Arc::new(AtomicBool::new(false));
    let runs = Arc::clone(&running);
    let mut first = submitter.submit(AccountId(down), move |book: &mut Book| {
        runs.store(true, Ordering::SeqCst);
        book.wait_at_gate();
    });
    while !running.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    let mut pending: Vec<_> = (0..300)
        .map(|_| submitter.submit(AccountId(down), |_: &mut Book| ()))
        .collect();
    fail.store(true, Ordering::SeqCst);
    opener.open();
    assert_eq!(first.wait(), Ok(()), "it ran before the fault");
    let mut stopped = 0;
    for future in &mut pending {
        match future.wait() {
            Ok(()) => {}
            Err(failure) => {
                assert_eq!(failure.error, LaneError::Stopped);
                stopped += 1;
            }
        }
    }
    assert!(stopped > 0, "more were pending than one batch takes");
    let deadline = Instant::now() + LONG;
    while submitter.try_send(entry(down, 1)).is_ok() {
        assert!(Instant::now() < deadline, "the shard never closed");
    }
    // Closed first, and released when nobody is inside any more.
    while ledger.released() == 0 {
        assert!(Instant::now() < deadline, "the driver was never released");
        thread::yield_now();
    }
    assert_eq!(
        submitter.submit(AccountId(up), |_: &mut Book| 3).wait(),
        Ok(3),
        "the other shard lives"
    );
    let report = engine.stop_graceful(LONG).expect("stop");
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!(ledger.released(), 2);
}

#[test]
fn f42_more_shards_than_cores_run_correctly() {
    let (ledger, _opener, factory) = library();
    let shards = 4 * thread::available_parallelism().map_or(1, usize::from);
    let engine = EngineBuilder::new()
        .shards(shards)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for account in 0..200 {
        let mut future = submitter.submit(AccountId(account), move |book: &mut Book| {
            book.write(account, 1);
        });
        assert_eq!(future.wait(), Ok(()));
    }
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
    assert_eq!(ledger.entries.lock().expect("ledger").len(), 200);
}
