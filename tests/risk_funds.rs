//! Spot funds, reports, adjustments, drop copy, market data.

mod risk_support;

use pitlane::risk::{Adjustment, Alarms, BalanceField, Change, Quote, QuoteTarget, TokenError};
use pitlane::types::{AccountId, Amount, FillId, InstrumentId, RejectCode, ShardId, Side};
use risk_support::*;

use RejectCode::*;

#[test]
fn k17_a_buy_holds_its_notional_and_a_sell_its_quantity() {
    let mut engine = seeded(FUNDS);
    working(&mut engine, &buy(ONE, "2", "100"), ms(0));
    assert_eq!(of(&engine, USD), "800 200 0");
    assert_eq!(of(&engine, AAPL), "10 0 2");
    working(&mut engine, &sell(ONE, "4", "50"), ms(0));
    assert_eq!(of(&engine, USD), "800 200 200");
    assert_eq!(of(&engine, AAPL), "6 4 2");
    assert_eq!(
        place(&mut engine, &buy(ONE, "8", "100"), ms(0)),
        [],
        "equal passes"
    );
    assert_eq!(
        place(&mut engine, &sell(ONE, "6.000000001", "1"), ms(0)),
        [InsufficientFunds]
    );
    assert_eq!(
        place(&mut engine, &buy(TWO, "1", "1"), ms(0)),
        [InsufficientFunds]
    );
}

#[test]
fn k17_nearly_the_whole_balance_can_be_sold_and_bought() {
    let mut engine = seeded(FUNDS);
    working(&mut engine, &sell(ONE, "9.999999999", "1"), ms(0));
    assert_eq!(of(&engine, AAPL), "0.000000001 9.999999999 0");
    working(&mut engine, &buy(ONE, "0.999999999", "1000"), ms(0));
    assert_eq!(
        place(&mut engine, &buy(ONE, "0.000000002", "1000"), ms(0)),
        [InsufficientFunds]
    );
    assert_eq!(
        place(&mut engine, &buy(ONE, "0.000000001", "1000"), ms(0)),
        []
    );
}

#[test]
fn k03_a_rollback_gives_everything_back() {
    let mut engine = seeded(FUNDS);
    let token = engine
        .execute_pre_trade(&buy(ONE, "2", "100"), ms(0))
        .expect("funds");
    engine.rollback(token).expect("fresh");
    assert_eq!(of(&engine, USD), "1000 0 0");
    assert_eq!(of(&engine, AAPL), "10 0 0");
}

#[test]
fn k17_a_fill_releases_at_the_lock_price_and_books_the_trades_own() {
    let mut engine = seeded(FUNDS);
    let order = buy(ONE, "4", "100");
    let token = working(&mut engine, &order, ms(0));
    let mut part = fill(&order, token, "1", "90");
    part.fee = amount("0.5");
    let outcome = engine.apply_execution_report(&part, ms(0)).expect("ours");
    assert_eq!(outcome.leaves, quantity("3"));
    assert_eq!(of(&engine, USD), "609.5 300 0", "600 + 100 − 90 − 0.5");
    assert_eq!(of(&engine, AAPL), "11 0 3");
    let outcome = engine
        .apply_execution_report(&last(fill(&order, token, "2", "110")), ms(0))
        .expect("ours");
    assert!(outcome.alarms.is_empty());
    assert_eq!(
        of(&engine, USD),
        "689.5 0 0",
        "worse prices come from available"
    );
    assert_eq!(
        of(&engine, AAPL),
        "13 0 0",
        "the remainder is not expected any more"
    );
    assert_eq!(engine.commit(token), Err(TokenError::Stale));
}

#[test]
fn k17_only_the_final_report_releases_the_remainder() {
    let mut engine = seeded(FUNDS);
    let order = sell(ONE, "4", "100");
    let token = working(&mut engine, &order, ms(0));
    engine
        .apply_execution_report(&fill(&order, token, "4", "100"), ms(0))
        .expect("ours");
    assert_eq!(of(&engine, AAPL), "6 0 0");
    assert_eq!(of(&engine, USD), "1400 0 0");
    assert_eq!(engine.orders_open(), 1, "not over without the final report");
    engine
        .apply_execution_report(&last(report(&order, Some(token))), ms(0))
        .expect("ours");
    assert_eq!(engine.orders_open(), 0);
}

