//! A venue that is plainly right and slow: every book is one list, searched
//! whole for every decision. The oracle of the simulated venue's tests.
#![allow(dead_code)] // Each test uses the part that it needs.
#![allow(unreachable_pub)] // Included by several test crates.

use pitlane::orders::venue::sim::{Phase, SimInstrument};
use pitlane::orders::venue::{VenueEvent, VenueOrder};
use pitlane::types::{
    ClientOrderId, FillId, InstrumentId, OrderType, Price, Quantity, RejectCode, Side, TimeInForce,
};

#[derive(Clone, Debug)]
pub struct PlainOrder {
    pub id: ClientOrderId,
    pub instrument: InstrumentId,
    pub side: Side,
    pub price: i64,
    pub leaves: i64,
    pub filled: i64,
    pub excess: i64,
    /// Who came first.
    pub place: u64,
}

/// Books by plain lists; events in `events`.
pub struct PlainVenue {
    pub instruments: Vec<(SimInstrument, Phase, Option<i64>)>,
    pub orders: Vec<PlainOrder>,
    pub events: Vec<VenueEvent>,
    pub orders_max: usize,
    next_place: u64,
    next_fill: u64,
}

impl PlainVenue {
    pub fn new(instruments: &[SimInstrument], orders_max: usize) -> Self {
        Self {
            instruments: instruments
                .iter()
                .map(|one| (*one, one.phase, one.reference.map(Price::raw)))
                .collect(),
            orders: Vec::new(),
            events: Vec::new(),
            orders_max,
            next_place: 0,
            next_fill: 1,
        }
    }

    fn instrument(&mut self, id: InstrumentId) -> &mut (SimInstrument, Phase, Option<i64>) {
        self.instruments
            .iter_mut()
            .find(|one| one.0.id == id)
            .expect("asked for known instruments only")
    }

    /// Positions of a side's orders, best price first, then first come.
    fn queue(&self, instrument: InstrumentId, side: Side) -> Vec<usize> {
        let mut queue: Vec<usize> = (0..self.orders.len())
            .filter(|&at| self.orders[at].instrument == instrument && self.orders[at].side == side)
            .collect();
        queue.sort_by_key(|&at| {
            let order = &self.orders[at];
            let better = if side == Side::Buy {
                -order.price
            } else {
                order.price
            };
            (better, order.place)
        });
        queue
    }

    pub fn resting(&self, instrument: InstrumentId, side: Side) -> Vec<PlainOrder> {
        self.queue(instrument, side)
            .into_iter()
            .map(|at| self.orders[at].clone())
            .collect()
    }

    fn best(&self, instrument: InstrumentId, side: Side) -> Option<PlainOrder> {
        self.resting(instrument, side).first().cloned()
    }

    pub fn crossed(&self, instrument: InstrumentId) -> bool {
        let (bid, ask) = (
            self.best(instrument, Side::Buy),
            self.best(instrument, Side::Sell),
        );
        bid.zip(ask)
            .is_some_and(|(bid, ask)| bid.price >= ask.price)
    }

    pub fn submit(&mut self, order: &VenueOrder) {
        let id = order.id;
        match self.reason_against(order) {
            Some(code) => self.events.push(VenueEvent::Rejected { id, code }),
            None => {
                self.events.push(VenueEvent::Acknowledged { id });
                self.next_place += 1;
                let rests =
                    order.order_type == OrderType::Limit && order.time_in_force == TimeInForce::Day;
                let arriving = PlainOrder {
                    id,
                    instrument: order.instrument,
                    side: order.side,
                    price: order.price.map_or(0, Price::raw),
                    leaves: order.quantity.map_or(0, Quantity::raw),
                    filled: 0,
                    excess: 0,
                    place: self.next_place,
                };
                let volume = order.volume.map(|volume| volume.raw());
                self.arrive(arriving, order.price.map(Price::raw), volume, rests);
            }
        }
    }

