//! The policies of the main stage beside funds, and the P&L kill switch.

mod risk_support;

use std::sync::Arc;

use pitlane::risk::{
    Alarms, ExecutionReport, Quote, QuoteTarget, ReservationToken, RiskEngine, SharedLimits,
};
use pitlane::types::{AccountId, Order, RejectCode, RejectScope, ShardId, Side};
use risk_support::*;

use RejectCode::*;

fn with(toml: &str) -> RiskEngine {
    let off = "\nspot_funds = {enabled = false}";
    engine(&config_with(&format!("{toml}{off}")))
}

fn mark(engine: &mut RiskEngine, text: &str) {
    let quote = Quote {
        mark: Some(price(text)),
        ..Quote::default()
    };
    engine
        .set_quote(QuoteTarget::All, AAPL_USD, quote, ms(0))
        .expect("set");
}

fn traded(order: &Order, token: Option<ReservationToken>, qty: &str, at: &str) -> ExecutionReport {
    ExecutionReport {
        price: price(at),
        quantity: quantity(qty),
        is_final: true,
        ..report(order, token)
    }
}

/// Makes the account long, or short, without an order.
fn own(engine: &mut RiskEngine, account: AccountId, side: Side, qty: &str, at: &str) {
    let report = traded(&limit(account, side, qty, at), None, qty, at);
    engine
        .apply_execution_report(&report, ms(0))
        .expect("booked");
}

fn realize(engine: &mut RiskEngine, account: AccountId, pnl: &str) -> pitlane::risk::ReportOutcome {
    let mut report = report(&buy(account, "1", "1"), None);
    report.is_final = true;
    report.pnl = amount(pnl);
    engine
        .apply_execution_report(&report, ms(0))
        .expect("booked")
}

#[test]
fn k16_the_collar_is_by_percentage_distance_and_side() {
    let mut engine = with(
        "collar = [{above_bps = 1000, below_bps = 500},
                   {side = 'sell', above = '3', below = '3'},
                   {account = 2, instrument = 'AAPL/USD', above = '0'}]",
    );
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "100"), ms(0)),
        [MarkPriceUnavailable]
    );
    mark(&mut engine, "100");
    let cases: [(Order, &[RejectCode]); 8] = [
        (buy(ONE, "1", "110"), &[]),
        (buy(ONE, "1", "110.000000001"), &[PriceOutsideCollar]),
        (buy(ONE, "1", "95"), &[]),
        (buy(ONE, "1", "94.999999999"), &[PriceOutsideCollar]),
        (sell(ONE, "1", "103"), &[]),
        (sell(ONE, "1", "96.9"), &[PriceOutsideCollar]),
        (buy(TWO, "1", "100.000000001"), &[PriceOutsideCollar]),
        (buy(TWO, "1", "1"), &[]),
    ];
    for (order, expected) in cases {
        assert_eq!(place(&mut engine, &order, ms(0)), expected, "{order:?}");
    }
}

#[test]
fn k16_a_market_order_cannot_slip_past_the_collar() {
    let mut engine = engine(&config_with(
        "collar = [{above_bps = 100}]\nspot_funds = {enabled = false, slippage_bps = 101}",
    ));
    mark(&mut engine, "100");
    assert_eq!(
        place(&mut engine, &market(ONE, Side::Buy, "1"), ms(0)),
        [PriceOutsideCollar]
    );
    assert_eq!(place(&mut engine, &market(ONE, Side::Sell, "1"), ms(0)), []);
}

