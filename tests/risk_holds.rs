//! What an order holds where no check came before it: drop copies and settled
//! replaces, at the edges of the numbers; and who counts as one owner.

mod risk_support;

use pitlane::limits::CANCELS_MAX;
use pitlane::risk::{Adjustment, BalanceField, Change, RiskEngine};
use pitlane::types::{Amount, Order, RejectCode};
use risk_support::*;

use BalanceField::*;
use RejectCode::*;

const FUNDS: &str = "spot_funds = {enabled = true}";

fn with(toml: &str) -> RiskEngine {
    let off = "\nspot_funds = {enabled = false}";
    engine(&config_with(&format!("{toml}{off}")))
}

#[test]
fn k21_the_terms_of_a_replace_are_no_order_of_their_own() {
    let mut engine = with("duplicate = {repeats = 0, window_ms = 100}");
    let token = working(&mut engine, &buy(ONE, "1", "10"), ms(0));
    let terms = buy(ONE, "2", "10");
    assert_eq!(engine.replace(token, &terms, ms(1)), Ok(()));
    assert_eq!(engine.confirm_replace(token, &terms, ms(1)), Ok(()));
    assert_eq!(
        place(&mut engine, &terms, ms(2)),
        [],
        "the first of its kind"
    );
    assert_eq!(place(&mut engine, &terms, ms(3)), [DuplicateOrder]);
}

/// A balance at the edge of its range, and an order that would push it over.
fn edges() -> [(Adjustment, Order); 6] {
    let to = |asset, field, raw| Adjustment {
        field,
        ..Adjustment::available(asset, Change::Absolute(raw))
    };
    let (buys, sells) = (buy(ONE, "1", "5"), sell(ONE, "1", "5"));
    [
        (to(USD, Available, Amount::MIN), buys),
        (to(USD, Held, Amount::MAX), buys),
        (to(AAPL, Incoming, Amount::MAX), buys),
        (to(AAPL, Available, Amount::MIN), sells),
        (to(AAPL, Held, Amount::MAX), sells),
        (to(USD, Incoming, Amount::MAX), sells),
    ]
}

#[test]
fn k30_a_drop_copy_whose_hold_is_out_of_range_is_a_code_and_changes_nothing() {
    for (edge, order) in edges() {
        let mut engine = seeded(FUNDS);
        engine.adjust(ONE, &[edge]).expect("in range");
        let before = [of(&engine, USD), of(&engine, AAPL)];
        let refused = engine.apply_drop_copy(&order, ms(0)).expect_err("too far");
        assert_eq!(codes(&refused), [ArithmeticOverflow], "{edge:?}");
        assert_eq!([of(&engine, USD), of(&engine, AAPL)], before);
        assert_eq!(engine.orders_open(), 0);
    }
}

#[test]
fn k17_settled_terms_that_cannot_be_held_stop_the_account_and_hold_nothing() {
    for (edge, order) in edges() {
        let mut engine = seeded(FUNDS);
        let before = Order {
            quantity: Some(quantity("2")),
            ..order
        };
        let token = working(&mut engine, &before, ms(0));
        engine.adjust(ONE, &[edge]).expect("in range");
        // The venue's word comes as terms that nobody asked for.
        let terms = Order {
            quantity: Some(quantity("9")),
            ..order
        };
        assert_eq!(engine.confirm_replace(token, &terms, ms(1)), Ok(()));
        assert_eq!(engine.block_of(ONE), Ok(Some(KillSwitchArmed)), "{edge:?}");
    }
}

#[test]
fn k20_what_no_check_asked_for_counts_once_towards_the_firm_and_the_account() {
    let firm =
        "gross_credit = {unit = '1', rules = [{scope = 'firm', asset = 'USD', limit = '10'}]}";
    let own = "gross_credit = {unit = '1', rules = [{asset = 'USD', limit = '10'}]}";
    for (rules, other) in [(firm, TWO), (own, ONE)] {
        let mut engine = with(rules);
        let copy = engine
            .apply_drop_copy(&buy(ONE, "4", "1"), ms(0))
            .expect("taken");
        engine.commit(copy.token).expect("fresh");
        let order = buy(other, "6", "1");
        assert_eq!(
            place(&mut engine, &buy(other, "7", "1"), ms(0)),
            [CreditLimitExceeded]
        );
        let token = working(&mut engine, &order, ms(0));
        assert_eq!(
            place(&mut engine, &buy(other, "1", "1"), ms(0)),
            [CreditLimitExceeded]
        );
        // The venue confirms less than was asked: three are free again.
        let less = buy(other, "3", "1");
        assert_eq!(engine.confirm_replace(token, &less, ms(1)), Ok(()));
        assert_eq!(
            place(&mut engine, &buy(other, "4", "1"), ms(2)),
            [CreditLimitExceeded]
        );
        assert_eq!(place(&mut engine, &buy(other, "3", "1"), ms(2)), []);
        assert_eq!(
            place(&mut engine, &buy(other, "1", "1"), ms(2)),
            [CreditLimitExceeded]
        );
    }
}

#[test]
fn k39_accounts_of_no_group_are_no_group() {
    let mut engine = with("self_match = {scope = 'group'}");
    working(&mut engine, &sell(TWO, "1", "10"), ms(0));
    assert_eq!(place(&mut engine, &buy(ONE, "1", "10"), ms(0)), []);
    working(&mut engine, &sell(ONE, "1", "11"), ms(0));
    assert_eq!(
        place(&mut engine, &buy(ONE, "1", "11"), ms(0)),
        [SelfMatchPrevention]
    );
}

#[test]
fn k39_at_most_so_many_cancels_are_asked_for_at_once() {
    let mut engine = with("self_match = {action = 'cancel_resting'}");
    for _ in 0..CANCELS_MAX + 2 {
        working(&mut engine, &sell(ONE, "1", "10"), ms(0));
    }
    let buys = buy(ONE, "1", "10");
    working(&mut engine, &buys, ms(0));
    working(&mut engine, &buys, ms(0));
    let mut asked = 0;
    engine.take_cancels(&mut |_| asked += 1);
    assert_eq!(asked, CANCELS_MAX);
    working(&mut engine, &buys, ms(0));
    engine.take_cancels(&mut |_| asked += 1);
    let again = 2 * CANCELS_MAX;
    assert_eq!(asked, again, "the next that would meet them asks again");
}
