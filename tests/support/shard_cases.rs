//! Shards, commands and reports in whole units, for the shard's tests.
#![allow(dead_code)] // Each test uses the part that it needs.
#![allow(unreachable_pub)] // Included by several test crates.

use std::sync::Arc;

use pitlane::orders::RandomIdentity;
use pitlane::orders::venue::Venue;
use pitlane::orders::venue::sim::{Phase, SimConfig, SimInstrument, SimVenue};
use pitlane::risk::{
    AccountConfig, AssetRef, InstrumentConfig, RiskConfig, RiskEngine, SharedLimits,
};
use pitlane::shard::{Admission, ReportBell, ReportReceiver, report_ring};
use pitlane::time::Nanos;
use pitlane::types::{
    AccountId, AssetId, ClientReference, Command, InstrumentId, Order, OrderType, Origin,
    PRICE_SCALE, Price, Quantity, Report, ReportKind, ShardId, Side, TimeInForce,
};

pub const INSTRUMENT: InstrumentId = InstrumentId(1);
pub const ACCOUNTS: u64 = 3;
pub const NOW: Nanos = Nanos(1);

pub fn risk_config() -> RiskConfig {
    let mut config = RiskConfig {
        instruments: vec![InstrumentConfig {
            id: INSTRUMENT,
            name: None,
            base: AssetRef::Id(AssetId(1)),
            settlement: AssetRef::Id(AssetId(2)),
            allow_non_positive_price: false,
        }],
        accounts: (1..=ACCOUNTS)
            .map(|id| AccountConfig {
                id: AccountId(id),
                group: None,
            })
            .collect(),
        ..RiskConfig::default()
    };
    config.spot_funds.enabled = false;
    config
}

pub fn risk(config: &RiskConfig) -> (RiskEngine, Arc<SharedLimits>) {
    let shared = Arc::new(SharedLimits::new(config).unwrap());
    let engine = RiskEngine::new(config, ShardId(0), Arc::clone(&shared)).unwrap();
    (engine, shared)
}

pub fn sim() -> SimVenue {
    let instrument = SimInstrument {
        phase: Phase::Continuous,
        ..SimInstrument::new(INSTRUMENT)
    };
    SimVenue::new(&SimConfig::new(vec![instrument])).unwrap()
}

pub fn shard<V: Venue>(
    venue: V,
    orders_max: usize,
) -> (Admission<V, RandomIdentity>, ReportReceiver) {
    shard_with(risk(&risk_config()).0, venue, orders_max)
}

pub fn shard_with<V: Venue>(
    risk: RiskEngine,
    venue: V,
    orders_max: usize,
) -> (Admission<V, RandomIdentity>, ReportReceiver) {
    let (sender, receiver) = report_ring(&ReportBell::default());
    let identities = RandomIdentity::from_seed(1);
    let shard = Admission::new(
        ShardId(0),
        risk,
        venue,
        identities,
        orders_max,
        vec![sender],
    );
    (shard, receiver)
}

pub fn reports<V: Venue>(
    shard: &mut Admission<V, RandomIdentity>,
    receiver: &mut ReportReceiver,
) -> Vec<Report> {
    shard.call_back(Nanos(0));
    shard.flush();
    let mut reports = Vec::new();
    receiver.drain(usize::MAX, &mut |report| reports.push(*report));
    reports
}

pub fn origin() -> Origin {
    Origin {
        port: 0,
        credential: 7,
        session: 9,
    }
}

pub fn limit(account: u64, side: Side, price: i64, quantity: i64) -> Order {
    Order {
        account: AccountId(account),
        instrument: INSTRUMENT,
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(lots(quantity)),
        volume: None,
        price: Some(Price::from_raw(price * PRICE_SCALE)),
    }
}

pub fn lots(quantity: i64) -> Quantity {
    Quantity::from_raw(quantity * PRICE_SCALE)
}

pub fn new_order(reference: u64, order: Order) -> Command {
    Command::NewOrder {
        origin: origin(),
        reference: ClientReference(reference),
        order,
    }
}

pub fn cancel(reference: u64, account: u64, target: u64) -> Command {
    Command::Cancel {
        origin: origin(),
        reference: ClientReference(reference),
        account: AccountId(account),
        target: ClientReference(target),
    }
}

pub fn replace(reference: u64, account: u64, target: u64, price: i64, quantity: i64) -> Command {
    Command::Replace {
        origin: origin(),
        reference: ClientReference(reference),
        account: AccountId(account),
        target: ClientReference(target),
        price: Price::from_raw(price * PRICE_SCALE),
        quantity: lots(quantity),
    }
}

pub fn kinds(reports: &[Report]) -> Vec<(ReportKind, u64)> {
    reports
        .iter()
        .map(|report| (report.kind, report.reference.0))
        .collect()
}
