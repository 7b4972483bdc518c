//! Submitting to lanes: routing, order within a lane, futures, room, panics.

#[path = "support/book.rs"]
mod book;
#[path = "support/planted.rs"]
mod planted;

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use book::{Book, Entry, PANIC, WAIT, library};
use pitlane::lanes::{
    AsyncEngine, BuildError, Class, EngineBuilder, LaneError, LaneKey, Progress, StopError,
    SubmitterError,
};
use pitlane::limits;
use pitlane::time::IdleStrategy;
use pitlane::types::{AccountId, GroupId, ShardId};

const LONG: Duration = Duration::from_secs(20);

fn entry(account: u64, value: u64) -> Entry {
    Entry { account, value }
}

#[test]
fn l01_a_driver_that_cannot_be_sent_lives_on_its_worker() {
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .shards(2)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for account in 0..64 {
        submitter.try_send(entry(account, 1)).expect("room");
    }
    engine.stop_graceful(LONG).expect("stop");
    let entries = ledger.entries.lock().expect("ledger");
    assert_eq!(entries.len(), 64);
    for (shard, thread, entry) in entries.iter() {
        assert_eq!(*shard, engine.shard_of(AccountId(entry.account)));
        assert_ne!(
            *thread,
            thread::current().id(),
            "L11: never on the submitter"
        );
    }
    let shards: std::collections::HashSet<_> = entries.iter().map(|e| (e.0, e.1)).collect();
    assert_eq!(shards.len(), 2, "one thread per shard, and both were used");
}

#[test]
fn l03_settings_out_of_range_are_build_errors_that_say_what_is_allowed() {
    let build = |builder: EngineBuilder<_, _>| builder.build(library().2).map(drop);
    let error = build(EngineBuilder::new().shards(0)).expect_err("no worker");
    assert_eq!(error.to_string(), "shards is 0, but must be 1 to 256");
    assert!(build(EngineBuilder::new().shards(257)).is_err());
    assert!(build(EngineBuilder::new().ring_capacity(1_000)).is_err());
    assert!(
        build(EngineBuilder::new().ring_capacity(256)).is_err(),
        "the reserve fills it"
    );
    assert!(build(EngineBuilder::new().completion_slots(0)).is_err());
    assert!(build(EngineBuilder::new().completion_slots(65_536)).is_err());
    assert_eq!(limits::RING_CAPACITY, 4_096);
}

#[test]
fn l03_a_driver_that_panics_while_it_is_built_is_a_build_error() {
    planted::quiet();
    let error = EngineBuilder::new()
        .shards(2)
        .build(|shard: ShardId| -> Book {
            assert!(shard != ShardId(1), "a planted panic");
            library().2(shard)
        })
        .expect_err("a driver is missing");
    assert_eq!(error, BuildError::Driver { shard: 1 });
}

