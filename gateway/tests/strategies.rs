//! Strategies in a whole gateway, over TCP: on the I/O thread and behind rings.

#[path = "../examples/strategies/offerer.rs"]
mod offerer;
#[path = "../examples/strategies/risk_alarm.rs"]
mod risk_alarm;

use std::time::{Duration, Instant};

use offerer::Offerer;
use pitlane::dispatch::{Component, Context, Fatal, MARKS, REPORTS, ShardEvent};
use pitlane::lanes::LaneKey;
use pitlane::time::SystemClock;
use pitlane::types::{
    AccountId, ClientReference, InstrumentId, Order, OrderType, PRICE_SCALE, Price, Quantity,
    RejectCode, Side, TimeInForce,
};
use pitlane_gateway::assembly::{Gateway, StartError, Strategies};
use pitlane_gateway::client::{Client, ClientKey, Event, Logon};
use pitlane_gateway::config::Config;
use pitlane_gateway::session::CredentialId;
use risk_alarm::{REJECTS, RiskAlarm};

const PATIENCE: Duration = Duration::from_secs(20);
const MODES: [&str; 2] = [
    "mode = 'inline'\n[engine]\nshards = 1",
    "mode = 'ring'\n[engine]\nshards = 2",
];

/// A gateway in one of the modes, its credential 1, and more of `[engine]`.
fn start(mode: &str, more: &str, strategies: &Strategies) -> Result<Gateway, StartError> {
    let public: String = key()
        .public()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let text = format!(
        r#"
[gateway]
listen = "127.0.0.1:0"
{mode}
{more}
[journal]
mode = "off"
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
"#
    );
    let config = Config::parse("the test", &text).unwrap();
    Gateway::start_with(&config, 1, strategies)
}

fn key() -> ClientKey {
    ClientKey::from_seed(&[7; 32])
}

fn client(gateway: &Gateway) -> Client {
    Client::connect(gateway.address(), &Logon::new(1, CredentialId(1), key())).unwrap()
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

fn send(client: &mut Client, reference: u64, order: &Order) {
    let sender = client.sender();
    sender.new_order(ClientReference(reference), order).unwrap();
    sender.flush().unwrap();
}

/// The next report, which must come.
fn next(client: &mut Client) -> Event {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let event = client.next_event(PATIENCE).unwrap().expect("an event");
        if event.report().is_some() {
            return event;
        }
    }
    panic!("no report within {PATIENCE:?}")
}

/// Sends an order, and waits for its answer.
fn answer(client: &mut Client, reference: u64, order: &Order) -> Event {
    send(client, reference, order);
    loop {
        let event = next(client);
        if event
            .report()
            .is_some_and(|head| head.reference == reference)
        {
            return event;
        }
    }
}

/// Waits for the execution that ends an order.
fn executed(client: &mut Client, reference: u64) {
    loop {
        if let Event::Executed(fill) = next(client)
            && fill.head.order_reference == reference
        {
            assert_eq!(fill.head.leaves(), Quantity::ZERO, "all at once");
            return;
        }
    }
}

fn code(event: &Event) -> Option<RejectCode> {
    match event {
        Event::Rejected(rejected) => rejected.code(),
        _ => None,
    }
}

#[test]
fn r55_an_order_from_a_fill_callback_trades_with_a_clients() {
    for mode in MODES {
        let account = AccountId(2);
        let strategies = Strategies::none().and(move |site| {
            if site.owns(account) {
                let orders = site.ports.orders(u16::MAX, account, ClientReference(1));
                site.ports.add(Box::new(Offerer { orders }), &[REPORTS])?;
            }
            Ok(())
        });
        let gateway = start(mode, "", &strategies).unwrap();
        let mut client = client(&gateway);
        // One after the other: shards of their own would race to the venue.
        answer(&mut client, 1, &limit(1, Side::Sell, 100, 3));
        answer(&mut client, 2, &limit(2, Side::Buy, 100, 3));
        executed(&mut client, 1);
        // Rests until the offer comes, if that comes later.
        answer(&mut client, 3, &limit(3, Side::Buy, 101, 3));
        executed(&mut client, 3);
        client.finish().unwrap();
        assert!(gateway.stop(PATIENCE).lanes.unwrap().is_balanced());
    }
}

