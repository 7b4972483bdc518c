//! A shard's callbacks in production: who is told, in which order, and what
//! stands when they end.

#[path = "support/counting_allocator.rs"]
mod counting_allocator;
#[path = "support/shard_cases.rs"]
mod shard_cases;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use counting_allocator::{CountingAllocator, counted};
use pitlane::dispatch::contingent::OrderPort;
use pitlane::dispatch::{
    CommandSender, Component, ComponentId, Context, Dispatcher, Fatal, MARKS, REPORTS, ShardEvent,
    Topic,
};
use pitlane::orders::RandomIdentity;
use pitlane::orders::venue::sim::SimVenue;
use pitlane::shard::{Admission, RiskRequest};
use pitlane::time::Nanos;
use pitlane::types::{
    AccountId, ClientReference, Command, PRICE_SCALE, Price, RejectCode, ReportKind, Side,
};
use shard_cases::{INSTRUMENT, NOW, cancel, kinds, limit, new_order, reports, shard, sim};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

type Shard = Admission<SimVenue, RandomIdentity>;

/// Runs a closure with each event.
struct Listener<F>(F);

impl<F: FnMut(&ShardEvent) + 'static> Component<ShardEvent> for Listener<F> {
    fn name(&self) -> &str {
        "listener"
    }

    fn on_event(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        (self.0)(event);
    }
}

fn listen(
    dispatcher: &Dispatcher<ShardEvent>,
    topic: Topic,
    on_event: impl FnMut(&ShardEvent) + 'static,
) -> ComponentId {
    let id = dispatcher.register(Box::new(Listener(on_event))).unwrap();
    dispatcher.subscribe(topic, id).unwrap();
    dispatcher.start(id).unwrap();
    id
}

fn trade(shard: &mut Shard, first: u64) {
    shard.command(&new_order(first, limit(1, Side::Sell, 100, 5)), NOW);
    shard.command(&new_order(first + 1, limit(2, Side::Buy, 100, 5)), NOW);
}

#[test]
fn r01_r86_every_report_and_mark_is_published_in_the_order_in_which_clients_hear_it() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    let heard = Rc::new(RefCell::new(Vec::new()));
    for topic in [REPORTS, MARKS] {
        let heard = Rc::clone(&heard);
        listen(shard.dispatcher(), topic, move |event| {
            heard.borrow_mut().push(*event);
        });
    }
    trade(&mut shard, 1);
    let told = reports(&mut shard, &mut receiver);
    let heard = heard.borrow();
    let in_order: Vec<_> = heard
        .iter()
        .filter_map(ShardEvent::report)
        .copied()
        .collect();
    assert_eq!(in_order, told);
    let marks: Vec<_> = heard
        .iter()
        .filter(|event| event.report().is_none())
        .collect();
    let price = Price::from_raw(100 * PRICE_SCALE);
    let mark = ShardEvent::Mark {
        instrument: INSTRUMENT,
        price,
    };
    assert_eq!(marks, [&mark, &mark], "one for each side's execution");
    let told = shard.told();
    assert_eq!(told.count(ReportKind::Accepted), 2);
    assert_eq!(told.count(ReportKind::Executed), 2);
}

/// Offers one higher what it has bought.
struct Offerer(OrderPort);

impl Component<ShardEvent> for Offerer {
    fn name(&self) -> &str {
        "offerer"
    }

    fn on_event(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        let fill = event
            .report()
            .filter(|report| report.kind == ReportKind::Executed && report.side == Side::Buy);
        if let Some(fill) = fill {
            self.0.submit(limit(fill.account.0, Side::Sell, 101, 5));
        }
    }
}

