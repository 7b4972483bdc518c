//! The simulated venue's book beside a plain one, on the same program.
//!
//! 49% new, 44% cancel, 7% replace, at 1,000 and at 1,000,000 open orders. One
//! new order in some twenty trades, which keeps the number of open orders. The
//! order of a cancel or replace is young, as in recorded flow (six in seven
//! cancels there are of one of the last thousand orders), or any open one with
//! the same chance, which no cache helps. Both books make every event, and the
//! events are counted and compared. Chunks alternate; quote the ratios only.
//!
//! `cargo bench --bench venue`

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hint::black_box;
use std::time::Instant;

use pitlane::orders::venue::sim::{SimConfig, SimInstrument, SimVenue};
use pitlane::orders::venue::{Venue, VenueEvent, VenueOrder};
use pitlane::orders::{IdentitySource, RandomIdentity};
use pitlane::types::{
    ClientOrderId, FillId, InstrumentId, OrderType, Price, Quantity, RejectCode, Side, TimeInForce,
};

const ES: InstrumentId = InstrumentId(1);
const UNIT: i64 = 1_000_000_000;
const TICK: i64 = UNIT / 4;
/// Ticks of the price between both sides.
const MIDDLE: i64 = 20_000;
/// Messages between two looks at the clock.
const CHUNK: usize = 100_000;
const CHUNKS: usize = 10;
/// Messages between two polls: a shard's batch.
const BATCH: usize = 64;

fn main() {
    let small = compare(1_000, 50, Age::Any);
    for age in [Age::MostlyYoung, Age::Any] {
        let large = compare(1_000_000, 1_000, age);
        println!(
            "  1,000,000 open against 1,000: ours takes {:.1} x the time",
            large / small
        );
    }
}

/// Runs both books; our median time of a message, in nanoseconds.
fn compare(open: usize, levels: i64, age: Age) -> f64 {
    let (fill, program) = Script::write(open, levels, age);
    let mut ours = venue(open);
    let mut plain = PlainBook::default();
    let mut events = (0, 0);
    run(&fill, |batch| take(&mut ours, batch), &mut events.0);
    run(&fill, |batch| plain.take(batch), &mut events.1);
    assert_eq!(events.0, events.1, "both books say the same");
    let mut times = Vec::new();
    for chunk in program.chunks(CHUNK) {
        let mine = run(chunk, |batch| take(&mut ours, batch), &mut events.0);
        let theirs = run(chunk, |batch| plain.take(batch), &mut events.1);
        assert_eq!(events.0, events.1, "both books say the same");
        times.push((mine, theirs));
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let mine = median(times.iter().map(|pair| pair.0).collect());
    let theirs = median(times.iter().map(|pair| pair.1).collect());
    let ratio = median(times.iter().map(|pair| pair.1 / pair.0).collect());
    println!(
        "{open} open, {levels} levels a side, cancels {age:?}: ours {mine:.0} ns, plain {theirs:.0} \
         ns a message; ours is {ratio:.1} x as fast"
    );
    mine
}

/// Nanoseconds a message; `take` answers with how many events it made.
fn run(messages: &[Message], mut take: impl FnMut(&[Message]) -> usize, events: &mut usize) -> f64 {
    let start = Instant::now();
    for batch in messages.chunks(BATCH) {
        *events += take(batch);
    }
    let count = u32::try_from(messages.len()).expect("a chunk is small");
    start.elapsed().as_secs_f64() * 1e9 / f64::from(count)
}

#[derive(Clone, Copy)]
enum Message {
    New(VenueOrder),
    Cancel(ClientOrderId),
    Replace(ClientOrderId, Price, Quantity),
}

fn venue(open: usize) -> SimVenue {
    let config = SimConfig {
        orders_max: open + open / 32 + 64,
        ..SimConfig::new(vec![SimInstrument {
            tick: Price::from_raw(TICK),
            lot: Quantity::from_raw(UNIT),
            ..SimInstrument::new(ES)
        }])
    };
    SimVenue::new(&config).expect("the configuration is good")
}

/// Hands over a batch and takes its events; how many.
fn take(venue: &mut SimVenue, batch: &[Message]) -> usize {
    for message in batch {
        let sent = match message {
            Message::New(order) => venue.submit(order),
            Message::Cancel(id) => venue.cancel(*id),
            Message::Replace(id, price, quantity) => venue.replace(*id, *price, *quantity),
        };
        sent.expect("a batch's events have room");
    }
    venue.poll(usize::MAX, &mut |event| {
        black_box(&event);
    })
}

/// Which orders are cancelled and replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    /// Six in seven among the last thousand.
    MostlyYoung,
    /// Each open one with the same chance.
    Any,
}

