//! From a mutex around an `openpit` engine to lanes.
//!
//! ```text
//! cargo run --features openpit --example openpit_lanes
//! ```
//!
//! Both halves check the same orders with the same policies. Behind a mutex one
//! account's slow check holds up everybody, and what order two threads' calls
//! run in is chance. With lanes each account's calls run in the order in which
//! they were made, on the one worker that owns its engine; callers wait for
//! nothing but answers, and a reservation that is forgotten is rolled back.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use openpit::param::{AccountId, Asset, Price, Quantity, Side, TradeAmount};
use openpit::pretrade::policies::{
    OrderSizeBrokerBarrier, OrderSizeLimit, OrderSizeLimitPolicy, OrderSizeLimitSettings,
    OrderValidationPolicy,
};
use openpit::storage::LockingPolicyFactory;
use openpit::{
    AccountSync, Engine, EngineTraitOf, Instrument, LocalSync, OrderOperation,
    WithExecutionReportOperation, WithFinancialImpact,
};
use pitlane::lanes::openpit::OpenpitDriver;
use pitlane::lanes::{Desk, EngineBuilder, Wait};

type Report = WithExecutionReportOperation<WithFinancialImpact<()>>;
type Trades<S> = EngineTraitOf<OrderOperation, Report, (), S>;

fn size_limit<F: LockingPolicyFactory>() -> OrderSizeLimitPolicy<F> {
    let limit = OrderSizeLimit {
        max_quantity: Some(Quantity::from_str("100").expect("a quantity")),
        max_notional: None,
    };
    let limits = OrderSizeLimitSettings::new(Some(OrderSizeBrokerBarrier { limit }), [], []);
    OrderSizeLimitPolicy::new(limits.expect("sound limits"))
}

// -- Before: one engine, one mutex. ------------------------------------------

fn with_a_mutex(orders: Vec<OrderOperation>) -> Result<usize, Box<dyn Error>> {
    let engine: Engine<Trades<AccountSync>> = Engine::builder()
        .account_sync()
        .pre_trade(OrderValidationPolicy::new())
        .pre_trade(size_limit())
        .build()?;
    let engine = Arc::new(Mutex::new(engine));
    let mut accepted = 0;
    for order in orders {
        let engine = engine.lock().map_err(|_| "another thread panicked")?;
        if let Ok(mut reservation) = engine.execute_pre_trade(order) {
            reservation.commit();
            accepted += 1;
        }
    }
    Ok(accepted)
}

// -- After: an engine for each of two workers, and no mutex. -----------------

fn engine() -> Engine<Trades<LocalSync>> {
    Engine::builder()
        .no_sync()
        .pre_trade(OrderValidationPolicy::new())
        .pre_trade(size_limit())
        .build()
        .expect("sound policies")
}

fn with_lanes(orders: Vec<OrderOperation>) -> Result<usize, Box<dyn Error>> {
    let lanes = EngineBuilder::new()
        .shards(2)
        .build(|shard| Desk::new(shard, OpenpitDriver::new(engine())))?;
    let mut submitter = lanes.submitter()?; // One for each thread.
    let checks: Vec<_> = orders
        .into_iter()
        .map(|order| submitter.execute_pre_trade(Box::new(order), Wait::ForRoom))
        .collect();
    let mut accepted = 0;
    for mut check in checks {
        if let Ok(mut reservation) = check.wait().map_err(|failure| failure.error)? {
            reservation.commit_and_close().wait()?;
            accepted += 1;
        }
    }
    assert!(lanes.stop_graceful(Duration::from_secs(5))?.is_balanced());
    Ok(accepted)
}

fn main() -> Result<(), Box<dyn Error>> {
    let orders = |quantity: &str, account| -> Result<OrderOperation, Box<dyn Error>> {
        Ok(OrderOperation {
            instrument: Instrument::new(Asset::new("AAPL")?, Asset::new("USD")?),
            account_id: AccountId::from_u64(account),
            side: Side::Buy,
            trade_amount: TradeAmount::Quantity(Quantity::from_str(quantity)?),
            price: Some(Price::from_str("185")?),
        })
    };
    // Every fourth is too large.
    let orders: Result<Vec<_>, _> = (1..=40)
        .map(|number| orders(if number % 4 == 0 { "101" } else { "10" }, number % 7))
        .collect();
    let orders = orders?;
    let before = with_a_mutex(orders.clone())?;
    let after = with_lanes(orders)?;
    println!("accepted of 40: {before} behind a mutex, {after} through lanes");
    assert_eq!((before, after), (30, 30));
    Ok(())
}
