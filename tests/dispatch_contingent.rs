//! Contingent orders against a venue that fills, refuses and answers late: exact
//! under partial fills, whatever the order in which things arrive.

#[path = "dispatch/answering_venue.rs"]
mod answering_venue;

use std::rc::Rc;

use answering_venue::{AnsweringVenue, Working};
use pitlane::dispatch::contingent::{
    Bracket, BracketOrder, BracketTerms, LegState, Oco, OcoPair, OrderPort,
};
use pitlane::dispatch::{CommandQueue, ComponentId, Dispatcher, MARKS, REPORTS, ShardEvent};
use pitlane::types::{
    AccountId, ClientReference, Command, InstrumentId, Order, OrderType, Origin, Price, Quantity,
    Side, TimeInForce,
};
use proptest::prelude::*;

const INSTRUMENT: InstrumentId = InstrumentId(3);

fn limit(side: Side, price: i64, quantity: i64) -> Order {
    Order {
        account: AccountId(7),
        instrument: INSTRUMENT,
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(Quantity::from_raw(quantity)),
        volume: None,
        price: Some(Price::from_raw(price)),
    }
}

/// A dispatcher, a strategy in it, and the venue that it trades at.
struct Desk {
    d: Dispatcher<ShardEvent>,
    commands: CommandQueue<Command>,
    venue: AnsweringVenue,
    id: Option<ComponentId>,
}

impl Desk {
    fn new() -> Self {
        let d = Dispatcher::new();
        let commands = CommandQueue::new(&d);
        Self {
            d,
            commands,
            venue: AnsweringVenue::default(),
            id: None,
        }
    }

    fn port(&self) -> OrderPort {
        let origin = Origin {
            port: 0,
            credential: 5,
            session: 1,
        };
        OrderPort::new(
            self.commands.sender(),
            origin,
            AccountId(7),
            ClientReference(100),
        )
    }

    fn start(&mut self, component: impl pitlane::dispatch::Component<ShardEvent>) {
        let id = self.d.register(Box::new(component)).expect("room");
        self.d.subscribe(REPORTS, id).expect("in range");
        self.d.subscribe(MARKS, id).expect("in range");
        self.d.start(id).expect("registered");
        self.id = Some(id);
    }

    fn oco(quantity: i64) -> Self {
        let mut desk = Self::new();
        let (first, second) = (limit(Side::Buy, 90, 0), limit(Side::Buy, 110, 0));
        let pair = OcoPair::new(desk.port(), Quantity::from_raw(quantity), first, second);
        desk.start(Oco::new(pair));
        desk
    }

    fn bracket(quantity: i64) -> Self {
        let mut desk = Self::new();
        let entry = limit(Side::Buy, 100, quantity);
        let terms = BracketTerms {
            entry,
            target: Price::from_raw(120),
            stop: Price::from_raw(80),
        };
        let order = BracketOrder::new(desk.port(), terms);
        desk.start(Bracket::new(order));
        desk
    }

    fn pair<R>(&self, look: impl FnOnce(&OcoPair) -> R) -> R {
        self.d
            .with(self.id.expect("started"), |oco: &mut Oco| look(oco.pair()))
    }

    fn order<R>(&self, look: impl FnOnce(&BracketOrder) -> R) -> R {
        self.d
            .with(self.id.expect("started"), |bracket: &mut Bracket| {
                look(bracket.order())
            })
    }

    /// Commands go to the venue, which answers them; its answers wait.
    fn deliver_commands(&mut self) -> usize {
        let venue = &mut self.venue;
        self.commands.drain(|command, _| venue.command(&command))
    }

    /// The oldest answer that waits is published and delivered.
    fn deliver_report(&mut self) -> bool {
        let Some(report) = self.venue.reports.pop_front() else {
            return false;
        };
        self.d.publish(REPORTS, &ShardEvent::Order(report));
        while self.d.boundary(64).expect("nothing is wrong") {}
        true
    }