/// Writes a program by running it, so that every cancel names an open order.
struct Script {
    venue: SimVenue,
    open: Vec<ClientOrderId>,
    ids: RandomIdentity,
    random: u64,
    levels: i64,
    age: Age,
}

impl Script {
    /// What fills the book, and what is measured.
    fn write(open: usize, levels: i64, age: Age) -> (Vec<Message>, Vec<Message>) {
        let mut script = Self {
            venue: venue(open),
            open: Vec::with_capacity(open * 2),
            ids: RandomIdentity::from_seed(1),
            random: 1,
            levels,
            age,
        };
        let fill = (0..open).map(|_| script.resting()).collect();
        let program = (0..CHUNK * CHUNKS)
            .map(|_| match script.below(100) {
                0..49 if script.venue.open_orders() > open => script.crossing(),
                0..49 => script.resting(),
                49..93 => script.cancel(),
                _ => script.replace(),
            })
            .collect();
        (fill, program)
    }

    fn below(&mut self, bound: i64) -> i64 {
        // splitmix64
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        i64::try_from((mixed >> 33) % bound.unsigned_abs()).expect("31 bits")
    }

    fn side(&mut self) -> Side {
        if self.below(2) == 0 {
            Side::Buy
        } else {
            Side::Sell
        }
    }

    /// A price on the order's own half of the ladder.
    fn price(&mut self, side: Side) -> Price {
        let away = 1 + self.below(self.levels);
        let ticks = match side {
            Side::Buy => MIDDLE - away,
            Side::Sell => MIDDLE + away,
        };
        Price::from_raw(ticks * TICK)
    }

    fn order(&mut self, side: Side, price: Price, lots: i64) -> VenueOrder {
        VenueOrder {
            id: self.ids.mint(),
            instrument: ES,
            side,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::Day,
            quantity: Some(Quantity::from_raw(lots * UNIT)),
            volume: None,
            price: Some(price),
            stop: None,
            expires_at: None,
        }
    }

    fn resting(&mut self) -> Message {
        let side = self.side();
        let price = self.price(side);
        let lots = 1 + self.below(5);
        let order = self.order(side, price, lots);
        self.open.push(order.id);
        self.told(Message::New(order))
    }

    /// Takes five lots off the best price of the other side.
    fn crossing(&mut self) -> Message {
        let side = self.side();
        let price = self.venue.best(ES, side.opposite());
        let Some(price) = price else {
            return self.resting();
        };
        let mut order = self.order(side, price, 5);
        order.time_in_force = TimeInForce::ImmediateOrCancel;
        self.told(Message::New(order))
    }

    /// An open order.
    fn pick(&mut self) -> Option<(usize, ClientOrderId)> {
        let young = self.age == Age::MostlyYoung && self.below(7) > 0;
        while !self.open.is_empty() {
            let oldest = match young {
                true => self.open.len().saturating_sub(1_000),
                false => 0,
            };
            let count = i64::try_from(self.open.len() - oldest).expect("a test's number");
            let at = oldest + usize::try_from(self.below(count)).expect("not negative");
            let id = self.open[at];
            if self.venue.order(id).is_some() {
                return Some((at, id));
            }
            // It has traded away.
            self.open.swap_remove(at);
        }
        None
    }

    fn cancel(&mut self) -> Message {
        let Some((at, id)) = self.pick() else {
            return self.resting();
        };
        self.open.swap_remove(at);
        self.told(Message::Cancel(id))
    }

    /// Half of them less at the same price, half another price.
    fn replace(&mut self) -> Message {
        let Some((_, id)) = self.pick() else {
            return self.resting();
        };
        let order = self.venue.order(id).expect("it was picked open");
        let price = match self.below(2) {
            0 => order.price,
            _ => self.price(order.side),
        };
        let total = Quantity::from_raw(order.filled.raw() + UNIT);
        self.told(Message::Replace(id, price, total))
    }

    fn told(&mut self, message: Message) -> Message {
        take(&mut self.venue, &[message]);
        message
    }
}

/// The book as one writes it first: the standard library's maps and queues.
#[derive(Default)]
struct PlainBook {
    bids: BTreeMap<i64, VecDeque<PlainOrder>>,
    asks: BTreeMap<i64, VecDeque<PlainOrder>>,
    places: HashMap<ClientOrderId, (Side, i64)>,
    events: Vec<VenueEvent>,
    next_fill: u64,
}

#[derive(Clone, Copy)]
struct PlainOrder {
    id: ClientOrderId,
    leaves: i64,
    filled: i64,
}

