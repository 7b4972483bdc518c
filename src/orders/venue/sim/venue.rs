//! The simulated venue as a shard sees it, and as its owner steers it.

use super::auction::{auction_at, best_auction};
use super::book::Book;
use super::control::{Change, Request, Requests};
use super::event_queue::EventQueue;
use super::expiries::Expiries;
use super::matching::{Market, Work};
use super::order_slab::{OpenSlot, OrderSlab};
use super::{Auction, Phase, PhaseError, SimConfig, SimConfigError, VenueControl};
use crate::orders::venue::{Capabilities, Venue, VenueError, VenueEvent, VenueOrder};
use crate::time::UnixNanos;
use crate::types::{ClientOrderId, InstrumentId, Price, Quantity, Side};

/// A venue in memory: a price-time book per instrument (rule O36).
///
/// Every call is answered by events, which [`Venue::next_event`] gives in the order
/// in which they were made. [`VenueError::Busy`] is said before any work is
/// taken, when the events of the smallest step have no room, or while a sweep
/// or an auction larger than the event queue is unfinished: poll, and try
/// again.
///
/// ```
/// use pitlane::orders::venue::sim::{SimConfig, SimInstrument, SimVenue};
/// use pitlane::orders::venue::{Venue, VenueEvent, VenueOrder};
/// use pitlane::types::{
///     ClientOrderId, InstrumentId, OrderType, Quantity, Side, TimeInForce,
/// };
///
/// let gold = InstrumentId(1);
/// let mut venue = SimVenue::new(&SimConfig::new(vec![SimInstrument::new(gold)])).unwrap();
/// let sell = VenueOrder {
///     id: ClientOrderId { high: 0, low: 1 },
///     instrument: gold,
///     side: Side::Sell,
///     order_type: OrderType::Limit,
///     time_in_force: TimeInForce::Day,
///     quantity: Some("2".parse().unwrap()),
///     volume: None,
///     price: Some("2650.5".parse().unwrap()),
///     stop: None,
///     expires_at: None,
/// };
/// let buy = VenueOrder {
///     id: ClientOrderId { high: 0, low: 2 },
///     side: Side::Buy,
///     order_type: OrderType::Market,
///     price: None,
///     ..sell
/// };
/// venue.submit(&sell).unwrap();
/// venue.submit(&buy).unwrap();
/// let mut traded = Quantity::ZERO;
/// while let Some(event) = venue.next_event() {
///     if let VenueEvent::Executed { id, quantity, .. } = event
///         && id == buy.id
///     {
///         traded = quantity;
///     }
/// }
/// assert_eq!(traded, "2".parse().unwrap());
/// ```
pub struct SimVenue {
    market: Market,
    /// Sorted by id, with the index of its book.
    instruments: Vec<(InstrumentId, u16)>,
    /// Orders that may rest at once.
    orders_max: usize,
    requests: Requests,
    capabilities: Capabilities,
}

impl SimVenue {
    /// A venue with empty books.
    ///
    /// # Errors
    /// The configuration names what is out of range.
    pub fn new(config: &SimConfig) -> Result<Self, SimConfigError> {
        config.check()?;
        let too_many = || SimConfigError::Orders(config.orders_max);
        // One more than may rest: for an order that only passes through.
        let slots = u32::try_from(config.orders_max + 1).map_err(|_| too_many())?;
        let mut instruments: Vec<_> = (0..)
            .zip(&config.instruments)
            .map(|(index, instrument)| (instrument.id, index))
            .collect();
        instruments.sort_unstable();
        Ok(Self {
            market: Market {
                books: config
                    .instruments
                    .iter()
                    .map(|instrument| Book::new(*instrument, config.orders_max))
                    .collect(),
                orders: OrderSlab::new(slots),
                events: EventQueue::new(config.events_max),
                work: Work::Nothing,
                expiries: Expiries::default(),
                ending: Vec::new(),
                next_fill: config.first_fill.0,
            },
            instruments,
            orders_max: config.orders_max,
            requests: Requests::new(),
            capabilities: Capabilities::everything(),
        })
    }