#[test]
fn k18_a_breach_blocks_the_account_and_each_account_is_its_own() {
    let mut engine = with(
        "pnl = {rules = [{asset = 'USD', lower = '-100', upper = '100'},
                                           {asset = 'USD', account = 3, lower = '-5'}]}",
    );
    let order = buy(ONE, "1", "10");
    assert_eq!(
        realize(&mut engine, ONE, "-100").blocked,
        None,
        "on the bound passes"
    );
    let outcome = realize(&mut engine, ONE, "-0.000000000000000001");
    assert_eq!(outcome.blocked, Some(PnlKillSwitchTriggered));
    assert!(outcome.alarms.contains(Alarms::PNL));
    assert_eq!(place(&mut engine, &order, ms(0)), [PnlKillSwitchTriggered]);
    assert_eq!(place(&mut engine, &buy(TWO, "1", "10"), ms(0)), []);
    assert_eq!(
        realize(&mut engine, THREE, "-6").blocked,
        Some(PnlKillSwitchTriggered)
    );

    // Still out of bounds: the next order rejects, and blocks again by hand.
    engine.unblock_account(ONE).expect("known");
    let rejects = engine
        .execute_pre_trade(&order, ms(0))
        .expect_err("out of bounds");
    assert_eq!(codes(&rejects), [PnlKillSwitchTriggered]);
    assert_eq!(rejects.scope(), RejectScope::Account);
    assert_eq!(place(&mut engine, &order, ms(0)), [AccountBlocked]);
    // So does a report, even one that changes nothing.
    engine.unblock_account(ONE).expect("known");
    assert_eq!(
        realize(&mut engine, ONE, "0").blocked,
        Some(PnlKillSwitchTriggered)
    );
    engine.unblock_account(ONE).expect("known");
    realize(&mut engine, ONE, "1");
    assert_eq!(place(&mut engine, &order, ms(0)), []);
}

#[test]
fn k18_the_brokers_sum_spans_shards_and_stops_everything() {
    let config = config_with(
        "pnl = {unit = '1', cancel_working = true, rules = [{scope = 'broker', asset = 'USD', lower = '-10'}]}
         spot_funds = {enabled = false}",
    );
    let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
    let mut shards: Vec<_> = (0..2)
        .map(|shard| RiskEngine::new(&config, ShardId(shard), Arc::clone(&shared)).expect("sound"))
        .collect();
    realize(&mut shards[0], ONE, "-4.5");
    let outcome = realize(&mut shards[1], TWO, "-4.5");
    assert!(!outcome.cancel_working);
    assert_eq!(
        place(&mut shards[0], &buy(THREE, "1", "1"), ms(0)),
        [],
        "-5 and -5 at most"
    );
    let outcome = realize(&mut shards[1], TWO, "-0.6");
    assert!(
        outcome.cancel_working,
        "-5 and -6: rounded against the accounts"
    );
    for shard in &mut shards {
        assert_eq!(
            place(shard, &buy(THREE, "1", "1"), ms(0)),
            [PnlKillSwitchTriggered]
        );
    }
}

#[test]
fn k19_working_orders_count_at_their_worst() {
    let mut engine = with(
        "position = [{long = '10', short = '5'}, {account = 2, instrument = 'AAPL/USD', long = '1'}]",
    );
    let first = working(&mut engine, &buy(ONE, "6", "10"), ms(0));
    assert_eq!(
        place(&mut engine, &buy(ONE, "5", "10"), ms(0)),
        [PositionLimitExceeded]
    );
    assert_eq!(place(&mut engine, &buy(ONE, "4", "10"), ms(0)), []);
    assert_eq!(
        place(&mut engine, &sell(ONE, "6", "10"), ms(0)),
        [PositionLimitExceeded]
    );
    assert_eq!(place(&mut engine, &sell(ONE, "5", "10"), ms(0)), []);
    let order = buy(ONE, "6", "10");
    let done = traded(&order, Some(first), "2", "10");
    engine.apply_execution_report(&done, ms(0)).expect("ours");
    assert_eq!(engine.position(ONE, AAPL_USD), Some(quantity("2")));
    assert_eq!(
        place(&mut engine, &buy(ONE, "4", "10"), ms(0)),
        [],
        "2 + 4 + 4"
    );
    assert_eq!(
        place(&mut engine, &buy(TWO, "2", "10"), ms(0)),
        [PositionLimitExceeded]
    );
    assert_eq!(place(&mut engine, &buy(TWO, "1", "10"), ms(0)), []);
}

