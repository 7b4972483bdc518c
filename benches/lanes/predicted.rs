//! P14 and P15: the predicted workload over the real risk engine.
//!
//! Every verdict and every balance is known beforehand (rule L38) and compared.
//! Of 10,000 accounts 1,024 are active: few chatty ones, more regular and quiet
//! ones; the rest is dormant. Symbols follow Zipf's law. Orders open and add,
//! close in part and in full; one in twenty is refused for want of funds, and
//! now and then an account is funded. An accepted order is committed and filled
//! whole in the same operation.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pitlane::host::PinPlan;
use pitlane::lanes::{EngineBuilder, LaneFuture, LaneKey, LocalDriver, Observer, Submitter};
use pitlane::risk::{
    AccountConfig, Adjustment, Change, InstrumentConfig, RiskConfig, RiskEngine, SharedLimits,
};
use pitlane::time::{Nanos, SystemClock};
use pitlane::types::{
    AMOUNT_SCALE, AccountId, Amount, AssetId, InstrumentId, Order, PRICE_SCALE, Price, Quantity,
    RejectCode, Side,
};

use super::alternate::{Pair, idle, pin};
use super::risk_support::{ONE, USD, buy, config_with, report};
use super::{WINDOW, nanos};

const ACCOUNTS: u64 = 10_000;
const ACTIVE: usize = 1_024;
/// The first accounts, and how many of a hundred orders each cohort sends.
const CHATTY: (usize, u64) = (64, 60);
const REGULAR: (usize, u64) = (448, 35);
const SYMBOLS: usize = 16;
const FUNDS: i64 = 1_000_000_000;
const DEPOSIT: i64 = 1_000;
/// Validation is always on.
const POLICIES: &str = "order_size = [{max_quantity = '1000000000'}]
rate_limit = [{scope = 'account', limit = 50000, window_ms = 100}]
spot_funds = {enabled = true}";

/// What an account asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Buy,
    Sell,
    /// More than the account's money buys.
    BuyTooMuch,
    Deposit,
}

/// One operation, which says what comes of it.
#[derive(Clone, Copy)]
struct Step {
    account: u16,
    symbol: u8,
    ask: Ask,
    quantity: u32,
}

/// What an account has.
#[derive(Clone, Copy)]
struct Left {
    money: i64,
    shares: [i64; SYMBOLS],
}

/// All operations, and what each active account is left with.
pub(super) struct Workload {
    steps: Vec<Step>,
    left: Vec<Left>,
}

fn asset(symbol: usize) -> AssetId {
    AssetId(100 + u32::try_from(symbol).expect("few"))
}

fn instrument(symbol: usize) -> InstrumentId {
    InstrumentId(100 + u32::try_from(symbol).expect("few"))
}

/// Whole money for a share.
fn price(symbol: usize) -> i64 {
    10 + i64::try_from(symbol).expect("few")
}

fn whole(amount: i64) -> Amount {
    Amount::from_raw(i128::from(amount) * AMOUNT_SCALE)
}

/// A cheap reproducible sequence.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }

    fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).expect("below a usize")
    }

    fn account(&mut self) -> usize {
        let of_hundred = self.below(100);
        if of_hundred < CHATTY.1 {
            self.index(CHATTY.0)
        } else if of_hundred < CHATTY.1 + REGULAR.1 {
            CHATTY.0 + self.index(REGULAR.0)
        } else {
            let before = CHATTY.0 + REGULAR.0;
            before + self.index(ACTIVE - before)
        }
    }

    /// The `n`th symbol with a weight of 1/n.
    fn symbol(&mut self) -> usize {
        let weight = |symbol: usize| 720_720 / (symbol as u64 + 1);
        let mut left = self.below((0..SYMBOLS).map(weight).sum());
        for symbol in 0..SYMBOLS {
            if left < weight(symbol) {
                return symbol;
            }
            left -= weight(symbol);
        }
        0
    }
}

