//! What the risk tests share: two instruments, three accounts, short orders.
#![allow(dead_code, unreachable_pub)] // Every test crate uses its own part.

use std::sync::Arc;

use pitlane::risk::{
    AccountConfig, Adjustment, Change, ExecutionReport, InstrumentConfig, Quote, QuoteTarget,
    Rejects, ReservationToken, RiskConfig, RiskEngine, SharedLimits,
};
use pitlane::time::Nanos;
use pitlane::types::{
    AccountId, Amount, AssetId, GroupId, InstrumentId, Order, OrderType, Price, Quantity,
    RejectCode, ShardId, Side, TimeInForce,
};

pub const AAPL: AssetId = AssetId(1);
pub const USD: AssetId = AssetId(2);
pub const BTC: AssetId = AssetId(3);
pub const AAPL_USD: InstrumentId = InstrumentId(1);
pub const BTC_USD: InstrumentId = InstrumentId(2);
pub const ONE: AccountId = AccountId(1);
pub const TWO: AccountId = AccountId(2);
pub const THREE: AccountId = AccountId(3);

pub fn config() -> RiskConfig {
    let mut config = RiskConfig {
        instruments: vec![
            instrument(AAPL_USD, AAPL, USD),
            instrument(BTC_USD, BTC, USD),
        ],
        accounts: [ONE, TWO, THREE]
            .map(|id| AccountConfig { id, group: None })
            .to_vec(),
        ..RiskConfig::default()
    };
    for (name, id) in [("AAPL", AAPL), ("USD", USD), ("BTC", BTC)] {
        config.assets.insert(name.into(), id);
    }
    config.spot_funds.enabled = false;
    config
}

fn instrument(id: InstrumentId, base: AssetId, settlement: AssetId) -> InstrumentConfig {
    InstrumentConfig {
        id,
        name: None,
        base: base.into(),
        settlement: settlement.into(),
        allow_non_positive_price: false,
    }
}

/// The configuration with more TOML laid over it.
pub fn config_with(toml: &str) -> RiskConfig {
    let extra = RiskConfig::from_toml(toml).expect("the test's TOML is right");
    let base = config();
    RiskConfig {
        assets: base.assets,
        instruments: base.instruments,
        accounts: if extra.accounts.is_empty() {
            base.accounts
        } else {
            extra.accounts.clone()
        },
        spot_funds: if toml.contains("spot_funds") {
            extra.spot_funds.clone()
        } else {
            base.spot_funds
        },
        ..extra
    }
}

pub fn engine(config: &RiskConfig) -> RiskEngine {
    let shared = Arc::new(SharedLimits::new(config).expect("a sound configuration"));
    RiskEngine::new(config, ShardId(0), shared).expect("a sound configuration")
}

pub fn price(text: &str) -> Price {
    text.parse().expect("a price")
}

pub fn quantity(text: &str) -> Quantity {
    text.parse().expect("a quantity")
}

pub fn amount(text: &str) -> Amount {
    text.parse().expect("an amount")
}

pub fn group(id: u32) -> GroupId {
    GroupId::new(id).expect("a group")
}

pub fn limit(account: AccountId, side: Side, qty: &str, at: &str) -> Order {
    Order {
        account,
        instrument: AAPL_USD,
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(quantity(qty)),
        volume: None,
        price: Some(price(at)),
    }
}

pub fn buy(account: AccountId, qty: &str, at: &str) -> Order {
    limit(account, Side::Buy, qty, at)
}

pub fn sell(account: AccountId, qty: &str, at: &str) -> Order {
    limit(account, Side::Sell, qty, at)
}

pub fn market(account: AccountId, side: Side, qty: &str) -> Order {
    Order {
        order_type: OrderType::Market,
        price: None,
        ..limit(account, side, qty, "1")
    }
}

pub fn by_volume(order: Order, volume: &str) -> Order {
    Order {
        quantity: None,
        volume: Some(amount(volume)),
        ..order
    }
}

pub fn ms(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

pub fn codes(rejects: &Rejects) -> Vec<RejectCode> {
    rejects.iter().map(|reject| reject.code).collect()
}

/// The codes of a refused order; empty when it was accepted and committed.
pub fn place(engine: &mut RiskEngine, order: &Order, now: Nanos) -> Vec<RejectCode> {
    match engine.execute_pre_trade(order, now) {
        Ok(token) => {
            engine.commit(token).expect("a fresh reservation");
            Vec::new()
        }
        Err(rejects) => codes(&rejects),
    }
}

pub fn working(engine: &mut RiskEngine, order: &Order, now: Nanos) -> ReservationToken {
    let token = engine
        .execute_pre_trade(order, now)
        .unwrap_or_else(|rejects| panic!("refused: {rejects}"));
    engine.commit(token).expect("a fresh reservation");
    token
}

/// A report of `order` without a trade, not final.
pub fn report(order: &Order, token: Option<ReservationToken>) -> ExecutionReport {
    ExecutionReport {
        token,
        account: order.account,
        instrument: order.instrument,
        side: order.side,
        fill_id: None,
        price: Price::ZERO,
        quantity: Quantity::ZERO,
        fee: Amount::ZERO,
        fee_asset: None,
        pnl: Amount::ZERO,
        is_final: false,
    }
}

pub const FUNDS: &str = "spot_funds = {enabled = true}";

pub fn seeded(toml: &str) -> RiskEngine {
    let mut engine = engine(&config_with(toml));
    seed(&mut engine, ONE, USD, "1000");
    seed(&mut engine, ONE, AAPL, "10");
    engine
}

pub fn seed(engine: &mut RiskEngine, account: AccountId, asset: AssetId, text: &str) {
    let change = Change::Absolute(amount(text));
    engine
        .adjust(account, &[Adjustment::available(asset, change)])
        .expect("seeded");
}

/// `available held incoming`, as text.
pub fn of(engine: &RiskEngine, asset: AssetId) -> String {
    let balance = engine.balance(ONE, asset);
    format!(
        "{} {} {}",
        balance.available, balance.held, balance.incoming
    )
}

pub fn mark(engine: &mut RiskEngine, target: QuoteTarget, text: &str) {
    let quote = Quote {
        mark: Some(price(text)),
        ..Quote::default()
    };
    engine
        .set_quote(target, AAPL_USD, quote, ms(0))
        .expect("set");
}

pub fn fill(order: &Order, token: ReservationToken, qty: &str, at: &str) -> ExecutionReport {
    ExecutionReport {
        price: price(at),
        quantity: quantity(qty),
        ..report(order, Some(token))
    }
}

pub fn last(mut of: ExecutionReport) -> ExecutionReport {
    of.is_final = true;
    of
}
