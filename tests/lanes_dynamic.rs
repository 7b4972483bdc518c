//! The dynamic strategy: queues that come and go, and the pool that runs them.

#[path = "support/pages.rs"]
mod pages;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use pages::{Entry, LONG, Library, PANIC, Page, WAIT};
use pitlane::lanes::{
    BuildError, Class, DynamicBuilder, DynamicEngine, Hooks, LaneError, LaneKey, Observer, Place,
    StopError,
};
use pitlane::types::{AccountId, GroupId};

fn entry(account: u64, value: u64) -> Entry {
    Entry { account, value }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come about");
        thread::yield_now();
    }
}

fn start(library: &Arc<Library>, workers: usize) -> DynamicEngine<Page> {
    std::panic::set_hook(Box::new(|_| {}));
    DynamicBuilder::new()
        .workers(workers)
        .max_workers(workers)
        .max_queues(0)
        .build(library.pages())
        .expect("engine")
}

#[test]
fn l02_a_slow_key_delays_no_other_while_workers_remain() {
    let library = Arc::new(Library::default());
    let engine = start(&library, 2);
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(1, WAIT)).expect("sent");
    library.until_reached(1);
    // More than a worker takes at once, so that some would stand behind the
    // slow one if they were bound to its worker.
    for account in 2..200 {
        submitter.try_send(entry(account, 0)).expect("sent");
        submitter.try_send(entry(1, account)).expect("sent");
    }
    until("the others' turn", || library.len() == 198);
    assert!(library.values(1).is_empty());
    library.open(1);
    until("the slow one's turn", || library.len() == 198 + 199);
    assert_eq!(engine.workers(), 2);
}

#[test]
fn l02_work_that_a_worker_took_before_it_was_blocked_is_run_by_others() {
    let library = Arc::new(Library::default());
    let engine = start(&library, 2);
    let mut submitter = engine.submitter().expect("submitter");
    // Both workers are held, so that what follows is all there when one is
    // freed: it takes several queues, and the first of them blocks it again.
    for account in [1, 2] {
        submitter.try_send(entry(account, WAIT)).expect("sent");
        library.until_reached(account);
    }
    submitter.try_send(entry(3, WAIT)).expect("sent");
    for account in 10..40 {
        submitter.try_send(entry(account, 0)).expect("sent");
    }
    library.open(1);
    library.until_reached(3);
    library.open(2);
    until("the others' turn", || library.len() == 32);
    library.open(3);
}

