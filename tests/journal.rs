//! The journal that runs: its thread, its bounds, and the system's files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pitlane::journal::storage::{
    DiskFault, DiskOperation, LockError, SimStorage, Storage, SystemStorage,
};
use pitlane::journal::{
    Condition, Durability, Journal, JournalConfig, JournalFault, JournalPort, OpenError,
    OpenedJournal, Owner, RecordKind, read,
};
use pitlane::types::ShardId;

const OWNER: Owner = Owner {
    shard: ShardId(0),
    shards: 1,
};
const KIND: RecordKind = RecordKind(1);

fn config() -> JournalConfig {
    JournalConfig {
        segment_bytes: 8 << 20,
        groups_max: 16,
        ..JournalConfig::default()
    }
}

fn open<S: Storage>(storage: &S, config: &JournalConfig) -> (OpenedJournal, Vec<u64>) {
    let mut seen = Vec::new();
    let opened = Journal::open(storage, config, OWNER, 7, Box::new(|| {}), &mut |record| {
        seen.push(u64::from_le_bytes(record.body[..8].try_into().unwrap()));
    });
    (opened.unwrap(), seen)
}

fn append(port: &mut JournalPort, number: u64) -> u64 {
    port.append(KIND, 1, &number.to_le_bytes()).unwrap()
}

/// Waits for something that another thread brings about; the bound only turns
/// a hang into a failure.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "no {what}");
        std::thread::yield_now();
    }
}

#[test]
fn j03_what_is_durable_is_told_after_its_sync_and_survives() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SystemStorage::create(&folder.path().join("a/shard-0")).unwrap();
    let (mut opened, seen) = open(&storage, &config());
    assert!(seen.is_empty() && opened.recovered.cut.is_none());
    let mut last = 0;
    for number in 0..100 {
        append(&mut opened.port, number);
        last = opened.port.commit();
        until("room", || opened.port.takes_work());
    }
    until("sync", || opened.port.durable() == last);
    assert_eq!(opened.port.condition(), Condition::Running);
    drop(opened.port);
    opened.journal.close().unwrap();
    let (_again, seen) = open(&storage, &config());
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
}

#[test]
fn j04_f14_while_the_disk_is_busy_groups_gather_into_one_and_are_bounded() {
    let storage = SimStorage::new();
    let (mut opened, _) = open(&storage, &config());
    append(&mut opened.port, 0);
    let first = opened.port.commit();
    until("first sync", || opened.port.durable() == first);
    let before = storage.operations().len();
    let mut groups = 0;
    let hold = storage.hold();
    // More groups than may wait: the shard is told to stop, and nothing is lost
    // of what it does nevertheless.
    for number in 1..=40 {
        groups += usize::from(opened.port.takes_work());
        append(&mut opened.port, number);
        opened.port.commit();
    }
    assert_eq!(groups, 16, "the configured bound");
    assert!(!opened.port.takes_work() && opened.port.has_gathered());
    assert_eq!(
        opened.port.durable(),
        first,
        "nothing is released meanwhile"
    );
    drop(hold);
    until("room", || opened.port.takes_work());
    let last = opened.port.commit();
    until("sync", || opened.port.durable() == last);
    let after = storage.operations()[before..].to_vec();
    let syncs = after.iter().filter(|o| **o == DiskOperation::Sync).count();
    // One group was under way, the rest went with the next, and then what had
    // found no room; a segment that is made ahead syncs once.
    assert!(
        (2..=5).contains(&syncs),
        "{syncs} syncs for 41 groups: {after:?}"
    );
    let mut records = 0;
    read(&storage, &mut |_| records += 1).unwrap();
    assert_eq!(records, 41);
}

#[test]
fn j02_a_turn_that_was_not_committed_leaves_nothing() {
    let storage = SimStorage::new();
    let (mut opened, _) = open(&storage, &config());
    append(&mut opened.port, 1);
    append(&mut opened.port, 2);
    opened.port.commit();
    append(&mut opened.port, 3);
    drop(opened.port);
    opened.journal.close().unwrap();
    let (_again, seen) = open(&storage, &config());
    assert_eq!(seen, [1, 2]);
}