#[test]
fn k17_a_market_order_is_priced_by_the_narrowest_quote_and_slippage() {
    let mut engine = seeded("spot_funds = {slippage_bps = 1000}");
    let order = market(ONE, Side::Buy, "1");
    assert_eq!(place(&mut engine, &order, ms(0)), [MarkPriceUnavailable]);
    mark(&mut engine, QuoteTarget::All, "100");
    working(&mut engine, &order, ms(0));
    assert_eq!(of(&engine, USD), "890 110 0");
    engine.register(ONE, group(5)).expect("known");
    mark(&mut engine, QuoteTarget::Group(group(5)), "200");
    working(&mut engine, &order, ms(0));
    assert_eq!(engine.balance(ONE, USD).held, amount("330"));
    mark(&mut engine, QuoteTarget::Account(ONE), "300");
    working(&mut engine, &order, ms(0));
    assert_eq!(engine.balance(ONE, USD).held, amount("660"));
    working(&mut engine, &market(ONE, Side::Sell, "1"), ms(0));
    assert_eq!(
        engine.balance(ONE, USD).incoming,
        amount("270"),
        "300 less a tenth"
    );
}

#[test]
fn k11_a_market_price_is_rounded_against_the_account() {
    let mut engine = seeded("spot_funds = {slippage_bps = 1}");
    mark(&mut engine, QuoteTarget::All, "0.000000001");
    working(&mut engine, &market(ONE, Side::Buy, "1"), ms(0));
    assert_eq!(engine.balance(ONE, USD).held, amount("0.000000002"));
    assert_eq!(
        place(&mut engine, &market(ONE, Side::Sell, "1"), ms(0)),
        [OrderValueCalculationFailed],
        "rounded down to nothing"
    );
}

#[test]
fn k11_a_volume_order_keeps_its_residue_until_the_end() {
    let mut engine = seeded(FUNDS);
    let order = by_volume(buy(ONE, "1", "3"), "10");
    let token = working(&mut engine, &order, ms(0));
    assert_eq!(of(&engine, USD), "990 10 0");
    assert_eq!(
        of(&engine, AAPL),
        "10 0 3.333333333",
        "received rounds down"
    );
    engine
        .apply_execution_report(&fill(&order, token, "3.333333333", "3"), ms(0))
        .expect("ours");
    assert_eq!(
        of(&engine, USD),
        "990 0.000000001 0",
        "what does not divide stays held"
    );
    engine
        .apply_execution_report(&last(report(&order, Some(token))), ms(0))
        .expect("ours");
    assert_eq!(of(&engine, USD), "990.000000001 0 0");

    let order = by_volume(sell(ONE, "1", "3"), "10");
    working(&mut engine, &order, ms(0));
    assert_eq!(
        engine.balance(ONE, AAPL).held,
        quantity("3.333333334").amount(),
        "delivered rounds up"
    );
}

#[test]
fn k17_track_only_follows_without_refusing_by_group_and_account() {
    let mut engine = seeded(
        "spot_funds = {rules = [{group = 5, mode = 'track'}, {account = 2, mode = 'enforce'}]}",
    );
    let big = buy(ONE, "100", "100");
    assert_eq!(place(&mut engine, &big, ms(0)), [InsufficientFunds]);
    engine.register(ONE, group(5)).expect("known");
    engine.register(TWO, group(5)).expect("known");
    assert_eq!(place(&mut engine, &big, ms(0)), []);
    assert_eq!(of(&engine, USD), "-9000 10000 0");
    assert_eq!(
        place(&mut engine, &buy(TWO, "1", "1"), ms(0)),
        [InsufficientFunds]
    );
    engine.unregister(ONE).expect("known");
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "1"), ms(0)),
        [InsufficientFunds]
    );
}

#[test]
fn k17_off_means_off() {
    let mut engine = engine(&config());
    assert_eq!(place(&mut engine, &buy(ONE, "100", "100"), ms(0)), []);
    assert!(engine.balances().is_empty());
}

