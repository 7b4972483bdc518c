//! Strategies in a gateway: a risk alarm, and an offerer that sends orders from
//! inside fill callbacks, in every shard of the example's configuration.
//!
//! Run with `cargo run --release -p pitlane-gateway --example strategies`. A client
//! then trades over TCP, and what it hears is printed.

mod offerer;
mod risk_alarm;

use std::error::Error;
use std::time::Duration;

use offerer::Offerer;
use pitlane::dispatch::REPORTS;
use pitlane::time::SystemClock;
use pitlane::types::{
    AccountId, ClientReference, InstrumentId, Order, OrderType, PRICE_SCALE, Price, Quantity, Side,
    TimeInForce,
};
use pitlane_gateway::assembly::{Gateway, Strategies};
use pitlane_gateway::client::{Client, ClientKey, Event, Logon};
use pitlane_gateway::config::Config;
use pitlane_gateway::session::CredentialId;
use risk_alarm::{REJECTS, RiskAlarm};

/// Whose buys are offered again.
const OFFERED: AccountId = AccountId(2);
/// The references of the offerer's orders are those of no client.
const OFFERER: u16 = u16::MAX;
const PATIENCE: Duration = Duration::from_secs(10);

fn strategies() -> Strategies {
    let clock = SystemClock::new();
    Strategies::none()
        .and(move |site| {
            let alarm = RiskAlarm::new(clock, site.ports.risk());
            site.ports.add(Box::new(alarm), &[REPORTS])?;
            Ok(())
        })
        .and(|site| {
            if site.owns(OFFERED) {
                let orders = site.ports.orders(OFFERER, OFFERED, ClientReference(1));
                site.ports.add(Box::new(Offerer { orders }), &[REPORTS])?;
            }
            Ok(())
        })
}

fn limit(account: u64, side: Side, price: i64, quantity: i64) -> Order {
    Order {
        account: AccountId(account),
        instrument: InstrumentId(1),
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(Quantity::from_raw(quantity * PRICE_SCALE)),
        volume: None,
        price: Some(Price::from_raw(price * PRICE_SCALE)),
    }
}

const CONFIG: &str = r#"
[journal]
mode = "off"
[gateway]
listen = "127.0.0.1:0"
[[asset]]
id = 1
name = "USD"
[[asset]]
id = 2
name = "AAPL"
[[instrument]]
id = 1
base = "AAPL"
settlement = "USD"
tick = "0.01"
lot = "1"
[[account]]
id = 1
count = 3
balances = { USD = "1000000", AAPL = "1000" }
[[credential]]
id = 1
public_key = "PUBLIC"
accounts = "all"
"#;

/// Sends an order, and prints what comes until it is answered.
fn send(client: &mut Client, reference: u64, order: &Order) -> Result<(), Box<dyn Error>> {
    client
        .sender()
        .new_order(ClientReference(reference), order)?;
    client.sender().flush()?;
    loop {
        let Some(event) = client.next_event(PATIENCE)? else {
            return Err(format!("order {reference} was not answered").into());
        };
        print_report(&event);
        if event
            .report()
            .is_some_and(|head| head.reference == reference)
        {
            return Ok(());
        }
    }
}

fn print_report(event: &Event) {
    let what = match event {
        Event::Accepted(_) => "accepted".into(),
        Event::Rejected(rejected) => rejected
            .code()
            .map_or_else(|| "rejected".into(), |code| format!("rejected: {code}")),
        Event::Executed(_) => "executed".into(),
        other => format!("{other:?}"),
    };
    if let Some(head) = event.report() {
        println!(
            "order {:>2} of account {}: {what}",
            head.order_reference, head.account
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let key = ClientKey::from_seed(&[7; 32]);
    let public: String = key
        .public()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let config = Config::parse("the example", &CONFIG.replace("PUBLIC", &public))?;
    let gateway = Gateway::start_with(&config, 1, &strategies())?;
    let logon = Logon::new(config.gateway.id, CredentialId(1), key);
    let mut client = Client::connect(gateway.address(), &logon)?;

    let orders = [
        // Account 2 buys in two parts; each is offered one tick higher.
        limit(1, Side::Sell, 100, 3),
        limit(2, Side::Buy, 100, 5),
        limit(1, Side::Sell, 100, 2),
        // This one buys what was offered.
        limit(3, Side::Buy, 101, 5),
    ];
    // Rejects, and then an order that would be taken: but the account is blocked.
    let too_much = std::iter::repeat_n(limit(1, Side::Sell, 100, 1_000_000), REJECTS);
    let last = limit(1, Side::Sell, 100, 1);
    for (reference, order) in (1..).zip(orders.into_iter().chain(too_much).chain([last])) {
        send(&mut client, reference, &order)?;
    }
    for event in client.finish()? {
        print_report(&event);
    }
    let stopped = gateway.stop(PATIENCE);
    let (commands, reports) = (stopped.stats.commands, stopped.stats.reports);
    println!("{commands} commands, {reports} reports");
    Ok(())
}
