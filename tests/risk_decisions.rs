//! Where we differ from `openpit` 0.11.0 on purpose (rule K36): one test for
//! each line of the table in `docs/decisions.md`. The peer's side is what its
//! source and its own tests show; ours is pinned here.

mod risk_support;

use pitlane::risk::{Adjustment, Alarms, Change, RiskEngine};
use pitlane::types::{AccountId, RejectCode};
use risk_support::*;

use RejectCode::*;

fn funded() -> RiskEngine {
    let mut engine = engine(&config_with("spot_funds = {enabled = true}"));
    for asset in [USD, AAPL] {
        let change = Change::Absolute(amount("100"));
        engine
            .adjust(ONE, &[Adjustment::available(asset, change)])
            .expect("known");
    }
    engine
}

#[test]
fn k36_rounding_is_against_the_account_and_leaves_no_dust() {
    let mut engine = funded();
    let order = by_volume(sell(ONE, "1", "3"), "10");
    let token = working(&mut engine, &order, ms(0));
    assert_eq!(engine.balance(ONE, AAPL).held, amount("3.333333334"));
    let mut over = report(&order, Some(token));
    over.is_final = true;
    engine.apply_execution_report(&over, ms(0)).expect("ours");
    assert_eq!(engine.balance(ONE, AAPL).available, amount("100"));
    assert!(engine.balance(ONE, AAPL).held.is_zero());
}

#[test]
fn k36_prices_of_zero_and_below_need_the_instruments_leave() {
    let mut engine = funded();
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "0"), ms(0)),
        [InvalidFieldValue]
    );
}

#[test]
fn k36_fills_beyond_the_order_never_make_a_hold_negative() {
    let mut engine = funded();
    let order = buy(ONE, "1", "10");
    let token = working(&mut engine, &order, ms(0));
    let mut fill = report(&order, Some(token));
    (fill.quantity, fill.price, fill.is_final) = (quantity("3"), price("10"), true);
    let outcome = engine.apply_execution_report(&fill, ms(0)).expect("ours");
    assert!(outcome.alarms.contains(Alarms::OVERFILL) && outcome.blocked.is_some());
    assert_eq!(
        engine.balance(ONE, USD).available,
        amount("70"),
        "spendable as at the peer"
    );
    fill.token = None;
    let outcome = engine.apply_execution_report(&fill, ms(0)).expect("booked");
    assert!(outcome.alarms.contains(Alarms::NO_ORDER));
    assert_eq!(engine.balance(ONE, USD).available, amount("40"));
    assert!(engine.balance(ONE, USD).held.is_zero());
}

#[test]
fn k36_a_broker_wide_bound_looks_at_everyones_sum_and_stops_all() {
    let mut engine = engine(&config_with(
        "pnl = {rules = [{scope = 'broker', asset = 'USD', lower = '-10'}]}",
    ));
    for account in [ONE, TWO] {
        let mut loss = report(&buy(account, "1", "1"), None);
        (loss.pnl, loss.is_final) = (amount("-6"), true);
        engine.apply_execution_report(&loss, ms(0)).expect("booked");
    }
    assert_eq!(
        place(&mut engine, &buy(THREE, "1", "1"), ms(0)),
        [PnlKillSwitchTriggered]
    );
}

#[test]
fn k36_unblock_all_clears_every_block_there_is() {
    let mut engine = engine(&config());
    engine.register(TWO, group(4)).expect("known");
    engine.block_account(ONE, Other).expect("known");
    engine.block_group(group(4), Other);
    engine.block_all(Other);
    engine.unblock_all();
    for account in [ONE, TWO, THREE] {
        assert_eq!(place(&mut engine, &buy(account, "1", "1"), ms(0)), []);
    }
}

#[test]
fn k36_an_unknown_account_is_refused() {
    let mut engine = engine(&config());
    assert_eq!(
        place(&mut engine, &buy(AccountId(99), "1", "1"), ms(0)),
        [UnknownAccount]
    );
}

#[test]
fn k36_a_drop_copy_of_nothing_is_refused() {
    let mut engine = funded();
    let refused = engine
        .apply_drop_copy(&buy(ONE, "0", "1"), ms(0))
        .expect_err("nothing");
    assert_eq!(codes(&refused), [InvalidFieldValue]);
}

#[test]
fn k36_a_broker_window_is_exact_where_the_peers_is_fixed() {
    let mut engine = engine(&config_with(
        "rate_limit = [{scope = 'broker', limit = 2, window_ms = 100}]",
    ));
    let order = buy(ONE, "1", "1");
    assert_eq!(place(&mut engine, &order, ms(90)), []);
    assert_eq!(place(&mut engine, &order, ms(95)), []);
    assert_eq!(
        place(&mut engine, &order, ms(110)),
        [RateLimitExceeded],
        "no new window at 100"
    );
}