    fn settle(&mut self) {
        for _ in 0..10_000 {
            let ran = self.deliver_commands();
            if !self.deliver_report() && ran == 0 {
                return;
            }
        }
        panic!("it never comes to rest");
    }

    fn mark(&mut self, price: i64) {
        let event = ShardEvent::Mark {
            instrument: INSTRUMENT,
            price: Price::from_raw(price),
        };
        self.d.publish(MARKS, &event);
        while self.d.boundary(64).expect("nothing is wrong") {}
    }

    /// The orders that work, as (reference, total, filled).
    fn working(&self) -> Vec<(u64, i64, i64)> {
        let works = |order: &&Working| order.is_live;
        self.venue
            .orders
            .iter()
            .filter(works)
            .map(|o| (o.reference.0, o.total, o.filled))
            .collect()
    }
}

#[test]
fn a_partial_fill_reduces_the_other_leg_by_exactly_that() {
    let mut desk = Desk::oco(10);
    desk.settle();
    assert_eq!(desk.working(), [(100, 10, 0), (101, 10, 0)]);
    desk.venue.fill(0, 3);
    desk.settle();
    assert_eq!(desk.working(), [(100, 10, 3), (101, 7, 0)]);
    desk.venue.fill(1, 2);
    desk.settle();
    assert_eq!(desk.working(), [(100, 8, 3), (101, 7, 2)]);
    desk.venue.fill(0, 5);
    desk.settle();
    assert_eq!(desk.working(), [], "the whole quantity has traded");
    assert_eq!(desk.pair(OcoPair::traded).map(Quantity::raw), [8, 2]);
    assert_eq!(desk.pair(OcoPair::excess).raw(), 0);
    assert!(desk.pair(OcoPair::is_over));
}

#[test]
fn a_leg_has_one_change_under_way() {
    let mut desk = Desk::oco(10);
    desk.settle();
    for _ in 0..3 {
        desk.venue.fill(0, 1);
        assert!(desk.deliver_report());
    }
    assert_eq!(desk.commands.len(), 1, "the answer to the first is awaited");
    desk.settle();
    assert_eq!(desk.working(), [(100, 10, 3), (101, 7, 0)]);
}

#[test]
fn a_leg_that_is_refused_or_cancelled_takes_the_other_with_it() {
    let mut desk = Desk::oco(10);
    desk.venue.refuses_new = Some(101);
    desk.settle();
    assert_eq!(desk.working(), []);
    assert_eq!(desk.pair(OcoPair::states), [LegState::Over; 2]);

    let mut desk = Desk::oco(10);
    desk.settle();
    desk.venue.fill(0, 4);
    desk.venue.cancel_unasked(0);
    desk.settle();
    assert_eq!(desk.working(), []);
    assert_eq!(desk.pair(OcoPair::traded).map(Quantity::raw), [4, 0]);
}

#[test]
fn fills_that_cross_are_booked_and_told() {
    let mut desk = Desk::oco(10);
    desk.settle();
    desk.venue.fill(0, 10);
    desk.venue.fill(1, 6); // Before the venue has heard of the other.
    desk.settle();
    assert_eq!(desk.pair(OcoPair::excess).raw(), 6);
    assert_eq!(desk.working(), []);
}

#[test]
fn r15_r16_contingent_orders_are_maintenance_and_go_on_while_stopped() {
    let mut desk = Desk::oco(10);
    desk.settle();
    desk.d.stop(desk.id.expect("started")).expect("registered");
    desk.venue.fill(0, 3);
    desk.settle();
    assert_eq!(desk.working(), [(100, 10, 3), (101, 7, 0)]);
}

