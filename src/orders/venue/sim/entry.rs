//! What the venue takes: new orders, cancels and replaces, each checked first.

use super::Phase;
use super::matching::{Ending, Market, Sweep, Work, pays_for};
use super::order_slab::NO_SLOT;
use super::order_slab::OpenSlot;
use crate::orders::venue::{VenueEvent, VenueOrder};
use crate::types::{
    Amount, ClientOrderId, OrderType, Price, Quantity, RejectCode, Side, TimeInForce,
};

/// An order's terms, once they have been checked.
struct Terms {
    /// Raw; none for a market order.
    limit: Option<i64>,
    /// Raw; zero for an order by volume.
    quantity: i64,
    /// Raw, 18 decimals.
    volume: Option<i128>,
    rests: bool,
    /// Raw: the stop price that has not been reached.
    waits_for: Option<i64>,
}

impl Market {
    /// Takes a new order, or says why not; the market is ready.
    pub(super) fn enter(&mut self, book: Option<u16>, order: &VenueOrder, orders_max: usize) {
        let event = match self.judge(book, order, orders_max) {
            Ok((book, terms)) => return self.place(book, order, &terms),
            Err(code) => VenueEvent::Rejected { id: order.id, code },
        };
        self.events.push(event);
    }

    fn judge(
        &self,
        book: Option<u16>,
        order: &VenueOrder,
        orders_max: usize,
    ) -> Result<(u16, Terms), RejectCode> {
        let index = book.ok_or(RejectCode::UnknownInstrument)?;
        let book = &self.books[usize::from(index)];
        let limit = book.price_of(order.order_type.is_priced(), order.price)?;
        let stop = book.price_of(order.order_type.has_stop(), order.stop)?;
        let (quantity, volume) = match (order.quantity, order.volume) {
            (Some(quantity), None) if book.is_quantity(quantity.raw()) => (quantity.raw(), None),
            (None, Some(volume)) if is_volume(volume, limit) => (0, Some(volume.raw())),
            (None, None) => return Err(RejectCode::MissingRequiredField),
            _ => return Err(RejectCode::InvalidFieldValue),
        };
        self.judge_time(order)?;
        let rests = limit.is_some() && order.time_in_force.rests();
        let waits_for = stop.filter(|stop| !book.has_reached(*stop, order.side));
        if !rests && waits_for.is_none() && book.phase != Phase::Continuous {
            return Err(RejectCode::ExchangeClosed);
        }
        if self.orders.find(order.id).is_some() {
            return Err(RejectCode::DuplicateClientOrderId);
        }
        if (rests || waits_for.is_some()) && self.orders.len() >= orders_max {
            return Err(RejectCode::CapacityExceeded);
        }
        if order.order_type == OrderType::PostOnly && book.would_trade(order.side, limit) {
            return Err(RejectCode::InvalidFieldValue);
        }
        let terms = Terms {
            limit,
            quantity,
            volume,
            rests,
            waits_for,
        };
        Ok((index, terms))
    }

    /// Whether the time in force goes with the rest, and is not over.
    fn judge_time(&self, order: &VenueOrder) -> Result<(), RejectCode> {
        match (order.time_in_force, order.expires_at) {
            (TimeInForce::GoodTillDate, None) => return Err(RejectCode::MissingRequiredField),
            (TimeInForce::GoodTillDate, Some(at)) if at <= self.expiries.now() => {
                return Err(RejectCode::TooLateToEnter);
            }
            (TimeInForce::GoodTillDate, Some(_)) | (_, None) => {}
            (_, Some(_)) => return Err(RejectCode::InvalidFieldValue),
        }
        let must_stay = order.order_type.has_stop() || order.order_type == OrderType::PostOnly;
        if must_stay && !order.time_in_force.rests() {
            return Err(RejectCode::UnsupportedTimeInForce);
        }
        let counts_whole = order.order_type.has_stop();
        if order.volume.is_some()
            && (counts_whole || order.time_in_force == TimeInForce::FillOrKill)
        {
            return Err(RejectCode::UnsupportedOrderAttribute);
        }
        Ok(())
    }

