//! Beside orders and reports: adjustments, drop copy, retirement, market data.

mod risk_support;

use pitlane::risk::{
    Adjustment, BalanceField, Change, LookupError, Quote, QuoteTarget, RetireError,
};
use pitlane::types::{AccountId, Amount, InstrumentId, Order, RejectCode, Side};
use risk_support::*;

use RejectCode::*;

#[test]
fn k29_a_batch_is_all_or_nothing_and_names_its_fault() {
    let mut engine = seeded(FUNDS);
    let delta = |text: &str| Adjustment::available(USD, Change::Delta(amount(text)));
    assert_eq!(engine.adjust(ONE, &[]), Ok(()));
    let bounded = Adjustment {
        upper: Some(amount("5")),
        lower: Some(amount("0")),
        field: BalanceField::Held,
        ..delta("6")
    };
    let error = engine
        .adjust(ONE, &[delta("1"), delta("2"), bounded])
        .expect_err("beyond");
    assert_eq!(
        (error.index, error.code),
        (2, AccountAdjustmentBoundsExceeded)
    );
    assert_eq!(of(&engine, USD), "1000 0 0");
    let incoming = Adjustment {
        field: BalanceField::Incoming,
        ..delta("7")
    };
    assert_eq!(
        engine.adjust(ONE, &[delta("1"), incoming, delta("-3000")]),
        Ok(())
    );
    assert_eq!(of(&engine, USD), "-1999 0 7", "no floor without a bound");
    let most = Adjustment::available(USD, Change::Delta(Amount::MAX));
    let error = engine
        .adjust(ONE, &[delta("1"), delta("2000"), most])
        .expect_err("overflow");
    assert_eq!((error.index, error.code), (2, ArithmeticOverflow));
    let error = engine.adjust(AccountId(9), &[most]).expect_err("unknown");
    assert_eq!(error.code, UnknownAccount);
}

#[test]
fn k30_a_drop_copy_passes_blocks_and_limits_and_is_finalized_like_a_reservation() {
    let mut engine = seeded("order_size = [{max_quantity = '1'}]\nspot_funds = {enabled = true}");
    engine.block_account(ONE, AccountBlocked).expect("known");
    let order = buy(ONE, "20", "100");
    let copy = engine.apply_drop_copy(&order, ms(0)).expect("taken");
    assert!(copy.blocked);
    assert_eq!(of(&engine, USD), "-1000 2000 0");
    assert_eq!(copy.changes.len(), 2);
    assert_eq!(copy.changes[0].held, amount("2000"));
    engine.rollback(copy.token).expect("fresh");
    assert_eq!(of(&engine, USD), "1000 0 0");
    let copy = engine.apply_drop_copy(&order, ms(0)).expect("taken");
    engine.commit(copy.token).expect("fresh");
    engine
        .apply_execution_report(&last(fill(&order, copy.token, "20", "100")), ms(0))
        .expect("ours");
    assert_eq!(of(&engine, AAPL), "30 0 0");
}

#[test]
fn k30_only_what_cannot_be_evaluated_is_refused() {
    let mut engine = seeded(FUNDS);
    let cases = [
        (market(ONE, Side::Buy, "1"), MissingRequiredField),
        (buy(ONE, "0", "1"), InvalidFieldValue),
        (
            by_volume(buy(ONE, "1", "0"), "5"),
            OrderValueCalculationFailed,
        ),
        (buy(AccountId(99), "1", "1"), UnknownAccount),
        (
            Order {
                instrument: InstrumentId(9),
                ..buy(ONE, "1", "1")
            },
            UnknownInstrument,
        ),
    ];
    for (order, code) in cases {
        let refused = engine.apply_drop_copy(&order, ms(0)).expect_err("refused");
        assert_eq!(codes(&refused), [code], "{order:?}");
    }
    assert_eq!(engine.orders_open(), 0);
}

#[test]
fn k33_retirement_is_refused_until_nothing_is_left() {
    let mut engine = engine(&config_with(
        "unknown_accounts = 'open'\nspot_funds = {enabled = true}",
    ));
    let id = AccountId(500);
    assert_eq!(engine.retire(id), Err(RetireError::UnknownAccount));
    assert_eq!(engine.retire(ONE), Err(RetireError::Configured));
    assert_eq!(
        place(&mut engine, &buy(id, "1", "1"), ms(0)),
        [InsufficientFunds]
    );
    seed(&mut engine, id, USD, "5");
    assert_eq!(engine.retire(id), Err(RetireError::StateNotZero));
    let order = buy(id, "5", "1");
    let token = working(&mut engine, &order, ms(0));
    assert_eq!(engine.retire(id), Err(RetireError::OperationOpen));
    engine
        .apply_execution_report(&last(report(&order, Some(token))), ms(0))
        .expect("ours");
    seed(&mut engine, id, USD, "0");
    let open = engine.accounts_open();
    assert_eq!(engine.retire(id), Ok(()));
    assert_eq!(engine.accounts_open(), open - 1);
    assert_eq!(engine.retire(id), Err(RetireError::UnknownAccount));
}

#[test]
fn k34_a_quote_goes_stale_and_a_narrower_stale_one_gives_way() {
    let mut engine = seeded("quote_ttl_ms = 10\nspot_funds = {enabled = true}");
    mark(&mut engine, QuoteTarget::Account(ONE), "50");
    let quote = Quote {
        mark: Some(price("70")),
        ..Quote::default()
    };
    engine
        .set_quote(QuoteTarget::All, AAPL_USD, quote, ms(5))
        .expect("set");
    let order = market(ONE, Side::Buy, "1");
    working(&mut engine, &order, ms(9));
    assert_eq!(engine.balance(ONE, USD).held, amount("50"));
    working(&mut engine, &order, ms(10));
    assert_eq!(engine.balance(ONE, USD).held, amount("120"));
    assert_eq!(place(&mut engine, &order, ms(15)), [MarkPriceUnavailable]);
    assert_eq!(
        engine.set_quote(QuoteTarget::All, InstrumentId(9), quote, ms(0)),
        Err(LookupError::Instrument(InstrumentId(9)))
    );
    assert_eq!(
        engine.set_quote(QuoteTarget::Account(AccountId(9)), AAPL_USD, quote, ms(0)),
        Err(LookupError::Account(AccountId(9)))
    );
}