#[test]
fn l02_a_pool_that_is_all_blocked_grows_to_its_bound() {
    let library = Arc::new(Library::default());
    let engine = DynamicBuilder::new()
        .workers(1)
        .max_workers(3)
        .build(library.pages())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for account in [1, 2, 3, 4] {
        submitter.try_send(entry(account, WAIT)).expect("sent");
    }
    for account in [1, 2, 3] {
        library.until_reached(account);
    }
    // Long enough for the monitor to look many times.
    thread::sleep(Duration::from_millis(30));
    assert_eq!(engine.workers(), 3);
    assert!(!library.is_reached(4), "the bound is a bound");
    library.open(2);
    library.until_reached(4);
    for account in [1, 3, 4] {
        library.open(account);
    }
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l02_l12_max_queues_refuses_only_orders_of_unknown_keys() {
    let library = Arc::new(Library::default());
    let engine = DynamicBuilder::new()
        .workers(1)
        .max_queues(3)
        .build(library.pages())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let group = GroupId::new(1).expect("a group");
    // All three are usable, by every kind of key.
    submitter.try_send(entry(1, 1)).expect("the first");
    submitter
        .try_submit(group, |_: &mut Page| ())
        .expect("the second")
        .wait()
        .expect("ran");
    let mut third = submitter.try_submit(LaneKey::Engine, |page: &mut Page| page.key);
    assert_eq!(
        third.as_mut().expect("the third").wait(),
        Ok(LaneKey::Engine)
    );
    assert_eq!(engine.queues(), 3);

    let refused = submitter.try_send(entry(2, 7)).expect_err("a fourth");
    assert_eq!(
        (refused.error, refused.payload),
        (LaneError::QueueLimit, entry(2, 7))
    );
    let refused = submitter.send_within(entry(2, 7), Class::Order, LONG);
    assert_eq!(
        refused.expect_err("does not wait").error,
        LaneError::QueueLimit
    );
    let word = String::from("kept");
    let refused = submitter.try_submit(AccountId(2), move |_: &mut Page| word);
    let refused = refused.map(drop).expect_err("a fourth");
    assert_eq!(refused.error, LaneError::QueueLimit);
    let mut page = library.pages()(LaneKey::Engine);
    assert_eq!((refused.payload)(&mut page), "kept");

    submitter.try_send(entry(1, 2)).expect("a known key");
    submitter.try_send_fact(entry(2, 3)).expect("a fact");
    assert_eq!(engine.queues(), 4);
    submitter.try_send(entry(2, 4)).expect("it is known now");
    engine.stop_graceful(LONG).expect("stop");
    assert_eq!(
        (library.values(1), library.values(2)),
        (vec![1, 2], vec![3, 4])
    );
}

type Notes = Arc<Mutex<Vec<(&'static str, LaneKey, usize)>>>;

/// Keeps what the queue hooks tell.
#[derive(Clone, Default)]
struct Watch(Notes);

impl Observer for Watch {
    type Hooks = Self;
    fn hooks(&self, _: Place) -> Self {
        self.clone()
    }
}

impl Watch {
    fn note(&self, what: &'static str, key: LaneKey, count: usize) {
        self.0.lock().expect("notes").push((what, key, count));
    }
    fn told(&self, what: &str) -> Vec<(LaneKey, usize)> {
        let notes = self.0.lock().expect("notes");
        notes
            .iter()
            .filter(|note| note.0 == what)
            .map(|note| (note.1, note.2))
            .collect()
    }
}

impl Hooks for Watch {
    fn on_queue_created(&mut self, key: LaneKey, total: usize) {
        self.note("created", key, total);
    }
    fn on_queue_removed(&mut self, key: LaneKey, remaining: usize) {
        self.note("removed", key, remaining);
    }
    fn on_enqueue(&mut self, key: LaneKey, depth: usize) {
        self.note("enqueued", key, depth);
    }
    fn on_dequeue(&mut self, key: LaneKey, _: u64) {
        self.note("dequeued", key, 0);
    }
    fn on_complete(&mut self, key: LaneKey, _: u64) {
        self.note("completed", key, 0);
    }
    fn on_queue_full_blocked(&mut self, key: LaneKey, _: u64) {
        self.note("blocked", key, 0);
    }
    fn on_submit_cancelled(&mut self, key: LaneKey) {
        self.note("cancelled", key, 0);
    }
    fn on_slow_submit(&mut self, key: LaneKey, _: u64, attempt: u32) {
        self.note("slow", key, usize::try_from(attempt).unwrap_or(0));
    }
}

#[test]
fn l02_l28_idle_queues_are_retired_and_their_drivers_kept() {
    let (library, watch) = (Arc::new(Library::default()), Watch::default());
    let engine = DynamicBuilder::new()
        .workers(1)
        .idle_cleanup_after(Duration::from_millis(5))
        .observer(watch.clone())
        .build(library.pages())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(1, 1)).expect("sent");
    submitter.try_send(entry(2, WAIT)).expect("sent");
    library.until_reached(2);
    until("the idle one's end", || engine.queues() == 1);
    let one = LaneKey::Account(AccountId(1));
    until("the news of it", || watch.told("removed") == [(one, 1)]);
    // A queue with an operation running stays, however long that takes.
    thread::sleep(Duration::from_millis(30));
    assert_eq!(engine.queues(), 1);
    library.open(2);
    let mut lines = submitter.submit(AccountId(1), |page: &mut Page| page.lines);
    assert_eq!(lines.wait(), Ok(1), "the driver outlived its queue");
    assert_eq!(library.made.load(Ordering::SeqCst), 2);
    let created = watch.told("created");
    let two = LaneKey::Account(AccountId(2));
    assert_eq!(created[..2], [(one, 1), (two, 2)]);
    assert_eq!(created[2].0, one);
    for (told, count) in [("enqueued", 3), ("dequeued", 3), ("completed", 3)] {
        until(told, || watch.told(told).len() == count);
    }
    until("the end of both", || engine.queues() == 0);
    engine.stop_graceful(LONG).expect("stop");
    assert_eq!(library.released.load(Ordering::SeqCst), 2);
}

#[test]
fn l03_clean_up_of_zero_is_off() {
    let library = Arc::new(Library::default());
    let engine = DynamicBuilder::new()
        .workers(1)
        .idle_cleanup_after(Duration::ZERO)
        .build(library.pages())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    submitter
        .submit(AccountId(1), |_: &mut Page| ())
        .wait()
        .expect("ran");
    thread::sleep(Duration::from_millis(20));
    assert_eq!(engine.queues(), 1);
}

#[test]
fn l03_settings_have_ranges_and_zero_workers_is_a_build_error() {
    let setting = |builder: DynamicBuilder<_, _>| {
        let library = Arc::new(Library::default());
        match builder.build(library.pages()) {
            Err(BuildError::Setting { setting, value, .. }) => Some((setting, value)),
            Err(_) => Some(("another error", 0)),
            Ok(_) => None,
        }
    };
    let new = DynamicBuilder::new;
    assert_eq!(setting(new().workers(0)), Some(("workers", 0)));
    assert_eq!(setting(new().workers(257)), Some(("workers", 257)));
    assert_eq!(
        setting(new().workers(4).max_workers(3)),
        Some(("max_workers", 3))
    );
    assert_eq!(
        setting(new().queue_capacity(0)),
        Some(("queue_capacity", 0))
    );
    assert_eq!(
        setting(new().fact_reserve(1_024)),
        Some(("fact_reserve", 1_024))
    );
    assert_eq!(
        setting(new().completion_slots(0)),
        Some(("completion_slots", 0))
    );
    assert_eq!(setting(new()), None);
}

#[test]
fn l03_l12_a_queue_holds_1024_and_orders_leave_the_reserve_free() {
    let library = Arc::new(Library::default());
    let engine = start(&library, 1);
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(1, WAIT)).expect("sent");
    library.until_reached(1);
    for value in 0..960 {
        submitter
            .try_send(entry(1, value))
            .expect("room for orders");
    }
    let refused = submitter
        .try_send(entry(1, 960))
        .expect_err("full for orders");
    assert_eq!(
        (refused.error, refused.payload),
        (LaneError::Full, entry(1, 960))
    );
    for value in 960..1_024 {
        submitter
            .try_send_fact(entry(1, value))
            .expect("room for facts");
    }
    let refused = submitter.try_send_fact(entry(1, 7)).expect_err("full");
    assert_eq!(refused.error, LaneError::Full);
    submitter
        .try_send(entry(2, 1))
        .expect("another key has its own room");
    library.open(1);
    until("the end", || library.len() == 1_026);
    let expected: Vec<_> = std::iter::once(WAIT).chain(0..1_024).collect();
    assert_eq!(library.values(1), expected);
}