#[test]
fn l04_an_engine_wide_key_and_a_group_have_a_lane() {
    let (_ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .shards(4)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let group = GroupId::new(7).expect("a group");
    let mut a = submitter.submit(group, |_: &mut Book| thread::current().id());
    let mut b = submitter.submit(group, |_: &mut Book| thread::current().id());
    assert_eq!(a.wait(), b.wait());
    let mut c = submitter.submit(LaneKey::Engine, |_: &mut Book| 5);
    assert_eq!(c.wait(), Ok(5));
}

#[test]
fn l05_the_engine_moves_and_submitters_come_and_go_without_loss() {
    fn send_and_sync<T: Send + Sync>(_: &T) {}
    fn send<T: Send>(_: &T) {}
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .shards(2)
        .build(factory)
        .expect("engine");
    send_and_sync(&engine);
    for round in 0..200 {
        let mut submitter = engine.submitter().expect("a place is free again");
        send(&submitter);
        submitter.try_send(entry(1, round)).expect("room");
        if round % 8 == 0 {
            // Twice as many as may exist at once, in all; the lane must have
            // seen that the old ones are gone.
            submitter
                .submit(AccountId(1), |_: &mut Book| ())
                .wait()
                .expect("ran");
            submitter
                .submit(AccountId(2), |_: &mut Book| ())
                .wait()
                .expect("ran");
        }
        drop(submitter);
    }
    let moved = Box::new(engine);
    let report = moved.stop_graceful(LONG).expect("stop");
    assert!(report.is_balanced());
    assert_eq!(ledger.values(1), (0..200).collect::<Vec<_>>());
}

#[test]
fn l05_more_submitters_than_a_lane_may_know_are_refused() {
    let (_ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .ring_capacity(512)
        .build(factory)
        .expect("engine");
    let held: Vec<_> = (0..limits::SUBMITTERS_MAX)
        .map(|_| engine.submitter().expect("within the limit"))
        .collect();
    assert_eq!(
        engine.submitter().map(drop),
        Err(SubmitterError::TooMany(limits::SUBMITTERS_MAX))
    );
    drop(held);
    let deadline = Instant::now() + LONG;
    while let Err(error) = engine.submitter() {
        assert_eq!(error, SubmitterError::TooMany(limits::SUBMITTERS_MAX));
        assert!(Instant::now() < deadline, "the lane never forgot them");
        thread::yield_now();
    }
}

#[test]
fn l06_l08_each_account_runs_in_submission_order_and_never_twice_at_once() {
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .shards(3)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for value in 0..3_000u64 {
        let account = value % 17;
        if value % 3 == 0 {
            drop(
                submitter.submit(AccountId(account), move |book: &mut Book| {
                    book.write(account, value);
                }),
            );
        } else if value % 3 == 1 {
            submitter
                .send_within(entry(account, value), Class::Order, LONG)
                .expect("room comes");
        } else {
            submitter.batch(|batch| {
                batch.send(entry(account, value)).expect("room");
            });
        }
    }
    engine.stop_graceful(LONG).expect("stop");
    for account in 0..17 {
        let expected: Vec<_> = (0..3_000).filter(|value| value % 17 == account).collect();
        assert_eq!(ledger.values(account), expected);
    }
}

#[test]
fn l09_callers_work_runs_between_the_commands_around_it() {
    let (_ledger, _opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(1, 10)).expect("room");
    let mut seen = submitter.submit(AccountId(1), |book: &mut Book| book.page.borrow().len());
    submitter.try_send(entry(1, 11)).expect("room");
    assert_eq!(seen.wait(), Ok(1), "after the first, before the second");
}

#[test]
fn l11_in_inline_mode_the_lane_runs_where_it_is_turned() {
    let (ledger, _opener, factory) = library();
    let (engine, mut seeds) = EngineBuilder::new().build_inline(factory).expect("engine");
    let mut lane = seeds.remove(0).build();
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(1, 1)).expect("room");
    assert!(ledger.values(1).is_empty(), "nothing runs before the turn");
    assert_eq!(lane.turn(64), Progress::Worked);
    assert_eq!(lane.turn(64), Progress::Idle);
    // A command of the lane's own thread runs behind what was submitted.
    submitter.try_send(entry(1, 2)).expect("room");
    lane.command(&entry(1, 3)).expect("running");
    assert_eq!(ledger.values(1), [1, 2, 3]);
    assert_eq!(
        ledger.entries.lock().expect("ledger")[0].1,
        thread::current().id()
    );
    // A budget is kept.
    for value in 4..10 {
        submitter.try_send(entry(1, value)).expect("room");
    }
    assert_eq!(lane.turn(2), Progress::Worked);
    assert_eq!(ledger.values(1).len(), 5);
    assert!(engine.refuse_new_work(), "nobody is inside a submit");
    while lane.turn(64) != Progress::Finished {}
    assert_eq!(ledger.values(1).len(), 9);
    let report = engine
        .stop_graceful(Duration::ZERO.max(LONG))
        .expect("finished");
    assert!(report.is_balanced(), "{report:?}");
    assert_eq!(
        lane.command(&entry(1, 1)).map_err(|r| r.error),
        Err(LaneError::Stopped)
    );
}

#[test]
fn l12_f19_orders_see_full_while_the_reserve_is_free_and_facts_go_through() {
    let (ledger, opener, factory) = library();
    let engine = EngineBuilder::new()
        .ring_capacity(16)
        .fact_reserve(4)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut started = submitter.submit(AccountId(1), |book: &mut Book| book.wait_at_gate());
    // The lane holds the first message's slot while it runs it.
    let mut orders = 0;
    let refused = loop {
        match submitter.try_send(entry(1, orders)) {
            Ok(()) => orders += 1,
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused.error, LaneError::Full);
    assert_eq!(refused.payload, entry(1, orders), "the payload comes back");
    assert_eq!(orders, 16 - 4 - 1);
    for fact in 0..4 {
        submitter
            .try_send_fact(entry(2, fact))
            .expect("the reserve is for facts");
    }
    let refused = submitter
        .try_send_fact(entry(2, 9))
        .expect_err("all is full");
    assert_eq!(
        (refused.error, refused.payload),
        (LaneError::Full, entry(2, 9))
    );
    opener.open();
    started.wait().expect("ran");
    let report = engine.stop_graceful(LONG).expect("stop");
    assert_eq!(report.accepted, 16);
    assert!(report.is_balanced());
    assert_eq!(ledger.values(2), [0, 1, 2, 3]);
}

#[test]
fn l14_a_panic_resolves_task_failed_and_the_worker_lives() {
    planted::quiet();
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut failed = submitter.submit(AccountId(3), |_: &mut Book| -> u64 {
        panic!("work that panics")
    });
    assert_eq!(
        failed.wait().map_err(|f| f.error),
        Err(LaneError::TaskFailed)
    );
    submitter.try_send(entry(4, PANIC)).expect("room");
    let mut fine = submitter.submit(AccountId(3), |_: &mut Book| 7);
    assert_eq!(fine.wait(), Ok(7));
    assert_eq!(
        *ledger.panicked.lock().expect("ledger"),
        [
            Some(LaneKey::Account(AccountId(3))),
            Some(LaneKey::Account(AccountId(4)))
        ]
    );
    let report = engine.stop_graceful(LONG).expect("stop");
    assert_eq!((report.panicked, report.completed), (2, 1));
    assert!(report.is_balanced());
}

#[test]
fn l21_a_result_is_taken_once() {
    let (_ledger, _opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut future = submitter.submit(AccountId(1), |_: &mut Book| Box::new(5));
    assert_eq!(future.wait(), Ok(Box::new(5)));
    assert!(future.is_done());
    let again = future.wait().map_err(|failure| failure.error);
    assert_eq!(again, Err(LaneError::ValueConsumed));
    assert_eq!(
        future.try_get().map(|o| o.map_err(|f| f.error)),
        Some(Err(LaneError::ValueConsumed))
    );
}

#[test]
fn l21_when_all_completion_slots_are_taken_a_submit_is_full() {
    let (_ledger, _opener, factory) = library();
    let engine = EngineBuilder::new()
        .completion_slots(3)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut held: Vec<_> = (0..3)
        .map(|n| {
            submitter
                .try_submit(AccountId(1), move |_: &mut Book| n)
                .expect("a slot")
        })
        .collect();
    let refused = submitter
        .try_submit(AccountId(1), |_: &mut Book| 9)
        .expect_err("no slot");
    assert_eq!(refused.error, LaneError::Full);
    let waited = submitter.submit_within(AccountId(1), |_: &mut Book| 9, Duration::from_millis(5));
    assert_eq!(
        { waited }.wait().map_err(|failure| failure.error),
        Err(LaneError::SubmitCancelled)
    );
    assert_eq!(held[1].wait(), Ok(1));
    let mut fine = submitter
        .try_submit(AccountId(1), refused.payload)
        .expect("one is free");
    assert_eq!(fine.wait(), Ok(9));
    held.clear();
    let report = engine.stop_graceful(LONG).expect("stop");
    assert_eq!(report.accepted, 4);
}

struct CountingWaker(AtomicUsize, thread::Thread);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.1.unpark();
    }
}

#[test]
fn l21_a_future_wakes_its_latest_waker_once() {
    let (_ledger, opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut future = pin!(submitter.submit(AccountId(1), |book: &mut Book| {
        book.wait_at_gate();
        11
    }));
    let old = Arc::new(CountingWaker(AtomicUsize::new(0), thread::current()));
    let new = Arc::new(CountingWaker(AtomicUsize::new(0), thread::current()));
    for waker in [&old, &new] {
        let waker = Waker::from(Arc::clone(waker));
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    opener.open();
    let deadline = Instant::now() + LONG;
    while new.0.load(Ordering::SeqCst) == 0 {
        thread::park_timeout(Duration::from_millis(50));
        assert!(Instant::now() < deadline, "never woken");
    }
    let waker = Waker::from(Arc::clone(&new));
    assert_eq!(
        future.as_mut().poll(&mut Context::from_waker(&waker)),
        Poll::Ready(Ok(11))
    );
    assert_eq!(
        (old.0.load(Ordering::SeqCst), new.0.load(Ordering::SeqCst)),
        (0, 1)
    );
}

#[test]
fn l21_a_shared_result_answers_every_waiter() {
    let (_ledger, opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let shared = submitter
        .submit(AccountId(1), |book: &mut Book| {
            book.wait_at_gate();
            vec![1, 2]
        })
        .shared();
    assert!(!shared.is_done());
    assert!(shared.wait_timeout(Duration::from_millis(2)).is_none());
    let woken = Arc::new(CountingWaker(AtomicUsize::new(0), thread::current()));
    let waker = Waker::from(Arc::clone(&woken));
    let mut polled = pin!(shared.clone());
    let polls = polled.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polls.is_pending());
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || shared.wait())
        })
        .collect();
    opener.open();
    for waiter in waiters {
        assert_eq!(waiter.join().expect("waiter"), Ok(vec![1, 2]));
    }
    assert_eq!(shared.wait(), Ok(vec![1, 2]), "as often as it is asked");
    let deadline = Instant::now() + LONG;
    while woken.0.load(Ordering::SeqCst) == 0 {
        assert!(Instant::now() < deadline, "never woken");
        thread::yield_now();
    }
    assert_eq!(
        polled.as_mut().poll(&mut Context::from_waker(&waker)),
        Poll::Ready(Ok(vec![1, 2]))
    );
    // Resolved before it was shared; and dropped before it resolves.
    let done = submitter.submit(AccountId(1), |_: &mut Book| 4);
    while !done.is_done() {
        thread::yield_now();
    }
    assert_eq!(done.shared().wait(), Ok(4));
    drop(submitter.submit(AccountId(1), |_: &mut Book| 5).shared());
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

/// Tells on which thread it was dropped.
struct Witness(Arc<Mutex<Vec<thread::ThreadId>>>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.lock().expect("witness").push(thread::current().id());
    }
}

