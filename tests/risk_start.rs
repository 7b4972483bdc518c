//! The start stage: validation, rates, sizes, and the pipeline around them.

mod risk_support;

use std::sync::Arc;

use pitlane::limits::REJECTS_MAX;
use pitlane::risk::{
    ConfigError, ExecuteError, PolicyId, Reject, RiskConfig, RiskEngine, SharedLimits, TokenError,
};
use pitlane::time::Nanos;
use pitlane::types::{
    AccountId, InstrumentId, Order, OrderType, Quantity, RejectCode, RejectScope, ShardId, Side,
};
use risk_support::*;

use RejectCode::*;

const RATE: &str = "rate_limit = [{scope = 'account', limit = 2, window_ms = 100}]";

#[test]
fn k01_a_reject_of_start_uses_its_rate_slot_and_skips_main() {
    let mut engine = engine(&config_with(RATE));
    let bad = buy(ONE, "0", "10");
    assert_eq!(place(&mut engine, &bad, ms(0)), [InvalidFieldValue]);
    assert_eq!(place(&mut engine, &bad, ms(0)), [InvalidFieldValue]);
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "10"), ms(0)),
        [RateLimitExceeded]
    );
    assert_eq!(engine.orders_open(), 0);
}

#[test]
fn k02_every_policy_of_the_stage_speaks_in_policy_order() {
    let mut engine = engine(&config_with(
        "rate_limit = [{scope = 'account', limit = 0, window_ms = 100}]
         order_size = [{max_quantity = '5'}]",
    ));
    let order = Order {
        price: None,
        ..buy(ONE, "6", "1")
    };
    let rejects = engine
        .execute_pre_trade(&order, ms(0))
        .expect_err("three reasons");
    let said: Vec<_> = rejects.iter().map(|r| (r.policy, r.code)).collect();
    assert_eq!(
        said,
        [
            (PolicyId::VALIDATION, MissingRequiredField),
            (PolicyId::RATE, RateLimitExceeded),
            (PolicyId::SIZE, OrderQtyExceedsLimit),
        ]
    );
    assert!(
        rejects
            .iter()
            .all(|r: &Reject| r.scope == RejectScope::Order)
    );
    assert!(rejects.len() <= REJECTS_MAX);
}

#[test]
fn k03_a_second_finalization_is_an_error_and_changes_nothing() {
    let mut engine = engine(&config());
    let order = buy(ONE, "1", "10");
    let kept = working(&mut engine, &order, ms(0));
    assert_eq!(engine.commit(kept), Err(TokenError::AlreadyCommitted));
    assert_eq!(engine.rollback(kept), Err(TokenError::AlreadyCommitted));
    assert_eq!(engine.orders_open(), 1);

    let undone = engine.execute_pre_trade(&order, ms(0)).expect("accepted");
    assert_eq!(engine.rollback(undone), Ok(()));
    assert_eq!(engine.rollback(undone), Err(TokenError::Stale));
    assert_eq!(engine.commit(undone), Err(TokenError::Stale));
    assert_eq!(engine.orders_open(), 1);
}

#[test]
fn k03_f25_a_dropped_owner_rolls_back_once_before_the_next_call() {
    let mut engine = engine(&config());
    let order = buy(ONE, "1", "10");
    let token = engine.execute_pre_trade(&order, ms(0)).expect("accepted");
    let owner = engine.own(token);
    let again = engine.own(token);
    drop(owner);
    drop(again);
    assert_eq!(engine.commit(token), Err(TokenError::Stale));
    assert_eq!(engine.orders_open(), 0);

    let token = engine.execute_pre_trade(&order, ms(0)).expect("accepted");
    let owner = engine.own(token);
    engine.commit(token).expect("fresh");
    drop(owner);
    assert_eq!(engine.check_order(&order, ms(0)), Ok(()));
    assert_eq!(engine.orders_open(), 1, "what was committed stays");

    let token = engine.execute_pre_trade(&order, ms(0)).expect("accepted");
    assert_eq!(engine.own(token).release(), token);
    assert_eq!(engine.commit(token), Ok(()), "released owners do nothing");
}

