//! What a shard tells: every report and mark is a publication, and who wants to
//! know is a component. Client reports come first, then counters, then whatever
//! the owner registers (strategies, feeds, alarms).
//!
//! Where the dispatcher is halted, its shard goes on without callbacks: clients
//! are still told everything, in order, and new orders are refused.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::held::Held;
use super::monitor::ShardMonitor;
use super::ports::{AddError, add};
use super::reports::{DROP_COPY_PORT, RECOVERED_PORT, ReportSender};
use crate::dispatch::runtime::LiveLoop;
use crate::dispatch::{
    CommandQueue, ComponentId, DispatchError, Dispatcher, Lifecycle, MARKS, MeteredReports,
    REPORTS, ReportFeed, ReportSink, ShardEvent,
};
use crate::limits::{
    DISPATCH_PASS, SHARD_CALLBACK_PASSES, SHARD_CALLBACKS_HIGH, SHARD_REPORTS_HELD,
};
use crate::time::Nanos;
use crate::types::{AccountId, Command, InstrumentId, Price, RejectCode, Report};

/// The rings to the I/O threads: the feed sends on them, the shard announces.
#[derive(Clone)]
struct Ports(Rc<RefCell<PortSet>>);

struct PortSet {
    senders: Vec<ReportSender>,
    /// Reports that wait for the journal; `None` where none do.
    held: Option<Held<Outgoing>>,
}

/// A report on its way out.
struct Outgoing {
    report: Report,
    /// A drop copy: every I/O thread gets it.
    to_all: bool,
}

impl PortSet {
    /// Sends a report, or keeps it for the journal.
    fn take(&mut self, report: &Report, to_all: bool) {
        match &mut self.held {
            Some(held) => held.push(Outgoing {
                report: *report,
                to_all,
            }),
            None => self.send(report, to_all),
        }
    }

    fn send(&mut self, report: &Report, to_all: bool) {
        if to_all || report.origin.port == RECOVERED_PORT {
            for sender in &mut self.senders {
                sender.send(*report);
            }
            return;
        }
        // A port that does not exist is a command that no I/O thread sent; there
        // is nobody to tell.
        let port = usize::from(report.origin.port);
        if let Some(sender) = self.senders.get_mut(port) {
            sender.send(*report);
        }
    }
}

impl ReportSink for Ports {
    fn report(&mut self, report: &Report) {
        self.0.borrow_mut().take(report, false);
    }
}

/// The drop copy: every report to every I/O thread, which knows who is to have it.
#[derive(Clone)]
struct Copies(Ports);

impl ReportSink for Copies {
    fn report(&mut self, report: &Report) {
        let mut copy = *report;
        copy.origin.port = DROP_COPY_PORT;
        self.0.0.borrow_mut().take(&copy, true);
    }
}

/// What a component asks of its shard's risk engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RiskRequest {
    /// Takes no orders of the account any more; a block that is there stays.
    Block {
        /// Whose.
        account: AccountId,
        /// What its orders are refused with.
        cause: RejectCode,
    },
    /// Takes the account's orders again.
    Unblock {
        /// Whose.
        account: AccountId,
    },
}

/// See the module.
pub(super) struct Callbacks {
    pub(super) dispatcher: Rc<Dispatcher<ShardEvent>>,
    pub(super) commands: Rc<CommandQueue<Command>>,
    pub(super) risk_requests: Rc<CommandQueue<RiskRequest>>,
    ports: Ports,
    feed: Option<ComponentId>,
    /// Where somebody is to have a drop copy.
    copies: Option<ComponentId>,
    live: LiveLoop,
    pub(super) monitor: Arc<ShardMonitor>,
    is_halted: bool,
}

impl Callbacks {
    pub(super) fn new(ports: Vec<ReportSender>) -> Self {
        let dispatcher = Rc::new(Dispatcher::new());
        let held = None;
        let senders = ports;
        let ports = Ports(Rc::new(RefCell::new(PortSet { senders, held })));
        let feed = ReportFeed::new("client reports", ports.clone());
        let feed = add(&dispatcher, Box::new(feed), &[REPORTS]).ok();
        let monitor = Arc::<ShardMonitor>::default();
        let meter = MeteredReports::new(Arc::clone(&monitor.meter));
        // Nobody but an operator misses counts: a shard without them goes on.
        let _ = add(&dispatcher, Box::new(meter), &[REPORTS]);
        let mut callbacks = Self {
            commands: Rc::new(CommandQueue::new(&dispatcher)),
            risk_requests: Rc::new(CommandQueue::new(&dispatcher)),
            dispatcher,
            ports,
            feed,
            copies: None,
            live: LiveLoop::new(),
            monitor,
            is_halted: false,
        };
        // An empty dispatcher has room for its first components.
        if callbacks.feed.is_none() {
            callbacks.halt();
        }
        callbacks
    }

    /// From now on every report also goes to every I/O thread.
    ///
    /// # Errors
    /// There is no room for another component.
    pub(super) fn copy_reports(&mut self) -> Result<(), AddError> {
        let feed = ReportFeed::new("drop copy", Copies(self.ports.clone()));
        self.copies = Some(add(&self.dispatcher, Box::new(feed), &[REPORTS])?);
        Ok(())
    }