#[test]
fn l03_there_are_32_queues_for_each_cpu() {
    let library = Arc::new(Library::default());
    let engine = DynamicBuilder::new()
        .workers(1)
        .build(library.pages())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let bound = 32 * u64::try_from(pitlane::host::allowed_cpus().len()).expect("few");
    for account in 0..bound {
        submitter.try_send(entry(account, 0)).expect("usable");
    }
    let refused = submitter
        .try_send(entry(bound, 0))
        .expect_err("one too many");
    assert_eq!(refused.error, LaneError::QueueLimit);
}

#[test]
fn l06_submission_order_is_run_order_across_submitters() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 3_000;
    const KEYS: u64 = 3;
    let library = Arc::new(Library::default());
    let engine = DynamicBuilder::new()
        .workers(3)
        .max_workers(3)
        .max_queues(0)
        // Queues retire all the while.
        .idle_cleanup_after(Duration::from_nanos(5))
        .build(library.pages())
        .map(Arc::new)
        .expect("engine");
    // The baton: who holds it submits the next number of every key.
    let baton = Arc::new(Mutex::new(0u64));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (engine, baton) = (Arc::clone(&engine), Arc::clone(&baton));
            thread::spawn(move || {
                let mut submitter = engine.submitter().expect("submitter");
                loop {
                    let mut next = baton.lock().expect("baton");
                    if *next == ROUNDS {
                        return;
                    }
                    for account in 0..KEYS {
                        let sent = entry(account, *next);
                        submitter
                            .send_within(sent, Class::Fact, LONG)
                            .expect("sent");
                    }
                    *next += 1;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("submitter's thread");
    }
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
    for account in 0..KEYS {
        assert_eq!(library.values(account), (0..ROUNDS).collect::<Vec<_>>());
    }
}

#[test]
fn l08_l11_lanes_run_in_parallel_on_workers() {
    let library = Arc::new(Library::default());
    let engine = start(&library, 2);
    let mut submitter = engine.submitter().expect("submitter");
    let meeting = Arc::new(Barrier::new(2));
    let futures: Vec<_> = [1, 2]
        .map(|account| {
            let meeting = Arc::clone(&meeting);
            submitter.submit(AccountId(account), move |_: &mut Page| {
                // Neither passes unless both run at once.
                meeting.wait();
                thread::current().id()
            })
        })
        .into_iter()
        .map(|mut future| future.wait_timeout(LONG).expect("in time").expect("ran"))
        .collect();
    assert_ne!(futures[0], futures[1]);
    assert!(!futures.contains(&thread::current().id()));
}

#[test]
fn l14_a_panic_is_contained_and_the_worker_lives() {
    let library = Arc::new(Library::default());
    let engine = start(&library, 1);
    let mut submitter = engine.submitter().expect("submitter");
    let mut failed = submitter.submit(AccountId(1), |_: &mut Page| panic!("planted"));
    assert_eq!(
        failed.wait().map_err(|f| f.error),
        Err(LaneError::TaskFailed)
    );
    submitter.try_send(entry(1, PANIC)).expect("sent");
    submitter
        .submit(AccountId(1), |page: &mut Page| page.write(1, 5))
        .wait()
        .expect("ran");
    let key = Some(LaneKey::Account(AccountId(1)));
    assert_eq!(*library.panicked.lock().expect("panicked"), [key, key]);
    let report = engine.stop_graceful(LONG).expect("stop");
    assert_eq!((report.panicked, report.completed), (2, 1));
    assert!(report.is_balanced());
}

#[test]
fn l14_l16_a_driver_that_cannot_be_made_gives_operations_back() {
    std::panic::set_hook(Box::new(|_| {}));
    let library = Arc::new(Library::default());
    let pages = library.pages();
    let engine = DynamicBuilder::new()
        .workers(1)
        .build(move |key| {
            assert!(key != LaneKey::Account(AccountId(13)), "planted");
            pages(key)
        })
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let mut future = submitter.submit(AccountId(13), |_: &mut Page| ());
    assert_eq!(future.wait().map_err(|f| f.error), Err(LaneError::Stopped));
    assert_eq!(
        submitter.submit(AccountId(1), |_: &mut Page| 4).wait(),
        Ok(4)
    );
    let report = engine.stop_graceful(LONG).expect("stop");
    assert_eq!((report.aborted, report.completed), (1, 1));
}

#[test]
fn l22_l23_slots_come_back_from_dropped_futures() {
    let library = Arc::new(Library::default());
    let engine = DynamicBuilder::new()
        .workers(1)
        .completion_slots(2)
        .build(library.pages())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(1, WAIT)).expect("sent");
    library.until_reached(1);
    let first = submitter
        .try_submit(AccountId(1), |_: &mut Page| ())
        .expect("a slot");
    let second = submitter
        .try_submit(AccountId(1), |_: &mut Page| ())
        .expect("a slot");
    let third = submitter
        .try_submit(AccountId(1), |_: &mut Page| ())
        .map(drop);
    assert_eq!(third.expect_err("no slot").error, LaneError::Full);
    let fourth = submitter.submit_within(AccountId(1), |_: &mut Page| (), Duration::from_millis(5));
    let fourth = { fourth }.wait().map_err(|failure| failure.error);
    assert_eq!(fourth, Err(LaneError::SubmitCancelled));
    drop((first, second));
    library.open(1);
    for _ in 0..10 {
        submitter
            .submit(AccountId(1), |_: &mut Page| ())
            .wait()
            .expect("ran");
    }
    assert!(engine.stop_graceful(LONG).expect("stop").is_balanced());
}