#[test]
fn k22_an_exit_passes_every_limit_that_it_brings_nearer_to_zero() {
    let mut engine = with(
        "position = [{long = '1', short = '1'}]
         restricted = [{instrument = 'AAPL/USD', mode = 'reduce_only'}]
         gross_credit = {rules = [{asset = 'USD', limit = '1'},
                         {scope = 'firm', asset = 'USD', limit = '1'}]}",
    );
    own(&mut engine, ONE, Side::Buy, "10", "100");
    own(&mut engine, TWO, Side::Sell, "10", "100");
    assert_eq!(
        place(&mut engine, &sell(ONE, "10", "90"), ms(0)),
        [],
        "over every limit, and out"
    );
    assert_eq!(
        place(&mut engine, &sell(ONE, "1", "90"), ms(0)),
        [
            CreditLimitExceeded,
            CreditLimitExceeded,
            InstrumentRestricted
        ],
        "beyond zero when both fill"
    );
    assert_eq!(place(&mut engine, &buy(TWO, "10", "90"), ms(0)), []);
    assert_eq!(
        place(&mut engine, &sell(TWO, "1", "90"), ms(0)),
        [
            PositionLimitExceeded,
            CreditLimitExceeded,
            CreditLimitExceeded,
            InstrumentRestricted
        ]
    );
}

#[test]
fn k22_a_restriction_is_by_account_and_group_and_can_be_lifted_for_one() {
    let mut engine = with(
        "restricted = [{instrument = 'BTC/USD'},
                       {instrument = 'AAPL/USD', group = 5},
                       {instrument = 'BTC/USD', account = 2, mode = 'allow'}]",
    );
    let btc = |account| Order {
        instrument: BTC_USD,
        ..buy(account, "1", "1")
    };
    assert_eq!(place(&mut engine, &btc(ONE), ms(0)), [InstrumentRestricted]);
    assert_eq!(place(&mut engine, &btc(TWO), ms(0)), []);
    assert_eq!(place(&mut engine, &buy(ONE, "1", "1"), ms(0)), []);
    engine.register(ONE, group(5)).expect("known");
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "1"), ms(0)),
        [InstrumentRestricted]
    );
}

#[test]
fn k20_orders_and_positions_count_together_and_come_back() {
    let mut engine = with("gross_credit = {rules = [{asset = 'USD', limit = '1000'}]}");
    let order = buy(ONE, "6", "100");
    let token = working(&mut engine, &order, ms(0));
    assert_eq!(
        place(&mut engine, &buy(ONE, "5", "100"), ms(0)),
        [CreditLimitExceeded]
    );
    let mut part = traded(&order, Some(token), "3", "50");
    part.is_final = false;
    engine.apply_execution_report(&part, ms(0)).expect("ours");
    // 300 works, 3 × 50 are held.
    assert_eq!(
        place(&mut engine, &buy(ONE, "5.51", "100"), ms(0)),
        [CreditLimitExceeded]
    );
    let rest = engine
        .execute_pre_trade(&buy(ONE, "5.5", "100"), ms(0))
        .expect("exactly 1000");
    engine.rollback(rest).expect("fresh");
    assert_eq!(
        engine.replace(token, &buy(ONE, "11", "100"), ms(0)),
        Ok(()),
        "8 left: 800 + 150"
    );
    assert!(
        engine
            .replace(token, &buy(ONE, "12", "100"), ms(0))
            .is_err()
    );
    part.quantity = quantity("0");
    part.is_final = true;
    engine.apply_execution_report(&part, ms(0)).expect("ours");
    assert_eq!(place(&mut engine, &buy(ONE, "8.5", "100"), ms(0)), []);
    assert_eq!(
        place(&mut engine, &buy(TWO, "10", "100"), ms(0)),
        [],
        "its own limit"
    );
}