#[test]
fn r55_an_order_sent_from_a_fill_callback_is_admitted_in_that_turn() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    let ports = shard.ports();
    let orders = ports.orders(99, AccountId(2), ClientReference(500));
    ports.add(Box::new(Offerer(orders)), &[REPORTS]).unwrap();
    trade(&mut shard, 1);
    shard.turn(NOW, 16);
    assert_eq!(shard.open_orders(), 1, "the offer rests");
    let clients: Vec<_> = kinds(&reports(&mut shard, &mut receiver));
    assert!(
        clients.iter().all(|(_, reference)| *reference < 500),
        "{clients:?}"
    );
    assert_eq!(
        shard.told().count(ReportKind::Accepted),
        3,
        "but it was told of"
    );
}

/// Blocks an account at its third reject.
struct Guard {
    sender: CommandSender<RiskRequest>,
    rejects: Cell<u32>,
}

impl Component<ShardEvent> for Guard {
    fn name(&self) -> &str {
        "guard"
    }

    fn on_event(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        let reject = event
            .report()
            .filter(|report| report.kind == ReportKind::Rejected);
        if let Some(reject) = reject {
            self.rejects.set(self.rejects.get() + 1);
            if self.rejects.get() == 3 {
                let (account, cause) = (reject.account, RejectCode::ComplianceRestriction);
                self.sender.send(RiskRequest::Block { account, cause });
            }
        }
    }
}

#[test]
fn k31_a_component_blocks_an_account_after_too_many_rejects() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    let guard = Guard {
        sender: shard.ports().risk(),
        rejects: Cell::new(0),
    };
    shard.ports().add(Box::new(guard), &[REPORTS]).unwrap();
    for reference in 1..=3 {
        shard.command(&new_order(reference, limit(1, Side::Buy, 100, 0)), NOW);
    }
    shard.turn(NOW, 16);
    shard.command(&new_order(4, limit(1, Side::Buy, 100, 1)), NOW);
    shard.command(&new_order(5, limit(2, Side::Buy, 100, 1)), NOW);
    let seen = reports(&mut shard, &mut receiver);
    let (code, _) = seen[3].reject.unwrap();
    assert_eq!(code, RejectCode::ComplianceRestriction);
    assert_eq!(seen[4].kind, ReportKind::Accepted, "of another account");
}

#[test]
fn f24_a_component_that_panics_is_disabled_and_alarmed_and_the_order_kept() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    let calls = Rc::new(Cell::new(0));
    let count = Rc::clone(&calls);
    listen(shard.dispatcher(), REPORTS, move |_| {
        count.set(count.get() + 1);
        panic!("the author's fault");
    });
    let others = Rc::new(Cell::new(0));
    let count = Rc::clone(&others);
    listen(shard.dispatcher(), REPORTS, move |_| {
        count.set(count.get() + 1);
    });
    trade(&mut shard, 1);
    assert_eq!(reports(&mut shard, &mut receiver).len(), 4);
    assert_eq!((calls.get(), others.get()), (1, 4));
    let alarms = shard.monitor().take_alarms();
    assert_eq!(alarms.len(), 1);
    assert_eq!(
        (alarms[0].name.as_str(), alarms[0].message.as_str()),
        ("listener", "the author's fault")
    );
    assert!(!shard.monitor().is_halted(), "the rest goes on");
}

/// Accepted and working: an order that rests.
fn rests(shard: &mut Shard, reference: u64) {
    shard.command(&new_order(reference, limit(1, Side::Sell, 100, 5)), NOW);
}