#[test]
fn l24_l28_room_wakes_the_producer_and_a_deadline_cancels() {
    let (library, watch) = (Arc::new(Library::default()), Watch::default());
    let engine = DynamicBuilder::new()
        .workers(1)
        .queue_capacity(2)
        .fact_reserve(1)
        .slow_submit_after(Duration::from_millis(1))
        .observer(watch.clone())
        .build(library.pages())
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    let cancelled = submitter.send_within(entry(1, 0), Class::Fact, Duration::ZERO);
    assert_eq!(
        cancelled.expect_err("expired").error,
        LaneError::SubmitCancelled
    );
    assert_eq!(engine.queues(), 0, "the driver and the table are untouched");
    submitter.try_send(entry(1, WAIT)).expect("sent");
    library.until_reached(1);
    submitter.try_send(entry(1, 1)).expect("room for one order");
    let cancelled = submitter.send_within(entry(1, 2), Class::Order, Duration::from_millis(20));
    let cancelled = cancelled.expect_err("no room");
    assert_eq!(
        (cancelled.error, cancelled.payload),
        (LaneError::SubmitCancelled, entry(1, 2))
    );
    let key = LaneKey::Account(AccountId(1));
    assert_eq!(watch.told("cancelled"), [(key, 0), (key, 0)]);
    assert_eq!(watch.told("blocked"), [(key, 0)]);
    let before = watch.told("slow").len();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| submitter.send_within(entry(1, 3), Class::Order, LONG));
        // It is told again and again while it waits.
        until("the producer's wait", || {
            watch.told("slow").len() > before + 1
        });
        library.open(1);
        waiter.join().expect("waiter").expect("sent");
    });
    engine.stop_graceful(LONG).expect("stop");
    assert_eq!(library.values(1), [WAIT, 1, 3]);
}

