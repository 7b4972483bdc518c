//! The simulated venue against a plain one, on random programs: the same
//! events in the same order, the same books after every step, and the
//! invariants that no book may break.

#[path = "support/plain_venue.rs"]
mod plain_venue;

use std::collections::HashMap;

use pitlane::orders::venue::sim::{Phase, SimConfig, SimInstrument, SimVenue};
use pitlane::orders::venue::{Venue, VenueError, VenueEvent, VenueOrder};
use pitlane::time::UnixNanos;
use pitlane::types::{
    Amount, ClientOrderId, FillId, InstrumentId, OrderType, Price, Quantity, Side, TimeInForce,
};
use plain_venue::PlainVenue;
use proptest::prelude::*;

const TICK: i64 = 250_000_000;
const LOT: i64 = 1_000_000_000;
/// Few, so that programs reach the bound.
const ORDERS_MAX: usize = 24;

#[derive(Clone, Debug)]
enum Step {
    Submit(VenueOrder),
    Cancel(ClientOrderId),
    Replace(ClientOrderId, Price, Quantity),
    Phase(InstrumentId, Phase),
    /// At the book's own price.
    Uncross(InstrumentId),
    UncrossAt(InstrumentId, Price),
    EndDay(InstrumentId),
    Poll(usize),
    /// The venue's clock moves on by this.
    Pass(u64),
}

fn id() -> impl Strategy<Value = ClientOrderId> {
    (0u64..40).prop_map(|low| ClientOrderId { high: 0, low })
}

fn instrument() -> impl Strategy<Value = InstrumentId> {
    (1u32..=2).prop_map(InstrumentId)
}

/// Mostly good ones: a few ticks around 10; sometimes zero, negative, off.
fn price() -> impl Strategy<Value = Price> {
    prop_oneof![
        30 => (36i64..46).prop_map(|ticks| Price::from_raw(ticks * TICK)),
        1 => Just(Price::ZERO),
        1 => Just(Price::from_raw(-10 * TICK)),
        1 => Just(Price::from_raw(40 * TICK + 1)),
    ]
}

fn quantity() -> impl Strategy<Value = Quantity> {
    prop_oneof![
        30 => (1i64..12).prop_map(|lots| Quantity::from_raw(lots * LOT)),
        1 => Just(Quantity::ZERO),
        1 => Just(Quantity::from_raw(-LOT)),
        1 => Just(Quantity::from_raw(LOT / 2)),
    ]
}

/// From less than one lot pays for to more than the book has; odd ones too.
fn volume() -> impl Strategy<Value = Amount> {
    prop_oneof![
        20 => (1i128..200).prop_map(|units| Amount::from_raw(units * 1_000_000_000_000_000_000)),
        5 => (1i128..400_000_000_000).prop_map(|units| Amount::from_raw(units * 1_000_000_007)),
        1 => Just(Amount::ZERO),
        1 => Just(Amount::from_raw(-1)),
    ]
}

