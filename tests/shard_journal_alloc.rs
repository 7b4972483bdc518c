//! A shard with a journal allocates nothing per order once it is warm.

#[path = "support/counting_allocator.rs"]
mod counting_allocator;
#[path = "support/shard_cases.rs"]
mod shard_cases;

use std::collections::BTreeMap;
use std::time::Duration;

use counting_allocator::{CountingAllocator, counted};
use pitlane::journal::storage::SimStorage;
use pitlane::journal::{Journal, JournalConfig, MemoryJournal, Owner};
use pitlane::orders::RandomIdentity;
use pitlane::orders::decision::{Role, Signer, Size};
use pitlane::orders::venue::sim::SimVenue;
use pitlane::shard::authority::{Authorizer, AuthorizerSettings, DecisionRequest};
use pitlane::shard::{Admission, ReportReceiver, ShardState, VenueMemory};
use pitlane::time::{Nanos, SimClock, UnixNanos};
use pitlane::types::{AccountId, OrderType, PRICE_SCALE, Price, ShardId, Side, TimeInForce};
use shard_cases::{INSTRUMENT, cancel, limit, lots, new_order, risk, risk_config, shard_with, sim};

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
fn o04_orders_beside_an_authority_that_holds_allocate_nothing() {
    let clock = SimClock::new(UnixNanos(1_796_000_000_000_000_000));
    let gold = BTreeMap::from([("GOLD".to_owned(), INSTRUMENT)]);
    let settings = AuthorizerSettings {
        signer: Some(Signer::new("authorizer-1", Role::Authorizer, &[1; 32]).unwrap()),
        instruments: BTreeMap::from([("sim".to_owned(), gold)]),
        skew: Duration::ZERO,
        clock: Box::new(clock),
    };
    let (authorizer, mut ends) = Authorizer::new(settings, vec![None]);
    let (shard, mut receiver) = shard_with(risk(&risk_config()).0, sim(), 1_000);
    let journal = MemoryJournal::new();
    let state = ShardState::default();
    let mut shard = shard
        .with_authority(ends.pop().unwrap())
        .with_journal(journal.open(), &state, VenueMemory::Lost)
        .unwrap();
    let asked: Vec<_> = (0..100)
        .map(|_| authorizer.decide(&request()).unwrap())
        .collect();
    while shard.held_decisions() < 100 {
        shard.turn(Nanos(1), 256);
        journal.sync();
    }
    drop(asked);
    // The journal in memory allocates, so it is synced between what is counted.
    let mut round = 0;
    let mut orders = |shard: &mut Admission<SimVenue, RandomIdentity>| {
        let now = Nanos(2 + round);
        let first = 1_000 * round;
        round += 1;
        for reference in first..first + 64 {
            let order = limit(1 + reference % 3, Side::Buy, 90, 1);
            shard.command(&new_order(reference, order), now);
            shard.command(&cancel(reference + 100, 1 + reference % 3, reference), now);
        }
        shard.turn(now, 256);
    };
    let mut let_go = |shard: &mut Admission<SimVenue, RandomIdentity>| {
        journal.sync();
        shard.turn(Nanos(10_000), 256);
        journal.sync();
        receiver.drain(usize::MAX, &mut |_| {})
    };
    for _ in 0..20 {
        orders(&mut shard);
        let_go(&mut shard);
    }
    for _ in 0..50 {
        let ((), counts) = counted(|| orders(&mut shard));
        assert_eq!((counts.allocations, counts.frees), (0, 0));
        assert_eq!(let_go(&mut shard), 128);
    }
    assert_eq!(shard.held_decisions(), 100);
}

fn request() -> DecisionRequest {
    DecisionRequest {
        agent_id: "agent-7".into(),
        user_id: "ann".into(),
        account: AccountId(1),
        venue: "sim".into(),
        instrument: "GOLD".into(),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::GoodTillCancel,
        size: Size::Quantity(lots(1)),
        price: Some(Price::from_raw(90 * PRICE_SCALE)),
        stop_price: None,
        good_till: None,
        ttl: Duration::from_secs(60),
    }
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
