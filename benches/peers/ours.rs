//! Ours of the comparison: orders, the configuration, and the timed part.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pitlane::risk::{
    AccountConfig, Adjustment, Change, ExecutionReport, InstrumentConfig, Quote, QuoteTarget,
    ReservationToken, RiskConfig, RiskEngine, SharedLimits,
};
use pitlane::time::{Clock, Nanos, SystemClock};
use pitlane::types::{
    AccountId, Amount, AssetId, InstrumentId, Order, OrderType, Price, Quantity, ShardId, Side,
    TimeInForce,
};

pub(super) const ACCOUNTS: u64 = 256;
pub(super) const BATCH: u64 = 4_096;
pub(super) const LIMIT: usize = 1 << 20;
pub(super) const WINDOW: Duration = Duration::from_millis(1);

pub(super) fn order(number: u64, accounts: core::ops::Range<u64>) -> Order {
    let span = accounts.end - accounts.start;
    let step = i64::try_from(number % 100).expect("small");
    Order {
        account: AccountId(accounts.start + number.wrapping_mul(0x9E37_79B9) % span),
        instrument: InstrumentId(1),
        side: if number.is_multiple_of(2) {
            Side::Buy
        } else {
            Side::Sell
        },
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(Quantity::from_raw((step + 1) * 1_000_000_000)),
        volume: None,
        // Sells above buys: none meets an own one.
        price: Some(Price::from_raw(
            (185 + i64::from(!number.is_multiple_of(2)) * 10) * 1_000_000_000 + step * 10_000_000,
        )),
    }
}

pub(super) fn config(policies: &str) -> RiskConfig {
    let mut config = RiskConfig::from_toml(policies).expect("sound");
    config.instruments = vec![InstrumentConfig {
        id: InstrumentId(1),
        name: None,
        base: AssetId(1).into(),
        settlement: AssetId(2).into(),
        allow_non_positive_price: false,
    }];
    config.assets.insert("USD".into(), AssetId(2));
    config.accounts = (0..ACCOUNTS)
        .map(|id| AccountConfig {
            id: AccountId(id),
            group: None,
        })
        .collect();
    config
}

pub(super) fn rates() -> String {
    let window = WINDOW.as_nanos();
    format!(
        "rate_limit = [{{scope = 'broker', limit = {LIMIT}, window_ns = {window}}},
                       {{scope = 'account', limit = {LIMIT}, window_ns = {window}}}]\n"
    )
}

pub(super) struct Ours {
    engine: RiskEngine,
    clock: SystemClock,
    orders: Vec<Order>,
    open: Vec<ReservationToken>,
}

impl Ours {
    pub(super) fn new(
        config: &RiskConfig,
        shared: &Arc<SharedLimits>,
        shard: u16,
        orders: Vec<Order>,
    ) -> Self {
        let mut engine =
            RiskEngine::new(config, ShardId(shard), Arc::clone(shared)).expect("sound");
        if config.spot_funds.enabled {
            let seed = Change::Absolute(Amount::from_raw(100_000_000 * 1_000_000_000_000_000_000));
            for id in 0..ACCOUNTS {
                for asset in [AssetId(1), AssetId(2)] {
                    engine
                        .adjust(AccountId(id), &[Adjustment::available(asset, seed)])
                        .expect("seeded");
                }
            }
        }
        let quote = Quote {
            mark: Some(Price::from_raw(190_000_000_000)),
            ..Quote::default()
        };
        engine
            .set_quote(QuoteTarget::All, InstrumentId(1), quote, Nanos(0))
            .expect("set");
        Self {
            engine,
            clock: SystemClock::new(),
            orders,
            open: Vec::with_capacity(64),
        }
    }

    pub(super) fn batch(&mut self) -> Duration {
        let mut timed = Duration::ZERO;
        let orders = core::mem::take(&mut self.orders);
        for chunk in orders.chunks(64) {
            let start = Instant::now();
            // One reading for a chunk of the ring, as a shard does.
            let now = self.clock.now();
            for order in chunk {
                let token = self
                    .engine
                    .start_pre_trade(black_box(order), now)
                    .ok()
                    .and_then(|request| self.engine.execute(request, now).ok())
                    .expect("accepted");
                self.engine.commit(token).expect("fresh");
                self.open.push(token);
            }
            timed += start.elapsed();
            self.finish(chunk);
        }
        self.orders = orders;
        timed
    }

    fn finish(&mut self, orders: &[Order]) {
        let now = self.clock.now();
        for (token, order) in self.open.drain(..).zip(orders) {
            let report = ExecutionReport {
                token: Some(token),
                account: order.account,
                instrument: order.instrument,
                side: order.side,
                fill_id: None,
                price: Price::ZERO,
                quantity: Quantity::ZERO,
                fee: Amount::ZERO,
                fee_asset: None,
                pnl: Amount::ZERO,
                is_final: true,
            };
            self.engine
                .apply_execution_report(&report, now)
                .expect("ours");
        }
    }
}