#[test]
fn k09_balances_overflow_into_a_code_never_a_wrap() {
    let mut engine = seeded(FUNDS);
    let most = Adjustment::available(USD, Change::Absolute(Amount::MAX));
    engine.adjust(ONE, &[most]).expect("in range");
    let huge = buy(ONE, "9223372036.854775807", "9223372036.854775807");
    let token = working(&mut engine, &huge, ms(0));
    let held = engine.balance(ONE, USD).held;
    assert_eq!(
        held,
        price("9223372036.854775807").notional(quantity("9223372036.854775807"))
    );
    engine.adjust(ONE, &[most]).expect("in range");
    assert_eq!(place(&mut engine, &huge, ms(0)), [], "85 + 85 fit in 170");
    assert_eq!(
        place(&mut engine, &huge, ms(0)),
        [ArithmeticOverflow],
        "a third hold does not"
    );
    // A sell's proceeds on top of the largest balance: the base leg is booked.
    engine.adjust(ONE, &[most]).expect("in range");
    let order = sell(ONE, "1", "5");
    let sold = working(&mut engine, &order, ms(0));
    let outcome = engine
        .apply_execution_report(&last(fill(&order, sold, "1", "5")), ms(0))
        .expect("ours");
    assert!(outcome.alarms.contains(Alarms::OVERFLOW));
    assert_eq!(outcome.blocked, Some(ArithmeticOverflow));
    assert_eq!(of(&engine, AAPL).split(' ').next(), Some("9"));
    let leg = engine.take_quarantined().expect("the leg is kept");
    assert_eq!((leg.asset, leg.amount), (Some(USD), amount("5")));
    // Giving a hold back that does not fit arms the account's switch (K7).
    engine.unblock_account(ONE).expect("known");
    engine
        .apply_execution_report(&last(report(&huge, Some(token))), ms(0))
        .expect("ours");
    assert_eq!(engine.block_of(ONE), Ok(Some(KillSwitchArmed)));
    assert!(engine.take_quarantined().is_some());
}

#[test]
fn k28_a_repeated_fill_is_ignored_and_counted() {
    let mut engine = seeded(FUNDS);
    let order = buy(ONE, "4", "100");
    let token = working(&mut engine, &order, ms(0));
    let mut traded = fill(&order, token, "1", "100");
    traded.fill_id = Some(FillId(77));
    engine.apply_execution_report(&traded, ms(0)).expect("ours");
    let before = engine.balances();
    let outcome = engine.apply_execution_report(&traded, ms(0)).expect("ours");
    assert!(outcome.duplicate);
    assert_eq!(outcome.leaves, quantity("3"));
    assert_eq!(engine.balances(), before);
    assert_eq!(engine.duplicate_fills(), 1);
}

#[test]
fn k28_an_overfill_is_booked_alarmed_and_blocks() {
    let mut engine = seeded(FUNDS);
    let order = buy(ONE, "1", "100");
    let token = working(&mut engine, &order, ms(0));
    let outcome = engine
        .apply_execution_report(&fill(&order, token, "2", "100"), ms(0))
        .expect("ours");
    assert!(outcome.alarms.contains(Alarms::OVERFILL));
    assert_eq!(outcome.blocked, Some(RiskLimitExceeded));
    assert_eq!(
        of(&engine, USD),
        "800 0 0",
        "no more is released than was held"
    );
    assert_eq!(of(&engine, AAPL), "12 0 0");
}

#[test]
fn k28_late_and_foreign_fills_are_booked_and_alarmed_without_a_block() {
    let mut engine = seeded(FUNDS);
    let order = buy(ONE, "1", "100");
    let token = working(&mut engine, &order, ms(0));
    engine
        .apply_execution_report(&last(report(&order, Some(token))), ms(0))
        .expect("ours");
    for token in [Some(token), None] {
        let mut late = report(&order, token);
        (late.quantity, late.price) = (quantity("1"), price("100"));
        let outcome = engine.apply_execution_report(&late, ms(0)).expect("booked");
        assert!(outcome.alarms.contains(Alarms::NO_ORDER));
        assert_eq!(outcome.blocked, None);
    }
    assert_eq!(of(&engine, USD), "800 0 0");
    let mut elsewhere = report(&order, Some(token));
    elsewhere.token.as_mut().expect("set").shard = ShardId(3);
    assert_eq!(
        engine.apply_execution_report(&elsewhere, ms(0)),
        Err(TokenError::OtherShard(ShardId(3)))
    );
    let pending = engine.execute_pre_trade(&order, ms(0)).expect("funds");
    assert_eq!(
        engine.apply_execution_report(&report(&order, Some(pending)), ms(0)),
        Err(TokenError::NotCommitted)
    );
}

#[test]
fn k28_what_cannot_be_booked_blocks_and_is_kept() {
    let mut engine = seeded(FUNDS);
    let mut strange = report(&buy(ONE, "1", "1"), None);
    strange.instrument = InstrumentId(99);
    strange.quantity = quantity("3");
    let outcome = engine
        .apply_execution_report(&strange, ms(0))
        .expect("taken");
    assert!(outcome.alarms.contains(Alarms::UNKNOWN_INSTRUMENT));
    assert_eq!(engine.block_of(ONE), Ok(Some(UnknownInstrument)));
    assert_eq!(engine.quarantined().count(), 1);

    let mut foreign = report(&buy(AccountId(55), "1", "1"), None);
    (foreign.quantity, foreign.price) = (quantity("3"), price("2"));
    let outcome = engine
        .apply_execution_report(&foreign, ms(0))
        .expect("taken");
    assert!(outcome.alarms.contains(Alarms::UNKNOWN_ACCOUNT));
    assert_eq!(engine.balance(AccountId(55), AAPL).available, amount("3"));
    assert_eq!(engine.block_of(AccountId(55)), Ok(Some(UnknownAccount)));
}

