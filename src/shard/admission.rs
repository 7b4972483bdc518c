//! Commands in: risk decides, an identity is minted, the venue is asked.
//!
//! Everything here is owned by one shard and called by its turn alone. Nothing
//! waits: what the venue answers comes back as events (see `settlement`).

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::authority::AuthorityDesk;
use super::callbacks::{Callbacks, RiskRequest};
use super::journaling::{ShardJournal, is_written};
use super::monitor::ShardMonitor;
use super::outlet::Outlet;
use super::ports::{AddError, ComponentPorts};
use super::reconciliation::Reconciliation;
use super::reports::ReportSender;
use crate::dispatch::{Dispatcher, ReportCounter, ShardEvent};
use crate::limits::VENUE_EVENTS_MAX;
use crate::orders::venue::{Venue, VenueError, VenueOrder};
use crate::orders::{
    IdentitySource, OpenError, OpenOrder, OrderKey, OrderTable, PendingCancel, PendingReplace,
    RealizedPnl,
};
use crate::risk::{Rejects, ReservationToken, RiskEngine};
use crate::time::Nanos;
use crate::types::{
    AccountId, ClientOrderId, ClientReference, Command, FillId, Order, Origin, Price, Quantity,
    RejectCode, RejectScope, Report, ReportKind, ShardId, Side,
};

/// What one shard owns: its risk engine, its open orders, its venue, and who is
/// told of what it does.
pub struct Admission<V: Venue, I: IdentitySource> {
    pub(super) shard: ShardId,
    pub(super) risk: RiskEngine,
    pub(super) orders: OrderTable,
    /// The way to the venue.
    pub(super) outlet: Outlet<V>,
    pub(super) identities: I,
    pub(super) callbacks: Callbacks,
    /// Reports so far, by credential.
    pub(super) sequences: Vec<u64>,
    pub(super) counts: Counts,
    /// What trades have realized, for the P&L kill switch.
    pub(super) realized: RealizedPnl,
    /// Orders that risk wants cancelled; they wait while the venue is busy. At
    /// most what is open, each as often as it was asked for.
    pub(super) wanted: VecDeque<ReservationToken>,
    /// The firm-wide halt that this shard has followed.
    pub(super) halted: Option<RejectCode>,
    /// `None`: nothing survives a restart.
    pub(super) journal: Option<Box<ShardJournal>>,
    /// What a restart left to be asked for.
    pub(super) reconciliation: Reconciliation,
    /// `None`: nobody asks this shard for decisions.
    pub(super) authority: Option<Box<AuthorityDesk>>,
}