    /// A handle for another thread; see there for how its requests are ordered.
    #[must_use]
    pub fn control(&self) -> VenueControl {
        self.requests.control()
    }

    /// Changes a market phase. Orders stay as they are.
    ///
    /// # Errors
    /// The instrument is unknown, the venue is busy, or the book is crossed and
    /// the phase is [`Phase::Continuous`]: [`SimVenue::uncross`] opens it.
    pub fn set_phase(&mut self, instrument: InstrumentId, phase: Phase) -> Result<(), PhaseError> {
        let index = self.idle_book(instrument)?;
        let book = &mut self.market.books[usize::from(index)];
        match book.crossed() {
            Some((bid, ask)) if phase == Phase::Continuous => Err(PhaseError::Crossed {
                bid: Price::from_raw(bid),
                ask: Price::from_raw(ask),
            }),
            _ => {
                book.phase = phase;
                self.begin_stops(index);
                Ok(())
            }
        }
    }

    /// Trading that begins sets off what the last price has reached.
    fn begin_stops(&mut self, book: u16) {
        if self.market.books[usize::from(book)].phase == Phase::Continuous {
            self.market.work = Work::Stops { book };
            self.market.advance();
        }
    }

    /// Holds an auction: everything that crosses trades at one price, best
    /// price and time first on both sides; then trading is continuous.
    ///
    /// The price is `price`, or the one at which most trades, then least is
    /// left over, then the nearest to the last trade or the configured
    /// reference, then the lowest. `None` is answered where nothing crosses.
    ///
    /// # Errors
    /// The instrument is unknown, it trades already, the venue is busy, or the
    /// book would stay crossed at `price`.
    pub fn uncross(
        &mut self,
        instrument: InstrumentId,
        price: Option<Price>,
    ) -> Result<Option<Auction>, PhaseError> {
        let index = self.idle_book(instrument)?;
        let book = &mut self.market.books[usize::from(index)];
        if book.phase == Phase::Continuous {
            return Err(PhaseError::AlreadyOpen);
        }
        if let Some(price) = price
            && !book.is_price(price.raw())
        {
            return Err(PhaseError::BadPrice(price));
        }
        let Some(best) = best_auction(book, &self.market.orders) else {
            book.phase = Phase::Continuous;
            self.begin_stops(index);
            return Ok(None);
        };
        let chosen = price.and_then(|price| auction_at(book, &self.market.orders, price.raw()));
        let auction = chosen.unwrap_or(best);
        // A book is uncrossed exactly by a price at which the most trades.
        if auction.traded < best.traded {
            return Err(PhaseError::AuctionPrice {
                given: auction.price,
                best: best.price,
            });
        }
        self.market.work = Work::Auction {
            book: index,
            price: auction.price.raw(),
        };
        self.market.advance();
        Ok(Some(auction))
    }

    /// Ends the trading day: closes the instrument and ends its day orders.
    /// Those that are good till they are cancelled, or till a date, stay.
    ///
    /// # Errors
    /// The instrument is unknown or the venue is busy.
    pub fn end_day(&mut self, instrument: InstrumentId) -> Result<(), PhaseError> {
        let book = self.idle_book(instrument)?;
        self.market.books[usize::from(book)].phase = Phase::Closed;
        self.market.end_day(book);
        Ok(())
    }

    /// The auction that [`SimVenue::uncross`] would hold now.
    #[must_use]
    pub fn indicative(&self, instrument: InstrumentId) -> Option<Auction> {
        let book = &self.market.books[usize::from(self.book_of(instrument)?)];
        best_auction(book, &self.market.orders)
    }

    /// The phase; `None` for an unknown instrument. While an auction is
    /// unfinished, the one before it.
    #[must_use]
    pub fn phase(&self, instrument: InstrumentId) -> Option<Phase> {
        let book = self.book_of(instrument)?;
        Some(self.market.books[usize::from(book)].phase)
    }

    /// The best price of a side; `None` for an empty side or an unknown
    /// instrument.
    #[must_use]
    pub fn best(&self, instrument: InstrumentId, side: Side) -> Option<Price> {
        let book = &self.market.books[usize::from(self.book_of(instrument)?)];
        book.side(side).best().map(Price::from_raw)
    }