#[test]
fn l22_f25_a_dropped_or_timed_out_wait_leaves_the_task_running_and_leaks_nothing() {
    let (ledger, opener, factory) = library();
    let engine = EngineBuilder::new()
        .completion_slots(4)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let drops = Arc::new(Mutex::new(Vec::new()));
    let make = |drops: &Arc<Mutex<Vec<_>>>| {
        let witness = Witness(Arc::clone(drops));
        move |book: &mut Book| {
            book.wait_at_gate();
            book.write(1, 1);
            witness
        }
    };
    // Dropped before it runs.
    drop(submitter.submit(AccountId(1), make(&drops)));
    // Timed out once, then dropped.
    let mut future = submitter.submit(AccountId(1), make(&drops));
    assert!(future.wait_timeout(Duration::from_millis(5)).is_none());
    drop(future);
    // Timed out, waited for again, and the value dropped here.
    let mut future = submitter.submit(AccountId(1), make(&drops));
    assert!(future.wait_timeout(Duration::from_millis(1)).is_none());
    for _ in 0..3 {
        opener.open();
    }
    drop(future.wait().map_err(|failure| failure.error).expect("ran"));
    {
        let drops = drops.lock().expect("witness");
        assert_eq!(drops.len(), 3);
        let here = thread::current().id();
        assert_ne!(drops[0], here, "an unwanted result is dropped on its lane");
        assert_ne!(drops[1], here);
        assert_eq!(drops[2], here);
    }
    // Done, never taken.
    let future = submitter.submit(AccountId(1), make(&drops));
    opener.open();
    while !future.is_done() {
        thread::yield_now();
    }
    drop(future);
    assert_eq!(drops.lock().expect("witness").len(), 4);
    assert_eq!(ledger.values(1), [1, 1, 1, 1]);
    // Every slot is free again.
    let held: Vec<_> = (0..4)
        .map(|_| {
            submitter
                .try_submit(AccountId(1), |_: &mut Book| ())
                .expect("free")
        })
        .collect();
    drop(submitter);
    drop(engine);
    drop(held);
}