/// A disk that took longer than 100 ms for a segment was once taken for a full one:
/// orders were refused, and what was handed over last was lost at the end.
#[test]
fn f14_j09_a_segment_that_is_slow_to_make_is_no_full_disk() {
    let storage = SimStorage::new();
    let (mut opened, _) = open(&storage, &config());
    {
        let _slow = storage.hold();
        append(&mut opened.port, 1);
        opened.port.commit();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(350) {
            assert_eq!(opened.port.condition(), Condition::Running);
            std::thread::yield_now();
        }
    }
    drop(opened.port);
    opened.journal.close().unwrap();
    assert_eq!(open(&storage, &config()).1, [1]);
}

#[test]
fn j08_f11_a_failed_sync_ends_it_and_nothing_more_is_acknowledged() {
    let storage = SimStorage::new();
    let bells = Arc::new(AtomicUsize::new(0));
    let bell = Arc::clone(&bells);
    let rings = Box::new(move || {
        bell.fetch_add(1, Ordering::SeqCst);
    });
    let mut opened = Journal::open(&storage, &config(), OWNER, 7, rings, &mut |_| {}).unwrap();
    append(&mut opened.port, 1);
    let first = opened.port.commit();
    until("sync", || opened.port.durable() == first);
    // Both spare segments are there, and the next operations are the journal's.
    until("spares", || {
        let made = storage.operations();
        made.iter()
            .filter(|o| **o == DiskOperation::SyncFolder)
            .count()
            == 3
    });
    let next = storage.operations().len() as u64 + 1;
    storage.plan(next + 1, DiskFault::Fail);
    append(&mut opened.port, 2);
    opened.port.commit();
    until("failure", || opened.port.condition() == Condition::Failed);
    append(&mut opened.port, 3);
    opened.port.commit();
    until("bell", || bells.load(Ordering::SeqCst) >= 2);
    assert_eq!(opened.port.durable(), first);
    let fault = opened.journal.close().unwrap_err();
    assert!(matches!(fault, JournalFault::Sync { .. }), "{fault}");
    assert_eq!(
        storage.operations().len() as u64,
        next + 1,
        "no second sync"
    );
}

#[test]
fn j09_f10_a_full_disk_is_told_and_what_is_reserved_still_takes_facts() {
    let storage = SimStorage::new();
    // The first segment, and the one that lies ready; no third.
    storage.set_room(Some(20 << 20));
    let (mut opened, _) = open(&storage, &config());
    append(&mut opened.port, 1);
    opened.port.commit();
    until("low space", || {
        opened.port.condition() == Condition::SpaceLow
    });
    append(&mut opened.port, 2);
    let last = opened.port.commit();
    until("sync", || opened.port.durable() == last);
    storage.set_room(None);
    until("room", || opened.port.condition() == Condition::Running);
}

#[test]
fn j10_f43_a_second_writer_is_told_who_holds_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SystemStorage::create(folder.path()).unwrap();
    let (opened, _) = open(&storage, &config());
    let second = Journal::open(&storage, &config(), OWNER, 8, Box::new(|| {}), &mut |_| {});
    let refused = second.err().unwrap();
    assert!(
        matches!(refused, OpenError::Locked(LockError::Held { .. })),
        "{refused}"
    );
    let holder = format!("process {}", std::process::id());
    assert!(refused.to_string().contains(&holder), "{refused}");
    drop(opened);
    open(&storage, &config());
}

#[test]
fn j03_async_releases_after_the_write_and_syncs_in_its_window() {
    let storage = SimStorage::new();
    let config = JournalConfig {
        durability: Durability::Async {
            every: Duration::from_millis(5),
        },
        ..config()
    };
    let (mut opened, _) = open(&storage, &config);
    append(&mut opened.port, 1);
    let last = opened.port.commit();
    until("write", || opened.port.durable() == last);
    until("sync", || {
        let found = storage.after_power_loss(3);
        let mut records = 0;
        read(&found, &mut |_| records += 1).is_ok() && records == 1
    });
}