fn order() -> impl Strategy<Value = VenueOrder> {
    let amount = prop_oneof![
        20 => quantity().prop_map(|quantity| (Some(quantity), None)),
        8 => volume().prop_map(|volume| (None, Some(volume))),
        1 => Just((None, None)),
        1 => (quantity(), volume()).prop_map(|(quantity, volume)| (Some(quantity), Some(volume))),
    ];
    let terms = prop_oneof![
        20 => price().prop_map(|price| (OrderType::Limit, Some(price), None)),
        4 => Just((OrderType::Market, None, None)),
        1 => Just((OrderType::Limit, None, None)),
        1 => price().prop_map(|price| (OrderType::Market, Some(price), None)),
        4 => price().prop_map(|price| (OrderType::PostOnly, Some(price), None)),
        4 => price().prop_map(|stop| (OrderType::Stop, None, Some(stop))),
        4 => (price(), price()).prop_map(|(at, stop)| (OrderType::StopLimit, Some(at), Some(stop))),
        1 => price().prop_map(|price| (OrderType::StopLimit, Some(price), None)),
        1 => price().prop_map(|stop| (OrderType::Limit, Some(stop), Some(stop))),
    ];
    let instrument = prop_oneof![
        40 => instrument(),
        1 => Just(InstrumentId(9)),
    ];
    let time_in_force = prop_oneof![
        10 => Just((TimeInForce::Day, None)),
        2 => Just((TimeInForce::GoodTillCancel, None)),
        2 => Just((TimeInForce::ImmediateOrCancel, None)),
        2 => Just((TimeInForce::FillOrKill, None)),
        2 => (0u64..60).prop_map(|at| (TimeInForce::GoodTillDate, Some(UnixNanos(at)))),
        1 => Just((TimeInForce::GoodTillDate, None)),
        1 => Just((TimeInForce::Day, Some(UnixNanos(9)))),
    ];
    (
        id(),
        instrument,
        any::<bool>(),
        terms,
        amount,
        time_in_force,
    )
        .prop_map(
            |(
                id,
                instrument,
                buys,
                (order_type, price, stop),
                amount,
                (time_in_force, expires_at),
            )| {
                let (quantity, volume) = amount;
                VenueOrder {
                    id,
                    instrument,
                    side: if buys { Side::Buy } else { Side::Sell },
                    order_type,
                    time_in_force,
                    quantity,
                    volume,
                    price,
                    stop,
                    expires_at,
                }
            },
        )
}

fn step() -> impl Strategy<Value = Step> {
    let phase = prop_oneof![
        2 => Just(Phase::Closed),
        1 => Just(Phase::Auction),
        4 => Just(Phase::Continuous),
    ];
    prop_oneof![
        60 => order().prop_map(Step::Submit),
        10 => id().prop_map(Step::Cancel),
        20 => (id(), price(), quantity()).prop_map(|(id, at, of)| Step::Replace(id, at, of)),
        2 => (instrument(), phase).prop_map(|(of, phase)| Step::Phase(of, phase)),
        2 => instrument().prop_map(Step::Uncross),
        2 => (instrument(), price()).prop_map(|(of, at)| Step::UncrossAt(of, at)),
        1 => instrument().prop_map(Step::EndDay),
        6 => (0usize..9).prop_map(Step::Poll),
        4 => (1u64..4).prop_map(Step::Pass),
    ]
}

fn specs(first_phase: Phase) -> Vec<SimInstrument> {
    let spec = |id, phase, reference| SimInstrument {
        id: InstrumentId(id),
        tick: Price::from_raw(TICK),
        lot: Quantity::from_raw(LOT),
        phase,
        reference,
    };
    vec![
        spec(2, first_phase, Some(Price::from_raw(41 * TICK))),
        spec(1, Phase::Continuous, None),
    ]
}

/// What is known of an order from its events alone.
#[derive(Default)]
struct Account {
    filled: i64,
    leaves: i64,
}

/// From the events alone: cum + leaves + ended = quantity, always.
#[derive(Default)]
struct Ledger {
    open: HashMap<ClientOrderId, Account>,
    /// Quantities of orders that were sent by quantity.
    quantities: HashMap<ClientOrderId, i64>,
    fills: Vec<FillId>,
}