    fn reason_against(&mut self, order: &VenueOrder) -> Option<RejectCode> {
        let Some(&(spec, phase, _)) = self
            .instruments
            .iter()
            .find(|one| one.0.id == order.instrument)
        else {
            return Some(RejectCode::UnknownInstrument);
        };
        let is_limit = order.order_type == OrderType::Limit;
        match order.price {
            None if is_limit => return Some(RejectCode::MissingRequiredField),
            Some(_) if !is_limit => return Some(RejectCode::InvalidFieldValue),
            Some(price) if price.raw() < 1 || price.raw() % spec.tick.raw() != 0 => {
                return Some(RejectCode::InvalidFieldValue);
            }
            _ => {}
        }
        match (order.quantity, order.volume) {
            (None, None) => return Some(RejectCode::MissingRequiredField),
            (Some(_), Some(_)) => return Some(RejectCode::InvalidFieldValue),
            (Some(quantity), _) if quantity.raw() < 1 || quantity.raw() % spec.lot.raw() != 0 => {
                return Some(RejectCode::InvalidFieldValue);
            }
            (_, Some(volume)) if volume.raw() < 1 => return Some(RejectCode::InvalidFieldValue),
            _ => {}
        }
        let rests = is_limit && order.time_in_force == TimeInForce::Day;
        if !rests && phase != Phase::Continuous {
            return Some(RejectCode::ExchangeClosed);
        }
        if self.orders.iter().any(|other| other.id == order.id) {
            return Some(RejectCode::DuplicateClientOrderId);
        }
        (rests && self.orders.len() >= self.orders_max).then_some(RejectCode::CapacityExceeded)
    }

    /// An order meets the book: trades while it can, then rests or ends.
    fn arrive(
        &mut self,
        mut order: PlainOrder,
        limit: Option<i64>,
        mut volume: Option<i128>,
        rests: bool,
    ) {
        let (spec, phase, _) = *self.instrument(order.instrument);
        let lot = spec.lot.raw();
        let lots = |volume: i128, price: i64| {
            let units = i64::try_from(volume / i128::from(price)).expect("tests stay small");
            units / lot * lot
        };
        let rounded_up = |volume: i128, price: i64| {
            let price = i128::from(price);
            i64::try_from((volume + price - 1) / price).expect("tests stay small")
        };
        let mut traded_at = None;
        let mut stuck = false;
        loop {
            let other = self.best(order.instrument, order.side.opposite());
            let other = other.filter(|_| phase == Phase::Continuous);
            let Some(other) = other.filter(|other| match (limit, order.side) {
                (None, _) => true,
                (Some(limit), Side::Buy) => other.price <= limit,
                (Some(limit), Side::Sell) => other.price >= limit,
            }) else {
                break;
            };
            let wanted = volume.map_or(order.leaves, |volume| lots(volume, other.price));
            if wanted == 0 {
                stuck = volume.is_some();
                break;
            }
            let quantity = wanted.min(other.leaves);
            self.instrument(order.instrument).2 = Some(other.price);
            self.fill_resting(other.id, other.price, quantity);
            order.filled += quantity;
            traded_at = Some(other.price);
            let leaves = match &mut volume {
                Some(volume) => {
                    *volume -= i128::from(other.price) * i128::from(quantity);
                    rounded_up(*volume, other.price)
                }
                None => {
                    order.leaves -= quantity;
                    order.leaves
                }
            };
            self.executed(order.id, other.price, quantity, leaves, true);
            if leaves == 0 {
                return;
            }
        }
        let mut unfilled = order.leaves;
        if let Some(volume) = volume {
            let limit_counts = rests && !stuck;
            let price = if limit_counts { limit } else { None }
                .or(traded_at)
                .or(limit);
            unfilled = price.map_or(0, |price| rounded_up(volume, price));
            if limit_counts {
                order.leaves = lots(volume, limit.expect("resting orders have a limit"));
                order.excess = unfilled - order.leaves;
            }
        }
        if rests && !stuck && order.leaves > 0 {
            self.orders.push(order);
        } else {
            self.canceled(order.id, unfilled);
        }
    }

    pub fn cancel(&mut self, id: ClientOrderId) {
        match self.orders.iter().position(|order| order.id == id) {
            Some(at) => {
                let order = self.orders.remove(at);
                self.canceled(id, order.leaves + order.excess);
            }
            None => self.refused(id, RejectCode::UnknownOrder),
        }
    }

    pub fn replace(&mut self, id: ClientOrderId, price: Price, total: Quantity) {
        let Some(at) = self.orders.iter().position(|order| order.id == id) else {
            return self.refused(id, RejectCode::UnknownOrder);
        };
        let old = self.orders[at].clone();
        let (spec, _, _) = *self.instrument(old.instrument);
        let on_tick = price.raw() > 0 && price.raw() % spec.tick.raw() == 0;
        let on_lot = total.raw() > 0 && total.raw() % spec.lot.raw() == 0;
        if !on_tick || !on_lot || total.raw() <= old.filled {
            return self.refused(id, RejectCode::InvalidFieldValue);
        }
        let leaves = total.raw() - old.filled;
        self.events.push(VenueEvent::Replaced {
            id,
            price,
            leaves: Quantity::from_raw(leaves),
        });
        let mut order = self.orders.remove(at);
        let keeps_place = price.raw() == order.price && leaves <= order.leaves;
        order.price = price.raw();
        order.leaves = leaves;
        order.excess = 0;
        if keeps_place {
            self.orders.push(order);
        } else {
            self.next_place += 1;
            order.place = self.next_place;
            self.arrive(order, Some(price.raw()), None, true);
        }
    }

