//! A strategy that submits an order from inside a fill callback: what its account
//! buys, it offers one tick higher, to the exact quantity of each fill.

use pitlane::dispatch::contingent::OrderPort;
use pitlane::dispatch::{Component, Context, ShardEvent};
use pitlane::types::{Order, OrderType, Price, ReportKind, Side, TimeInForce};

/// One tick of the instruments here.
const TICK: Price = Price::from_raw(10_000_000);

pub(crate) struct Offerer {
    pub(crate) orders: OrderPort,
}

impl Component<ShardEvent> for Offerer {
    fn name(&self) -> &str {
        "offerer"
    }

    fn on_event(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        let fill = event.report().filter(|one| {
            one.kind == ReportKind::Executed
                && one.side == Side::Buy
                && one.account == self.orders.account()
        });
        let Some(fill) = fill else { return };
        // A price that no tick can be added to is offered as it is.
        let price = fill.price.checked_add(TICK).unwrap_or(fill.price);
        self.orders.submit(Order {
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
