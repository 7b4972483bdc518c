//! A strategy that submits an order from inside a fill callback: what it buys, it
//! offers one tick higher, to the exact quantity of each fill.
//!
//! Run with `cargo run --example dispatch_fill_strategy`. The example publishes its
//! own fills and prints the commands; in a shard the order path does both.

use std::cell::RefCell;
use std::rc::Rc;

use pitlane::dispatch::contingent::OrderPort;
use pitlane::dispatch::{
    CommandQueue, Component, Context, Dispatcher, REPORTS, ReportFeed, ShardEvent,
};
use pitlane::types::{
    AccountId, ClientOrderId, ClientReference, Command, FillId, InstrumentId, Order, OrderType,
    Origin, Price, Quantity, Report, ReportKind, ShardId, Side, TimeInForce,
};

const ACCOUNT: AccountId = AccountId(7);
const TICK: Price = Price::from_raw(10_000_000);

struct Offerer {
    port: OrderPort,
}

impl Component<ShardEvent> for Offerer {
    fn name(&self) -> &str {
        "offerer"
    }

    fn on_event(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        let Some(fill) = event
            .report()
            .filter(|one| one.kind == ReportKind::Executed)
        else {
            return;
        };
        if fill.side != Side::Buy || fill.account != self.port.account() {
            return;
        }
        // A price that no tick can be added to is offered as it is.
        let price = fill.price.checked_add(TICK).unwrap_or(fill.price);
        self.port.submit(Order {
            account: fill.account,
            instrument: fill.instrument,
            side: Side::Sell,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::Day,
            quantity: Some(fill.quantity),
            volume: None,
            price: Some(price),
        });
    }
}

fn fill(sequence: u64, price: i64, quantity: i64) -> ShardEvent {
    ShardEvent::Order(Report {
        kind: ReportKind::Executed,
        side: Side::Buy,
        reject: None,
        shard: ShardId(0),
        origin: Origin::default(),
        account: ACCOUNT,
        instrument: InstrumentId(1),
        reference: ClientReference(1),
        order_reference: ClientReference(1),
        client_order_id: ClientOrderId::default(),
        sequence,
        fill_id: FillId(sequence),
        price: Price::from_raw(price),
        quantity: Quantity::from_raw(quantity),
        cumulative: Quantity::from_raw(quantity),
        leaves: Quantity::ZERO,
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dispatcher = Dispatcher::new();
    let commands = CommandQueue::new(&dispatcher);
    let port = OrderPort::new(
        commands.sender(),
        Origin::default(),
        ACCOUNT,
        ClientReference(1_000),
    );

    // The drop copy subscribes first, so it is told of each fill first.
    let copied = Rc::new(RefCell::new(0));
    let count = Rc::clone(&copied);
    let drop_copy = ReportFeed::new("drop copy", move |_: &Report| *count.borrow_mut() += 1);
    let components: [Box<dyn Component<ShardEvent>>; 2] =
        [Box::new(drop_copy), Box::new(Offerer { port })];
    for component in components {
        let id = dispatcher.register(component)?;
        dispatcher.subscribe(REPORTS, id)?;
        dispatcher.start(id)?;
    }

    dispatcher.publish(REPORTS, &fill(1, 100_000_000_000, 3_000_000_000));
    dispatcher.publish(REPORTS, &fill(2, 100_010_000_000, 2_000_000_000));
    while dispatcher.boundary(64)? {}

    let mut offers = Vec::new();
    commands.drain(|command, _| {
        if let Command::NewOrder {
            reference, order, ..
        } = command
        {
            let (quantity, price) = (order.quantity.unwrap_or_default(), order.price);
            println!(
                "order {reference}: sell {quantity} at {}",
                price.unwrap_or_default()
            );
            offers.push((reference.0, quantity.raw()));
        }
    });
    assert_eq!(offers, [(1_000, 3_000_000_000), (1_001, 2_000_000_000)]);
    assert_eq!(*copied.borrow(), 2);
    Ok(())
}