/// What a shard did since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commands taken.
    pub commands: u64,
    /// New orders that risk took.
    pub accepted: u64,
    /// Commands refused, by risk or for what they named.
    pub rejected: u64,
    /// Executions booked.
    pub executed: u64,
    /// Executions that were booked before and told again.
    pub repeated_fills: u64,
    /// Venue events for an order that this shard does not have.
    pub stray_events: u64,
    /// Executions and ends that a person should look at.
    pub alarms: u64,
}

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// A shard with no open orders; `orders_max` is the most it will have.
    #[must_use]
    pub fn new(
        shard: ShardId,
        risk: RiskEngine,
        venue: V,
        mut identities: I,
        orders_max: usize,
        ports: Vec<ReportSender>,
    ) -> Self {
        let seed = identities.mint().low;
        Self {
            shard,
            risk,
            orders: OrderTable::new(orders_max, seed),
            outlet: Outlet::direct(venue),
            identities,
            callbacks: Callbacks::new(ports),
            sequences: vec![0; usize::from(u16::MAX) + 1],
            counts: Counts::default(),
            realized: RealizedPnl::default(),
            wanted: VecDeque::new(),
            halted: None,
            journal: None,
            reconciliation: Reconciliation::default(),
            authority: None,
        }
    }

    /// Runs one command to where the venue has it, or it is refused.
    pub fn command(&mut self, command: &Command, now: Nanos) {
        self.split_group();
        if self.callbacks.is_behind() {
            self.callbacks.run(now);
        }
        self.counts.commands += 1;
        match *command {
            Command::NewOrder {
                origin,
                reference,
                ref order,
            } => {
                self.new_order(origin, reference, order, now);
            }
            Command::Replace {
                origin,
                reference,
                account,
                target,
                price,
                quantity,
            } => {
                let key = OrderKey {
                    credential: origin.credential,
                    account,
                    reference: target,
                };
                if let Err(code) = self.replace(origin, reference, &key, price, quantity, now) {
                    self.refuse_change(origin, reference, &key, code);
                }
            }
            Command::Cancel {
                origin,
                reference,
                account,
                target,
            } => {
                let key = OrderKey {
                    credential: origin.credential,
                    account,
                    reference: target,
                };
                if let Err(code) = self.cancel(origin, reference, &key, now) {
                    self.refuse_change(origin, reference, &key, code);
                }
            }
        }
        // A venue in this process has answered already: its answer goes out
        // with the command's, and the next command finds the order settled.
        self.settle(VENUE_EVENTS_MAX, now);
    }

    /// Refuses a command that a stop keeps from running: its client is told.
    pub fn refuse_unrun(&mut self, command: &Command) {
        let stopping = order_level(RejectCode::SystemUnavailable);
        match *command {
            Command::NewOrder {
                origin,
                reference,
                ref order,
            } => {
                self.refuse_order(origin, reference, order, stopping);
            }
            Command::Replace {
                origin,
                reference,
                account,
                target,
                ..
            }
            | Command::Cancel {
                origin,
                reference,
                account,
                target,
            } => {
                let key = OrderKey {
                    credential: origin.credential,
                    account,
                    reference: target,
                };
                self.refuse_change(origin, reference, &key, stopping);
            }
        }
    }

    /// Announces what was reported since the last call; whether the readers
    /// took something that had waited.
    pub fn flush(&mut self) -> bool {
        self.callbacks.flush()
    }

    /// Everything that is no command: firm-wide halts, cancels that risk wants,
    /// at most `budget` venue events, callbacks and what they send, the journal's
    /// group, and the reports' announcement. Whether there was anything to do.
    pub fn turn(&mut self, now: Nanos, budget: usize) -> bool {
        self.callbacks.see(now);
        let released = self.release();
        let mut worked = false;
        // What finds no room in the journal waits at the venue.
        let has_room = self.has_journal_room();
        if has_room {
            self.follow_halt();
            self.withdraw_wanted();
            worked = self.ask_venue(now) | (self.settle(budget, now) > 0);
            worked |= self.call_back(now);
        }
        if self.authority.is_some() {
            worked |= self.serve_authority(has_room, now);
        }
        self.seal();
        self.flush() | worked | released
    }

    pub(super) fn has_journal_room(&self) -> bool {
        self.journal
            .as_ref()
            .is_none_or(|journal| journal.takes_work())
    }

    /// Runs callbacks and the commands that they send, as far as a turn goes;
    /// whether any are left.
    pub fn call_back(&mut self, now: Nanos) -> bool {
        let mut is_left = self.callbacks.run(now);
        let requests = Rc::clone(&self.callbacks.risk_requests);
        if !requests.is_empty() {
            requests.drain(|request, _| self.serve_risk_request(request));
        }
        let commands = Rc::clone(&self.callbacks.commands);
        if !commands.is_empty() {
            commands.drain(|command, _| self.command(&command, now));
            is_left = self.callbacks.run(now) || !commands.is_empty();
        }
        is_left
    }

    /// An account that this shard does not have is no account of its components.
    fn serve_risk_request(&mut self, request: RiskRequest) {
        let served = match request {
            RiskRequest::Block { account, cause } => self.risk.block_account(account, cause),
            RiskRequest::Unblock { account } => self.risk.unblock_account(account),
        };
        if served.is_err() {
            self.counts.alarms += 1;
        }
        match request {
            RiskRequest::Block { account, .. } | RiskRequest::Unblock { account } => {
                self.write_block(account);
            }
        }
    }

    /// Whether commands may be taken: not while reports wait for room, nor while
    /// too much waits for the journal.
    #[must_use]
    pub fn takes_commands(&self) -> bool {
        !self.callbacks.reports_wait() && self.outlet.has_room() && self.has_journal_room()
    }

    /// Who is told of this shard's events: register strategies, feeds and alarms
    /// here, and subscribe them to [`REPORTS`](crate::dispatch::REPORTS) or
    /// [`MARKS`](crate::dispatch::MARKS).
    #[must_use]
    pub fn dispatcher(&self) -> &Dispatcher<ShardEvent> {
        &self.callbacks.dispatcher
    }

    /// The same, for a loop that runs beside this shard on its thread.
    #[must_use]
    pub fn shared_dispatcher(&self) -> Rc<Dispatcher<ShardEvent>> {
        Rc::clone(&self.callbacks.dispatcher)
    }

    /// From now on every report is also sent to every I/O thread, for the drop copy
    /// sessions there, naming [`DROP_COPY_PORT`](super::DROP_COPY_PORT).
    ///
    /// # Errors
    /// There are as many components as a shard may have.
    pub fn copy_reports(&mut self) -> Result<(), AddError> {
        self.callbacks.copy_reports()
    }

    /// To add components to this shard: strategies, feeds and alarms.
    #[must_use]
    pub const fn ports(&self) -> ComponentPorts<'_> {
        ComponentPorts::new(self.shard, &self.callbacks)
    }

    /// What other threads may see of the callbacks.
    #[must_use]
    pub fn monitor(&self) -> Arc<ShardMonitor> {
        Arc::clone(&self.callbacks.monitor)
    }

    /// What was told so far, by kind of report.
    #[must_use]
    pub fn told(&self) -> ReportCounter {
        self.callbacks.monitor.told()
    }

    /// What it did so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// The venue, for its owner to steer.
    pub const fn venue_mut(&mut self) -> &mut V {
        &mut self.outlet.venue
    }

    /// The risk engine, to look at.
    #[must_use]
    pub const fn risk(&self) -> &RiskEngine {
        &self.risk
    }

    /// How many orders are open.
    #[must_use]
    pub const fn open_orders(&self) -> usize {
        self.orders.len()
    }

    fn new_order(&mut self, origin: Origin, reference: ClientReference, order: &Order, now: Nanos) {
        let key = OrderKey {
            credential: origin.credential,
            account: order.account,
            reference,
        };
        if let Some(code) = self.closed_to(order.account) {
            self.refuse_order(origin, reference, order, (code, RejectScope::Order));
            return;
        }
        if let Err(error) = self.orders.admits(&key) {
            let code = match error {
                OpenError::Full => RejectCode::CapacityExceeded,
                OpenError::ReferenceInUse => RejectCode::DuplicateClientOrderId,
            };
            self.refuse_order(origin, reference, order, (code, RejectScope::Order));
            return;
        }
        let reservation = match self.risk.execute_pre_trade(order, now) {
            Ok(reservation) => reservation,
            Err(rejects) => {
                if rejects.scope() == RejectScope::Account {
                    self.write_block(order.account);
                }
                self.refuse_order(origin, reference, order, first_of(&rejects));
                return;
            }
        };
        let id = self.identities.mint();
        let open = OpenOrder {
            id,
            reservation,
            origin,
            reference,
            order: *order,
            cumulative: Quantity::ZERO,
            replacing: None,
            cancelling: None,
        };
        let kept = self.risk.commit(reservation).is_ok() && self.orders.open(open).is_ok();
        debug_assert!(
            kept,
            "the reservation is this call's own, and the table admits the key"
        );
        self.counts.accepted += 1;
        self.touch_order(id);
        if self.journal.is_some() && self.risk.hold_moves(reservation) {
            self.touch_account(order.account, order.instrument);
        }
        self.report(&open, ReportKind::Accepted, reference, None);
        self.withdraw_asked();

        let sent = self.outlet.submit(&VenueOrder {
            id,
            instrument: order.instrument,
            side: order.side,
            order_type: order.order_type,
            time_in_force: order.time_in_force,
            quantity: order.quantity,
            volume: order.volume,
            price: order.price.filter(|_| order.order_type.is_priced()),
            stop: order.price.filter(|_| order.order_type.has_stop()),
            expires_at: None,
        });
        if let Err(error) = sent {
            self.end_rejected(id, code_of(error), now);
        }
    }

    /// Why no new order of an account is taken, whatever it is.
    #[inline]
    pub(super) fn closed_to(&self, account: AccountId) -> Option<RejectCode> {
        if self.callbacks.refuses_orders() || self.reconciliation.holds(account) {
            return Some(RejectCode::SystemUnavailable);
        }
        self.has_no_room_for_orders()
            .then_some(RejectCode::JournalFull)
    }

    fn replace(
        &mut self,
        origin: Origin,
        reference: ClientReference,
        key: &OrderKey,
        price: Price,
        quantity: Quantity,
        now: Nanos,
    ) -> Result<(), (RejectCode, RejectScope)> {
        let open = *self
            .orders
            .find(key)
            .ok_or(order_level(RejectCode::UnknownOrder))?;
        if let Some(code) = self.closed_to(key.account) {
            return Err(order_level(code));
        }
        if open.replacing.is_some() || open.cancelling.is_some() {
            return Err(order_level(RejectCode::OrderPending));
        }
        if open.order.volume.is_some() || open.order.price.is_none() {
            return Err(order_level(RejectCode::UnsupportedOrderAttribute));
        }
        let after = Order {
            price: Some(price),
            quantity: Some(quantity),
            ..open.order
        };
        let judged = self.risk.replace(open.reservation, &after, now);
        if let Err(rejects) = judged {
            if rejects.scope() == RejectScope::Account {
                self.write_block(key.account);
            }
            return Err(first_of(&rejects));
        }
        self.touch_order(open.id);
        self.touch_account(key.account, open.order.instrument);
        if let Err(error) = self.outlet.replace(open.id, price, quantity) {
            self.put_back(&open, &open.order, now);
            return Err(order_level(code_of(error)));
        }
        if let Some(order) = self.orders.get_mut(open.id) {
            Self::adopt(order, origin);
            order.replacing = Some(PendingReplace { reference, after });
        }
        Ok(())
    }

    fn cancel(
        &mut self,
        origin: Origin,
        reference: ClientReference,
        key: &OrderKey,
        now: Nanos,
    ) -> Result<(), (RejectCode, RejectScope)> {
        let open = *self
            .orders
            .find(key)
            .ok_or(order_level(RejectCode::UnknownOrder))?;
        match open.cancelling {
            Some(PendingCancel::Client(_)) => return Err(order_level(RejectCode::OrderPending)),
            // It is on its way out already: the client is told when it is gone.
            Some(PendingCancel::Risk) => {
                if let Some(order) = self.orders.get_mut(open.id) {
                    Self::adopt(order, origin);
                    order.cancelling = Some(PendingCancel::Client(reference));
                }
                self.touch_order(open.id);
                return Ok(());
            }
            None => {}
        }
        self.risk
            .allow_cancel(key.account, now)
            .map_err(|rejects| first_of(&rejects))?;
        self.outlet
            .cancel(open.id)
            .map_err(|error| order_level(code_of(error)))?;
        if let Some(order) = self.orders.get_mut(open.id) {
            Self::adopt(order, origin);
            order.cancelling = Some(PendingCancel::Client(reference));
        }
        self.touch_order(open.id);
        Ok(())
    }

    fn refuse_order(
        &mut self,
        origin: Origin,
        reference: ClientReference,
        order: &Order,
        reject: (RejectCode, RejectScope),
    ) {
        self.counts.rejected += 1;
        self.send(Report {
            kind: ReportKind::Rejected,
            side: order.side,
            reject: Some(reject),
            shard: self.shard,
            origin,
            account: order.account,
            instrument: order.instrument,
            reference,
            order_reference: reference,
            client_order_id: ClientOrderId::default(),
            sequence: 0,
            fill_id: FillId(0),
            price: order.price.unwrap_or(Price::ZERO),
            quantity: order.quantity.unwrap_or(Quantity::ZERO),
            cumulative: Quantity::ZERO,
            leaves: Quantity::ZERO,
        });
    }

    /// Refuses a replace or cancel; says how the order stands, if there is one.
    fn refuse_change(
        &mut self,
        origin: Origin,
        reference: ClientReference,
        key: &OrderKey,
        reject: (RejectCode, RejectScope),
    ) {
        self.counts.rejected += 1;
        if let Some(&open) = self.orders.find(key) {
            // The one who asked is told, on the connection that asked.
            let asked = OpenOrder { origin, ..open };
            self.report(&asked, ReportKind::CancelRejected, reference, Some(reject));
            return;
        }
        self.send(unknown_order(self.shard, origin, reference, key, reject));
    }

    /// Reports how an order stands, with what happened to it.
    pub(super) fn report(
        &mut self,
        open: &OpenOrder,
        kind: ReportKind,
        reference: ClientReference,
        reject: Option<(RejectCode, RejectScope)>,
    ) {
        let report = self.standing(open, kind, reference, reject);
        self.send(report);
    }

    /// How an order stands.
    pub(super) fn standing(
        &self,
        open: &OpenOrder,
        kind: ReportKind,
        reference: ClientReference,
        reject: Option<(RejectCode, RejectScope)>,
    ) -> Report {
        let over = matches!(kind, ReportKind::Rejected | ReportKind::Canceled);
        Report {
            kind,
            side: open.order.side,
            reject,
            shard: self.shard,
            origin: open.origin,
            account: open.order.account,
            instrument: open.order.instrument,
            reference,
            order_reference: open.reference,
            client_order_id: open.id,
            sequence: 0,
            fill_id: FillId(0),
            price: open.price(),
            quantity: open.quantity(),
            cumulative: open.cumulative,
            leaves: if over { Quantity::ZERO } else { open.leaves() },
        }
    }

    /// Numbers a report and puts it on its way. What is not written down has no
    /// number: it could be given again after a restart.
    pub(super) fn send(&mut self, mut report: Report) {
        if is_written(&report) {
            let sequence = &mut self.sequences[usize::from(report.origin.credential)];
            *sequence += 1;
            report.sequence = *sequence;
            self.write_report(&report);
        }
        self.callbacks.tell(report);
    }
}

