//! A whole gateway over one market, and clients that trade there.
#![allow(dead_code)] // Each test uses the part that it needs.

use std::time::{Duration, Instant};

use pitlane::types::{
    AccountId, ClientReference, InstrumentId, Order, OrderType, PRICE_SCALE, Price, Quantity, Side,
    TimeInForce,
};
use pitlane_gateway::assembly::Gateway;
use pitlane_gateway::client::{Client, ClientKey, Event, Logon};
use pitlane_gateway::session::CredentialId;

/// Longer than anything should take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

fn key(id: u8) -> ClientKey {
    ClientKey::from_seed(&[id; 32])
}

pub(crate) fn public(id: u8) -> String {
    let bytes = key(id).public();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sixteen accounts, credential 1 for all of them, and no journal; `mode` ends the
/// section of the gateway, `more` the file.
pub(crate) fn config(mode: &str, more: &str) -> String {
    let public = public(1);
    format!(
        r#"
[journal]
mode = "off"
[gateway]
listen = "127.0.0.1:0"
{mode}
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
count = 16
balances = {{ USD = "1000000", AAPL = "1000" }}
[[credential]]
id = 1
public_key = "{public}"
accounts = "all"
{more}
"#
    )
}

pub(crate) fn client(gateway: &Gateway, id: u8) -> Client {
    let logon = Logon::new(1, CredentialId(u16::from(id)), key(id));
    Client::connect(gateway.address(), &logon).unwrap()
}

/// A limit day order in whole units.
pub(crate) fn limit(account: u64, side: Side, price: i64, quantity: i64) -> Order {
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

pub(crate) fn send(client: &mut Client, reference: u64, order: &Order) {
    let sender = client.sender();
    sender.new_order(ClientReference(reference), order).unwrap();
    sender.flush().unwrap();
}

/// The next report, which must come.
pub(crate) fn next(client: &mut Client) -> Event {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let event = client.next_event(PATIENCE).unwrap().expect("an event");
        if event.report().is_some() {
            return event;
        }
    }
    panic!("no report within {PATIENCE:?}")
}
