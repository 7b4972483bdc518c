//! No order allocates once tables have grown, whatever its verdict (rule K8).

#[path = "support/counting_allocator.rs"]
mod counting_allocator;
mod risk_support;

use counting_allocator::{CountingAllocator, counted};
use risk_support::*;

use pitlane::risk::{Adjustment, Change, Quote, QuoteTarget};
use pitlane::types::{FillId, Order, OrderType, Side};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Every policy on; orders are accepted, refused by each, filled, replaced,
/// rolled back.
#[test]
fn k08_no_allocation_per_order_with_every_policy_on() {
    let mut engine = engine(&config_with(
        "rate_limit = [{scope = 'broker', limit = 4096, window_ms = 10},
                       {scope = 'account', limit = 300, window_ms = 10}]
         order_size = [{max_quantity = '100'}]
         collar = [{above_bps = 1000, below_bps = 1000}]
         pnl = {rules = [{asset = 'USD', lower = '-1000000000'}]}
         position = [{long = '1000000', short = '1000000'}]
         gross_credit = {rules = [{asset = 'USD', limit = '100000000'},
                         {scope = 'firm', asset = 'USD', limit = '100000000'}]}
         duplicate = {repeats = 3, window_ms = 5}
         restricted = [{instrument = 'BTC/USD'}]
         open_orders = [{limit = 64}]
         repeated_execution = [{fills = 1000, window_ms = 10}]
         self_match = {}
         spot_funds = {slippage_bps = 10}",
    ));
    for account in [ONE, TWO, THREE] {
        for asset in [USD, AAPL] {
            let change = Change::Absolute(amount("100000000"));
            engine
                .adjust(account, &[Adjustment::available(asset, change)])
                .expect("seeded");
        }
    }
    let quote = Quote {
        mark: Some(price("10")),
        ..Quote::default()
    };
    engine
        .set_quote(QuoteTarget::All, AAPL_USD, quote, ms(0))
        .expect("set");
    let restricted = Order {
        instrument: BTC_USD,
        ..buy(TWO, "1", "10")
    };
    let mut open = Vec::with_capacity(64);
    let mut refused = 0;
    let mut round = |at: u64| {
        let qty = 1 + at % 50;
        let mut order = buy(ONE, "1", "10");
        order.quantity = Some(pitlane::types::Quantity::from_raw(
            i64::try_from(qty).expect("small") * 1_000_000_000,
        ));
        let orders = [
            order,
            Order {
                side: Side::Sell,
                account: TWO,
                ..order
            },
            Order {
                price: None,
                order_type: OrderType::Market,
                account: THREE,
                ..order
            },
            Order {
                price: Some(price("12")),
                ..order
            },
            restricted,
        ];
        for order in &orders {
            match engine.execute_pre_trade(order, ms(at)) {
                Ok(token) if at.is_multiple_of(7) => engine.rollback(token).expect("fresh"),
                Ok(token) => {
                    engine.commit(token).expect("fresh");
                    open.push((token, *order));
                }
                Err(_) => refused += 1,
            }
        }
        if let Some((token, order)) = open.first() {
            let _ = engine.replace(*token, order, ms(at));
        }
        for (number, (token, order)) in (0u64..).zip(open.drain(..)) {
            let mut done = report(&order, Some(token));
            done.is_final = true;
            done.fill_id = Some(FillId(at * 100 + number));
            done.quantity = quantity("1");
            done.price = price("10");
            done.pnl = amount("1");
            engine.apply_execution_report(&done, ms(at)).expect("ours");
        }
    };
    // The set of recent fills is full after 65,536 of them.
    (0..30_000).for_each(&mut round);
    let ((), counts) = counted(|| (30_000..33_000).for_each(&mut round));
    assert_eq!(counts.allocations, 0);
    assert!(refused > 33_000, "two of five at least: {refused}");
}

#[test]
fn k08_no_allocation_per_order_whatever_the_verdict() {
    let mut engine = engine(&config_with(
        "rate_limit = [{scope = 'broker', limit = 1000, window_ms = 10},
                       {scope = 'account', limit = 5, window_ms = 5},
                       {scope = 'account_asset', asset = 'USD', limit = 5, window_ms = 5}]
         order_size = [{max_quantity = '100'}]",
    ));
    let good = buy(ONE, "1", "10");
    let bad = [
        buy(TWO, "0", "10"),
        buy(THREE, "101", "10"),
        Order {
            price: None,
            ..buy(TWO, "1", "10")
        },
        market(TWO, Side::Sell, "1"),
    ];
    let mut accepted = 0;
    let mut round = |at: u64| {
        if let Ok(token) = engine.execute_pre_trade(&good, ms(at)) {
            accepted += 1;
            if at.is_multiple_of(2) {
                engine.commit(token).expect("fresh");
                let mut done = report(&good, Some(token));
                done.is_final = true;
                engine.apply_execution_report(&done, ms(at)).expect("ours");
            } else {
                engine.rollback(token).expect("fresh");
            }
        }
        for order in &bad {
            if let Ok(token) = engine.execute_pre_trade(order, ms(at)) {
                drop(engine.own(token));
            }
        }
        if at.is_multiple_of(50) {
            // One more than the window takes: the next ones are refused too.
            let _ = engine
                .execute_pre_trade(&good, ms(at))
                .map(|token| engine.rollback(token));
        }
        let _ = engine.check_order(&good, ms(at));
        let _ = engine.allow_cancel(ONE, ms(at));
    };
    (0..200).for_each(&mut round);
    let ((), counts) = counted(|| (200..2_000).for_each(&mut round));
    assert_eq!(counts.allocations, 0);
    assert!(
        accepted > 500 && accepted < 2_000,
        "both verdicts: {accepted}"
    );
}