#[test]
fn k28_a_report_of_another_order_than_its_tokens_touches_no_hold() {
    let mut engine = seeded(FUNDS);
    let order = buy(ONE, "1", "100");
    let token = working(&mut engine, &order, ms(0));
    let wrong = last(fill(&sell(ONE, "1", "100"), token, "1", "100"));
    let outcome = engine.apply_execution_report(&wrong, ms(0)).expect("taken");
    assert!(outcome.alarms.contains(Alarms::MISMATCH));
    assert_eq!(engine.balance(ONE, USD).held, amount("100"));
    assert_eq!(engine.orders_open(), 1);
}

#[test]
fn k28_a_trade_of_less_than_nothing_is_kept_and_blocks() {
    let mut engine = seeded(FUNDS);
    let order = buy(ONE, "1", "100");
    let token = working(&mut engine, &order, ms(0));
    let before = engine.balances();
    let outcome = engine
        .apply_execution_report(&fill(&order, token, "-1", "100"), ms(0))
        .expect("taken");
    assert_eq!(outcome.blocked, Some(InvalidFieldValue));
    assert_eq!(engine.balances(), before);
    assert_eq!(engine.quarantined().count(), 1);
}

#[test]
fn k17_without_validation_nothing_can_be_gained_by_less_than_nothing() {
    let mut engine = seeded("validation = {enabled = false}\nspot_funds = {enabled = true}");
    for order in [
        sell(ONE, "-5", "10"),
        buy(ONE, "-5", "10"),
        by_volume(buy(ONE, "1", "10"), "-5"),
    ] {
        assert_eq!(
            place(&mut engine, &order, ms(0)),
            [InvalidFieldValue],
            "{order:?}"
        );
    }
    assert_eq!(of(&engine, USD), "1000 0 0");
}

#[test]
fn k28_fees_need_no_trade_and_may_be_in_another_asset() {
    let mut engine = seeded(FUNDS);
    let mut fee = report(&buy(ONE, "1", "1"), None);
    fee.is_final = true;
    fee.fee = amount("-2");
    engine.apply_execution_report(&fee, ms(0)).expect("taken");
    fee.fee = amount("3");
    fee.fee_asset = Some(BTC);
    let outcome = engine.apply_execution_report(&fee, ms(0)).expect("taken");
    assert!(outcome.alarms.is_empty());
    assert_eq!(of(&engine, USD), "1002 0 0");
    assert_eq!(of(&engine, BTC), "-3 0 0");
    assert_eq!(engine.realized_pnl(ONE, USD), amount("2"));
}

#[test]
fn k17_a_replace_swaps_the_hold_or_leaves_it() {
    let mut engine = seeded(FUNDS);
    let order = buy(ONE, "8", "100");
    let token = working(&mut engine, &order, ms(0));
    let bigger = buy(ONE, "10", "100");
    assert_eq!(
        engine.replace(token, &bigger, ms(0)),
        Ok(()),
        "its own hold counts"
    );
    assert_eq!(of(&engine, USD), "0 1000 0");
    let refused = engine
        .replace(token, &buy(ONE, "11", "100"), ms(0))
        .expect_err("too much");
    assert_eq!(codes(&refused), [InsufficientFunds]);
    assert_eq!(of(&engine, USD), "0 1000 0");
    engine
        .apply_execution_report(&fill(&bigger, token, "4", "100"), ms(0))
        .expect("ours");
    let smaller = buy(ONE, "5", "50");
    assert_eq!(engine.replace(token, &smaller, ms(0)), Ok(()));
    assert_eq!(of(&engine, USD), "0 600 0", "six may still trade");
    assert_eq!(engine.confirm_replace(token, &smaller, ms(0)), Ok(()));
    assert_eq!(of(&engine, USD), "550 50 0", "one is left of five");
    assert_eq!(of(&engine, AAPL), "14 0 1");
    let cases = [
        (buy(ONE, "4", "50"), InvalidFieldValue),
        (sell(ONE, "9", "50"), InvalidFieldValue),
        (
            by_volume(buy(ONE, "9", "50"), "9"),
            UnsupportedOrderAttribute,
        ),
        (buy(ONE, "9", "0"), InvalidFieldValue),
    ];
    for (order, code) in cases {
        let refused = engine.replace(token, &order, ms(0)).expect_err("refused");
        assert_eq!(codes(&refused), [code], "{order:?}");
    }
    engine
        .apply_execution_report(&last(report(&order, Some(token))), ms(0))
        .expect("ours");
    assert_eq!(of(&engine, USD), "600 0 0");
    assert_eq!(
        codes(&engine.replace(token, &bigger, ms(0)).expect_err("over")),
        [UnknownOrder]
    );
}

