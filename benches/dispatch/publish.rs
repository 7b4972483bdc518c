//! Ours of the comparison: a report to every subscriber, through a dispatcher.

use std::cell::Cell;
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

use pitlane::dispatch::{Component, Context, Dispatcher, Topic};
use pitlane::types::{
    AccountId, ClientOrderId, ClientReference, FillId, InstrumentId, Origin, Price, Quantity,
    Report, ReportKind, ShardId, Side,
};

const TOPIC: Topic = Topic(0);
pub(super) const PUBLICATIONS: u32 = 50_000;

pub(super) const REPORT: Report = Report {
    kind: ReportKind::Executed,
    side: Side::Buy,
    reject: None,
    shard: ShardId(0),
    origin: Origin {
        port: 0,
        credential: 1,
        session: 1,
    },
    account: AccountId(7),
    instrument: InstrumentId(3),
    reference: ClientReference(11),
    order_reference: ClientReference(11),
    client_order_id: ClientOrderId { high: 1, low: 2 },
    sequence: 5,
    fill_id: FillId(9),
    price: Price::from_raw(1_000_000_000),
    quantity: Quantity::from_raw(2_000_000_000),
    cumulative: Quantity::from_raw(2_000_000_000),
    leaves: Quantity::from_raw(0),
};

/// What every callback does, on either side.
pub(super) fn work(total: &Cell<u64>, report: &Report) {
    total.set(total.get().wrapping_add(black_box(report).sequence));
}

struct Counter {
    total: Rc<Cell<u64>>,
}

impl Component<Report> for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn on_event(&mut self, report: &Report, _: &Context<'_, Report>) {
        work(&self.total, report);
    }
}

pub(super) struct Ours {
    dispatcher: Dispatcher<Report>,
    pub(super) total: Rc<Cell<u64>>,
}

impl Ours {
    pub(super) fn new(subscribers: usize) -> Self {
        let (dispatcher, total) = (Dispatcher::new(), Rc::default());
        for _ in 0..subscribers {
            let counter = Counter {
                total: Rc::clone(&total),
            };
            let id = dispatcher.register(Box::new(counter)).expect("room");
            dispatcher.start(id).expect("registered");
            dispatcher.subscribe(TOPIC, id).expect("in range");
        }
        Self { dispatcher, total }
    }

    pub(super) fn run(&self, burst: u32) -> Duration {
        let start = Instant::now();
        for _ in 0..PUBLICATIONS / burst {
            for _ in 0..burst {
                self.dispatcher.publish(TOPIC, &REPORT);
            }
            while self.dispatcher.boundary(64).expect("nothing is wrong") {}
        }
        start.elapsed()
    }
}