#[test]
fn l25_l26_l27_a_graceful_stop_runs_all_and_releases_the_drivers() {
    let library = Arc::new(Library::default());
    let engine = start(&library, 2);
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(1, WAIT)).expect("sent");
    library.until_reached(1);
    for account in 1..100 {
        submitter.try_send(entry(account, 7)).expect("sent");
    }
    let early = engine.stop_graceful(Duration::from_millis(5));
    assert_eq!(early, Err(StopError::DeadlinePassed));
    assert_eq!(
        submitter.try_send(entry(1, 8)).expect_err("stopped").error,
        LaneError::Stopped
    );
    assert!(engine.submitter().is_err());
    library.open(1);
    let report = engine.stop_graceful(LONG).expect("stop");
    assert_eq!(
        (report.accepted, report.completed, report.aborted),
        (100, 100, 0)
    );
    assert_eq!(library.made.load(Ordering::SeqCst), 99);
    assert_eq!(library.released.load(Ordering::SeqCst), 99);
    assert_eq!(engine.stop_hard(LONG), Ok(report), "twice is fine");
}

#[test]
fn l25_l16_a_hard_stop_aborts_what_waits() {
    let library = Arc::new(Library::default());
    let engine = Arc::new(
        DynamicBuilder::new()
            .workers(1)
            .max_workers(1)
            .queue_capacity(3)
            .fact_reserve(0)
            .build(library.pages())
            .expect("engine"),
    );
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(1, WAIT)).expect("sent");
    library.until_reached(1);
    submitter.try_send(entry(1, 7)).expect("sent");
    let mut waits = submitter.submit(AccountId(1), |_: &mut Page| ());
    submitter.try_send(entry(2, 8)).expect("sent");
    submitter.try_send(entry(1, 9)).expect("sent");
    let blocked = thread::spawn(move || submitter.send_within(entry(1, 10), Class::Fact, LONG));
    let stopper = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || engine.stop_hard(LONG))
    };
    let refused = blocked
        .join()
        .expect("blocked")
        .expect_err("refused by the stop");
    assert_eq!(
        (refused.error, refused.payload),
        (LaneError::Stopped, entry(1, 10))
    );
    library.open(1);
    let report = stopper.join().expect("stopper").expect("stop");
    assert_eq!(waits.wait().map_err(|f| f.error), Err(LaneError::Stopped));
    assert_eq!(
        (report.accepted, report.completed, report.aborted),
        (5, 1, 4)
    );
    let mut aborted = library.aborted.lock().expect("aborted").clone();
    aborted.sort_by_key(|entry| entry.value);
    assert_eq!(aborted, [entry(1, 7), entry(2, 8), entry(1, 9)]);
}