impl<V: Venue, I: IdentitySource> Drop for Admission<V, I> {
    fn drop(&mut self) {
        self.close_journal();
    }
}

/// The code that a client sees: the first, in policy order.
fn first_of(rejects: &Rejects) -> (RejectCode, RejectScope) {
    rejects
        .iter()
        .next()
        .map_or(order_level(RejectCode::Other), |reject| {
            (reject.code, reject.scope)
        })
}

pub(super) const fn order_level(code: RejectCode) -> (RejectCode, RejectScope) {
    (code, RejectScope::Order)
}

const fn code_of(error: VenueError) -> RejectCode {
    match error {
        VenueError::Down | VenueError::Unsupported => RejectCode::SystemUnavailable,
        VenueError::Busy => RejectCode::CapacityExceeded,
    }
}

fn unknown_order(
    shard: ShardId,
    origin: Origin,
    reference: ClientReference,
    key: &OrderKey,
    reject: (RejectCode, RejectScope),
) -> Report {
    Report {
        kind: ReportKind::CancelRejected,
        side: Side::Buy,
        reject: Some(reject),
        shard,
        origin,
        account: AccountId(key.account.0),
        instrument: crate::types::InstrumentId(0),
        reference,
        order_reference: key.reference,
        client_order_id: ClientOrderId::default(),
        sequence: 0,
        fill_id: FillId(0),
        price: Price::ZERO,
        quantity: Quantity::ZERO,
        cumulative: Quantity::ZERO,
        leaves: Quantity::ZERO,
    }
}
