//! The executor on a journal: its thread, real files, and a disk that fails.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use pitlane::journal::storage::SystemStorage;
use pitlane::journal::storage::{DiskFault, DiskOperation, LockError, SimStorage, Storage};
use pitlane::journal::{Journal, JournalConfig, OpenError, Owner, ReadError, RecordKind};
use pitlane::orders::Code;
use pitlane::orders::executor::{
    IntentLog, JournalLog, LogFailed, OpenLogError, Record, Room, SimLog,
};
use pitlane::orders::lifecycle::OrderState;
use pitlane::types::{ShardId, Side};

use crate::rig::{AGENT, Rig, order_id, perfect};

fn config() -> JournalConfig {
    JournalConfig {
        segment_bytes: 8 << 20,
        ..JournalConfig::default()
    }
}

/// Starts an executor on what the folder has; the number of records there.
fn start<S: Storage>(rig: &mut Rig, storage: &S, config: &JournalConfig) -> usize {
    // One process at a time holds the folder.
    rig.executor = None;
    let opened = JournalLog::open(storage, config, 7, Box::new(|| {})).unwrap();
    let found = opened.records.len();
    rig.start_on(Box::new(opened.log), (0, opened.records));
    found
}

/// A journal's log, and whether something waits for its disk: while it does,
/// simulated time must not run away from a thread that is not scheduled.
struct Watched(JournalLog, Rc<Cell<bool>>, u64);

impl IntentLog for Watched {
    fn append(&mut self, group: &[Record]) -> Result<u64, LogFailed> {
        self.2 = self.0.append(group)?;
        self.1.set(true);
        Ok(self.2)
    }

    fn durable(&mut self) -> Result<u64, LogFailed> {
        let durable = self.0.durable()?;
        self.1.set(durable < self.2);
        Ok(durable)
    }

    fn room(&self) -> Room {
        self.0.room()
    }
}

/// As [`start`]; the cell tells whether something waits for the disk.
fn start_watched<S: Storage>(rig: &mut Rig, storage: &S) -> Rc<Cell<bool>> {
    rig.executor = None;
    let opened = JournalLog::open(storage, &config(), 7, Box::new(|| {})).unwrap();
    let waits = Rc::new(Cell::new(false));
    let log = Watched(opened.log, Rc::clone(&waits), 0);
    rig.start_on(Box::new(log), (0, opened.records));
    waits
}

/// Turns until something holds; the bound only turns a hang into a failure.
fn until(rig: &mut Rig, what: &str, mut holds: impl FnMut(&mut Rig) -> bool) {
    let start = Instant::now();
    loop {
        rig.settle();
        if holds(rig) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "no {what}");
        std::thread::yield_now();
    }
}

/// An order that works at the venue.
fn working(rig: &mut Rig, number: u64) {
    let decision = rig.decision(number);
    let request = rig.bring(decision);
    until(rig, "acknowledgement", |rig| {
        rig.answers.contains_key(&request) && rig.state(number) == OrderState::Acked
    });
}

#[test]
fn o18_o29_a_restart_on_the_same_files_goes_on_and_sends_nothing_again() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SystemStorage::create(&folder.path().join("executor")).unwrap();
    let mut rig = Rig::new();
    assert_eq!(start(&mut rig, &storage, &config()), 0);
    let decisions: Vec<_> = (1..=20).map(|number| rig.decision(number)).collect();
    for number in 1..=20 {
        working(&mut rig, number);
    }
    rig.market(Side::Sell, 10, 100);
    until(&mut rig, "fill", |rig| rig.state(1) == OrderState::Filled);
    until(&mut rig, "delivery", |rig| {
        rig.executor().undelivered() == 0
    });
    let before = rig.executor().orders();
    let waits = start_watched(&mut rig, &storage);
    assert_eq!(rig.executor().orders(), before, "as the files say");
    let again = rig.bring(decisions[0].clone());
    let open = rig.bring(decisions[19].clone());
    until(&mut rig, "reconciliation", |rig| {
        if !waits.get() {
            rig.clock.advance(Duration::from_millis(20));
        }
        rig.executor().open_questions() == 0 && rig.answers.contains_key(&open)
    });
    assert_eq!(rig.answer(again), Ok(OrderState::Filled));
    assert_eq!(rig.answer(open), Ok(OrderState::Acked));
    assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
    assert_eq!(rig.venue.submits.borrow().len(), 20);
    assert_eq!(rig.venue.far.borrow().repeated(), 0);
}