/// Shards that take and give back at once: the firm's sum is never over its
/// limit, and nothing is left when all is given back.
#[test]
fn k20_the_firms_limit_spans_shards() {
    const LIMIT: i64 = 40;
    let config = config_with(&format!(
        "gross_credit = {{unit = '1', rules = [{{scope = 'firm', asset = 'USD', limit = '{LIMIT}'}}]}}
         spot_funds = {{enabled = false}}"
    ));
    let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
    let outside = Arc::new(std::sync::atomic::AtomicI64::new(0));
    let start = Arc::new(std::sync::Barrier::new(4));
    let shards: Vec<_> = (0..4)
        .map(|shard| {
            let (config, shared) = (config.clone(), Arc::clone(&shared));
            let (outside, start) = (Arc::clone(&outside), Arc::clone(&start));
            std::thread::spawn(move || {
                let mut engine = RiskEngine::new(&config, ShardId(shard), shared).expect("sound");
                let mut open = Vec::new();
                let mut refused = 0;
                start.wait();
                for turn in 0..5_000 {
                    match engine.execute_pre_trade(&buy(ONE, "1", "7"), ms(0)) {
                        Ok(token) => {
                            let sum = outside.fetch_add(7, std::sync::atomic::Ordering::SeqCst);
                            assert!(sum + 7 <= LIMIT, "over the limit: {}", sum + 7);
                            open.push(token);
                        }
                        Err(_) => refused += 1,
                    }
                    if turn % 3 == 2
                        && let Some(token) = open.pop()
                    {
                        outside.fetch_sub(7, std::sync::atomic::Ordering::SeqCst);
                        engine.rollback(token).expect("fresh");
                    }
                }
                for token in open {
                    outside.fetch_sub(7, std::sync::atomic::Ordering::SeqCst);
                    engine.rollback(token).expect("fresh");
                }
                refused
            })
        })
        .collect();
    let refused: u32 = shards
        .into_iter()
        .map(|shard| shard.join().expect("no panic"))
        .sum();
    assert!(refused > 0, "the limit was reached");
    let mut engine = RiskEngine::new(&config, ShardId(9), shared).expect("sound");
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "40"), ms(0)),
        [],
        "all came back"
    );
}

#[test]
fn k21_the_same_order_again_is_refused_within_the_window() {
    let mut engine = with("duplicate = {repeats = 1, window_ms = 100}");
    let order = buy(ONE, "1", "10");
    assert_eq!(place(&mut engine, &order, ms(0)), []);
    assert_eq!(place(&mut engine, &order, ms(10)), []);
    assert_eq!(place(&mut engine, &order, ms(20)), [DuplicateOrder]);
    for other in [
        buy(TWO, "1", "10"),
        sell(ONE, "1", "10"),
        buy(ONE, "2", "10"),
        buy(ONE, "1", "11"),
    ] {
        assert_eq!(place(&mut engine, &other, ms(20)), []);
    }
    let rejects = engine.check_order(&order, ms(99)).expect_err("still two");
    assert_eq!(codes(&rejects), [DuplicateOrder]);
    assert_eq!(engine.check_order(&order, ms(100)), Ok(()));
    let token = engine
        .execute_pre_trade(&order, ms(100))
        .expect("one is old");
    engine.rollback(token).expect("fresh");
    assert_eq!(
        place(&mut engine, &order, ms(100)),
        [],
        "what was undone does not count"
    );
    assert_eq!(place(&mut engine, &order, ms(109)), [DuplicateOrder]);
}

#[test]
fn k23_open_orders_count_reservations_and_come_back() {
    let mut engine = with("open_orders = [{limit = 2}, {account = 2, limit = 0}]");
    let order = buy(ONE, "1", "10");
    let token = engine.execute_pre_trade(&order, ms(0)).expect("first");
    working(&mut engine, &order, ms(0));
    assert_eq!(place(&mut engine, &order, ms(0)), [OpenOrdersLimitExceeded]);
    engine.rollback(token).expect("fresh");
    let request = engine.start_pre_trade(&order, ms(0)).expect("started");
    let reserved = engine
        .execute(request, ms(0))
        .expect("itself does not count");
    engine.commit(reserved).expect("fresh");
    assert_eq!(place(&mut engine, &order, ms(0)), [OpenOrdersLimitExceeded]);
    engine
        .apply_execution_report(&traded(&order, Some(reserved), "1", "10"), ms(0))
        .expect("ours");
    assert_eq!(place(&mut engine, &order, ms(0)), []);
    assert_eq!(
        place(&mut engine, &buy(TWO, "1", "1"), ms(0)),
        [OpenOrdersLimitExceeded]
    );
}