#[test]
fn l25_dropped_on_its_own_worker_it_leaves_the_joining_to_another() {
    let library = Arc::new(Library::default());
    let engine = start(&library, 1);
    let mut submitter = engine.submitter().expect("submitter");
    let mut dropped = submitter.submit(AccountId(1), move |_: &mut Page| drop(engine));
    assert_eq!(dropped.wait(), Ok(()));
    until("the release", || {
        library.released.load(Ordering::SeqCst) == 1
    });
    assert_eq!(
        submitter.try_send(entry(1, 1)).expect_err("gone").error,
        LaneError::Stopped
    );
}

#[test]
fn l36_re_entry_is_refused_by_the_thread() {
    let library = Arc::new(Library::default());
    let engine = Arc::new(start(&library, 2));
    let mut submitter = engine.submitter().expect("submitter");
    let inner = engine.submitter().expect("submitter");
    let inside = Arc::clone(&engine);
    let mut future = submitter.submit(AccountId(1), move |_: &mut Page| {
        let mut inner = inner;
        let own = inner.try_send(entry(1, 1)).expect_err("own lane").error;
        // Another lane takes it, but nobody may wait for it here.
        let mut other = inner.submit(AccountId(2), |page: &mut Page| page.write(2, 2));
        let waited = if other.is_done() {
            LaneError::ReentrantLane
        } else {
            other
                .wait()
                .map_or_else(|f| f.error, |()| LaneError::ReentrantLane)
        };
        let stopped = inside.stop_hard(LONG);
        (inner, own, waited, stopped)
    });
    let (mut inner, own, waited, stopped) = future.wait().expect("ran");
    assert_eq!(
        (own, waited),
        (LaneError::ReentrantLane, LaneError::ReentrantLane)
    );
    assert_eq!(stopped, Err(StopError::ReentrantLane));
    inner.try_send(entry(1, 3)).expect("outside again");
    until("both", || library.len() == 2);
}
