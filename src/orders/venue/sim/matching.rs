//! Where orders trade: sweeps, auctions and the end of the day.
//!
//! Each is done in steps, and a step is taken only while its events have room.
//! What is unfinished goes on when events have been polled; until then nothing
//! else is taken, so that it is one event in the venue's order all the same.

use super::Phase;
use super::book::Book;
use super::event_queue::EventQueue;
use super::expiries::Expiries;
use super::order_slab::{OpenSlot, OrderSlab};
use crate::orders::venue::VenueEvent;
use crate::types::{FillId, Price, Quantity, Side, TimeInForce};

/// The most events of one step: two executions, and the end of both orders.
pub(super) const STEP_EVENTS: usize = 4;

/// An order that trades as it arrives.
#[derive(Clone, Copy)]
pub(super) struct Sweep {
    /// Its slot; in no queue.
    pub(super) slot: u32,
    /// The worst price that it takes, raw; none for a market order.
    pub(super) limit: Option<i64>,
    /// Whether the rest stays in the book.
    pub(super) rests: bool,
    /// What an order by volume has not spent, raw, 18 decimals.
    pub(super) volume: Option<i128>,
    /// The last price that it traded at, raw.
    pub(super) traded_at: Option<i64>,
}

/// What the venue is in the middle of.
#[derive(Clone, Copy)]
pub(super) enum Work {
    Nothing,
    Sweep(Sweep),
    /// All that crosses trades at `price`; then trading is continuous.
    Auction {
        book: u16,
        price: i64,
    },
    /// Orders of the book whose stop price was reached begin.
    Stops {
        book: u16,
    },
    /// The orders in `Market::ending` expire.
    DayEnd,
}

/// How an order ends that has not traded in full.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Canceled,
    Expired,
}

/// Books, orders and events: all that trading touches.
pub(super) struct Market {
    pub(super) books: Vec<Book>,
    pub(super) orders: OrderSlab,
    pub(super) events: EventQueue,
    pub(super) work: Work,
    pub(super) expiries: Expiries,
    /// Slots whose day is over, the last to end first.
    pub(super) ending: Vec<u32>,
    /// The next execution's id.
    pub(super) next_fill: u64,
}

impl Market {
    /// Whether new work can be taken.
    pub(super) fn is_ready(&self) -> bool {
        self.is_idle() && self.events.room() >= STEP_EVENTS
    }

