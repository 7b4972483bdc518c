//! No order allocates once tables have grown, whatever its verdict (rule K8).

#[path = "support/counting_allocator.rs"]
mod counting_allocator;
mod risk_support;

use counting_allocator::{CountingAllocator, counted};
use risk_support::*;

use pitlane::types::{Order, Side};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

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