    fn place(&mut self, index: u16, order: &VenueOrder, terms: &Terms) {
        let id = order.id;
        let slot = self.orders.insert(OpenSlot {
            id,
            price: terms.limit.unwrap_or(0),
            leaves: terms.quantity,
            filled: 0,
            excess: 0,
            ahead: NO_SLOT,
            behind: NO_SLOT,
            book: index,
            side: order.side,
            order_type: order.order_type,
            time_in_force: order.time_in_force,
            waits: terms.waits_for.is_some(),
        });
        // One slot more than may rest is there, and nothing else is in flight.
        let Some(slot) = slot else {
            let code = RejectCode::CapacityExceeded;
            return self.events.push(VenueEvent::Rejected { id, code });
        };
        self.events.push(VenueEvent::Acknowledged { id });
        if let Some(at) = order.expires_at {
            self.expiries.insert(slot, at);
        }
        if let Some(stop) = terms.waits_for {
            let book = &mut self.books[usize::from(index)];
            return book.stops.insert(slot, order.side, stop);
        }
        self.trade_or_rest(
            Sweep {
                slot,
                limit: terms.limit,
                rests: terms.rests,
                volume: terms.volume,
                traded_at: None,
            },
            index,
            order.side,
        );
    }

    /// An order whose stop price was reached becomes what it waited to be.
    pub(super) fn begin(&mut self, slot: u32) {
        let order = self.orders.get_mut(slot);
        order.waits = false;
        let order = *order;
        self.books[usize::from(order.book)].stops.remove(slot);
        let limit = order.order_type.is_priced().then_some(order.price);
        let sweep = Sweep {
            slot,
            limit,
            rests: limit.is_some(),
            volume: None,
            traded_at: None,
        };
        self.trade_or_rest(sweep, order.book, order.side);
    }

    /// An order that is in no queue trades if it can; its rest stays if it may.
    fn trade_or_rest(&mut self, sweep: Sweep, index: u16, side: Side) {
        let order = *self.orders.get(sweep.slot);
        let book = &mut self.books[usize::from(index)];
        let trades = book.would_trade(side, sweep.limit)
            && (order.time_in_force != TimeInForce::FillOrKill
                || book.fills_whole(side, sweep.limit, order.leaves, &self.orders));
        if !trades && sweep.rests && sweep.volume.is_none() {
            book.side_mut(side).append(sweep.slot, &mut self.orders);
        } else if trades {
            self.work = Work::Sweep(sweep);
            self.advance();
        } else {
            self.end_sweep(sweep, false);
        }
    }

    /// Takes a cancel, or says why not; the market is ready.
    pub(super) fn cancel(&mut self, id: ClientOrderId) {
        match self.orders.find(id) {
            Some(slot) => self.end_order(slot, Ending::Canceled),
            None => self.refuse_change(id, RejectCode::UnknownOrder),
        }
    }

    /// Takes a replace, or says why not; the market is ready.
    pub(super) fn replace(&mut self, id: ClientOrderId, price: Price, quantity: Quantity) {
        let Some(slot) = self.orders.find(id) else {
            return self.refuse_change(id, RejectCode::UnknownOrder);
        };
        let order = *self.orders.get(slot);
        let book = &mut self.books[usize::from(order.book)];
        if order.waits {
            return self.refuse_change(id, RejectCode::UnsupportedOrderAttribute);
        }
        let leaves = quantity.raw().saturating_sub(order.filled);
        if !book.is_price(price.raw()) || !book.is_quantity(quantity.raw()) || leaves <= 0 {
            return self.refuse_change(id, RejectCode::InvalidFieldValue);
        }
        if order.order_type == OrderType::PostOnly
            && book.would_trade(order.side, Some(price.raw()))
        {
            return self.refuse_change(id, RejectCode::InvalidFieldValue);
        }
        let keeps_place = price.raw() == order.price && leaves <= order.leaves;
        if !keeps_place {
            book.side_mut(order.side).unlink(slot, &mut self.orders);
        }
        let replaced = self.orders.get_mut(slot);
        replaced.price = price.raw();
        replaced.leaves = leaves;
        replaced.excess = 0;
        self.events.push(VenueEvent::Replaced {
            id,
            price,
            leaves: Quantity::from_raw(leaves),
        });
        if !keeps_place {
            let sweep = Sweep {
                slot,
                limit: Some(price.raw()),
                rests: true,
                volume: None,
                traded_at: None,
            };
            self.trade_or_rest(sweep, order.book, order.side);
        }
    }

    fn refuse_change(&mut self, id: ClientOrderId, code: RejectCode) {
        self.events.push(VenueEvent::CancelRejected { id, code });
    }
}

/// Positive, and at its limit price not more than a quantity can hold.
fn is_volume(volume: Amount, limit: Option<i64>) -> bool {
    volume.is_positive() && limit.is_none_or(|price| pays_for(volume.raw(), price) < i64::MAX)
}