#[test]
fn r25_a_halted_shard_refuses_orders_and_goes_on_with_everything_else() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    rests(&mut shard, 1);
    rests(&mut shard, 2);
    // These wait in the queue when it halts; clients hear of them all the same.
    shard.dispatcher().halt(Fatal::Overflow);
    shard.turn(NOW, 16);
    assert_eq!(shard.monitor().failure(), Some(Fatal::Overflow));
    shard.command(&new_order(3, limit(2, Side::Buy, 100, 5)), NOW);
    shard.command(&cancel(4, 1, 1), NOW);
    let seen = reports(&mut shard, &mut receiver);
    use ReportKind::{Accepted, Canceled, Rejected};
    let expected = [(Accepted, 1), (Accepted, 2), (Rejected, 3), (Canceled, 4)];
    assert_eq!(kinds(&seen), expected);
    assert_eq!(seen[2].reject.unwrap().0, RejectCode::SystemUnavailable);
    let sequences: Vec<_> = seen.iter().map(|report| report.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4], "nothing is missing");
    // A fill that happened is booked and told.
    shard.venue_mut().end_day(INSTRUMENT).unwrap();
    shard.turn(NOW, 16);
    assert_eq!(kinds(&reports(&mut shard, &mut receiver)), [(Canceled, 2)]);
}

#[test]
fn f29_a_clock_that_goes_back_stops_entry_with_its_reason() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    rests(&mut shard, 1);
    shard.turn(Nanos(100), 16);
    shard.turn(Nanos(99), 16);
    let reason = Fatal::ClockWentBack {
        last: Nanos(100),
        now: Nanos(99),
    };
    assert_eq!(shard.monitor().failure(), Some(reason));
    rests(&mut shard, 2);
    let seen = reports(&mut shard, &mut receiver);
    assert_eq!(seen[1].reject.unwrap().0, RejectCode::SystemUnavailable);
}

#[test]
fn one_shards_halt_is_anothers_only_where_they_are_bound() {
    let all = Arc::new(AtomicBool::new(false));
    let mut shards = [shard(sim(), 8), shard(sim(), 8), shard(sim(), 8)];
    for (shard, _) in &shards[..2] {
        shard.monitor().bind(&all);
    }
    shards[0].0.dispatcher().halt(Fatal::Overflow);
    for ((shard, receiver), expected) in shards.iter_mut().zip([
        ReportKind::Rejected,
        ReportKind::Rejected,
        ReportKind::Accepted,
    ]) {
        shard.turn(NOW, 16);
        rests(shard, 1);
        assert_eq!(reports(shard, receiver)[0].kind, expected);
    }
    assert!(!shards[1].0.monitor().is_halted(), "its callbacks go on");
}

#[test]
fn r46_no_allocation_for_an_order_and_its_callbacks_once_warm() {
    let (mut shard, mut receiver) = shard(sim(), 64);
    let heard = Rc::new(Cell::new(0u64));
    let count = Rc::clone(&heard);
    listen(shard.dispatcher(), REPORTS, move |_| {
        count.set(count.get() + 1);
    });
    let mut round = |shard: &mut Shard, first: u64| {
        for pair in 0..32 {
            trade(shard, first + 2 * pair);
        }
        shard.turn(NOW, 256);
        receiver.drain(usize::MAX, &mut |_| {});
    };
    // The last 65,536 fills are remembered: until there are as many, that grows.
    for warm in 0..1_100 {
        round(&mut shard, 1 + 64 * warm);
    }
    let before = heard.get();
    let ((), counts) = counted(|| round(&mut shard, 1_000_000));
    assert_eq!(
        heard.get() - before,
        128,
        "two accepts and two executions a pair"
    );
    assert_eq!(counts.allocations, 0);
}

#[test]
fn r31_a_burst_of_inputs_without_a_turn_never_meets_the_fuse() {
    let (mut shard, mut receiver) = shard(sim(), 8);
    listen(shard.dispatcher(), REPORTS, |_| {});
    let mut heard = 0;
    for burst in 0..40 {
        for input in 0..1_000 {
            // Refused: one report each.
            let reference = 1 + burst * 1_000 + input;
            let command: Command = new_order(reference, limit(1, Side::Buy, 100, 0));
            shard.command(&command, NOW);
        }
        shard.flush();
        receiver.drain(usize::MAX, &mut |_| heard += 1);
    }
    heard += reports(&mut shard, &mut receiver).len();
    assert_eq!(heard, 40_000);
    assert_eq!(shard.monitor().failure(), None);
}