#[test]
fn k24_a_runaway_is_blocked_until_a_person_unblocks() {
    let mut engine = with("repeated_execution = [{fills = 2, window_ms = 100}]");
    let fill = |engine: &mut RiskEngine, at| {
        let report = traded(&buy(ONE, "1", "10"), None, "1", "10");
        engine
            .apply_execution_report(&report, ms(at))
            .expect("booked")
            .blocked
    };
    assert_eq!(fill(&mut engine, 0), None);
    assert_eq!(fill(&mut engine, 99), None);
    assert_eq!(fill(&mut engine, 100), None, "the first is a window old");
    assert_eq!(fill(&mut engine, 101), Some(RepeatedExecution));
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "10"), ms(9_999)),
        [RepeatedExecution]
    );
    engine.unblock_account(ONE).expect("known");
    assert_eq!(place(&mut engine, &buy(ONE, "1", "10"), ms(9_999)), []);
}

#[test]
fn k39_an_own_resting_order_refuses_or_is_cancelled() {
    let mut engine = with("self_match = {}");
    let resting = working(&mut engine, &sell(ONE, "1", "10"), ms(0));
    assert_eq!(place(&mut engine, &buy(ONE, "1", "9.9"), ms(0)), []);
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "10"), ms(0)),
        [SelfMatchPrevention]
    );
    assert_eq!(
        place(&mut engine, &market(ONE, Side::Buy, "1"), ms(0)),
        [SelfMatchPrevention]
    );
    assert_eq!(place(&mut engine, &buy(TWO, "1", "10"), ms(0)), []);
    let order = sell(ONE, "1", "10");
    engine
        .apply_execution_report(&traded(&order, Some(resting), "1", "10"), ms(0))
        .expect("ours");
    assert_eq!(place(&mut engine, &buy(ONE, "1", "10"), ms(0)), []);

    let mut engine = with("self_match = {scope = 'group', action = 'cancel_resting'}");
    for account in [ONE, TWO] {
        engine.register(account, group(5)).expect("known");
    }
    let first = working(&mut engine, &sell(ONE, "1", "10"), ms(0));
    let second = working(&mut engine, &sell(TWO, "1", "9"), ms(0));
    working(&mut engine, &sell(THREE, "1", "9"), ms(0));
    working(&mut engine, &buy(TWO, "1", "10"), ms(0));
    let mut asked = Vec::new();
    engine.take_cancels(&mut |token| asked.push(token));
    asked.sort_by_key(|token| token.index);
    assert_eq!(asked, [first, second]);
    engine.take_cancels(&mut |token| panic!("taken once: {token:?}"));
}

#[test]
fn k39_a_replaced_order_does_not_meet_itself_but_meets_others() {
    let mut engine = with("self_match = {}");
    let order = sell(ONE, "1", "10");
    let token = working(&mut engine, &order, ms(0));
    working(&mut engine, &buy(ONE, "1", "8"), ms(0));
    assert_eq!(engine.replace(token, &sell(ONE, "1", "9"), ms(0)), Ok(()));
    let refused = engine
        .replace(token, &sell(ONE, "1", "8"), ms(0))
        .expect_err("crosses");
    assert_eq!(codes(&refused), [SelfMatchPrevention]);
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "9"), ms(0)),
        [SelfMatchPrevention]
    );
}

#[test]
fn k20_a_shards_part_is_rounded_up_never_past_the_limit() {
    let config = config_with(
        "gross_credit = {unit = '1', rules = [{scope = 'firm', asset = 'USD', limit = '2'}]}
         spot_funds = {enabled = false}",
    );
    let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
    let mut shards: Vec<_> = (0..2)
        .map(|shard| RiskEngine::new(&config, ShardId(shard), Arc::clone(&shared)).expect("sound"))
        .collect();
    assert_eq!(place(&mut shards[0], &buy(ONE, "1", "0.6"), ms(0)), []);
    assert_eq!(
        place(&mut shards[0], &buy(ONE, "1", "0.4"), ms(0)),
        [],
        "one unit together"
    );
    assert_eq!(place(&mut shards[1], &buy(ONE, "1", "0.5"), ms(0)), []);
    assert_eq!(
        place(&mut shards[1], &buy(ONE, "1", "0.6"), ms(0)),
        [CreditLimitExceeded],
        "1 and 1.1 would be rounded up to three"
    );
    assert_eq!(place(&mut shards[1], &buy(ONE, "1", "0.5"), ms(0)), []);
}
