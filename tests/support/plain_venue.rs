//! A venue that is plainly right and slow: every book is one list, searched
//! whole for every decision. The oracle of the simulated venue's tests.
#![allow(dead_code)] // Each test uses the part that it needs.
#![allow(unreachable_pub)] // Included by several test crates.

use pitlane::orders::venue::sim::{Phase, SimInstrument};
use pitlane::orders::venue::{VenueEvent, VenueOrder};
use pitlane::time::UnixNanos;
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
    pub order_type: OrderType,
    pub time_in_force: TimeInForce,
    pub expires_at: Option<UnixNanos>,
    /// What it still waits for.
    pub stop: Option<i64>,
    /// The place that it had when it came.
    pub arrival: u64,
}

/// Books by plain lists; events in `events`.
pub struct PlainVenue {
    pub instruments: Vec<(SimInstrument, Phase, Option<i64>)>,
    pub orders: Vec<PlainOrder>,
    pub events: Vec<VenueEvent>,
    pub orders_max: usize,
    next_place: u64,
    next_fill: u64,
    now: UnixNanos,
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
            now: UnixNanos(0),
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
            .filter(|&at| self.orders[at].stop.is_none())
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
                let rests = order.price.is_some() && order.time_in_force.rests();
                let stop = order.stop.map(Price::raw);
                let stop =
                    stop.filter(|stop| !self.has_reached(order.instrument, order.side, *stop));
                let arriving = PlainOrder {
                    id,
                    instrument: order.instrument,
                    side: order.side,
                    price: order.price.map_or(0, Price::raw),
                    leaves: order.quantity.map_or(0, Quantity::raw),
                    filled: 0,
                    excess: 0,
                    place: self.next_place,
                    order_type: order.order_type,
                    time_in_force: order.time_in_force,
                    expires_at: order.expires_at,
                    stop,
                    arrival: self.next_place,
                };
                if stop.is_some() {
                    return self.orders.push(arriving);
                }
                let volume = order.volume.map(|volume| volume.raw());
                self.arrive(arriving, order.price.map(Price::raw), volume, rests);
                self.begin_stops(order.instrument);
            }
        }
    }

    fn has_reached(&self, instrument: InstrumentId, side: Side, stop: i64) -> bool {
        let book = self.instruments.iter().find(|one| one.0.id == instrument);
        let Some((_, Phase::Continuous, Some(last))) = book else {
            return false;
        };
        if side == Side::Buy {
            *last >= stop
        } else {
            *last <= stop
        }
    }

    /// Orders whose stop price is reached begin, one after the other: of each
    /// side the one that was nearest, of the two the one that came first.
    fn begin_stops(&mut self, instrument: InstrumentId) {
        loop {
            let nearest = |side: Side| {
                let waiting = self.orders.iter().filter(|order| {
                    order.instrument == instrument
                        && order.side == side
                        && order
                            .stop
                            .is_some_and(|stop| self.has_reached(instrument, side, stop))
                });
                waiting.min_by_key(|order| {
                    let stop = order.stop.unwrap_or(0);
                    (if side == Side::Buy { stop } else { -stop }, order.place)
                })
            };
            let next = [nearest(Side::Buy), nearest(Side::Sell)];
            let next = next.into_iter().flatten().min_by_key(|order| order.place);
            let Some(id) = next.map(|order| order.id) else {
                return;
            };
            let at = self.orders.iter().position(|order| order.id == id);
            let mut order = self.orders.remove(at.expect("it waits"));
            order.stop = None;
            self.next_place += 1;
            order.place = self.next_place;
            let limit = (order.order_type == OrderType::StopLimit).then_some(order.price);
            self.arrive(order, limit, None, limit.is_some());
        }
    }

    /// Orders whose date has come expire, the earliest first.
    pub fn advance_to(&mut self, now: UnixNanos) {
        self.now = now;
        let dated = |order: &PlainOrder| order.expires_at.filter(|at| *at <= now);
        let mut due: Vec<_> = self
            .orders
            .iter()
            .filter_map(|order| dated(order).map(|at| ((at, order.arrival), order.id)))
            .collect();
        due.sort_unstable();
        for (_, id) in due {
            self.expire(id);
        }
    }

    fn expire(&mut self, id: ClientOrderId) {
        let at = self.orders.iter().position(|order| order.id == id);
        let order = self.orders.remove(at.expect("it is open"));
        let unfilled = Quantity::from_raw(order.leaves + order.excess);
        self.events.push(VenueEvent::Expired { id, unfilled });
    }

    fn reason_against(&mut self, order: &VenueOrder) -> Option<RejectCode> {
        let Some(&(spec, phase, _)) = self
            .instruments
            .iter()
            .find(|one| one.0.id == order.instrument)
        else {
            return Some(RejectCode::UnknownInstrument);
        };
        let has_limit = !matches!(order.order_type, OrderType::Market | OrderType::Stop);
        let has_stop = matches!(order.order_type, OrderType::Stop | OrderType::StopLimit);
        for (has_one, price) in [(has_limit, order.price), (has_stop, order.stop)] {
            match price {
                None if has_one => return Some(RejectCode::MissingRequiredField),
                Some(_) if !has_one => return Some(RejectCode::InvalidFieldValue),
                Some(price) if price.raw() < 1 || price.raw() % spec.tick.raw() != 0 => {
                    return Some(RejectCode::InvalidFieldValue);
                }
                _ => {}
            }
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
        let dated = order.time_in_force == TimeInForce::GoodTillDate;
        match order.expires_at {
            None if dated => return Some(RejectCode::MissingRequiredField),
            Some(_) if !dated => return Some(RejectCode::InvalidFieldValue),
            Some(at) if at <= self.now => return Some(RejectCode::TooLateToEnter),
            _ => {}
        }
        let stays = order.time_in_force.rests();
        if (has_stop || order.order_type == OrderType::PostOnly) && !stays {
            return Some(RejectCode::UnsupportedTimeInForce);
        }
        let whole = has_stop || order.time_in_force == TimeInForce::FillOrKill;
        if order.volume.is_some() && whole {
            return Some(RejectCode::UnsupportedOrderAttribute);
        }
        let waits = order
            .stop
            .is_some_and(|stop| !self.has_reached(order.instrument, order.side, stop.raw()));
        let rests = (has_limit && stays) || waits;
        if !rests && phase != Phase::Continuous {
            return Some(RejectCode::ExchangeClosed);
        }
        if self.orders.iter().any(|other| other.id == order.id) {
            return Some(RejectCode::DuplicateClientOrderId);
        }
        if rests && self.orders.len() >= self.orders_max {
            return Some(RejectCode::CapacityExceeded);
        }
        let posts = order.order_type == OrderType::PostOnly;
        let trades = self.would_trade(order.instrument, order.side, order.price.map(Price::raw));
        (posts && trades).then_some(RejectCode::InvalidFieldValue)
    }

    fn would_trade(&self, instrument: InstrumentId, side: Side, limit: Option<i64>) -> bool {
        let open = self
            .instruments
            .iter()
            .any(|one| one.0.id == instrument && one.1 == Phase::Continuous);
        let best = self.best(instrument, side.opposite());
        open && best.is_some_and(|other| takes(side, limit, other.price))
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
        if order.time_in_force == TimeInForce::FillOrKill {
            let other = order.side.opposite();
            let all: i64 = self
                .resting(order.instrument, other)
                .iter()
                .filter(|other| takes(order.side, limit, other.price))
                .map(|other| other.leaves)
                .sum();
            if all < order.leaves {
                return self.canceled(order.id, order.leaves);
            }
        }
        loop {
            let other = self.best(order.instrument, order.side.opposite());
            let other = other.filter(|_| phase == Phase::Continuous);
            let Some(other) = other.filter(|other| takes(order.side, limit, other.price)) else {
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
        if old.stop.is_some() {
            return self.refused(id, RejectCode::UnsupportedOrderAttribute);
        }
        let (spec, _, _) = *self.instrument(old.instrument);
        let on_tick = price.raw() > 0 && price.raw() % spec.tick.raw() == 0;
        let on_lot = total.raw() > 0 && total.raw() % spec.lot.raw() == 0;
        if !on_tick || !on_lot || total.raw() <= old.filled {
            return self.refused(id, RejectCode::InvalidFieldValue);
        }
        let posts = old.order_type == OrderType::PostOnly;
        if posts && self.would_trade(old.instrument, old.side, Some(price.raw())) {
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
            let instrument = order.instrument;
            self.arrive(order, Some(price.raw()), None, true);
            self.begin_stops(instrument);
        }
    }

    pub fn set_phase(&mut self, instrument: InstrumentId, phase: Phase) -> bool {
        if phase == Phase::Continuous && self.crossed(instrument) {
            return false;
        }
        self.instrument(instrument).1 = phase;
        self.begin_stops(instrument);
        true
    }

    /// What trades at a price, and what is left over there.
    pub fn auction_volume(&self, instrument: InstrumentId, price: i64) -> (i128, i128) {
        let willing = |side: Side, takes: &dyn Fn(i64) -> bool| -> i128 {
            self.orders
                .iter()
                .filter(|order| order.instrument == instrument && order.side == side)
                .filter(|order| order.stop.is_none() && takes(order.price))
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
            .filter(|order| order.instrument == instrument && order.stop.is_none())
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
        self.begin_stops(instrument);
        true
    }

    pub fn end_day(&mut self, instrument: InstrumentId) {
        self.instrument(instrument).1 = Phase::Closed;
        let mut waiting: Vec<_> = self
            .orders
            .iter()
            .filter(|order| order.instrument == instrument && order.stop.is_some())
            .cloned()
            .collect();
        waiting.sort_by_key(|order| order.place);
        let resting = [Side::Buy, Side::Sell].map(|side| self.resting(instrument, side));
        for order in resting.into_iter().flatten().chain(waiting) {
            if order.time_in_force == TimeInForce::Day {
                self.expire(order.id);
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

/// Whether an order of `side` at `limit` (none: at any price) trades at `price`.
fn takes(side: Side, limit: Option<i64>, price: i64) -> bool {
    match (limit, side) {
        (None, _) => true,
        (Some(limit), Side::Buy) => price <= limit,
        (Some(limit), Side::Sell) => price >= limit,
    }
}
