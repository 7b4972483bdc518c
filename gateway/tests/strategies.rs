//! Strategies in a whole gateway, over TCP: on the I/O thread and behind rings.

#[path = "../examples/strategies/offerer.rs"]
mod offerer;
#[path = "../examples/strategies/risk_alarm.rs"]
mod risk_alarm;

#[path = "support/trading.rs"]
mod trading;

use offerer::Offerer;
use pitlane::dispatch::{Component, Context, Fatal, MARKS, REPORTS, ShardEvent};
use pitlane::lanes::LaneKey;
use pitlane::time::SystemClock;
use pitlane::types::{
    AccountId, ClientReference, InstrumentId, Order, PRICE_SCALE, Price, Quantity, RejectCode, Side,
};
use pitlane_gateway::assembly::{Gateway, StartError, Strategies};
use pitlane_gateway::client::{Client, Event};
use pitlane_gateway::config::Config;
use risk_alarm::{REJECTS, RiskAlarm};
use trading::{PATIENCE, client, limit, next, send};

const MODES: [&str; 2] = [
    "mode = 'inline'\n[engine]\nshards = 1",
    "mode = 'ring'\n[engine]\nshards = 2",
];

/// A gateway in one of the modes, and more of `[engine]`.
fn start(mode: &str, more: &str, strategies: &Strategies) -> Result<Gateway, StartError> {
    let text = trading::config(&format!("{mode}\n{more}"), "");
    let config = Config::parse("the test", &text).unwrap();
    Gateway::start_with(&config, 1, strategies)
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
        let mut client = client(&gateway, 1);
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
        let mut client = client(&gateway, 1);
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
        let mut client = client(&gateway, 1);
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
        let mut client = client(&gateway, 1);
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