    /// Whether nothing is unfinished.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.work, Work::Nothing) && self.expiries.first_due().is_none()
    }

    /// Works on until all is done or the events have no room for a step.
    pub(super) fn advance(&mut self) {
        while self.events.room() >= STEP_EVENTS {
            match self.work {
                Work::Nothing => match self.expiries.first_due() {
                    Some(slot) => self.end_order(slot, Ending::Expired),
                    None => return,
                },
                Work::Sweep(sweep) => self.work = self.sweep_step(sweep),
                Work::Auction { book, price } => self.work = self.auction_step(book, price),
                Work::Stops { book } => match self.books[usize::from(book)].triggered() {
                    Some(slot) => {
                        self.work = Work::Nothing;
                        self.begin(slot);
                        // What it trades, if it does, leads back here.
                        if matches!(self.work, Work::Nothing) {
                            self.work = Work::Stops { book };
                        }
                    }
                    None => self.work = Work::Nothing,
                },
                Work::DayEnd => match self.ending.pop() {
                    Some(slot) => self.end_order(slot, Ending::Expired),
                    None => self.work = Work::Nothing,
                },
            }
        }
    }

    /// Trades once with the best of the other side, or ends the sweep.
    fn sweep_step(&mut self, mut sweep: Sweep) -> Work {
        let order = *self.orders.get(sweep.slot);
        let book = &mut self.books[usize::from(order.book)];
        let resting = match book.side(order.side.opposite()).first() {
            Some(slot) if book.crosses(order.side, sweep.limit) => slot,
            _ => {
                self.end_sweep(sweep, false);
                return Work::Stops { book: order.book };
            }
        };
        let OpenSlot { price, leaves, .. } = *self.orders.get(resting);
        let lot = book.instrument.lot.raw();
        let wanted = match sweep.volume {
            Some(volume) => affordable(volume, price, lot, i64::MAX - order.filled),
            None => order.leaves,
        };
        if wanted == 0 {
            self.end_sweep(sweep, true);
            return Work::Stops { book: order.book };
        }
        let quantity = wanted.min(leaves);
        book.last = Some(price);
        self.execute_resting(resting, price, quantity);

        sweep.traded_at = Some(price);
        let arrived = self.orders.get_mut(sweep.slot);
        arrived.filled += quantity;
        let leaves = if let Some(volume) = &mut sweep.volume {
            *volume -= Price::from_raw(price)
                .notional(Quantity::from_raw(quantity))
                .raw();
            pays_for(*volume, price)
        } else {
            arrived.leaves -= quantity;
            arrived.leaves
        };
        self.execution(order, price, quantity, leaves, true);
        if leaves == 0 {
            self.forget(sweep.slot);
            return Work::Stops { book: order.book };
        }
        Work::Sweep(sweep)
    }

    /// What becomes of the rest. `spent`: the other side can still trade, but
    /// the volume pays for no lot there.
    pub(super) fn end_sweep(&mut self, sweep: Sweep, spent: bool) {
        let order = *self.orders.get(sweep.slot);
        let book = &mut self.books[usize::from(order.book)];
        let (mut leaves, mut excess) = (order.leaves, 0);
        if let Some(volume) = sweep.volume {
            // From here on an order by quantity, at its limit.
            let at = sweep.limit.filter(|_| sweep.rests && !spent);
            let at_price = at.or(sweep.traded_at).or(sweep.limit);
            let room = i64::MAX - order.filled;
            let all = at_price.map_or(0, |price| pays_for(volume, price).min(room));
            let lot = book.instrument.lot.raw();
            leaves = at.map_or(0, |price| affordable(volume, price, lot, room));
            excess = all - leaves;
        }
        if sweep.rests && leaves > 0 {
            let resting = self.orders.get_mut(sweep.slot);
            (resting.leaves, resting.excess) = (leaves, excess);
            book.side_mut(order.side)
                .append(sweep.slot, &mut self.orders);
        } else {
            self.events.push(VenueEvent::Canceled {
                id: order.id,
                unfilled: Quantity::from_raw(leaves + excess),
            });
            self.forget(sweep.slot);
        }
    }

    /// Trades the best of both sides at the auction's price, or opens.
    fn auction_step(&mut self, index: u16, price: i64) -> Work {
        let book = &mut self.books[usize::from(index)];
        let bid = book
            .bids
            .first()
            .filter(|_| book.crosses(Side::Sell, Some(price)));
        let ask = book
            .asks
            .first()
            .filter(|_| book.crosses(Side::Buy, Some(price)));
        let (Some(bid), Some(ask)) = (bid, ask) else {
            book.phase = Phase::Continuous;
            return Work::Stops { book: index };
        };
        book.last = Some(price);
        let quantity = self.orders.get(bid).leaves.min(self.orders.get(ask).leaves);
        self.execute_resting(bid, price, quantity);
        self.execute_resting(ask, price, quantity);
        Work::Auction { book: index, price }
    }

    /// The orders of the book that the end of the day ends, in the order in
    /// which they do.
    pub(super) fn end_day(&mut self, index: u16) {
        let book = &self.books[usize::from(index)];
        let resting = [Side::Buy, Side::Sell].map(|side| book.queue(side, &self.orders));
        let waiting = book.stops.slots();
        let is_of_the_day = |slot: &u32| self.orders.get(*slot).time_in_force == TimeInForce::Day;
        self.ending = resting
            .into_iter()
            .flatten()
            .chain(waiting)
            .filter(is_of_the_day)
            .collect();
        self.ending.reverse();
        self.work = Work::DayEnd;
        self.advance();
    }

    /// Ends an order that rests, or waits for its stop price.
    pub(super) fn end_order(&mut self, slot: u32, ending: Ending) {
        let order = *self.orders.get(slot);
        let book = &mut self.books[usize::from(order.book)];
        if order.waits {
            book.stops.remove(slot);
        } else {
            book.side_mut(order.side).unlink(slot, &mut self.orders);
        }
        let (id, unfilled) = (order.id, Quantity::from_raw(order.leaves + order.excess));
        self.events.push(match ending {
            Ending::Canceled => VenueEvent::Canceled { id, unfilled },
            Ending::Expired => VenueEvent::Expired { id, unfilled },
        });
        self.forget(slot);
    }

    /// Nothing is kept of an order that is over and in no queue.
    fn forget(&mut self, slot: u32) {
        self.expiries.remove(slot);
        self.orders.remove(slot);
    }

    /// A resting order trades; at most two events.
    fn execute_resting(&mut self, slot: u32, price: i64, quantity: i64) {
        let resting = self.orders.get_mut(slot);
        resting.leaves -= quantity;
        resting.filled += quantity;
        let order = *resting;
        let leaves = order.leaves + order.excess;
        self.execution(order, price, quantity, leaves, false);
        if order.leaves == 0 {
            self.books[usize::from(order.book)]
                .side_mut(order.side)
                .unlink(slot, &mut self.orders);
            if order.excess > 0 {
                self.events.push(VenueEvent::Canceled {
                    id: order.id,
                    unfilled: Quantity::from_raw(order.excess),
                });
            }
            self.forget(slot);
        }
    }

    fn execution(
        &mut self,
        order: OpenSlot,
        price: i64,
        quantity: i64,
        leaves: i64,
        aggressor: bool,
    ) {
        let fill_id = FillId(self.next_fill);
        self.next_fill += 1;
        self.events.push(VenueEvent::Executed {
            id: order.id,
            fill_id,
            price: Price::from_raw(price),
            quantity: Quantity::from_raw(quantity),
            leaves: Quantity::from_raw(leaves),
            aggressor,
        });
    }
}

/// Whole lots that a volume pays for, at most `room`; all raw.
fn affordable(volume: i128, price: i64, lot: i64, room: i64) -> i64 {
    let units = i64::try_from(volume / i128::from(price)).unwrap_or(i64::MAX);
    let units = units.min(room);
    units - units % lot
}

/// What a volume pays for, rounded up, so that it is zero only when the volume
/// is; the largest quantity where it would be more. All raw.
pub(super) fn pays_for(volume: i128, price: i64) -> i64 {
    let price = i128::from(price);
    let units = volume / price + i128::from(volume % price != 0);
    i64::try_from(units).unwrap_or(i64::MAX)
}
