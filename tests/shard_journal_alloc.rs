//! A shard with a journal allocates nothing per order once it is warm.

#[path = "support/counting_allocator.rs"]
mod counting_allocator;
#[path = "support/shard_cases.rs"]
mod shard_cases;

use counting_allocator::{CountingAllocator, counted};
use pitlane::journal::storage::SimStorage;
use pitlane::journal::{Journal, JournalConfig, Owner};
use pitlane::orders::RandomIdentity;
use pitlane::orders::venue::sim::SimVenue;
use pitlane::shard::{Admission, ReportReceiver, ShardState, VenueMemory};
use pitlane::time::Nanos;
use pitlane::types::{ShardId, Side};
use shard_cases::{cancel, limit, new_order, risk, risk_config, shard_with, sim};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Orders that rest and are cancelled, and refused ones; each round is durable
/// before the next.
fn churn(
    shard: &mut Admission<SimVenue, RandomIdentity>,
    receiver: &mut ReportReceiver,
    rounds: std::ops::Range<u64>,
) -> usize {
    let mut reports = 0;
    for round in rounds {
        let now = Nanos(round + 1);
        let first = 1 + round * 200;
        for reference in first..first + 64 {
            let order = limit(1 + reference % 3, Side::Buy, 90, 1);
            shard.command(&new_order(reference, order), now);
            shard.command(&new_order(reference, order), now);
            shard.command(&cancel(reference + 100, 1 + reference % 3, reference), now);
        }
        loop {
            shard.turn(now, 256);
            reports += receiver.drain(usize::MAX, &mut |_| {});
            if !shard.holds_back() {
                break;
            }
            std::thread::yield_now();
        }
    }
    reports
}

#[test]
fn j04_a_turn_with_its_group_and_release_allocates_nothing() {
    let storage = SimStorage::new();
    let config = JournalConfig {
        segment_bytes: 64 << 20,
        ..JournalConfig::default()
    };
    let owner = Owner {
        shard: ShardId(0),
        shards: 1,
    };
    let bell = Box::new(|| {});
    let opened = Journal::open(&storage, &config, owner, 7, bell, &mut |_| {}).unwrap();
    let (shard, mut receiver) = shard_with(risk(&risk_config()).0, sim(), 1_000);
    let state = ShardState::default();
    let shard = shard.with_journal(opened.port, &state, VenueMemory::Lost);
    let mut shard = shard.unwrap();
    churn(&mut shard, &mut receiver, 0..20);
    let (reports, counts) = counted(|| churn(&mut shard, &mut receiver, 20..120));
    // Accepted, refused as in use, cancelled.
    assert_eq!(reports, 100 * 64 * 3);
    assert_eq!((counts.allocations, counts.frees), (0, 0));
    assert_eq!(shard.counts().accepted, 120 * 64);
}