    /// How many orders are open, over all instruments.
    #[must_use]
    pub const fn open_orders(&self) -> usize {
        self.market.orders.len()
    }

    /// An open order; `None` if none of that id is.
    #[must_use]
    pub fn order(&self, id: ClientOrderId) -> Option<OpenOrder> {
        let slot = self.market.orders.find(id)?;
        Some(self.describe(self.market.orders.get(slot)))
    }

    /// The orders that rest on a side, in the order in which they trade; none
    /// for an unknown instrument.
    pub fn resting(
        &self,
        instrument: InstrumentId,
        side: Side,
    ) -> impl Iterator<Item = OpenOrder> + '_ {
        self.book_of(instrument)
            .map(|book| &self.market.books[usize::from(book)])
            .into_iter()
            .flat_map(move |book| book.queue(side, &self.market.orders))
            .map(|slot| self.describe(self.market.orders.get(slot)))
    }

    fn describe(&self, order: &OpenSlot) -> OpenOrder {
        OpenOrder {
            id: order.id,
            instrument: self.market.books[usize::from(order.book)].instrument.id,
            side: order.side,
            price: Price::from_raw(order.price),
            filled: Quantity::from_raw(order.filled),
            leaves: Quantity::from_raw(order.leaves + order.excess),
        }
    }

    fn book_of(&self, instrument: InstrumentId) -> Option<u16> {
        let at = self
            .instruments
            .binary_search_by_key(&instrument, |(id, _)| *id);
        at.ok().map(|at| self.instruments[at].1)
    }

    fn idle_book(&self, instrument: InstrumentId) -> Result<u16, PhaseError> {
        let book = self
            .book_of(instrument)
            .ok_or(PhaseError::UnknownInstrument(instrument))?;
        if self.market.is_idle() {
            Ok(book)
        } else {
            Err(PhaseError::Busy)
        }
    }

    /// Answers what other threads asked for, as far as work allows.
    fn take_requests(&mut self) {
        while self.market.is_idle() {
            let Some(request) = self.requests.take() else {
                return;
            };
            let Request {
                instrument,
                change,
                answer,
            } = request;
            let result = match change {
                Change::Phase(phase) => self.set_phase(instrument, phase).map(|()| None),
                Change::Uncross(price) => self.uncross(instrument, price),
                Change::EndDay => self.end_day(instrument).map(|()| None),
            };
            // Who asked may have stopped waiting; the change is made all the same.
            let _ = answer.try_send(result);
        }
    }
}

impl Venue for SimVenue {
    fn capabilities(&self) -> Option<&Capabilities> {
        Some(&self.capabilities)
    }

    fn advance_to(&mut self, now: UnixNanos) {
        self.market.expiries.advance_to(now);
        self.market.advance();
    }

    fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError> {
        if !self.market.is_ready() {
            return Err(VenueError::Busy);
        }
        let book = self.book_of(order.instrument);
        self.market.enter(book, order, self.orders_max);
        Ok(())
    }

    fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        if !self.market.is_ready() {
            return Err(VenueError::Busy);
        }
        self.market.cancel(id);
        Ok(())
    }

    fn replace(
        &mut self,
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), VenueError> {
        if !self.market.is_ready() {
            return Err(VenueError::Busy);
        }
        self.market.replace(id, price, quantity);
        Ok(())
    }

    fn next_event(&mut self) -> Option<VenueEvent> {
        let event = match self.market.events.pop() {
            Some(event) => event,
            None => {
                self.take_requests();
                self.market.events.pop()?
            }
        };
        if !self.market.is_idle() {
            self.market.advance();
        }
        Some(event)
    }
}

/// An order that rests at the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOrder {
    /// Its identity.
    pub id: ClientOrderId,
    /// What it trades.
    pub instrument: InstrumentId,
    /// Buy or sell.
    pub side: Side,
    /// Its limit price.
    pub price: Price,
    /// What has traded.
    pub filled: Quantity,
    /// What has not.
    pub leaves: Quantity,
}
