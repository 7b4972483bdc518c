//! One order, from check to commit, as one task of its account's lane: nothing
//! else of the account runs in between. `cargo run --example order_chain`.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use pitlane::lanes::{
    ChainFuture, ChainOutcome, Decision, Desk, EngineBuilder, RiskError, Submitter, Wait, chain,
};
use pitlane::risk::{ReservationToken, RiskConfig, RiskEngine, SharedLimits};
use pitlane::types::{AccountId, InstrumentId, Order, OrderType, Side, TimeInForce};

const CONFIG: &str = r#"
assets = { AAPL = 1, USD = 2 }
instruments = [{ id = 1, base = "AAPL", settlement = "USD" }]
accounts = [{ id = 7 }]
spot_funds = { mode = "track" }
order_size = [{ max_quantity = "500" }]
"#;

/// What is written down about an accepted order.
type Record = (AccountId, ReservationToken);

/// What the chain's hooks share; it lives and dies in the lane.
#[derive(Default)]
struct Progress {
    would_pass: bool,
    reserved: Option<ReservationToken>,
}

fn order(quantity: &str) -> Result<Order, Box<dyn Error>> {
    Ok(Order {
        account: AccountId(7),
        instrument: InstrumentId(1),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(quantity.parse()?),
        volume: None,
        price: Some("185".parse()?),
    })
}

/// Checks, reserves, hands the record to the journal, commits.
fn place(
    submitter: &mut Submitter<Desk<RiskEngine>>,
    order: Order,
    journal: SyncSender<Record>,
) -> ChainFuture<RiskEngine, Progress> {
    chain(order, || Ok(Progress::default()))
        .check_order(|progress: &mut Progress, checked| {
            progress.would_pass = checked.passed();
            Ok(())
        })
        .execute_pre_trade(
            move |progress, reserved| {
                let record = (reserved.order().account, *reserved.view());
                // A hook must not block its lane. A journal that cannot keep up
                // is an error, and an order that is not written is rolled back.
                journal.try_send(record)?;
                progress.reserved = Some(*reserved.view());
                Ok(Decision::Commit)
            },
            |_, rejects| {
                println!("  refused: {rejects}");
                Ok(())
            },
        )
        .finally(|progress, outcome| {
            println!(
                "  check passed: {}, reserved: {}, ended {:?}",
                progress.would_pass,
                progress.reserved.is_some(),
                outcome.end
            );
            Ok(())
        })
        .run(submitter, Wait::AtMost(Duration::from_secs(1)))
}

fn tell(what: &str, outcome: &ChainOutcome<RiskError>) {
    let retry = if outcome.retry_unsafe { "not " } else { "" };
    println!("{what}: {:?}, {retry}safe to run again", outcome.end);
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = RiskConfig::from_toml(CONFIG)?;
    let shared = Arc::new(SharedLimits::new(&config)?);
    let engine = EngineBuilder::new().build(move |shard| {
        let risk = RiskEngine::new(&config, shard, Arc::clone(&shared));
        Desk::new(shard, risk.expect("the configuration was checked above"))
    })?;
    let mut submitter = engine.submitter()?;

    let (journal, records) = sync_channel::<Record>(1_024);
    let writer = thread::spawn(move || -> std::io::Result<usize> {
        let mut out = std::io::stdout();
        let mut written = 0;
        for (account, token) in records {
            writeln!(out, "  journal: account {account}, {token:?}")?;
            written += 1;
        }
        Ok(written)
    });

    for quantity in ["100", "501"] {
        let mut placed = place(&mut submitter, order(quantity)?, journal.clone());
        tell(&format!("buy {quantity}"), &placed.wait()?);
    }
    // A journal that is gone: the reservation does not outlive the chain.
    let (gone, _) = sync_channel(1);
    let mut placed = place(&mut submitter, order("100")?, gone);
    tell("buy 100 without a journal", &placed.wait()?);

    engine.stop_graceful(Duration::from_secs(5))?;
    drop(journal);
    let written = writer.join().map_err(|_| "the journal panicked")??;
    println!("{written} order in the journal");
    Ok(())
}
