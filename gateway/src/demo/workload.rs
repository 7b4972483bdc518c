//! The demo's order flow: seeded, two-sided around a price that wanders.
//!
//! Half of what it sends are new orders, and most of the rest cancels: resting
//! ones near the touch, some that cross, a few that are priced to be refused.

use pitlane::types::{
    AccountId, InstrumentId, Order, OrderType, PRICE_SCALE, Price, Quantity, Side, TimeInForce,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// One price step: 0.01.
const TICK: i64 = PRICE_SCALE / 100;
/// Where the price starts, and how far it may wander: 100.00 ± 20.00.
const START_TICKS: i64 = 10_000;
const WANDER_TICKS: i64 = 2_000;

/// What is sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A new order.
    New(Order),
    /// A cancel of the open order at this index of the caller's list.
    Cancel(usize),
}

/// A seeded stream of orders and cancels.
pub(super) struct Workload {
    /// Makes the orders, and nothing else: how many cancels there were before one
    /// depends on when fills came, and must not change it.
    orders: ChaCha8Rng,
    /// Chooses between orders and cancels, and which is cancelled.
    choices: ChaCha8Rng,
    accounts: u64,
    instrument: InstrumentId,
    middle_ticks: i64,
}

impl Workload {
    /// For accounts 1 to `accounts`, all in one instrument.
    #[must_use]
    pub(super) fn new(seed: u64, accounts: u64, instrument: InstrumentId) -> Self {
        let orders = ChaCha8Rng::seed_from_u64(seed);
        let mut choices = orders.clone();
        choices.set_stream(1);
        Self {
            orders,
            choices,
            accounts: accounts.max(1),
            instrument,
            middle_ticks: START_TICKS,
        }
    }

    /// What comes next, while `open` orders work.
    pub(super) fn next_action(&mut self, open: usize) -> Action {
        let dice = self.choices.next_u32() % 100;
        if open > 0 && dice < 45 {
            return Action::Cancel(
                usize::try_from(below(&mut self.choices, open as u64)).unwrap_or(0),
            );
        }
        Action::New(self.next_order())
    }

    fn next_order(&mut self) -> Order {
        let drift = i64::from(self.orders.next_u32() % 3) - 1;
        self.middle_ticks = (self.middle_ticks + drift)
            .clamp(START_TICKS - WANDER_TICKS, START_TICKS + WANDER_TICKS);
        let side = if self.orders.next_u32().is_multiple_of(2) {
            Side::Buy
        } else {
            Side::Sell
        };
        let dice = self.orders.next_u32() % 100;
        // Behind the touch by up to 8 ticks, or through it by up to 3.
        let away = if dice < 75 {
            1 + i64::from(self.orders.next_u32() % 8)
        } else {
            -i64::from(self.orders.next_u32() % 4)
        };
        let ticks = match side {
            Side::Buy => self.middle_ticks - away,
            Side::Sell => self.middle_ticks + away,
        };
        let lots = 1 + i64::from(self.orders.next_u32() % 10);
        let (order_type, time_in_force, price) = match dice {
            98 => (OrderType::Market, TimeInForce::ImmediateOrCancel, None),
            90..98 => (
                OrderType::Limit,
                TimeInForce::ImmediateOrCancel,
                Some(ticks),
            ),
            _ => (OrderType::Limit, TimeInForce::Day, Some(ticks)),
        };
        // One in a hundred is far over any sensible size, so that a reject is seen.
        let lots = if dice == 99 { lots * 1_000_000 } else { lots };
        Order {
            account: AccountId(1 + below(&mut self.orders, self.accounts)),
            instrument: self.instrument,
            side,
            order_type,
            time_in_force,
            quantity: Some(Quantity::from_raw(lots * PRICE_SCALE)),
            volume: None,
            price: price.map(|ticks| Price::from_raw(ticks * TICK)),
        }
    }
}

/// Evenly below `bound`: multiply and shift, no modulo.
fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    let wide = u128::from(random.next_u64()) * u128::from(bound);
    u64::try_from(wide >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_flow() {
        let flow = |seed| {
            let mut workload = Workload::new(seed, 8, InstrumentId(1));
            (0..1_000)
                .map(|n| workload.next_action(n % 7))
                .collect::<Vec<_>>()
        };
        assert_eq!(flow(1), flow(1));
        assert_ne!(flow(1), flow(2));
    }

    #[test]
    fn the_orders_of_a_seed_are_the_same_whatever_is_open() {
        let orders = |open: usize| {
            let mut workload = Workload::new(5, 8, InstrumentId(1));
            let actions = std::iter::repeat_with(|| workload.next_action(open));
            let orders = actions.filter(|action| matches!(action, Action::New(_)));
            orders.take(500).collect::<Vec<_>>()
        };
        assert_eq!(orders(0), orders(40));
    }

    #[test]
    fn every_account_trades_and_cancels_name_an_open_order() {
        let mut workload = Workload::new(3, 4, InstrumentId(1));
        let mut seen = [0u32; 5];
        for open in 0..4_000 {
            match workload.next_action(open % 50) {
                Action::New(order) => seen[usize::try_from(order.account.0).unwrap()] += 1,
                Action::Cancel(index) => assert!(index < open % 50),
            }
        }
        assert_eq!(seen[0], 0);
        assert!(seen[1..].iter().all(|&n| n > 100), "{seen:?}");
    }
}