#[test]
fn k05_a_dry_run_counts_and_reserves_nothing() {
    let mut engine = engine(&config_with(RATE));
    let order = buy(ONE, "1", "10");
    for _ in 0..5 {
        assert_eq!(engine.check_order(&order, ms(0)), Ok(()));
    }
    assert_eq!(engine.orders_open(), 0);
    assert_eq!(place(&mut engine, &order, ms(0)), []);
    assert_eq!(place(&mut engine, &order, ms(0)), []);
    let refused = engine.check_order(&order, ms(0)).expect_err("no slot left");
    assert_eq!(codes(&refused), [RateLimitExceeded]);
    assert_eq!(engine.check_order(&order, ms(100)), Ok(()));
}

#[test]
fn k06_tokens_go_stale_and_know_their_shard() {
    let mut engine = engine(&config());
    let order = buy(ONE, "1", "10");
    let request = engine.start_pre_trade(&order, ms(0)).expect("accepted");
    let reservation = engine.execute(request, ms(0)).expect("accepted");
    assert_eq!(
        engine.execute(request, ms(0)),
        Err(ExecuteError::Token(TokenError::Stale))
    );
    engine.rollback(reservation).expect("fresh");
    let later = engine.execute_pre_trade(&order, ms(0)).expect("accepted");
    assert_eq!(later.index, reservation.index, "the place is used again");
    assert_eq!(engine.commit(reservation), Err(TokenError::Stale));

    let mut foreign = later;
    foreign.shard = ShardId(7);
    assert_eq!(
        engine.commit(foreign),
        Err(TokenError::OtherShard(ShardId(7)))
    );
    let mut wild = later;
    wild.index = u32::MAX;
    assert_eq!(engine.commit(wild), Err(TokenError::Stale));

    let request = engine.start_pre_trade(&order, ms(0)).expect("accepted");
    assert_eq!(engine.abandon(request), Ok(()));
    assert_eq!(engine.abandon(request), Err(TokenError::Stale));
}

#[test]
fn k13_validation_names_what_is_wrong() {
    let mut engine = engine(&config());
    let good = buy(ONE, "1", "10");
    let cases: [(Order, &[RejectCode]); 12] = [
        (good, &[]),
        (market(ONE, Side::Sell, "1"), &[]),
        (by_volume(good, "5"), &[]),
        (buy(ONE, "0", "10"), &[InvalidFieldValue]),
        (buy(ONE, "-1", "10"), &[InvalidFieldValue]),
        (by_volume(good, "0"), &[InvalidFieldValue]),
        (buy(ONE, "1", "0"), &[InvalidFieldValue]),
        (buy(ONE, "1", "-3"), &[InvalidFieldValue]),
        (
            Order {
                price: None,
                ..good
            },
            &[MissingRequiredField],
        ),
        (
            Order {
                quantity: None,
                ..good
            },
            &[MissingRequiredField],
        ),
        (
            Order {
                quantity: Some(Quantity::MAX),
                ..by_volume(good, "5")
            },
            &[InvalidFieldValue],
        ),
        (
            Order {
                instrument: InstrumentId(99),
                order_type: OrderType::Market,
                ..good
            },
            &[UnknownInstrument, InvalidFieldValue],
        ),
    ];
    for (order, expected) in cases {
        assert_eq!(place(&mut engine, &order, ms(0)), expected, "{order:?}");
    }
}

#[test]
fn k13_prices_of_zero_and_below_need_the_instruments_leave_and_toggle_off_works() {
    let mut lenient = config();
    lenient.instruments[0].allow_non_positive_price = true;
    let mut engine_lenient = engine(&lenient);
    assert_eq!(place(&mut engine_lenient, &buy(ONE, "1", "-3"), ms(0)), []);

    let mut off = config();
    off.validation.enabled = false;
    let mut engine_off = engine(&off);
    assert_eq!(place(&mut engine_off, &buy(ONE, "0", "10"), ms(0)), []);
    let unknown = Order {
        instrument: InstrumentId(99),
        ..buy(ONE, "1", "10")
    };
    assert_eq!(
        place(&mut engine_off, &unknown, ms(0)),
        [UnknownInstrument],
        "what cannot be evaluated is refused all the same"
    );
}

#[test]
fn k14_account_windows_are_exact_and_their_own() {
    let mut engine = engine(&config_with(
        "rate_limit = [{scope = 'account', limit = 2, window_ms = 100},
                       {scope = 'account', account = 3, limit = 1, window_ms = 100}]",
    ));
    let order = buy(ONE, "1", "10");
    assert_eq!(place(&mut engine, &order, ms(0)), []);
    assert_eq!(place(&mut engine, &order, ms(60)), []);
    assert_eq!(
        place(&mut engine, &order, Nanos(99_999_999)),
        [RateLimitExceeded]
    );
    // The refused attempt counts: the window still holds two at 100 ms.
    assert_eq!(place(&mut engine, &order, ms(100)), [RateLimitExceeded]);
    assert_eq!(place(&mut engine, &buy(TWO, "1", "10"), ms(100)), []);
    assert_eq!(place(&mut engine, &order, ms(200)), []);
    let third = buy(THREE, "1", "10");
    assert_eq!(place(&mut engine, &third, ms(200)), []);
    assert_eq!(place(&mut engine, &third, ms(299)), [RateLimitExceeded]);
}

