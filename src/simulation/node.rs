//! The node that the simulated loop drives (rules R74 to R77).

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::arrivals::{Arrival, Arrivals};
use super::contingents::Contingents;
use super::flow;
use super::trace::Trace;
use super::world::{CLIENT, World};
use crate::dispatch::contingent::{BracketOrder, BracketTerms, OcoPair, OrderPort};
use crate::dispatch::runtime::SimNode;
use crate::dispatch::{ComponentId, Dispatcher, ShardEvent};
use crate::lanes::{Lane, NoopObserver, Progress};
use crate::limits::BATCH_MAX;
use crate::orders::RandomIdentity;
use crate::orders::venue::Venue as _;
use crate::orders::venue::distant::DistantVenue;
use crate::shard::{Admission, ReportReceiver};
use crate::steps::{EventLoop, Throttle};
use crate::time::{Clock as _, Nanos, SimClock};
use crate::types::{AccountId, ClientReference, Order, Quantity};

/// A shard over the distant venue.
pub(super) type Shard = Admission<DistantVenue, RandomIdentity>;

/// Work of the event loop between two looks at what it caused.
const STEPS_BUDGET: usize = 4_096;

/// The contingent orders' credential.
const CONTINGENT: u16 = 2;

/// See the module.
pub(super) struct Node<'a> {
    pub(super) lane: Lane<Shard, NoopObserver, SimClock>,
    pub(super) clock: SimClock,
    pub(super) event_loop: EventLoop,
    pub(super) throttle: Throttle,
    pub(super) world: Rc<World>,
    pub(super) receiver: ReportReceiver,
    pub(super) contingents: ComponentId,
    pub(super) arrivals: Arrivals,
    pub(super) trace: Rc<RefCell<Trace>>,
    pub(super) commands: u64,
    pub(super) steps_due: Option<Nanos>,
    pub(super) next_contingent: u64,
    pub(super) watch: &'a mut dyn FnMut(Duration),
}

impl Node<'_> {
    fn drain_reports(&mut self) -> usize {
        let (world, event_loop) = (&self.world, &self.event_loop);
        self.receiver.drain(usize::MAX, &mut |report| {
            if report.origin.credential == CLIENT.credential {
                world.heard(report, event_loop);
            }
        })
    }

    /// A numbering of its own for each contingent order: room for all its messages.
    fn port(&mut self, account: AccountId) -> Option<OrderPort> {
        let first = ClientReference(self.next_contingent << 16);
        self.next_contingent += 1;
        let shard = self.lane.driver()?;
        Some(shard.ports().orders(CONTINGENT, account, first))
    }

    fn begin_contingent(
        &mut self,
        dispatcher: &Dispatcher<ShardEvent>,
        account: AccountId,
        begin: impl FnOnce(&mut Contingents, OrderPort),
    ) {
        if let Some(port) = self.port(account) {
            // Nobody else borrows it between two boundaries.
            let _ = dispatcher.try_with(self.contingents, |all| begin(all, port));
        }
    }

    fn oco(&mut self, dispatcher: &Dispatcher<ShardEvent>, [first, second]: [Order; 2]) {
        let quantity = first.quantity.unwrap_or(Quantity::ZERO);
        self.begin_contingent(dispatcher, first.account, |all, port| {
            all.begin_oco(OcoPair::new(port, quantity, first, second));
        });
    }

    fn bracket(&mut self, dispatcher: &Dispatcher<ShardEvent>, terms: BracketTerms) {
        self.begin_contingent(dispatcher, terms.entry.account, |all, port| {
            all.begin_bracket(BracketOrder::new(port, terms));
        });
    }
}

impl SimNode<ShardEvent> for Node<'_> {
    fn start(&mut self, _: &Dispatcher<ShardEvent>) -> Result<(), String> {
        Ok(())
    }

    fn data_commands(&mut self, _: &Dispatcher<ShardEvent>) -> usize {
        let progress = self.event_loop.turn(STEPS_BUDGET);
        self.steps_due = progress.next_due;
        progress.work
    }

    fn trading_commands(&mut self, _: &Dispatcher<ShardEvent>) -> usize {
        let (world, trace, now) = (&self.world, &self.trace, self.clock.now());
        let mut sent = 0;
        let stopped = self.lane.commands(|| {
            let command = world.next_command()?;
            trace.borrow_mut().note(now, format_args!("{command:?}"));
            sent += 1;
            Some(command)
        });
        debug_assert!(stopped.is_ok(), "nobody stops this lane");
        self.commands += u64::try_from(sent).unwrap_or(u64::MAX);
        let worked = self.lane.turn(BATCH_MAX) == Progress::Worked;
        sent + self.drain_reports() + usize::from(worked)
    }

    fn next_timer(&mut self) -> Option<Nanos> {
        let shard = self.lane.driver()?;
        // The wall stood at zero when monotonic time did.
        let venue = shard.venue_mut().next_due().map(|due| Nanos(due.0));
        self.steps_due.into_iter().chain(venue).min()
    }

    fn next_input(&mut self) -> Option<Nanos> {
        self.arrivals.next()
    }

    fn fire_timer(&mut self, _: &Dispatcher<ShardEvent>) {
        // Both wheels fire what is due when they are turned: the steps' in the
        // settlement that follows, the venue's when time was advanced.
    }

    fn input(&mut self, dispatcher: &Dispatcher<ShardEvent>) {
        let arrival = self.arrivals.take(&mut self.world.dice.borrow_mut());
        match arrival {
            Arrival::Order(intent) => {
                let begun = flow::begin(&self.world, &self.event_loop, &self.throttle, intent);
                if begun.is_err() {
                    self.world.tally.borrow_mut().no_room += 1;
                }
            }
            Arrival::Oco { orders } => self.oco(dispatcher, orders),
            Arrival::Bracket {
                entry,
                target,
                stop,
            } => self.bracket(
                dispatcher,
                BracketTerms {
                    entry,
                    target,
                    stop,
                },
            ),
            Arrival::Close => self.world.cancel_all(),
        }
        (self.watch)(Duration::from_nanos(self.clock.now().0));
    }

    fn advance(&mut self, to: Nanos) {
        self.clock
            .advance(Duration::from_nanos(to.since(self.clock.now())));
        let wall = self.clock.wall();
        if let Some(shard) = self.lane.driver() {
            shard.venue_mut().advance_to(wall);
        }
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn stop(&mut self, _: &Dispatcher<ShardEvent>) {}

    fn discard(&mut self) {
        self.world.discard();
    }
}