    /// Tells of a change of an order.
    #[inline]
    pub(super) fn tell(&mut self, report: Report) {
        if self.is_halted {
            self.ports.report(&report);
            if self.copies.is_some() {
                Copies(self.ports.clone()).report(&report);
            }
        } else {
            self.dispatcher.publish(REPORTS, &ShardEvent::Order(report));
        }
    }

    /// Tells of a trade's price.
    #[inline]
    pub(super) fn mark(&self, instrument: InstrumentId, price: Price) {
        if !self.is_halted {
            let mark = ShardEvent::Mark { instrument, price };
            self.dispatcher.publish(MARKS, &mark);
        }
    }

    /// Whether callbacks have ended for good, or somebody's have whose end is
    /// everybody's: then no new order is taken.
    pub(super) fn refuses_orders(&self) -> bool {
        self.is_halted || self.monitor.peer_halted()
    }

    /// Whether so much waits that a pass is due before the next input.
    pub(super) fn is_behind(&self) -> bool {
        self.dispatcher.queued() >= SHARD_CALLBACKS_HIGH
    }

    /// Sees the time, which halts a dispatcher whose clock goes back.
    pub(super) fn see(&mut self, now: Nanos) {
        if !self.is_halted && self.live.see(&self.dispatcher, now).is_err() {
            self.halt();
        }
    }

    /// A bounded number of bounded passes; whether callbacks are left.
    pub(super) fn run(&mut self, now: Nanos) -> bool {
        if self.is_halted {
            return false;
        }
        for _ in 0..SHARD_CALLBACK_PASSES {
            match self.live.pass(&self.dispatcher, now) {
                Ok(true) => {}
                Ok(false) => break,
                // Something is still open here, which is ended by its owner.
                Err(DispatchError::Active) => break,
                Err(_) => {
                    self.halt();
                    return false;
                }
            }
        }
        if self.feed_is_down() {
            self.halt();
        }
        self.dispatcher.queued() > 0
    }

    /// Without its feed clients would hear nothing.
    fn feed_is_down(&self) -> bool {
        let runs = |feed| matches!(self.dispatcher.lifecycle(feed), Some(Lifecycle::Running));
        !self.feed.is_some_and(runs) || !self.copies.is_none_or(runs)
    }

    /// Callbacks are over. What was on its way to clients still reaches them.
    #[cold]
    fn halt(&mut self) {
        self.is_halted = true;
        self.monitor.halted(self.dispatcher.failure());
        let (feed, copies) = (self.feed, self.copies);
        let (mut ports, mut copied) = (self.ports.clone(), Copies(self.ports.clone()));
        let salvaged = self.dispatcher.salvage(|target, event| {
            let Some(report) = event.report() else { return };
            if Some(target) == feed {
                ports.report(report);
            } else if Some(target) == copies {
                copied.report(report);
            }
        });
        debug_assert!(salvaged.is_ok(), "no pass is under way: {salvaged:?}");
        self.commands.discard();
        self.risk_requests.discard();
    }

    /// Announces what was reported; whether the readers took what had waited.
    pub(super) fn flush(&self) -> bool {
        let mut ports = self.ports.0.borrow_mut();
        let moved = ports
            .senders
            .iter_mut()
            .fold(false, |moved, port| port.flush() | moved);
        while let Some(alarm) = self.dispatcher.take_alarm() {
            self.monitor.alarm(alarm);
        }
        moved
    }

    /// Whether a reader is so late that its reports wait.
    pub(super) fn reports_wait(&self) -> bool {
        let ports = self.ports.0.borrow();
        ports.senders.iter().any(ReportSender::is_behind)
    }

    /// From now on reports wait for [`mark_reports`](Self::mark_reports) and
    /// [`release_reports`](Self::release_reports).
    pub(super) fn hold_reports(&self) {
        self.ports.0.borrow_mut().held = Some(Held::with_capacity(SHARD_REPORTS_HELD));
    }

    /// What was told since the last mark may leave when record `after` is
    /// durable.
    pub(super) fn mark_reports(&self, after: u64) {
        if let Some(held) = &mut self.ports.0.borrow_mut().held {
            held.mark(after);
        }
    }

    /// Whether a report may leave.
    pub(super) fn reports_due(&self, durable: u64) -> bool {
        let ports = self.ports.0.borrow();
        ports.held.as_ref().is_some_and(|held| held.is_due(durable))
    }

    /// Sends what may leave; whether anything was.
    pub(super) fn release_reports(&self, durable: u64) -> bool {
        let ports = &mut *self.ports.0.borrow_mut();
        let mut any = false;
        while let Some(out) = ports.held.as_mut().and_then(|held| held.take_due(durable)) {
            ports.send(&out.report, out.to_all);
            any = true;
        }
        any
    }

    /// Whether reports wait for the journal.
    pub(super) fn holds_reports(&self) -> bool {
        let ports = self.ports.0.borrow();
        ports.held.as_ref().is_some_and(|held| !held.is_empty())
    }
}

const _: () = assert!(DISPATCH_PASS * SHARD_CALLBACK_PASSES >= SHARD_CALLBACKS_HIGH);