#[test]
fn k14_every_axis_counts_even_when_another_refuses() {
    let mut engine = engine(&config_with(
        "rate_limit = [{scope = 'account', limit = 0, window_ms = 100},
                       {scope = 'account', account = 2, limit = 9, window_ms = 100},
                       {scope = 'asset', asset = 'USD', limit = 2, window_ms = 100},
                       {scope = 'account_asset', asset = 'USD', account = 2, limit = 1, window_ms = 500}]",
    ));
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "1"), ms(0)),
        [RateLimitExceeded]
    );
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "1"), ms(0)),
        [RateLimitExceeded]
    );
    assert_eq!(
        place(&mut engine, &buy(TWO, "1", "1"), ms(0)),
        [RateLimitExceeded],
        "the asset's two slots are used by orders that were refused"
    );
    assert_eq!(
        place(&mut engine, &buy(TWO, "1", "1"), ms(200)),
        [RateLimitExceeded],
        "account and asset counted the refused one"
    );
    assert_eq!(place(&mut engine, &buy(TWO, "1", "1"), ms(700)), []);
}

#[test]
fn k14_cancels_and_replaces_have_limits_of_their_own() {
    let mut engine = engine(&config_with(
        "rate_limit = [{scope = 'account', subject = 'cancel', limit = 1, window_ms = 100},
                       {scope = 'broker', subject = 'cancel', limit = 2, window_ms = 100},
                       {scope = 'account', subject = 'replace', limit = 1, window_ms = 100}]",
    ));
    let order = buy(ONE, "1", "10");
    let token = working(&mut engine, &order, ms(0));
    assert_eq!(engine.replace(token, &order, ms(0)), Ok(()));
    let refused = engine.replace(token, &order, ms(0)).expect_err("throttled");
    assert_eq!(codes(&refused), [RateLimitExceeded]);
    assert_eq!(engine.allow_cancel(ONE, ms(0)), Ok(()));
    assert!(engine.allow_cancel(ONE, ms(50)).is_err());
    assert!(
        engine.allow_cancel(TWO, ms(50)).is_err(),
        "the broker's two are used"
    );
    assert_eq!(engine.allow_cancel(TWO, ms(150)), Ok(()));
    assert!(engine.allow_cancel(AccountId(9), ms(500)).is_err());
    assert_eq!(
        place(&mut engine, &order, ms(50)),
        [],
        "orders are not counted"
    );
}

/// N shards hammered at once: in no window does more than the limit pass.
#[test]
fn k14_the_broker_limit_spans_shards_and_is_exact() {
    const LIMIT: usize = 50;
    const WINDOW: u64 = 1_000;
    let mut config = config_with(&format!(
        "rate_limit = [{{scope = 'broker', limit = {LIMIT}, window_ns = {WINDOW}}}]"
    ));
    config.accounts.clear();
    config.unknown_accounts = pitlane::risk::UnknownAccounts::Open;
    let shared = Arc::new(SharedLimits::new(&config).expect("sound"));
    let clock = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let start = Arc::new(std::sync::Barrier::new(4));
    let shards: Vec<_> = (0..4u16)
        .map(|shard| {
            let (config, shared) = (config.clone(), Arc::clone(&shared));
            let (clock, start) = (Arc::clone(&clock), Arc::clone(&start));
            std::thread::spawn(move || {
                let mut engine = RiskEngine::new(&config, ShardId(shard), shared).expect("sound");
                let order = buy(AccountId(u64::from(shard)), "1", "10");
                let mut passed = Vec::new();
                start.wait();
                for turn in 0..20_000 {
                    // Bursts far over the limit, and pauses in which it opens.
                    let step = if turn % 100 == 0 { WINDOW } else { 3 };
                    let now = Nanos(clock.fetch_add(step, std::sync::atomic::Ordering::SeqCst));
                    if let Ok(token) = engine.execute_pre_trade(&order, now) {
                        engine.rollback(token).expect("fresh");
                        passed.push(now.0);
                    }
                }
                passed
            })
        })
        .collect();
    let mut passed: Vec<u64> = shards
        .into_iter()
        .flat_map(|shard| shard.join().expect("no panic"))
        .collect();
    passed.sort_unstable();
    assert!(passed.len() > LIMIT, "the limit opens again");
    for window in passed.windows(LIMIT + 1) {
        assert!(window[LIMIT] - window[0] >= WINDOW, "{window:?}");
    }
}

