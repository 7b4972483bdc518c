//! What a durable record costs: the journal beside a bare write and `fdatasync` of
//! the same sizes, and beside SQLite, on the same disk (targets P9 and P10).
//!
//! They take turns within one run, so that a noisy host is noisy for both; what
//! counts are the ratios, which are printed with the medians. The files are in
//! `target/`, which should be on the disk that is meant.
//!
//! `cargo bench --bench journal`; with `-- quick`, a quarter of the time.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use pitlane::journal::storage::SystemStorage;
use pitlane::journal::{Condition, Journal, JournalConfig, JournalPort, Owner, RecordKind};
use pitlane::time::IdleStrategy;
use pitlane::types::ShardId;
use rusqlite::Connection;

const ROUNDS: usize = 9;
/// Records of the bare write's group.
const GROUP: usize = 1_024;
/// Records of SQLite's batch.
const BATCH: usize = 1_000;
/// Records that a turn of a shard hands over.
const TURN: usize = 64;
const RECORD: usize = 64;
const FILE_BYTES: usize = 64 << 20;
/// With it a record is one unit.
const BODY: [u8; 48] = [7; 48];

/// A preallocated, zero-filled, synced file, written from the beginning again when
/// it is full.
struct Bare {
    file: File,
    offset: usize,
}

impl Bare {
    fn new(path: &Path) -> Self {
        let file = File::create_new(path).expect("a new file");
        file.write_all_at(&vec![0; FILE_BYTES], 0).expect("room");
        file.sync_all().expect("a sync");
        Self { file, offset: 0 }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.offset + bytes.len() > FILE_BYTES {
            self.offset = 0;
        }
        let offset = self.offset as u64;
        self.file.write_all_at(bytes, offset).expect("a write");
        self.file.sync_data().expect("a sync");
        self.offset += bytes.len();
    }

    /// Durable records a second.
    fn saturate(&mut self, time: Duration) -> f64 {
        let group = vec![9; GROUP * RECORD];
        let (start, mut records) = (Instant::now(), 0);
        while start.elapsed() < time {
            self.write(&group);
            records += GROUP;
        }
        records as f64 / start.elapsed().as_secs_f64()
    }

    /// How long one record takes, each time.
    fn one_by_one(&mut self, time: Duration) -> Vec<Duration> {
        repeat(time, || self.write(&[9; RECORD]))
    }
}

/// A table of the same records, in batches that are durable when they end.
struct Sqlite {
    file: Connection,
    sequence: i64,
}

impl Sqlite {
    fn new(path: &Path) -> Self {
        let file = Connection::open(path).expect("a new file");
        file.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE records (sequence INTEGER PRIMARY KEY, kind INTEGER, body BLOB);",
        )
        .expect("a table");
        Self { file, sequence: 0 }
    }

    /// Durable records a second.
    fn saturate(&mut self, time: Duration) -> f64 {
        let (start, first) = (Instant::now(), self.sequence);
        while start.elapsed() < time {
            let batch = self.file.transaction().expect("a transaction");
            {
                let mut insert = batch
                    .prepare_cached("INSERT INTO records VALUES (?1, ?2, ?3)")
                    .expect("a statement");
                for _ in 0..BATCH {
                    self.sequence += 1;
                    let record = (self.sequence, 1, &BODY[..]);
                    insert.execute(record).expect("a row");
                }
            }
            batch.commit().expect("a sync");
        }
        (self.sequence - first) as f64 / start.elapsed().as_secs_f64()
    }
}

/// Durable records a second through the port.
fn saturate(port: &mut JournalPort, time: Duration) -> f64 {
    let (start, first) = (Instant::now(), port.last());
    while start.elapsed() < time {
        if port.takes_work() {
            hand_over(port, TURN);
        } else {
            std::thread::yield_now();
        }
        assert_ne!(port.condition(), Condition::Failed, "the disk fails");
    }
    let last = port.commit();
    while port.durable() < last {
        port.commit();
        std::thread::yield_now();
    }
    (last - first) as f64 / start.elapsed().as_secs_f64()
}

fn one_by_one(port: &mut JournalPort, time: Duration) -> Vec<Duration> {
    repeat(time, || {
        let last = hand_over(port, 1);
        while port.durable() < last {
            std::hint::spin_loop();
        }
    })
}

fn hand_over(port: &mut JournalPort, records: usize) -> u64 {
    for _ in 0..records {
        port.append(RecordKind(1), 1, &BODY).expect("a short body");
    }
    port.commit()
}

fn repeat(time: Duration, mut once: impl FnMut()) -> Vec<Duration> {
    let (start, mut each) = (Instant::now(), Vec::new());
    while start.elapsed() < time {
        let begun = Instant::now();
        once();
        each.push(begun.elapsed());
    }
    each
}

fn median<T: Copy + PartialOrd>(values: &mut [T]) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("ordered"));
    values[values.len() / 2]
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "quick");
    let time = Duration::from_millis(if quick { 250 } else { 1_000 });
    let folder = tempfile::tempdir_in("target").expect("target/");
    let storage = SystemStorage::create(&folder.path().join("journal")).expect("a folder");
    let owner = Owner {
        shard: ShardId(0),
        shards: 1,
    };
    let config = JournalConfig {
        // As a host with a core for the journal's thread.
        idle: IdleStrategy::for_threads(2, 2),
        segment_bytes: 256 << 20,
        ..JournalConfig::default()
    };
    let bell = Box::new(|| {});
    let opened = Journal::open(&storage, &config, owner, 1, bell, &mut |_| {});
    let opened = opened.unwrap_or_else(|error| panic!("{error}"));
    let mut port = opened.port;
    let mut bare = Bare::new(&folder.path().join("bare"));
    // The first segments are being made.
    one_by_one(&mut port, time);

    let mut sqlite = Sqlite::new(&folder.path().join("records.sqlite"));
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut tables, mut over_tables) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let bare = bare.saturate(time);
        let journal = saturate(&mut port, time);
        let table = sqlite.saturate(time);
        ratios.push(journal / bare);
        over_tables.push(journal / table);
        ours.push(journal);
        theirs.push(bare);
        tables.push(table);
    }
    println!(
        "P9  durable records/s: journal {:.0}, bare groups of {GROUP} {:.0}, ratio {:.2} (reach 0.60)",
        median(&mut ours),
        median(&mut theirs),
        median(&mut ratios)
    );
    println!(
        "P9  the same beside SQLite FULL, batches of {BATCH}: {:.0}, ratio {:.1} (reach 5)",
        median(&mut tables),
        median(&mut over_tables)
    );

    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let bare = median(&mut bare.one_by_one(time / 2));
        let journal = median(&mut one_by_one(&mut port, time / 2));
        ratios.push(journal.as_secs_f64() / bare.as_secs_f64());
        ours.push(journal);
        theirs.push(bare);
    }
    println!(
        "P10 one record, p50: journal {:?}, bare {:?}, ratio {:.2} (reach 1.30)",
        median(&mut ours),
        median(&mut theirs),
        median(&mut ratios)
    );
    drop(port);
    opened.journal.close().expect("a whole journal");
}