#[test]
fn a_bracket_protects_what_the_entry_traded_and_no_more() {
    let mut desk = Desk::bracket(10);
    desk.settle();
    assert_eq!(desk.working(), [(100, 10, 0)], "nothing to protect yet");
    desk.venue.fill(0, 4);
    desk.settle();
    assert_eq!(desk.working(), [(100, 10, 4), (101, 4, 0)]);
    desk.venue.fill(0, 3);
    desk.settle();
    assert_eq!(desk.working(), [(100, 10, 7), (101, 7, 0)]);
    desk.venue.fill(1, 7);
    desk.settle();
    assert_eq!(desk.working(), [(100, 10, 7)]);
    desk.venue.fill(0, 3);
    desk.settle();
    let target = desk.working();
    assert_eq!(
        (target.len(), target[0].1),
        (1, 3),
        "a new target for what came later"
    );
    desk.venue.fill(2, 3);
    desk.settle();
    assert!(desk.order(BracketOrder::is_over));
}

#[test]
fn a_stop_cancels_first_and_then_sells_exactly_what_is_open() {
    let mut desk = Desk::bracket(10);
    desk.settle();
    desk.venue.fill(0, 6);
    desk.settle();
    desk.venue.fill(1, 1);
    desk.mark(81);
    assert!(!desk.order(BracketOrder::is_stopped));
    desk.mark(80);
    // The cancels are on their way while both orders trade once more.
    desk.venue.fill(0, 2);
    desk.venue.fill(1, 2);
    desk.settle();
    assert_eq!(desk.order(BracketOrder::open).raw(), 5, "8 bought, 3 sold");
    let exit = desk.working();
    assert_eq!((exit.len(), exit[0].1), (1, 5));
    let at = desk.venue.orders.len() - 1;
    desk.venue.fill(at, 2);
    desk.venue.cancel_unasked(at); // No more bids.
    desk.settle();
    assert_eq!(desk.working(), [], "not again at once");
    desk.mark(79);
    desk.settle();
    assert_eq!(
        desk.working().iter().map(|o| o.1).collect::<Vec<_>>(),
        [3],
        "but at a mark"
    );
    desk.venue.fill(at + 1, 3);
    desk.settle();
    assert!(desk.order(BracketOrder::is_over));
}

#[test]
fn exits_at_the_market_have_a_bound_and_what_is_open_is_told() {
    let mut desk = Desk::bracket(10);
    desk.settle();
    desk.venue.fill(0, 10);
    desk.settle();
    for _ in 0..40 {
        desk.mark(80);
        desk.settle();
        let last = desk.venue.orders.len() - 1;
        desk.venue.cancel_unasked(last);
        desk.settle();
    }
    assert_eq!(desk.venue.orders.len(), 2 + 16);
    assert!(desk.order(BracketOrder::has_given_up));
    assert_eq!(desk.order(BracketOrder::open).raw(), 10);
}

/// One step of a random market.
#[derive(Clone, Debug)]
enum Step {
    Fill { order: usize, quantity: i64 },
    CancelUnasked { order: usize },
    RefuseNextChange,
    Commands,
    Report,
    Mark { price: i64 },
}

fn steps(unasked: u32) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0_usize..6, 1_i64..6).prop_map(|(order, quantity)| Step::Fill { order, quantity }),
        unasked => (0_usize..6).prop_map(|order| Step::CancelUnasked { order }),
        1 => Just(Step::RefuseNextChange),
        6 => Just(Step::Commands),
        8 => Just(Step::Report),
        1 => (78_i64..90).prop_map(|price| Step::Mark { price }),
    ];
    prop::collection::vec(step, 1..80)
}