#[test]
fn k31_an_alarm_blocks_an_account_over_tcp() {
    for mode in MODES {
        let clock = SystemClock::new();
        let strategies = Strategies::none().and(move |site| {
            let alarm = RiskAlarm::new(clock, site.ports.risk());
            site.ports.add(Box::new(alarm), &[REPORTS])?;
            Ok(())
        });
        let gateway = start(mode, "", &strategies).unwrap();
        let mut client = client(&gateway);
        let count = u64::try_from(REJECTS).unwrap();
        for reference in 1..=count {
            let event = answer(&mut client, reference, &limit(1, Side::Buy, 100, 1_000_000));
            assert_eq!(code(&event), Some(RejectCode::InsufficientFunds));
        }
        let event = answer(&mut client, count + 1, &limit(1, Side::Buy, 100, 1));
        assert_eq!(code(&event), Some(RejectCode::ComplianceRestriction));
        let event = answer(&mut client, count + 2, &limit(2, Side::Buy, 100, 1));
        assert!(matches!(event, Event::Accepted(_)), "{event:?}");
    }
}

/// Panics at the first report.
struct Faulty;

impl Component<ShardEvent> for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {
        panic!("as it does");
    }
}

#[test]
fn f24_a_strategy_that_panics_is_alarmed_and_orders_go_on() {
    for mode in MODES {
        let strategies = Strategies::none().and(|site| {
            site.ports.add(Box::new(Faulty), &[REPORTS])?;
            Ok(())
        });
        let gateway = start(mode, "", &strategies).unwrap();
        let mut client = client(&gateway);
        for reference in 1..=2 {
            let event = answer(&mut client, reference, &limit(1, Side::Buy, 100, 1));
            assert!(matches!(event, Event::Accepted(_)), "{event:?}");
        }
        let alarms: Vec<_> = gateway
            .monitors()
            .iter()
            .flat_map(|monitor| monitor.take_alarms())
            .map(|alarm| (alarm.name, alarm.message))
            .collect();
        assert_eq!(alarms, [("faulty".to_owned(), "as it does".to_owned())]);
        assert!(
            gateway
                .monitors()
                .iter()
                .all(|monitor| !monitor.is_halted())
        );
    }
}

/// Answers each mark with a mark, from the first report on.
struct Endless;

impl Component<ShardEvent> for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn on_event(&mut self, _: &ShardEvent, cx: &Context<'_, ShardEvent>) {
        let (instrument, price) = (InstrumentId(1), Price::from_raw(PRICE_SCALE));
        cx.publish(MARKS, &ShardEvent::Mark { instrument, price });
    }
}

#[test]
fn r32_a_runaway_ends_new_orders_of_its_shard_or_of_all() {
    for (halt, is_everybodys) in [("shard", false), ("all", true)] {
        let strategies = Strategies::none().and(|site| {
            if site.owns(AccountId(1)) {
                site.ports.add(Box::new(Endless), &[REPORTS, MARKS])?;
            }
            Ok(())
        });
        let more = format!("callback_halt = '{halt}'");
        let gateway = start(MODES[1], &more, &strategies).unwrap();
        let mut client = client(&gateway);
        let accepted = answer(&mut client, 1, &limit(1, Side::Buy, 100, 1));
        assert!(matches!(accepted, Event::Accepted(_)), "{accepted:?}");
        let mut failures = Vec::new();
        gateway.monitors().iter().for_each(|one| one.watch());
        while failures.is_empty() {
            failures = gateway
                .monitors()
                .iter()
                .filter_map(|one| one.failure())
                .collect();
            if failures.is_empty() {
                std::thread::park_timeout(PATIENCE);
            }
        }
        assert!(
            matches!(failures[..], [Fatal::Runaway { .. }]),
            "{failures:?}"
        );
        let event = answer(&mut client, 2, &limit(1, Side::Buy, 100, 1));
        assert_eq!(code(&event), Some(RejectCode::SystemUnavailable));
        let sender = client.sender();
        sender
            .cancel(ClientReference(3), AccountId(1), ClientReference(1))
            .unwrap();
        sender.flush().unwrap();
        assert!(
            matches!(next(&mut client), Event::Canceled(_)),
            "cancels go on"
        );
        let event = answer(&mut client, 4, &limit(other(&gateway), Side::Buy, 100, 1));
        let expected = is_everybodys.then_some(RejectCode::SystemUnavailable);
        assert_eq!(code(&event), expected, "callback_halt = {halt}");
    }
}

/// An account of another shard than account 1.
fn other(gateway: &Gateway) -> u64 {
    let shards = gateway.layout().shards;
    let shard = |account| LaneKey::Account(AccountId(account)).shard(shards);
    (2..=16)
        .find(|&account| shard(account) != shard(1))
        .expect("two shards share 16 accounts")
}

#[test]
fn a_strategy_that_cannot_be_installed_keeps_the_gateway_from_starting() {
    for mode in MODES {
        let strategies = Strategies::none().and(|_| Err("no licence".into()));
        let Err(error) = start(mode, "", &strategies) else {
            panic!("it started");
        };
        let text = error.to_string();
        assert!(text.starts_with("strategy, in shard "), "{text}");
        assert!(text.ends_with(": no licence"), "{text}");
    }
}