    pub fn set_phase(&mut self, instrument: InstrumentId, phase: Phase) -> bool {
        if phase == Phase::Continuous && self.crossed(instrument) {
            return false;
        }
        self.instrument(instrument).1 = phase;
        true
    }

    /// What trades at a price, and what is left over there.
    pub fn auction_volume(&self, instrument: InstrumentId, price: i64) -> (i128, i128) {
        let willing = |side: Side, takes: &dyn Fn(i64) -> bool| -> i128 {
            self.orders
                .iter()
                .filter(|order| order.instrument == instrument && order.side == side)
                .filter(|order| takes(order.price))
                .map(|order| i128::from(order.leaves))
                .sum()
        };
        let bids = willing(Side::Buy, &|limit| limit >= price);
        let asks = willing(Side::Sell, &|limit| limit <= price);
        (bids.min(asks), bids - asks)
    }

    /// The auction's price by trying every price from one to a hundred ticks.
    pub fn auction_price(&mut self, instrument: InstrumentId) -> Option<i64> {
        if !self.crossed(instrument) {
            return None;
        }
        let (spec, _, last) = *self.instrument(instrument);
        let limits: Vec<i64> = self
            .orders
            .iter()
            .filter(|order| order.instrument == instrument)
            .map(|order| order.price)
            .collect();
        let bid = self.best(instrument, Side::Buy)?.price;
        let ask = self.best(instrument, Side::Sell)?.price;
        (1..100)
            .map(|ticks| ticks * spec.tick.raw())
            .filter(|price| (ask..=bid).contains(price))
            .filter(|price| limits.contains(price) || last == Some(*price))
            .min_by_key(|&price| {
                let (traded, surplus) = self.auction_volume(instrument, price);
                let distance = last.map_or(0, |last| last.abs_diff(price));
                (-traded, surplus.abs(), distance, price)
            })
    }

    /// Holds the auction at a price, or refuses: would the book stay crossed?
    pub fn uncross(&mut self, instrument: InstrumentId, price: i64) -> bool {
        let before = (self.orders.clone(), self.events.clone(), self.next_fill);
        loop {
            let bid = self.best(instrument, Side::Buy);
            let ask = self.best(instrument, Side::Sell);
            let bid = bid.filter(|bid| bid.price >= price);
            let ask = ask.filter(|ask| ask.price <= price);
            let Some((bid, ask)) = bid.zip(ask) else {
                break;
            };
            let quantity = bid.leaves.min(ask.leaves);
            self.fill_resting(bid.id, price, quantity);
            self.fill_resting(ask.id, price, quantity);
        }
        if self.crossed(instrument) {
            (self.orders, self.events, self.next_fill) = before;
            return false;
        }
        let traded = self.next_fill != before.2;
        let (_, phase, last) = self.instrument(instrument);
        *phase = Phase::Continuous;
        if traded {
            *last = Some(price);
        }
        true
    }

    pub fn end_day(&mut self, instrument: InstrumentId) {
        self.instrument(instrument).1 = Phase::Closed;
        for side in [Side::Buy, Side::Sell] {
            for order in self.resting(instrument, side) {
                self.cancel(order.id);
            }
        }
    }

    fn fill_resting(&mut self, id: ClientOrderId, price: i64, quantity: i64) {
        let at = self
            .orders
            .iter()
            .position(|order| order.id == id)
            .expect("it rests");
        let order = &mut self.orders[at];
        order.leaves -= quantity;
        order.filled += quantity;
        let (leaves, excess) = (order.leaves, order.excess);
        self.executed(id, price, quantity, leaves + excess, false);
        if leaves == 0 {
            self.orders.remove(at);
            if excess > 0 {
                self.canceled(id, excess);
            }
        }
    }

    fn executed(
        &mut self,
        id: ClientOrderId,
        price: i64,
        quantity: i64,
        leaves: i64,
        aggressor: bool,
    ) {
        self.events.push(VenueEvent::Executed {
            id,
            fill_id: FillId(self.next_fill),
            price: Price::from_raw(price),
            quantity: Quantity::from_raw(quantity),
            leaves: Quantity::from_raw(leaves),
            aggressor,
        });
        self.next_fill += 1;
    }

    fn canceled(&mut self, id: ClientOrderId, unfilled: i64) {
        let unfilled = Quantity::from_raw(unfilled);
        self.events.push(VenueEvent::Canceled { id, unfilled });
    }

    fn refused(&mut self, id: ClientOrderId, code: RejectCode) {
        self.events.push(VenueEvent::CancelRejected { id, code });
    }
}