impl PlainBook {
    fn take(&mut self, batch: &[Message]) -> usize {
        for message in batch {
            match message {
                Message::New(order) => self.submit(order),
                Message::Cancel(id) => self.cancel(*id),
                Message::Replace(id, price, quantity) => self.replace(*id, *price, *quantity),
            }
        }
        let count = self.events.len();
        for event in self.events.drain(..) {
            black_box(&event);
        }
        count
    }

    fn submit(&mut self, order: &VenueOrder) {
        let (Some(price), Some(quantity)) = (order.price, order.quantity) else {
            return;
        };
        let id = order.id;
        if self.places.contains_key(&id) {
            let code = RejectCode::DuplicateClientOrderId;
            return self.events.push(VenueEvent::Rejected { id, code });
        }
        self.events.push(VenueEvent::Acknowledged { id });
        let arrived = PlainOrder {
            id,
            leaves: quantity.raw(),
            filled: 0,
        };
        let rests = order.time_in_force == TimeInForce::Day;
        self.arrive(order.side, price.raw(), arrived, rests);
    }

    fn arrive(&mut self, side: Side, limit: i64, mut order: PlainOrder, rests: bool) {
        while order.leaves > 0 {
            let best = match side {
                Side::Buy => self.asks.first_entry(),
                Side::Sell => self.bids.last_entry(),
            };
            let Some(mut level) = best else { break };
            let price = *level.key();
            let crosses = match side {
                Side::Buy => price <= limit,
                Side::Sell => price >= limit,
            };
            if !crosses {
                break;
            }
            let other = &mut level.get_mut()[0];
            let quantity = order.leaves.min(other.leaves);
            for (one, aggressor) in [(&mut *other, false), (&mut order, true)] {
                one.leaves -= quantity;
                one.filled += quantity;
                self.next_fill += 1;
                self.events.push(VenueEvent::Executed {
                    id: one.id,
                    fill_id: FillId(self.next_fill),
                    price: Price::from_raw(price),
                    quantity: Quantity::from_raw(quantity),
                    leaves: Quantity::from_raw(one.leaves),
                    aggressor,
                });
            }
            if other.leaves == 0 {
                self.places.remove(&other.id);
                level.get_mut().pop_front();
                if level.get().is_empty() {
                    level.remove();
                }
            }
        }
        if order.leaves > 0 && rests {
            self.places.insert(order.id, (side, limit));
            self.side(side).entry(limit).or_default().push_back(order);
        } else if order.leaves > 0 {
            self.canceled(&order);
        }
    }

    fn side(&mut self, side: Side) -> &mut BTreeMap<i64, VecDeque<PlainOrder>> {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }

    fn canceled(&mut self, order: &PlainOrder) {
        self.events.push(VenueEvent::Canceled {
            id: order.id,
            unfilled: Quantity::from_raw(order.leaves),
        });
    }

    /// Takes an order out of its queue.
    fn remove(&mut self, id: ClientOrderId) -> Option<(Side, PlainOrder)> {
        let (side, price) = self.places.remove(&id)?;
        let levels = self.side(side);
        let queue = levels.get_mut(&price)?;
        let at = queue.iter().position(|order| order.id == id)?;
        let order = queue.remove(at)?;
        if queue.is_empty() {
            levels.remove(&price);
        }
        Some((side, order))
    }

    fn cancel(&mut self, id: ClientOrderId) {
        match self.remove(id) {
            Some((_, order)) => self.canceled(&order),
            None => self.unknown(id),
        }
    }

    fn replace(&mut self, id: ClientOrderId, price: Price, total: Quantity) {
        let Some(&(side, old)) = self.places.get(&id) else {
            return self.unknown(id);
        };
        if old == price.raw() {
            let queue = self.side(side).get_mut(&old);
            let found = queue.and_then(|queue| queue.iter_mut().find(|order| order.id == id));
            if let Some(order) = found.filter(|order| total.raw() - order.filled <= order.leaves) {
                order.leaves = total.raw() - order.filled;
                let leaves = Quantity::from_raw(order.leaves);
                return self.events.push(VenueEvent::Replaced { id, price, leaves });
            }
        }
        let Some((side, mut order)) = self.remove(id) else {
            return;
        };
        order.leaves = total.raw() - order.filled;
        let leaves = Quantity::from_raw(order.leaves);
        self.events.push(VenueEvent::Replaced { id, price, leaves });
        self.arrive(side, price.raw(), order, true);
    }

    fn unknown(&mut self, id: ClientOrderId) {
        let code = RejectCode::UnknownOrder;
        self.events.push(VenueEvent::CancelRejected { id, code });
    }
}