impl Workload {
    pub(super) fn predict(operations: usize) -> Self {
        let mut left = vec![
            Left {
                money: FUNDS,
                shares: [0; SYMBOLS],
            };
            ACTIVE
        ];
        let mut dice = Dice(0x5EED);
        let steps = (0..operations)
            .map(|_| {
                let (account, symbol) = (dice.account(), dice.symbol());
                let of = &mut left[account];
                let held = of.shares[symbol];
                let (ask, quantity) = match dice.below(100) {
                    0..5 => (Ask::BuyTooMuch, FUNDS / 10 * 9),
                    5..6 => (Ask::Deposit, DEPOSIT),
                    6..30 if held > 0 => (Ask::Sell, held),
                    30..50 if held > 1 => (Ask::Sell, held / 2),
                    _ => (Ask::Buy, 1 + i64::try_from(dice.below(9)).expect("few")),
                };
                match ask {
                    Ask::Buy => {
                        of.money -= quantity * price(symbol);
                        of.shares[symbol] += quantity;
                    }
                    Ask::Sell => {
                        of.money += quantity * price(symbol);
                        of.shares[symbol] -= quantity;
                    }
                    Ask::Deposit => of.money += quantity,
                    Ask::BuyTooMuch => {}
                }
                Step {
                    account: u16::try_from(account).expect("few"),
                    symbol: u8::try_from(symbol).expect("few"),
                    ask,
                    quantity: u32::try_from(quantity).expect("fits"),
                }
            })
            .collect();
        Self { steps, left }
    }
}

/// The risk engine alone: what is submitted calls it.
struct Live {
    engine: RiskEngine,
    /// What all orders have in common.
    template: Order,
}

impl LocalDriver for Live {
    type Command = ();
    fn key((): &()) -> LaneKey {
        LaneKey::Engine
    }
    fn command(&mut self, (): &(), _: Nanos) {}
}

impl Live {
    fn new(engine: RiskEngine) -> Self {
        let mut live = Self {
            engine,
            template: buy(ONE, "1", "10"),
        };
        for account in (0..).take(ACTIVE) {
            live.fund(AccountId(account), FUNDS);
        }
        live
    }

    fn fund(&mut self, account: AccountId, amount: i64) {
        let change = Change::Delta(whole(amount));
        self.engine
            .adjust(account, &[Adjustment::available(USD, change)])
            .expect("funded");
    }

    /// Decides, and fills what is accepted.
    fn decide(&mut self, step: Step, now: Nanos) -> Option<RejectCode> {
        let account = AccountId(u64::from(step.account));
        if step.ask == Ask::Deposit {
            self.fund(account, i64::from(step.quantity));
            return None;
        }
        let symbol = usize::from(step.symbol);
        let order = Order {
            account,
            instrument: instrument(symbol),
            side: if step.ask == Ask::Sell {
                Side::Sell
            } else {
                Side::Buy
            },
            price: Some(Price::from_raw(price(symbol) * PRICE_SCALE)),
            quantity: Some(Quantity::from_raw(i64::from(step.quantity) * PRICE_SCALE)),
            ..self.template
        };
        match self.engine.execute_pre_trade(&order, now) {
            Ok(token) => {
                self.engine.commit(token).expect("a fresh reservation");
                let mut fill = report(&order, Some(token));
                fill.price = order.price.expect("a limit order");
                fill.quantity = order.quantity.expect("by quantity");
                fill.is_final = true;
                let booked = self.engine.apply_execution_report(&fill, now);
                let outcome = booked.expect("booked");
                assert!(outcome.alarms.is_empty(), "{outcome:?}");
                None
            }
            Err(rejects) => Some(rejects.code()),
        }
    }
}

fn config() -> RiskConfig {
    let mut config = config_with(POLICIES);
    config.accounts = (0..ACCOUNTS)
        .map(|id| AccountConfig {
            id: AccountId(id),
            group: None,
        })
        .collect();
    config.instruments = (0..SYMBOLS)
        .map(|symbol| InstrumentConfig {
            id: instrument(symbol),
            name: None,
            base: asset(symbol).into(),
            settlement: USD.into(),
            allow_non_positive_price: false,
        })
        .collect();
    config
}

/// What a run took.
pub(super) struct Run {
    pub(super) per_second: f64,
    /// From the time that was meant to the verdict in hand; ns, sorted.
    pub(super) latencies: Vec<u64>,
}

