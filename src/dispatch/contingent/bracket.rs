//! A bracket: an entry, a target that takes the profit, and a stop.
//!
//! The target works exactly what the entry has traded and no exit has taken off; it
//! grows with each fill of the entry. The stop is held here: when the instrument is
//! marked at its price or beyond, the entry's rest and the target are cancelled, and
//! when both are over, what is left of the position goes out at the market. So the
//! exits never trade more than the entry did.
//!
//! An exit at the market that ends unfilled is sent again at the next mark, at most
//! [`EXITS_MAX`] times; [`BracketOrder::open`] tells what is unprotected then.

use super::leg::{Leg, LegState, refused};
use super::port::OrderPort;
use crate::dispatch::{Component, Context, ShardEvent};
use crate::types::{
    ClientReference, InstrumentId, Order, OrderType, Price, Quantity, Report, Side, TimeInForce,
};

/// How often an exit at the market is sent.
const EXITS_MAX: usize = 16;

/// How many targets one bracket sends: each is for fills of the entry that came after
/// the one before it was filled.
const TARGETS_MAX: usize = 64;

/// What a bracket is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BracketTerms {
    /// The entry, with its quantity.
    pub entry: Order,
    /// Where the profit is taken: a limit on the other side.
    pub target: Price,
    /// Where the position is given up: below the entry of a buyer, above a seller's.
    pub stop: Price,
}

/// The state of a bracket.
#[derive(Debug)]
pub struct BracketOrder {
    port: OrderPort,
    terms: BracketTerms,
    entry: Leg,
    /// The last one works; earlier ones stay, because a fill may still be told late.
    targets: Vec<Leg>,
    /// Somebody else ended a target, or there were too many: none is sent any more.
    target_given_up: bool,
    /// As for targets.
    exits: Vec<Leg>,
    stopped: bool,
}

impl BracketOrder {
    /// A bracket that has not been sent.
    #[must_use]
    pub const fn new(port: OrderPort, terms: BracketTerms) -> Self {
        Self {
            port,
            entry: Leg::new(terms.entry),
            targets: Vec::new(),
            target_given_up: false,
            exits: Vec::new(),
            stopped: false,
            terms,
        }
    }

    const fn target_order(terms: &BracketTerms) -> Order {
        Order {
            side: terms.entry.side.opposite(),
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::Day,
            price: Some(terms.target),
            ..terms.entry
        }
    }

    const fn exit_order(terms: &BracketTerms) -> Order {
        Order {
            side: terms.entry.side.opposite(),
            order_type: OrderType::Market,
            time_in_force: TimeInForce::ImmediateOrCancel,
            price: None,
            ..terms.entry
        }
    }

    /// Sends the entry.
    pub fn submit(&mut self) {
        self.entry
            .want(self.terms.entry.quantity.map_or(0, Quantity::raw));
        self.entry.steer(&self.port, None);
    }

    /// Takes a report in, and sends what follows from it; false where it is about
    /// another order.
    pub fn take(&mut self, report: &Report) -> bool {
        let Self {
            port,
            entry,
            targets,
            exits,
            ..
        } = self;
        let mut legs = std::iter::once(entry).chain(targets).chain(exits);
        if !legs.any(|leg| leg.take(report, port)) {
            return false;
        }
        self.steer(refused(report), false);
        true
    }

    /// Takes a price of the instrument in; at the stop or beyond, the position goes.
    pub fn mark(&mut self, instrument: InstrumentId, price: Price) {
        let is_there = instrument == self.terms.entry.instrument && self.is_at_stop(price);
        if self.entry.state() == LegState::Unsent {
            return;
        }
        self.stopped |= is_there;
        if self.stopped && instrument == self.terms.entry.instrument {
            self.steer(None, true);
        }
    }

    fn is_at_stop(&self, price: Price) -> bool {
        match self.terms.entry.side {
            Side::Buy => price <= self.terms.stop,
            Side::Sell => price >= self.terms.stop,
        }
    }

    /// Everything follows from what traded; `marked` allows another try at the market.
    fn steer(&mut self, refused: Option<ClientReference>, marked: bool) {
        if self.stopped {
            self.entry.want_no_more();
        }
        self.entry.steer(&self.port, refused);
        self.steer_target(refused);
        if self.stopped && self.entry.is_over() && self.targets.iter().all(Leg::is_over) {
            self.steer_exit(marked);
        }
    }

    fn steer_target(&mut self, refused: Option<ClientReference>) {
        let left = self
            .entry
            .cumulative()
            .saturating_sub(traded(&self.targets));
        if let Some(target) = self.targets.last_mut() {
            if !target.is_over() {
                if self.stopped || self.target_given_up {
                    target.want_no_more();
                } else {
                    target.want(target.cumulative().saturating_add(left));
                }
                target.steer(&self.port, refused);
                return;
            }
            self.target_given_up |= !target.is_filled() && !self.stopped;
        }
        if left > 0 && !self.stopped && !self.target_given_up {
            self.target_given_up = self.targets.len() >= TARGETS_MAX;
            if !self.target_given_up {
                self.targets.push(Self::sent(
                    Self::target_order(&self.terms),
                    left,
                    &self.port,
                ));
            }
        }
    }

    fn sent(order: Order, quantity: i64, port: &OrderPort) -> Leg {
        let mut leg = Leg::new(order);
        leg.want(quantity);
        leg.steer(port, None);
        leg
    }

    fn steer_exit(&mut self, marked: bool) {
        let open = self.open().raw();
        let may_try = self
            .exits
            .last()
            .is_none_or(|exit| exit.is_over() && (marked || exit.is_filled()));
        if may_try && open > 0 && self.exits.len() < EXITS_MAX {
            self.exits
                .push(Self::sent(Self::exit_order(&self.terms), open, &self.port));
        }
    }

    /// What the entry has traded and no exit has taken off yet; below zero where fills
    /// were told late, after an exit had been sized.
    #[must_use]
    pub fn open(&self) -> Quantity {
        let out = traded(&self.targets).saturating_add(traded(&self.exits));
        Quantity::from_raw(self.entry.cumulative().saturating_sub(out))
    }

    /// The stop was reached.
    #[must_use]
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Whether the exit at the market was sent as often as it may be.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.exits.len() >= EXITS_MAX && self.open().raw() > 0
    }

    /// Nothing is open and nothing works any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let mut legs = std::iter::once(&self.entry)
            .chain(&self.targets)
            .chain(&self.exits);
        legs.all(Leg::is_over) && self.open().raw() <= 0
    }
}

/// What legs have traded together.
fn traded(legs: &[Leg]) -> i64 {
    legs.iter()
        .fold(0, |sum: i64, leg| sum.saturating_add(leg.cumulative()))
}

/// A [`BracketOrder`] as a component: started, it sends its entry; it then needs the
/// topics of reports and of marks.
#[derive(Debug)]
pub struct Bracket {
    order: BracketOrder,
}

impl Bracket {
    /// A component of this bracket.
    #[must_use]
    pub const fn new(order: BracketOrder) -> Self {
        Self { order }
    }

    /// The bracket.
    #[must_use]
    pub const fn order(&self) -> &BracketOrder {
        &self.order
    }
}

impl Component<ShardEvent> for Bracket {
    fn name(&self) -> &str {
        "bracket"
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        match *event {
            ShardEvent::Order(ref report) => {
                self.order.take(report);
            }
            ShardEvent::Mark { instrument, price } => self.order.mark(instrument, price),
        }
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {}

    fn on_start(&mut self, _: &Context<'_, ShardEvent>) {
        self.order.submit();
    }
}
