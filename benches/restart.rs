//! How long a shard takes to start again from its journal, without a snapshot, beside
//! reading the same files (target P18).
//!
//! A shard runs an order flow until its journal has the records: limit orders of 1,024
//! accounts, of which half rest, are cancelled and trade. Then it is opened again, up to
//! where reconciliation would begin, in turn with a plain read of its segments, both from
//! the page cache, which is the harder case: a disk would hide work behind its own time.
//!
//! `cargo bench --bench restart` writes 10 million records, 3 GB in `target/`; with
//! `-- quick`, a million.

#[path = "../tests/support/shard_cases.rs"]
mod shard_cases;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use pitlane::journal::storage::SystemStorage;
use pitlane::journal::{Journal, JournalConfig, OpenedJournal, Owner};
use pitlane::orders::RandomIdentity;
use pitlane::orders::venue::sim::SimVenue;
use pitlane::risk::{AccountConfig, Adjustment, Change, RiskConfig, RiskEngine};
use pitlane::shard::{Admission, ReportReceiver, ShardState, VenueMemory};
use pitlane::time::Nanos;
use pitlane::types::{AMOUNT_SCALE, AccountId, Amount, AssetId, ShardId, Side};
use shard_cases::{cancel, limit, new_order, risk, risk_config, shard_with, sim};

const ROUNDS: usize = 5;
const ACCOUNTS: u64 = 1_024;
const ORDERS_MAX: usize = 1 << 17;

fn settings() -> RiskConfig {
    let mut config = risk_config();
    config.spot_funds.enabled = true;
    config.accounts = (1..=ACCOUNTS)
        .map(|id| AccountConfig {
            id: AccountId(id),
            group: None,
        })
        .collect();
    config
}

fn engine() -> RiskEngine {
    let (mut engine, _) = risk(&settings());
    let much = Change::Absolute(Amount::from_raw(1_000_000_000 * AMOUNT_SCALE));
    for id in 1..=ACCOUNTS {
        let both = [1, 2].map(|asset| Adjustment::available(AssetId(asset), much));
        engine.adjust(AccountId(id), &both).expect("it fits");
    }
    engine
}

fn open(storage: &SystemStorage, state: &mut ShardState) -> OpenedJournal {
    let owner = Owner {
        shard: ShardId(0),
        shards: 1,
    };
    let config = JournalConfig::default();
    let opened = Journal::open(storage, &config, owner, 7, Box::new(|| {}), &mut |record| {
        state.take(record).expect("a shard's record");
    });
    opened.unwrap_or_else(|error| panic!("{error}"))
}

type Shard = Admission<SimVenue, RandomIdentity>;

fn started(opened: OpenedJournal, state: &ShardState) -> (Shard, ReportReceiver, Journal) {
    let (shard, receiver) = shard_with(engine(), sim(), ORDERS_MAX);
    // The venue has kept what rests: what follows is its reconciliation.
    let shard = shard.with_journal(opened.port, state, VenueMemory::Kept);
    let shard = shard.unwrap_or_else(|error| panic!("{error}"));
    (shard, receiver, opened.journal)
}

/// Orders come until the journal has so many records.
fn fill(storage: &SystemStorage, records: u64) {
    let mut state = ShardState::default();
    let opened = open(storage, &mut state);
    let (mut shard, mut receiver, journal) = started(opened, &state);
    let (mut reference, mut now) = (0_u64, 1);
    let mut draw = 0x9e37_79b9_7f4a_7c15_u64;
    while shard.journaled() < records {
        for _ in 0..64 {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            reference += 1;
            let account = 1 + reference % ACCOUNTS;
            let side = if draw.is_multiple_of(2) {
                Side::Buy
            } else {
                Side::Sell
            };
            let price = 95 + i64::try_from(draw >> 8 & 7).expect("three bits");
            let order = limit(
                account,
                side,
                price,
                1 + i64::try_from(draw >> 16 & 7).expect("bits"),
            );
            shard.command(&new_order(reference, order), Nanos(now));
            // What came a while ago and rests is cancelled.
            if let Some(old) = reference.checked_sub(4_096).filter(|old| *old > 0) {
                let of = 1 + old % ACCOUNTS;
                shard.command(&cancel(u64::MAX / 2 + reference, of, old), Nanos(now));
            }
        }
        now += 1_000_000;
        shard.turn(Nanos(now), 256);
        while !shard.takes_commands() {
            shard.turn(Nanos(now), 256);
            receiver.drain(usize::MAX, &mut |_| {});
            std::thread::yield_now();
        }
        receiver.drain(usize::MAX, &mut |_| {});
    }
    drop(shard);
    journal.close().expect("a whole journal");
}

/// Reads every segment in order, in parts that fit a processor's cache.
fn read_files(folder: &Path) -> (Duration, u64) {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "segment"))
        .collect();
    names.sort();
    let mut part = vec![0_u8; 256 << 10];
    let (start, mut bytes) = (Instant::now(), 0);
    for name in names {
        let mut file = File::open(name).expect("a segment");
        loop {
            let read = file.read(&mut part).expect("bytes");
            if read == 0 {
                break;
            }
            bytes += std::hint::black_box(&part[..read]).len() as u64;
        }
    }
    (start.elapsed(), bytes)
}

/// The time from a closed journal to a shard that would ask its venue.
fn restart(storage: &SystemStorage) -> (Duration, u64, usize) {
    let start = Instant::now();
    let mut state = ShardState::default();
    let opened = open(storage, &mut state);
    let (shard, _receiver, _journal) = started(opened, &state);
    let took = start.elapsed();
    (took, state.records(), shard.unreconciled())
}

fn median<T: Copy + PartialOrd>(values: &mut [T]) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("ordered"));
    values[values.len() / 2]
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "quick");
    let records = if quick { 1_000_000 } else { 10_000_000 };
    let folder = tempfile::tempdir_in("target").expect("target/");
    let path = folder.path().join("journal");
    let storage = SystemStorage::create(&path).expect("a folder");
    fill(&storage, records);
    let (mut ours, mut floor, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut found, mut size) = ((0, 0), 0);
    for round in 0..=ROUNDS {
        let (reading, bytes) = read_files(&path);
        let (restarting, records, open) = restart(&storage);
        (found, size) = ((records, open), bytes);
        // The first only fills the page cache.
        if round > 0 {
            ratios.push(restarting.as_secs_f64() / reading.as_secs_f64());
            ours.push(restarting);
            floor.push(reading);
        }
    }
    let (records, open) = found;
    println!(
        "P18 restart with {records} records, {} MiB, {open} open orders: {:?}, reading {:?}, \
         ratio {:.2} (reach 3)",
        size >> 20,
        median(&mut ours),
        median(&mut floor),
        median(&mut ratios)
    );
}
