//! Watching lanes: every hook is told, and an observer that fails changes nothing.

#[path = "support/book.rs"]
mod book;
#[path = "support/planted.rs"]
mod planted;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use book::{Book, Entry, WAIT, library};
use pitlane::lanes::{Class, EngineBuilder, Hooks, LaneError, LaneKey, Observer, Place};
use pitlane::types::AccountId;

const LONG: Duration = Duration::from_secs(20);

fn entry(account: u64, value: u64) -> Entry {
    Entry { account, value }
}

#[derive(Clone, Default)]
struct Told {
    calls: Arc<Mutex<Vec<String>>>,
    panic_at: Option<&'static str>,
    count: Arc<AtomicU64>,
}

struct Telling(Told);

impl Observer for Told {
    type Hooks = Telling;
    fn hooks(&self, _place: Place) -> Telling {
        Telling(self.clone())
    }
}

impl Telling {
    fn note(&self, what: &'static str, text: String) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        assert!(self.0.panic_at != Some(what), "an observer that panics");
        self.0.calls.lock().expect("calls").push(text);
    }
}

impl Hooks for Telling {
    fn on_enqueue(&mut self, key: LaneKey, depth: usize) {
        assert!(depth <= 4_096, "a ring holds no more");
        self.note("enqueue", format!("enqueue {key:?}"));
    }
    fn on_dequeue(&mut self, key: LaneKey, _waited_ns: u64) {
        self.note("dequeue", format!("dequeue {key:?}"));
    }
    fn on_complete(&mut self, key: LaneKey, ran_ns: u64) {
        self.note("complete", format!("complete {key:?} {}", ran_ns > 0));
    }
    fn on_queue_full_blocked(&mut self, _key: LaneKey, waiting_ns: u64) {
        self.note("full", format!("full {}", waiting_ns > 0));
    }
    fn on_slow_submit(&mut self, _key: LaneKey, waiting_ns: u64, attempt: u32) {
        self.note("slow", format!("slow {} {attempt}", waiting_ns > 0));
    }
    fn on_submit_cancelled(&mut self, _key: LaneKey) {
        self.note("cancelled", "cancelled".into());
    }
}

fn count(calls: &[String], start: &str) -> usize {
    calls.iter().filter(|call| call.starts_with(start)).count()
}

#[test]
fn l28_every_hook_is_told_of_every_operation() {
    let (_ledger, opener, factory) = library();
    let told = Told::default();
    let engine = EngineBuilder::new()
        .ring_capacity(4)
        .fact_reserve(0)
        .slow_submit_after(Duration::from_millis(2))
        .observer(told.clone())
        .build(factory)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    for value in [WAIT, 1, 2, 3] {
        submitter.try_send(entry(5, value)).expect("room");
    }
    submitter
        .send_within(entry(5, 4), Class::Fact, Duration::from_millis(200))
        .expect_err("no room");
    opener.open();
    submitter
        .submit(AccountId(5), |_: &mut Book| ())
        .wait()
        .expect("ran");
    engine.stop_graceful(LONG).expect("stop");
    let calls = told.calls.lock().expect("calls");
    assert_eq!(
        count(&calls, "enqueue Account(AccountId(5))"),
        5,
        "{calls:?}"
    );
    assert_eq!(count(&calls, "dequeue"), 5);
    assert_eq!(count(&calls, "complete"), 5);
    for attempt in ["slow true 1", "slow true 2"] {
        let told = calls.iter().filter(|call| *call == attempt).count();
        assert_eq!(told, 1, "{attempt} in {calls:?}");
    }
    assert!(count(&calls, "full true") >= 1);
    assert_eq!(count(&calls, "cancelled"), 1);
}

#[test]
fn l28_an_aborted_operation_completes_with_zero() {
    let (_ledger, opener, factory) = library();
    let told = Told::default();
    let engine = EngineBuilder::new()
        .observer(told.clone())
        .build(factory)
        .map(Arc::new)
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    submitter.try_send(entry(5, WAIT)).expect("room");
    submitter.try_send(entry(6, 1)).expect("room");
    opener.until_reached();
    let stopping = Arc::clone(&engine);
    let stopper = thread::spawn(move || stopping.stop_hard(LONG));
    loop {
        match submitter.try_send(entry(7, 0)) {
            Err(refused) if refused.error == LaneError::Stopped => break,
            _ => thread::yield_now(),
        }
    }
    opener.open();
    stopper.join().expect("stopper").expect("stop");
    let calls = told.calls.lock().expect("calls");
    assert_eq!(count(&calls, "complete Account(AccountId(5)) true"), 1);
    assert_eq!(count(&calls, "complete Account(AccountId(6)) false"), 1);
}

#[test]
fn l29_f22_an_observer_that_panics_is_disabled_and_changes_nothing() {
    planted::quiet();
    for hook in ["enqueue", "dequeue", "complete"] {
        let (ledger, _opener, factory) = library();
        let told = Told {
            panic_at: Some(hook),
            ..Told::default()
        };
        let engine = EngineBuilder::new()
            .observer(told.clone())
            .build(factory)
            .expect("engine");
        let mut submitter = engine.submitter().expect("submitter");
        for value in 0..10 {
            submitter
                .submit(AccountId(1), move |b: &mut Book| b.write(1, value))
                .wait()
                .expect("ran");
        }
        let report = engine.stop_graceful(LONG).expect("stop");
        assert_eq!(report.observer_panics, 1, "{hook}");
        assert!(report.is_balanced());
        assert_eq!(ledger.values(1), (0..10).collect::<Vec<_>>());
        // Its three calls of the first operation, and one more: while the worker is
        // still inside of the hook that panics, the second may be submitted.
        let calls = told.count.load(Ordering::SeqCst);
        assert!(calls <= 4, "{hook}: {calls} calls, some after its panic");
    }
}