#[test]
fn k15_the_narrower_asset_limit_and_the_brokers_both_hold() {
    let mut engine = engine(&config_with(
        "order_size = [{max_quantity = '100', max_notional = '10000'},
                       {asset = 'AAPL', max_quantity = '10'},
                       {asset = 'USD', max_notional = '1000'},
                       {account = 2, asset = 'AAPL', max_quantity = '500'}]",
    ));
    let cases: [(Order, &[RejectCode]); 9] = [
        (buy(ONE, "10", "100"), &[]),
        (buy(ONE, "10.000000001", "1"), &[OrderQtyExceedsLimit]),
        (
            buy(ONE, "10", "100.000000001"),
            &[OrderNotionalExceedsLimit],
        ),
        (buy(ONE, "11", "100"), &[OrderExceedsLimit]),
        (buy(TWO, "100", "10"), &[]),
        (buy(TWO, "101", "1"), &[OrderQtyExceedsLimit]),
        (market(ONE, Side::Buy, "1"), &[OrderValueCalculationFailed]),
        (by_volume(buy(ONE, "1", "3"), "30"), &[]),
        (
            by_volume(buy(ONE, "1", "3"), "30.000000000000000001"),
            &[OrderQtyExceedsLimit],
        ),
    ];
    for (order, expected) in cases {
        assert_eq!(place(&mut engine, &order, ms(0)), expected, "{order:?}");
    }
}

#[test]
fn k09_the_largest_price_and_quantity_are_judged_not_wrapped() {
    let mut engine = engine(&config_with("order_size = [{max_notional = '1'}]"));
    let huge = buy(ONE, "9223372036.854775807", "9223372036.854775807");
    assert_eq!(
        place(&mut engine, &huge, ms(0)),
        [OrderNotionalExceedsLimit]
    );
}

#[test]
fn k27_an_unknown_account_is_refused_or_opened_as_configured() {
    let order = buy(AccountId(77), "1", "10");
    let mut strict = engine(&config());
    assert_eq!(place(&mut strict, &order, ms(0)), [UnknownAccount]);
    assert_eq!(strict.accounts_open(), 3);

    let mut open = engine(&config_with("unknown_accounts = 'open'"));
    assert_eq!(open.check_order(&order, ms(0)), Ok(()));
    assert_eq!(open.accounts_open(), 3, "a dry run opens nothing");
    assert_eq!(place(&mut open, &order, ms(0)), []);
    assert_eq!(open.accounts_open(), 4);
}

#[test]
fn a_faulty_configuration_is_refused_with_its_place() {
    let fault = |toml: &str| {
        RiskConfig::from_toml(toml)
            .and_then(|_| SharedLimits::new(&config_with(toml)))
            .err()
            .unwrap_or_else(|| panic!("accepted: {toml}"))
            .to_string()
    };
    assert!(fault("rate_limits = []").contains("unknown field `rate_limits`"));
    assert!(fault("order_size = [{max_quantity = '1e5'}]").contains("1e5"));
    assert!(fault("order_size = [{max_quantity = 1.5}]").contains("in quotes"));
    assert!(fault("order_size = [{}]").contains("order_size[0]"));
    assert!(fault("order_size = [{asset = 'EUR', max_quantity = '1'}]").contains("no asset EUR"));
    assert!(fault("rate_limit = [{scope = 'account', limit = 1}]").contains("window_ms"));
    assert!(
        fault(
            "rate_limit = [{scope = 'account', limit = 1, window_ms = 1, account = 1, group = 1}]"
        )
        .contains("leave one out")
    );
    assert!(
        fault(
            "rate_limit = [{scope = 'account', limit = 1, window_ms = 1},
                           {scope = 'account', limit = 2, window_ms = 1}]"
        )
        .contains("twice")
    );
    let mut twice = config();
    twice.instruments.push(twice.instruments[0].clone());
    assert!(matches!(
        SharedLimits::new(&twice),
        Err(ConfigError::Twice { .. })
    ));
}