#[test]
fn k17_a_replace_that_the_venue_refuses_is_undone_with_its_fills_kept() {
    let mut engine = seeded(FUNDS);
    let order = buy(ONE, "8", "100");
    let token = working(&mut engine, &order, ms(0));
    let smaller = buy(ONE, "3", "50");
    assert_eq!(engine.replace(token, &smaller, ms(0)), Ok(()));
    assert_eq!(of(&engine, USD), "200 800 0", "eight may still trade");
    let outcome = engine
        .apply_execution_report(&fill(&order, token, "2", "100"), ms(0))
        .expect("ours");
    assert!(outcome.alarms.is_empty());
    assert_eq!(of(&engine, USD), "200 600 0");
    assert_eq!(engine.revert_replace(token, &order, ms(0)), Ok(()));
    assert_eq!(of(&engine, USD), "200 600 0", "six are left of eight");
    assert_eq!(of(&engine, AAPL), "12 0 6");
    engine
        .apply_execution_report(&last(report(&order, Some(token))), ms(0))
        .expect("ours");
    assert_eq!(
        engine.revert_replace(token, &order, ms(0)),
        Err(TokenError::Stale)
    );
    assert_eq!(of(&engine, USD), "800 0 0");
}

#[test]
fn k28_a_fill_that_crosses_a_smaller_replace_is_no_overfill_until_it_is_confirmed() {
    for confirmed in [false, true] {
        let mut engine = seeded(FUNDS);
        let order = buy(ONE, "8", "100");
        let token = working(&mut engine, &order, ms(0));
        let smaller = buy(ONE, "3", "100");
        assert_eq!(engine.replace(token, &smaller, ms(0)), Ok(()));
        if confirmed {
            assert_eq!(engine.confirm_replace(token, &smaller, ms(0)), Ok(()));
        }
        let five = fill(&order, token, "5", "100");
        let outcome = engine.apply_execution_report(&five, ms(0)).expect("ours");
        assert_eq!(outcome.alarms.contains(Alarms::OVERFILL), confirmed);
    }
}

#[test]
fn k17_a_negative_hold_lowers_what_may_be_spent() {
    let mut engine = seeded(FUNDS);
    let held = Adjustment {
        field: BalanceField::Held,
        ..Adjustment::available(USD, Change::Delta(amount("-400")))
    };
    engine.adjust(ONE, &[held]).expect("in range");
    assert_eq!(
        place(&mut engine, &buy(ONE, "7", "100"), ms(0)),
        [InsufficientFunds]
    );
    assert_eq!(place(&mut engine, &buy(ONE, "6", "100"), ms(0)), []);
}

#[test]
fn k17_the_book_top_prices_by_side() {
    let mut engine = seeded("spot_funds = {pricing = 'book_top'}");
    let quote = Quote {
        mark: Some(price("1")),
        bid: Some(price("90")),
        ask: Some(price("110")),
    };
    engine
        .set_quote(QuoteTarget::All, AAPL_USD, quote, ms(0))
        .expect("set");
    working(&mut engine, &market(ONE, Side::Buy, "1"), ms(0));
    assert_eq!(engine.balance(ONE, USD).held, amount("110"));
    working(&mut engine, &market(ONE, Side::Sell, "1"), ms(0));
    assert_eq!(engine.balance(ONE, USD).incoming, amount("90"));
}

#[test]
fn k13_k17_a_negative_price_holds_what_the_seller_pays() {
    let mut config = config_with(FUNDS);
    config.instruments[0].allow_non_positive_price = true;
    let mut engine = engine(&config);
    seed(&mut engine, ONE, USD, "100");
    seed(&mut engine, ONE, AAPL, "10");
    working(&mut engine, &buy(ONE, "2", "-5"), ms(0));
    assert_eq!(
        of(&engine, USD),
        "100 0 0",
        "a buy below zero holds nothing"
    );
    let order = sell(ONE, "4", "-5");
    let token = working(&mut engine, &order, ms(0));
    assert_eq!(of(&engine, USD), "80 20 0");
    assert_eq!(of(&engine, AAPL), "6 4 2");
    engine
        .apply_execution_report(&last(fill(&order, token, "4", "-5")), ms(0))
        .expect("ours");
    assert_eq!(of(&engine, USD), "80 0 0");
}