#[test]
fn l22_a_future_outlives_submitter_and_engine() {
    let (_ledger, _opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut done = submitter.submit(AccountId(1), |_: &mut Book| vec![1, 2, 3]);
    let mut untaken = submitter.submit(AccountId(1), |_: &mut Book| vec![4]);
    drop(submitter);
    engine.stop_graceful(LONG).expect("stop");
    drop(engine);
    assert_eq!(done.wait(), Ok(vec![1, 2, 3]));
    assert!(untaken.try_get().is_some());
}

#[test]
fn l24_an_expired_deadline_is_cancelled_and_touches_nothing() {
    let (ledger, _opener, factory) = library();
    let engine = EngineBuilder::new().build(factory).expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let refused = submitter
        .send_within(entry(1, 1), Class::Fact, Duration::ZERO)
        .expect_err("expired");
    assert_eq!(
        (refused.error, refused.payload),
        (LaneError::SubmitCancelled, entry(1, 1))
    );
    let mut future =
        submitter.submit_within(AccountId(1), |b: &mut Book| b.write(1, 2), Duration::ZERO);
    assert_eq!(
        future.wait().map_err(|f| f.error),
        Err(LaneError::SubmitCancelled)
    );
    let report = engine.stop_graceful(LONG).expect("stop");
    assert_eq!(report.accepted, 0);
    assert!(ledger.values(1).is_empty());
}

#[test]
fn l24_a_freed_slot_wakes_a_producer_that_sleeps() {
    let (ledger, opener, factory) = library();
    let engine = EngineBuilder::new()
        .ring_capacity(4)
        .fact_reserve(0)
        .idle(IdleStrategy::new(0, 0))
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for value in [WAIT, 1, 2, 3] {
        submitter.try_send(entry(1, value)).expect("room");
    }
    let (tell, told) = channel();
    let producer = thread::spawn(move || {
        // What the system knows of this thread.
        let link = std::fs::read_link("/proc/thread-self").expect("a thread");
        tell.send(Path::new("/proc").join(link)).expect("the test");
        // A wake that is lost hangs for the 50 seconds.
        let begun = Instant::now();
        submitter
            .send_within(entry(1, 4), Class::Order, Duration::from_secs(50))
            .expect("room comes");
        (submitter, begun.elapsed())
    });
    let stat = told.recv().expect("the producer").join("stat");
    while !std::fs::read_to_string(&stat)
        .expect("a thread")
        .contains(") S ")
    {
        thread::yield_now();
    }
    opener.open();
    let (submitter, waited) = producer.join().expect("producer");
    assert!(waited < Duration::from_secs(20), "woken after {waited:?}");
    drop(submitter);
    engine.stop_graceful(LONG).expect("stop");
    assert_eq!(ledger.values(1), [WAIT, 1, 2, 3, 4]);
}

#[test]
fn l24_a_full_ring_cancels_at_the_deadline_with_the_payload() {
    let (_ledger, opener, factory) = library();
    let engine = EngineBuilder::new()
        .ring_capacity(4)
        .fact_reserve(0)
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for value in [WAIT, 1, 2, 3] {
        submitter.try_send(entry(1, value)).expect("room");
    }
    let refused = submitter
        .send_within(entry(1, 4), Class::Fact, Duration::from_millis(10))
        .expect_err("no room");
    assert_eq!(
        (refused.error, refused.payload),
        (LaneError::SubmitCancelled, entry(1, 4))
    );
    opener.open();
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l36_waiting_stopping_and_submitting_inside_a_lane_are_refused_at_once() {
    let (_ledger, opener, factory) = library();
    let engine: Arc<AsyncEngine<Book>> = Arc::new(
        EngineBuilder::new()
            .shards(2)
            .build(factory)
            .expect("engine"),
    );
    let mut submitter = engine.submitter().expect("submitter");
    let mut inner = engine.submitter().expect("submitter");
    let inside = Arc::clone(&engine);
    let account = AccountId(1);
    let shard = engine.shard_of(account);
    let other = (2..)
        .map(AccountId)
        .find(|&other| engine.shard_of(other) != shard)
        .expect("some account is elsewhere");
    let mut outcome = submitter.submit(account, move |_: &mut Book| {
        let same = inner
            .try_submit(account, |_: &mut Book| ())
            .map(drop)
            .map_err(|refused| refused.error);
        // Another lane takes it, but waiting for it here is refused.
        let mut elsewhere = inner
            .try_submit(other, |book: &mut Book| book.wait_at_gate())
            .expect("not this lane");
        let waited = elsewhere.wait().map_err(|failure| failure.error);
        let stopped = inside.stop_hard(LONG);
        (same, waited, stopped, inner, elsewhere)
    });
    let (same, waited, stopped, mut inner, mut elsewhere) = outcome.wait().expect("ran");
    assert_eq!(same, Err(LaneError::ReentrantLane));
    assert_eq!(waited, Err(LaneError::ReentrantLane));
    assert_eq!(stopped, Err(StopError::ReentrantLane));
    opener.open();
    assert_eq!(
        elsewhere.wait(),
        Ok(()),
        "the refused wait left it as it was"
    );
    // Outside of the lane the same submitter serves again.
    assert_eq!(inner.submit(account, |_: &mut Book| 4).wait(), Ok(4));
}