#[test]
fn f03_f14_nothing_leaves_before_its_group_is_on_the_disk() {
    let storage = SimStorage::new();
    let mut rig = Rig::new();
    start(&mut rig, &storage, &config());
    working(&mut rig, 1);
    let hold = storage.hold();
    let decision = rig.decision(2);
    let request = rig.bring(decision);
    for _ in 0..200 {
        rig.settle();
        std::thread::yield_now();
    }
    assert_eq!(rig.venue.submits.borrow().len(), 1, "not sent");
    assert!(!rig.answers.contains_key(&request), "not acknowledged");
    // A crash now: nobody was told of it, and it is not there.
    assert_eq!(rig.state(2), OrderState::PendingNew);
    drop(hold);
    until(&mut rig, "acknowledgement", |rig| {
        rig.state(2) == OrderState::Acked
    });
    assert!(rig.answer(request).is_ok());
    assert_eq!(rig.venue.submits.borrow().len(), 2);
}

#[test]
fn f14_what_waits_for_a_slow_disk_has_a_bound_and_a_defined_answer() {
    let storage = SimStorage::new();
    let mut rig = Rig::new();
    let few = JournalConfig {
        groups_max: 4,
        ..config()
    };
    start(&mut rig, &storage, &few);
    working(&mut rig, 1);
    until(&mut rig, "delivery", |rig| {
        rig.executor().undelivered() == 0
    });
    let hold = storage.hold();
    let mut requests = Vec::new();
    for number in 2..=60 {
        let decision = rig.decision(number);
        requests.push(rig.bring(decision));
        rig.settle();
    }
    assert_eq!(rig.venue.submits.borrow().len(), 1);
    drop(hold);
    let last = requests[requests.len() - 1];
    until(&mut rig, "answers", |rig| rig.answers.contains_key(&last));
    let taken = requests
        .iter()
        .filter(|own| rig.answer(**own).is_ok())
        .count();
    let refused = requests
        .iter()
        .filter(|own| rig.answer(**own) == Err(Code::Capacity))
        .count();
    assert_eq!(taken + refused, requests.len());
    assert!((1..=6).contains(&taken), "{taken} of {}", requests.len());
    until(&mut rig, "sends", |rig| {
        rig.venue.submits.borrow().len() == taken + 1
    });
    working(&mut rig, 100);
}

#[test]
fn f11_a_sync_that_fails_ends_it_and_nothing_more_is_sent() {
    let storage = SimStorage::new();
    let mut rig = Rig::new();
    start(&mut rig, &storage, &config());
    working(&mut rig, 1);
    until(&mut rig, "delivery", |rig| {
        rig.executor().undelivered() == 0
    });
    // The spare segments are there, and the next operations are the log's.
    until(&mut rig, "spares", |_| {
        let made = storage.operations();
        made.iter()
            .filter(|o| **o == DiskOperation::SyncFolder)
            .count()
            == 3
    });
    let next = storage.operations().len() as u64 + 1;
    storage.plan(next + 1, DiskFault::Fail);
    let decision = rig.decision(2);
    let request = rig.bring(decision);
    until(&mut rig, "failure", |rig| rig.executor().has_failed());
    assert_eq!(rig.answer(request), Err(Code::JournalFailed));
    let decision = rig.decision(3);
    let later = rig.bring(decision);
    let cancel = rig.cancel(1);
    rig.settle();
    assert_eq!(rig.answer(later), Err(Code::JournalFailed));
    assert_eq!(rig.answer(cancel), Err(Code::JournalFailed));
    assert_eq!(rig.venue.submits.borrow().len(), 1);
    assert_eq!(
        storage.operations().len() as u64,
        next + 1,
        "no second sync"
    );
}

