//! What comes in from outside, and when: orders at random times, contingent orders
//! now and then, and in the end the wish that nothing works any more.

use std::time::Duration;

use super::config::SimulationConfig;
use super::dice::Dice;
use crate::time::Nanos;
use crate::types::{
    AccountId, InstrumentId, Order, OrderType, PRICE_SCALE, Price, Quantity, Side, TimeInForce,
};

/// What is traded: one instrument, so that orders meet.
pub(super) const INSTRUMENT: InstrumentId = InstrumentId(1);
/// A hundredth.
pub(super) const TICK: i64 = PRICE_SCALE / 100;
/// Around which prices are.
pub(super) const CENTRE: i64 = 100 * PRICE_SCALE;

/// Between the last order and the wish that nothing works: flows end by themselves.
const QUIET: Duration = Duration::from_secs(1);

/// What a client means to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intent {
    pub(super) order: Order,
    /// How long it lets the order work.
    pub(super) patience: Duration,
    pub(super) fate: Option<Fate>,
}

/// What a client then asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    Cancel,
    Replace { price: Price, quantity: Quantity },
}

/// One input.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrival {
    Order(Intent),
    /// Two orders of one account that share a quantity.
    Oco {
        orders: [Order; 2],
    },
    /// An entry with a target and a stop.
    Bracket {
        entry: Order,
        target: Price,
        stop: Price,
    },
    /// Everything that works is cancelled.
    Close,
}

/// See the module.
pub(super) struct Arrivals {
    next: Option<Nanos>,
    end: Nanos,
    close: Option<Nanos>,
    gap_max: u64,
    accounts: u64,
}

impl Arrivals {
    pub(super) fn new(config: &SimulationConfig) -> Self {
        let end = Nanos(0).after(config.duration);
        Self {
            next: Some(Nanos(1)),
            end,
            close: Some(end.after(QUIET)),
            gap_max: 2_000_000_000 / config.orders_per_second,
            accounts: config.accounts,
        }
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        self.next.or(self.close)
    }

    /// The input that is due; the time of the one after it is drawn.
    pub(super) fn take(&mut self, dice: &mut Dice) -> Arrival {
        let Some(now) = self.next else {
            self.close = None;
            return Arrival::Close;
        };
        let gap = dice.within(1..=self.gap_max.max(1));
        self.next = Some(Nanos(now.0 + gap)).filter(|next| *next < self.end);
        match dice.within(0..=99) {
            0 => self.oco(dice),
            1 => self.bracket(dice),
            _ => Arrival::Order(self.intent(dice)),
        }
    }

    fn intent(&self, dice: &mut Dice) -> Intent {
        let side = if dice.percent(50) {
            Side::Buy
        } else {
            Side::Sell
        };
        let (order_type, time_in_force) = match dice.within(0..=99) {
            0..=4 => (OrderType::Market, TimeInForce::ImmediateOrCancel),
            5..=9 => (OrderType::Limit, TimeInForce::ImmediateOrCancel),
            10..=14 => (OrderType::Limit, TimeInForce::FillOrKill),
            15..=19 => (OrderType::PostOnly, TimeInForce::Day),
            _ => (OrderType::Limit, TimeInForce::Day),
        };
        let order = Order {
            order_type,
            time_in_force,
            price: (order_type != OrderType::Market).then(|| near(dice)),
            ..self.order(dice, side)
        };
        let fate = match dice.within(0..=99) {
            0..=9 => Some(Fate::Replace {
                price: near(dice),
                quantity: few(dice),
            }),
            10..=59 => Some(Fate::Cancel),
            _ => None,
        };
        Intent {
            order,
            patience: Duration::from_micros(dice.within(100..=200_000)),
            fate,
        }
    }

    fn oco(&self, dice: &mut Dice) -> Arrival {
        let sell = self.order(dice, Side::Sell);
        let buy = Order {
            side: Side::Buy,
            price: Some(Price::from_raw(CENTRE - 20 * TICK)),
            ..sell
        };
        let sell = Order {
            price: Some(Price::from_raw(CENTRE + 20 * TICK)),
            ..sell
        };
        Arrival::Oco {
            orders: [sell, buy],
        }
    }

    fn bracket(&self, dice: &mut Dice) -> Arrival {
        Arrival::Bracket {
            entry: self.order(dice, Side::Buy),
            target: Price::from_raw(CENTRE + 15 * TICK),
            stop: Price::from_raw(CENTRE - 15 * TICK),
        }
    }

    /// A limit day order near the centre.
    fn order(&self, dice: &mut Dice, side: Side) -> Order {
        Order {
            account: AccountId(dice.within(1..=self.accounts)),
            instrument: INSTRUMENT,
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::Day,
            quantity: Some(few(dice)),
            volume: None,
            price: Some(near(dice)),
        }
    }
}

fn near(dice: &mut Dice) -> Price {
    let ticks = i64::try_from(dice.within(0..=60)).unwrap_or(0) - 30;
    Price::from_raw(CENTRE + ticks * TICK)
}

fn few(dice: &mut Dice) -> Quantity {
    Quantity::from_raw(i64::try_from(dice.within(1..=20)).unwrap_or(1) * PRICE_SCALE)
}