impl Desk {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Fill { order, quantity } => self.venue.fill(order, quantity),
            Step::CancelUnasked { order } => self.venue.cancel_unasked(order),
            Step::RefuseNextChange => self.venue.refuses_change = true,
            Step::Commands => drop(self.deliver_commands()),
            Step::Report => drop(self.deliver_report()),
            Step::Mark { price } => self.mark(price),
        }
    }

    /// Everything arrives, and then something nobody minds, so that what was refused
    /// once is tried again.
    fn come_to_rest(&mut self) {
        self.venue.refuses_change = false;
        self.settle();
        for at in 0..self.venue.orders.len() {
            self.venue.repeat_last_report(at);
            self.settle();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_500, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn an_oco_pair_comes_to_rest_where_a_plain_calculation_says(
        steps in steps(1), quantity in 1_i64..20,
    ) {
        let mut desk = Desk::oco(quantity);
        for step in &steps {
            desk.step(step);
        }
        desk.come_to_rest();
        let orders = &desk.venue.orders;
        let filled = [orders[0].filled, orders[1].filled];
        prop_assert_eq!(desk.pair(OcoPair::traded).map(Quantity::raw), filled);
        let sum = filled[0] + filled[1];
        prop_assert_eq!(desk.pair(OcoPair::excess).raw(), (sum - quantity).max(0));
        if sum >= quantity || orders.iter().any(|order| !order.is_live) {
            prop_assert_eq!(desk.working(), []);
        } else {
            // Each leg is open for exactly what neither has traded.
            for (leg, other) in [(0, 1), (1, 0)] {
                prop_assert_eq!(orders[leg].total, quantity - filled[other]);
            }
        }
    }

    #[test]
    fn a_bracket_never_sells_more_than_it_bought_and_protects_all_of_it(
        steps in steps(0), quantity in 1_i64..20,
    ) {
        let mut desk = Desk::bracket(quantity);
        let sound = |desk: &Desk| {
            let (bought, sold) = desk.venue.traded();
            let could_sell: i64 = desk.venue.could_still_sell();
            (sold + could_sell <= bought, bought, sold)
        };
        for step in &steps {
            desk.step(step);
            let (is_sound, bought, sold) = sound(&desk);
            prop_assert!(is_sound, "{bought} bought, {sold} sold, and more could be: {step:?}");
        }
        desk.come_to_rest();
        let (_, bought, sold) = sound(&desk);
        let open = bought - sold;
        prop_assert_eq!(desk.order(BracketOrder::open).raw(), open);
        // What is open works in exactly one order: the target, or the exit.
        let sells = desk.venue.could_still_sell();
        prop_assert_eq!(sells, open);
        if desk.order(BracketOrder::is_stopped) {
            prop_assert!(!desk.venue.orders[0].is_live, "nothing more is bought");
            let last = desk.venue.orders.iter().rfind(|order| order.is_live);
            prop_assert!(last.is_none_or(|order| order.is_market), "at the market");
        }
    }
}

#[test]
fn the_feed_is_a_component_like_any_other() {
    use pitlane::dispatch::{ReportCounter, ReportFeed};
    use pitlane::types::{Report, ReportKind};
    use std::cell::RefCell;
    let mut desk = Desk::oco(10);
    let copy: Rc<RefCell<Vec<(u64, ReportKind)>>> = Rc::default();
    let there = Rc::clone(&copy);
    let sink = move |report: &Report| {
        there
            .borrow_mut()
            .push((report.order_reference.0, report.kind));
    };
    let feed = desk
        .d
        .register(Box::new(ReportFeed::new("drop copy", sink)))
        .expect("room");
    let counter = desk
        .d
        .register(Box::new(ReportCounter::default()))
        .expect("room");
    for id in [feed, counter] {
        desk.d.subscribe(REPORTS, id).expect("in range");
    }
    // Neither was started: what happened is told all the same.
    desk.settle();
    desk.venue.fill(0, 10);
    desk.settle();
    use ReportKind::{Accepted, Canceled, Executed};
    let expected = [
        (100, Accepted),
        (101, Accepted),
        (100, Executed),
        (101, Canceled),
    ];
    assert_eq!(*copy.borrow(), expected);
    desk.d.with(counter, |counter: &mut ReportCounter| {
        assert_eq!(
            [Accepted, Executed, Canceled].map(|kind| counter.count(kind)),
            [2, 1, 1]
        );
    });
}