impl Ledger {
    fn note(&mut self, event: VenueEvent) {
        match event {
            VenueEvent::Acknowledged { id } => {
                let leaves = self.quantities.get(&id).copied().unwrap_or(0);
                let old = self.open.insert(id, Account { filled: 0, leaves });
                assert!(old.is_none(), "{id} is acknowledged twice");
            }
            VenueEvent::Executed {
                id,
                fill_id,
                quantity,
                leaves,
                ..
            } => {
                assert!(quantity.is_positive());
                self.fills.push(fill_id);
                let order = self.open.get_mut(&id).expect("only open orders trade");
                order.filled += quantity.raw();
                if let Some(total) = self.quantities.get(&id) {
                    assert_eq!(order.leaves - quantity.raw(), leaves.raw());
                    assert_eq!(order.filled + leaves.raw(), *total, "{id}");
                }
                order.leaves = leaves.raw();
                if leaves.is_zero() {
                    self.open.remove(&id);
                }
            }
            VenueEvent::Canceled { id, unfilled } | VenueEvent::Expired { id, unfilled } => {
                let order = self.open.remove(&id).expect("only open orders end");
                if let Some(total) = self.quantities.get(&id) {
                    assert_eq!(order.filled + unfilled.raw(), *total, "{id}");
                }
            }
            VenueEvent::Replaced { id, leaves, .. } => {
                let order = self.open.get_mut(&id).expect("only open orders change");
                order.leaves = leaves.raw();
                self.quantities.insert(id, order.filled + leaves.raw());
            }
            VenueEvent::Rejected { .. } | VenueEvent::CancelRejected { .. } => {}
            told => panic!("nobody asked for {told:?}"),
        }
    }
}

/// Both venues, and what was seen of the one.
struct Pair {
    real: SimVenue,
    plain: PlainVenue,
    seen: Vec<VenueEvent>,
    ledger: Ledger,
    now: u64,
}

impl Pair {
    fn new(first_phase: Phase, events_max: usize) -> Self {
        let instruments = specs(first_phase);
        Self {
            plain: PlainVenue::new(&instruments, ORDERS_MAX),
            real: SimVenue::new(&SimConfig {
                orders_max: ORDERS_MAX,
                events_max,
                ..SimConfig::new(instruments)
            })
            .unwrap(),
            seen: Vec::new(),
            ledger: Ledger::default(),
            now: 0,
        }
    }

    /// At most `budget` events; how many came.
    fn poll(&mut self, budget: usize) -> usize {
        let before = self.seen.len();
        let seen = &mut self.seen;
        let given = self.real.poll(budget, &mut |event| seen.push(event));
        assert_eq!(given, self.seen.len() - before);
        assert!(given <= budget);
        given
    }

