//! A chain that places an order and waits for its fill, while the account's
//! next order stands in line and other accounts go on.
//! `cargo run --example waiting_chain`.

use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use pitlane::lanes::{
    AsyncEngine, Decision, Desk, EngineBuilder, Heard, Submitter, Wait, WaitLimit, chain,
};
use pitlane::risk::{ExecutionReport, ReservationToken, RiskConfig, RiskEngine, SharedLimits};
use pitlane::types::{AccountId, InstrumentId, Order, OrderType, Side, TimeInForce};

const CONFIG: &str = r#"
assets = { AAPL = 1, USD = 2 }
instruments = [{ id = 1, base = "AAPL", settlement = "USD" }]
accounts = [{ id = 7 }, { id = 8 }]
spot_funds = { mode = "track" }
"#;

fn order(account: u64) -> Result<Order, Box<dyn Error>> {
    Ok(Order {
        account: AccountId(account),
        instrument: InstrumentId(1),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some("100".parse()?),
        volume: None,
        price: Some("185".parse()?),
    })
}

/// A venue that answers when it is told to: fills what it has got.
fn venue(
    engine: &AsyncEngine<Desk<RiskEngine>>,
    orders: Receiver<(Order, ReservationToken)>,
    go: Receiver<()>,
) -> Result<thread::JoinHandle<Result<(), String>>, Box<dyn Error>> {
    let mut reports = engine.submitter()?;
    Ok(thread::spawn(move || {
        for (order, token) in orders {
            go.recv().map_err(|error| error.to_string())?;
            let fill = ExecutionReport {
                token: Some(token),
                account: order.account,
                instrument: order.instrument,
                side: order.side,
                fill_id: None,
                price: order.price.unwrap_or_default(),
                quantity: order.quantity.unwrap_or_default(),
                fee: Default::default(),
                fee_asset: None,
                pnl: Default::default(),
                is_final: true,
            };
            let booked = reports.apply_execution_report(fill, Wait::ForRoom).wait();
            booked.map_err(|failure| failure.to_string())?;
        }
        Ok(())
    }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = RiskConfig::from_toml(CONFIG)?;
    let shared = Arc::new(SharedLimits::new(&config)?);
    let engine = EngineBuilder::new().build(move |shard| {
        let risk = RiskEngine::new(&config, shard, Arc::clone(&shared));
        Desk::new(shard, risk.expect("the configuration was checked above"))
    })?;
    let mut submitter: Submitter<_> = engine.submitter()?;
    let (send, orders) = channel();
    let (go, gone) = channel();
    let venue = venue(&engine, orders, gone)?;

    let mut placed = chain(order(7)?, || Ok(()))
        .execute_pre_trade(
            move |(), reserved| {
                send.send((*reserved.order(), *reserved.view()))?;
                Ok(Decision::Commit)
            },
            |(), rejects| {
                println!("refused: {rejects}");
                Ok(())
            },
        )
        .wait_for_report(
            WaitLimit::millis(5_000),
            |(), settled| {
                println!("7 heard of {}", settled.report().quantity);
                let over = settled.report().is_final;
                Ok(if over { Heard::Enough } else { Heard::Waiting })
            },
            |()| Err("no fill in time".into()),
        )
        .run(&mut submitter, Wait::ForRoom);

    let mut behind = submitter.check_order(order(7)?, Wait::ForRoom);
    let other = submitter.check_order(order(8)?, Wait::ForRoom).wait()?;
    println!("8 is not held up: {}", other.is_ok());
    println!("7's next order stands in line: {}", !behind.is_done());
    go.send(())?;
    println!("7 ended {:?}", placed.wait()?.end);
    println!("7's next order was judged: {}", behind.wait()?.is_ok());

    engine.stop_graceful(Duration::from_secs(5))?;
    venue.join().map_err(|_| "the venue panicked")??;
    Ok(())
}