impl Run {
    /// Microseconds, of so many in a thousand.
    pub(super) fn at(&self, per_mille: usize) -> f64 {
        let last = self.latencies.len() - 1;
        self.latencies[last * per_mille / 1_000] as f64 / 1_000.0
    }
}

/// Runs it at `rate` operations a second, or as fast as a window of 1,024 lets
/// it; panics if a verdict or a balance is not as predicted.
pub(super) fn run<O: Observer>(
    workload: &Workload,
    rate: Option<u64>,
    pair: Pair,
    observer: O,
) -> Run {
    let config = config();
    let shared = Arc::new(SharedLimits::new(&config).expect("a sound configuration"));
    let engine = EngineBuilder::new()
        .idle(idle())
        .pin(PinPlan::Cpus(vec![pair.answerer.0]))
        .observer(observer)
        .build(move |shard| {
            let mine = |account| LaneKey::Account(account).shard(1) == shard;
            let shared = Arc::clone(&shared);
            let engine = RiskEngine::with_accounts(&config, shard, shared, mine);
            Live::new(engine.expect("a sound configuration"))
        })
        .expect("engine");
    let mut submitter = engine.submitter().expect("submitter");
    pin(pair.caller);
    let run = pace(&mut submitter, &workload.steps, rate);
    for (account, left) in (0u64..).zip(&workload.left) {
        let account = AccountId(account);
        let balances = submitter.submit(account, move |live: &mut Live| {
            let of = |asset| live.engine.balance(account, asset);
            let shares: [_; SYMBOLS] = core::array::from_fn(|symbol| of(asset(symbol)).available);
            (of(USD), Box::new(shares))
        });
        let (usd, shares) = { balances }.wait().expect("ran");
        assert_eq!(usd.available, whole(left.money), "{account}");
        assert_eq!(*shares, left.shares.map(whole), "{account}");
        assert_eq!(usd.held, Amount::ZERO, "{account}");
    }
    let report = engine.stop_graceful(Duration::from_secs(10)).expect("stop");
    assert!(report.is_balanced(), "{report:?}");
    run
}

/// The one pacing thread: submits what is due, and takes verdicts meanwhile.
fn pace<O: Observer>(
    submitter: &mut Submitter<Live, O, SystemClock>,
    steps: &[Step],
    rate: Option<u64>,
) -> Run {
    type Verdict = LaneFuture<Option<RejectCode>>;
    let mut waiting: VecDeque<(Verdict, u64, bool)> = VecDeque::with_capacity(4 * WINDOW);
    let mut latencies = Vec::with_capacity(steps.len());
    let mut next = 0;
    let mut idle = idle();
    let begun = Instant::now();
    while latencies.len() < steps.len() {
        let mut moved = false;
        while next < steps.len() {
            let now = nanos(begun.elapsed());
            let due = rate.map_or(now, |rate| next as u64 * 1_000_000_000 / rate);
            if due > now || (rate.is_none() && waiting.len() >= WINDOW) {
                break;
            }
            let step = steps[next];
            let account = AccountId(u64::from(step.account));
            // A full lane is tried again; the order's time stays what it was.
            let Ok(verdict) = submitter.try_submit(account, move |live: &mut Live| {
                live.decide(step, Nanos(due))
            }) else {
                break;
            };
            waiting.push_back((verdict, due, step.ask == Ask::BuyTooMuch));
            next += 1;
            moved = true;
        }
        while let Some((front, due, refused)) = waiting.front_mut()
            && let Some(verdict) = front.try_get()
        {
            let predicted = refused.then_some(RejectCode::InsufficientFunds);
            assert_eq!(verdict.expect("ran"), predicted, "not as predicted");
            latencies.push(nanos(begun.elapsed()) - *due);
            waiting.pop_front();
            moved = true;
        }
        if moved {
            idle.reset();
        } else {
            idle.pause();
        }
    }
    let per_second = steps.len() as f64 / begun.elapsed().as_secs_f64();
    latencies.sort_unstable();
    Run {
        per_second,
        latencies,
    }
}