    /// Asks until the venue is not busy; polling frees it, always.
    fn insist(&mut self, mut ask: impl FnMut(&mut SimVenue) -> Result<(), VenueError>) {
        loop {
            match ask(&mut self.real) {
                Ok(()) => return,
                Err(VenueError::Busy) => assert!(self.poll(3) > 0, "busy with nothing to poll"),
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Submit(order) => {
                if self.plain.orders.iter().all(|open| open.id != order.id) {
                    self.ledger.quantities.remove(&order.id);
                    if let Some(quantity) = order.quantity {
                        self.ledger.quantities.insert(order.id, quantity.raw());
                    }
                }
                self.insist(|venue| venue.submit(order));
                self.plain.submit(order);
            }
            Step::Cancel(id) => {
                self.insist(|venue| venue.cancel(*id));
                self.plain.cancel(*id);
            }
            Step::Replace(id, price, quantity) => {
                self.insist(|venue| venue.replace(*id, *price, *quantity));
                self.plain.replace(*id, *price, *quantity);
            }
            Step::Poll(budget) => drop(self.poll(*budget)),
            Step::Pass(time) => {
                self.now += time;
                self.real.advance_to(UnixNanos(self.now));
                self.plain.advance_to(UnixNanos(self.now));
            }
            steering => {
                // A sweep that waits for room is finished first.
                while self.poll(64) > 0 {}
                self.steer(steering);
            }
        }
    }

    fn steer(&mut self, step: &Step) {
        match *step {
            Step::Phase(instrument, phase) => {
                let done = self.real.set_phase(instrument, phase).is_ok();
                assert_eq!(done, self.plain.set_phase(instrument, phase));
            }
            Step::Uncross(instrument) => {
                let price = self.plain.auction_price(instrument);
                let expected = price.map(|at| self.plain.auction_volume(instrument, at));
                if self.real.phase(instrument) == Some(Phase::Continuous) {
                    assert!(self.real.uncross(instrument, None).is_err());
                    return;
                }
                let auction = self.real.uncross(instrument, None).unwrap();
                assert_eq!(auction.map(|auction| auction.price.raw()), price);
                let scale = 1_000_000_000;
                let amounts = auction
                    .map(|auction| (auction.traded.raw() / scale, auction.surplus.raw() / scale));
                assert_eq!(amounts, expected);
                assert!(self.plain.uncross(instrument, price.unwrap_or(TICK)));
            }
            Step::UncrossAt(instrument, price) => {
                let is_open = self.real.phase(instrument) == Some(Phase::Continuous);
                let good = price.is_positive() && price.raw() % TICK == 0;
                let done = self.real.uncross(instrument, Some(price)).is_ok();
                if is_open || !good {
                    assert!(!done);
                } else {
                    assert_eq!(done, self.plain.uncross(instrument, price.raw()));
                }
            }
            Step::EndDay(instrument) => {
                self.real.end_day(instrument).unwrap();
                self.plain.end_day(instrument);
            }
            _ => unreachable!("only steering steps"),
        }
    }

    /// Everything that both can be asked.
    fn compare(&mut self) {
        while self.poll(64) > 0 {}
        assert_eq!(self.seen, self.plain.events);
        self.plain.events.clear();
        assert_eq!(self.real.open_orders(), self.plain.orders.len());
        for (spec, phase, _) in self.plain.instruments.clone() {
            assert_eq!(self.real.phase(spec.id), Some(phase));
            for side in [Side::Buy, Side::Sell] {
                let real: Vec<_> = self
                    .real
                    .resting(spec.id, side)
                    .map(|order| (order.id, order.price, order.filled, order.leaves))
                    .collect();
                let plain: Vec<_> = self
                    .plain
                    .resting(spec.id, side)
                    .iter()
                    .map(|order| {
                        let leaves = Quantity::from_raw(order.leaves + order.excess);
                        let filled = Quantity::from_raw(order.filled);
                        (order.id, Price::from_raw(order.price), filled, leaves)
                    })
                    .collect();
                assert_eq!(real, plain);
                for (id, ..) in real {
                    assert_eq!(self.real.order(id).map(|order| order.id), Some(id));
                }
            }
            if phase == Phase::Continuous {
                let bid = self.real.best(spec.id, Side::Buy);
                let ask = self.real.best(spec.id, Side::Sell);
                assert!(
                    bid.zip(ask).is_none_or(|(bid, ask)| bid < ask),
                    "crossed while open: {bid:?} {ask:?}"
                );
            }
        }
    }

    /// What was compared goes into the ledger, whose sums must hold.
    fn audit(&mut self) {
        for event in self.seen.drain(..) {
            self.ledger.note(event);
        }
        assert_eq!(self.ledger.open.len(), self.plain.orders.len());
        let mut fills = self.ledger.fills.clone();
        fills.sort_unstable();
        fills.dedup();
        assert_eq!(fills.len(), self.ledger.fills.len(), "fill ids are unique");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn o36_the_book_agrees_with_a_plain_one(
        steps in prop::collection::vec(step(), 1..160),
        starts_closed in any::<bool>(),
    ) {
        let phase = if starts_closed { Phase::Closed } else { Phase::Continuous };
        let mut pair = Pair::new(phase, 1_024);
        for step in &steps {
            pair.run(step);
            pair.compare();
            pair.audit();
        }
    }

    /// The smallest event queue: every sweep and auction is cut into pieces,
    /// and nothing of that shows in the events.
    #[test]
    fn o35_a_small_event_queue_changes_no_event(
        steps in prop::collection::vec(step(), 1..160),
        starts_closed in any::<bool>(),
    ) {
        let phase = if starts_closed { Phase::Closed } else { Phase::Continuous };
        let mut pair = Pair::new(phase, 8);
        for step in &steps {
            pair.run(step);
        }
        pair.compare();
    }
}