#[test]
fn f10_a_full_disk_refuses_new_orders_and_takes_cancels_and_fills() {
    let storage = SimStorage::new();
    let mut rig = Rig::new();
    let waits = start_watched(&mut rig, &storage);
    working(&mut rig, 1);
    working(&mut rig, 2);
    // No further segment; the thread that makes them finds it out.
    storage.set_room(Some(0));
    let mut number = 2;
    until(&mut rig, "refusal", |rig| {
        number += 1;
        let decision = rig.decision(number);
        let request = rig.bring(decision);
        until(rig, "answer", |rig| rig.answers.contains_key(&request));
        rig.answer(request) == Err(Code::DiskFull)
    });
    rig.market(Side::Sell, 10, 100);
    let cancel = rig.cancel(2);
    until(&mut rig, "cancel", |rig| {
        if !waits.get() {
            rig.clock.advance(Duration::from_millis(20));
        }
        rig.answers.contains_key(&cancel)
    });
    assert_eq!(rig.answer(cancel), Ok(OrderState::Cancelled));
    assert_eq!(rig.state(1), OrderState::Filled);
    storage.set_room(None);
    until(&mut rig, "room", |rig| {
        number += 1;
        let decision = rig.decision(number);
        let request = rig.bring(decision);
        until(rig, "answer", |rig| rig.answers.contains_key(&request));
        rig.answer(request).is_ok()
    });
}

#[test]
fn f09_f43_a_log_that_another_has_or_that_is_damaged_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SystemStorage::create(folder.path()).unwrap();
    let mut rig = Rig::new();
    start(&mut rig, &storage, &config());
    let second = JournalLog::open(&storage, &config(), 8, Box::new(|| {}));
    let held = second.err().unwrap();
    assert!(
        matches!(
            held,
            OpenLogError::Journal(OpenError::Locked(LockError::Held { .. }))
        ),
        "{held}"
    );
    let storage = SimStorage::new();
    start(&mut rig, &storage, &config());
    for number in 1..=5 {
        working(&mut rig, number);
    }
    rig.executor = None;
    storage.flip("0000000000000001.segment", 64 + 64 + 20, 1);
    let damaged = JournalLog::open(&storage, &config(), 7, Box::new(|| {}));
    let damaged = damaged.err().unwrap();
    assert!(
        matches!(
            damaged,
            OpenLogError::Journal(OpenError::Read(ReadError::Damaged { .. }))
        ),
        "{damaged}"
    );
}

#[test]
fn o18_a_record_that_is_not_the_executors_is_refused_by_place() {
    let storage = SimStorage::new();
    let owner = Owner {
        shard: ShardId(0),
        shards: 1,
    };
    for (kind, version, body) in [
        (RecordKind(1), 1, b"{}".as_slice()),
        (RecordKind(0x0101), 2, b"{}"),
        (RecordKind(0x0101), 1, b"{\"newer\":1}"),
    ] {
        let opened = Journal::open(&storage, &config(), owner, 7, Box::new(|| {}), &mut |_| {});
        let mut opened = opened.unwrap();
        opened.port.append(kind, version, body).unwrap();
        opened.port.commit();
        drop(opened.port);
        opened.journal.close().unwrap();
        let refused = JournalLog::open(&storage, &config(), 7, Box::new(|| {}));
        let refused = refused.err().unwrap();
        assert!(
            matches!(refused, OpenLogError::Record { sequence: 1, .. }),
            "{refused}"
        );
    }
}

/// A log that keeps the length of its longest group.
struct Longest(SimLog, Rc<Cell<usize>>);

impl IntentLog for Longest {
    fn append(&mut self, group: &[Record]) -> Result<u64, LogFailed> {
        self.1.set(self.1.get().max(group.len()));
        self.0.append(group)
    }

    fn durable(&mut self) -> Result<u64, LogFailed> {
        self.0.durable()
    }

    fn room(&self) -> Room {
        self.0.room()
    }
}

#[test]
fn o29_no_group_is_longer_than_a_journal_takes_whatever_falls_due_at_once() {
    let log = SimLog::synced();
    let mut rig = Rig::with(perfect(), log.clone());
    let longest = Rc::new(Cell::new(0));
    let start = |rig: &mut Rig| {
        let recovered = (log.groups(), log.records());
        rig.start_on(
            Box::new(Longest(log.clone(), Rc::clone(&longest))),
            recovered,
        );
    };
    start(&mut rig);
    for number in 1..=1_000 {
        let decision = rig.decision(number);
        rig.bring(decision);
    }
    assert_eq!(rig.executor().orders().len(), 1_000);
    assert!(rig.executor().status(AGENT, order_id(1_000)).is_ok());
    rig.executor().turn();
    // Sent and not acknowledged: a restart makes all of them unknown at once.
    start(&mut rig);
    rig.settle();
    let unknown = rig.executor().orders();
    let unknown = unknown
        .iter()
        .filter(|own| own.state == OrderState::Unknown);
    assert!(unknown.count() > 300, "many moved at once");
    assert!((200..=280).contains(&longest.get()), "{}", longest.get());
}
