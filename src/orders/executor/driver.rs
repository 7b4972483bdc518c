//! The executor as its driver sees it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::rc::Rc;

use super::core::{Core, Effect, Seat};
use super::counts::ExecutorCounts;
use super::flows::{self, SharedCore};
use super::log::IntentLog;
use super::message::Authority;
use super::question::back_off;
use super::record::Record;
use super::settings::{ExecutorSettings, VenueSetup};
use super::view::{Answer, History, OrderView};
use crate::limits;
use crate::orders::Refusal;
use crate::orders::decision::Decision;
use crate::orders::lifecycle::{Mover, OrderState};
use crate::orders::venue::Venue;
use crate::steps::{EventLoop, LoopLimits, Throttle};
use crate::time::{Clock, Nanos, UnixNanos};
use crate::types::{AccountId, ClientOrderId};

/// Verifies decisions, sends orders, follows them, and reports (rules O5 to
/// O37).
///
/// Sans-io: [`Executor::turn`] never blocks, and does everything that is due at
/// its clock's time. Nothing leaves (no order, no answer, no message) before the
/// record group behind it is durable. Dropping it is a crash: what its log has
/// made durable is all that the next one knows. It stays on its thread.
pub struct Executor {
    core: SharedCore,
    event_loop: EventLoop,
    venues: usize,
}

/// What an executor is built from.
pub struct ExecutorParts {
    /// How it waits and what it holds.
    pub settings: ExecutorSettings,
    /// The venues; the place of each is its number, and must stay the same over
    /// restarts.
    pub venues: Vec<VenueSetup>,
    /// Where intents become durable.
    pub log: Box<dyn IntentLog>,
    /// The number of that log's last group, zero where it counts only its own,
    /// and every durable record, oldest first.
    pub recovered: (u64, Vec<Record>),
    /// Orders that are no longer in memory.
    pub history: Box<dyn History>,
    /// Who settles.
    pub authority: Authority,
}

/// What a turn did, and when the next is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutorProgress {
    /// Call again without waiting.
    pub more: bool,
    /// When to call again if nothing arrives before.
    pub next_due: Option<Nanos>,
}

impl Executor {
    /// Starts, from where its log ends: orders that were never sent are
    /// rejected; all others that are not over are asked for, oldest first,
    /// before new orders of their accounts go to their venue (rule O22).
    #[must_use]
    pub fn new(parts: ExecutorParts, clock: impl Clock + Clone + 'static) -> Self {
        let ExecutorParts {
            settings,
            venues,
            log,
            recovered: (groups, records),
            history,
            authority,
        } = parts;
        let event_loop = EventLoop::new(clock.clone(), LoopLimits::default());
        let waiting_max = settings.waiting_max;
        let seats: Vec<_> = venues
            .into_iter()
            .map(|setup| seat(setup, waiting_max))
            .collect();
        let venues = seats.len();
        let mut core = Core::new(settings, Box::new(clock), log, history, authority, seats);
        core.recover(records, groups);
        core.resume();
        Self {
            core: Rc::new(RefCell::new(core)),
            event_loop,
            venues,
        }
    }

    /// Takes a body from an authenticated agent. The answer comes from
    /// [`Executor::next_answer`] under the caller's number, once it is durable.
    pub fn submit(&mut self, request: u64, agent: &str, body: &[u8]) {
        self.core.borrow_mut().submit(request, agent, body);
    }

    /// Cancels what works of an order; answered as [`Executor::submit`].
    pub fn cancel(&mut self, request: u64, agent: &str, id: ClientOrderId) {
        self.core.borrow_mut().cancel(request, agent, id);
    }

    /// Reads an order of the agent's; answered as [`Executor::submit`], when all
    /// that it says is durable.
    pub fn read(&mut self, request: u64, agent: &str, id: ClientOrderId) {
        self.core.borrow_mut().read(request, agent, id);
    }

    /// An order of the agent's, as it is in memory: what it says may be ahead of
    /// the log.
    ///
    /// # Errors
    /// [`crate::orders::Code::NotFound`], for another's exactly as for none
    /// (rule O32).
    pub fn status(&self, agent: &str, id: ClientOrderId) -> Result<OrderView, Refusal> {
        self.core.borrow().status(agent, id)
    }

    /// Sends an order again, which is never done: the refusal.
    ///
    /// # Errors
    /// Always: [`crate::orders::Code::BlindResend`] while it may be at the
    /// venue, [`crate::orders::Code::OrderState`] otherwise (rule O20).
    pub fn resend(&mut self, agent: &str, id: ClientOrderId) -> Result<(), Refusal> {
        use crate::orders::Code;
        let state = self.core.borrow().status(agent, id)?.state;
        let code = match state {
            OrderState::Unknown | OrderState::PendingNew => Code::BlindResend,
            _ => Code::OrderState,
        };
        Err(Refusal::new(
            code,
            format!("{id} is {state}; an order is sent once"),
        ))
    }

    /// Voids a decision that was never brought and has expired, so that the
    /// authorizer may release what it holds; false where it was brought, or may
    /// still be (rule O4).
    pub fn void_unseen(&mut self, decision: &Decision) -> bool {
        self.core.borrow_mut().void_unseen(decision)
    }

    /// Keeps an account's new orders from their venues, until
    /// [`Executor::unblock`].
    pub fn block(&mut self, account: AccountId) {
        self.set_blocked(account, true);
    }

    /// Lets an account that is blocked, by an overfill or by a person, trade again.
    pub fn unblock(&mut self, account: AccountId) {
        self.set_blocked(account, false);
    }

    fn set_blocked(&mut self, account: AccountId, blocked: bool) {
        let mut core = self.core.borrow_mut();
        if core.book.blocked.contains(&account) != blocked {
            core.record(Record::Blocked { account, blocked });
        }
    }

    /// The accounts that take no new orders.
    #[must_use]
    pub fn blocked(&self) -> Vec<AccountId> {
        self.core.borrow().book.blocked.iter().copied().collect()
    }

    /// Whether an account takes new orders.
    #[must_use]
    pub fn is_blocked(&self, account: AccountId) -> bool {
        self.core.borrow().book.blocked.contains(&account)
    }

    /// Does all that is due now.
    pub fn turn(&mut self) -> ExecutorProgress {
        let mut more = self.core.borrow_mut().take_events();
        self.core.borrow_mut().take_deadlines();
        self.core.borrow_mut().take_cancel_timeouts();
        let next_due = self.run_flows(&mut more);
        self.core.borrow_mut().commit();
        loop {
            let effect = self.core.borrow_mut().next_effect();
            let Some(effect) = effect else { break };
            self.core.borrow_mut().perform(effect);
            more = true;
        }
        more |= self.core.borrow_mut().deliver();
        self.core.borrow_mut().commit();
        let core = self.core.borrow();
        let deadline = core.deadlines.first().map(|(at, _)| *at);
        let waiter = core.cancel_waiters.iter().map(|waiter| waiter.until).min();
        let delivery = core.has_undelivered().then(|| core.delivery_due());
        let dues = next_due.into_iter().chain(deadline).chain(waiter);
        ExecutorProgress {
            more: more || !core.flows.is_empty() || !core.wakes.is_empty(),
            next_due: dues.chain(delivery).min(),
        }
    }

    fn run_flows(&mut self, more: &mut bool) -> Option<Nanos> {
        let wanted = core::mem::take(&mut self.core.borrow_mut().flows);
        for flow in wanted {
            if flows::start(&self.core, &self.event_loop, flow).is_err() {
                self.core.borrow_mut().flows.push(flow);
            }
        }
        let wakes = core::mem::take(&mut self.core.borrow_mut().wakes);
        for handle in wakes {
            // A wait that has timed out meanwhile is over already.
            let _ = self.event_loop.complete(handle, ());
        }
        let progress = self.event_loop.turn(1_000);
        *more |= progress.more;
        progress.next_due
    }

    /// The oldest answer that was not taken yet.
    pub fn next_answer(&mut self) -> Option<Answer> {
        self.core.borrow_mut().answers.pop_front()
    }

    /// Gives the number back from [`Executor::next_mark`] when everything that is
    /// known now is durable; never, once the log has failed.
    pub fn mark(&mut self, number: u64) {
        let mut core = self.core.borrow_mut();
        if !core.failed {
            core.after_records(Effect::Mark(number));
        }
    }

    /// The oldest mark that was reached and not taken yet.
    pub fn next_mark(&mut self) -> Option<u64> {
        self.core.borrow_mut().marks.pop_front()
    }

    /// What a person should look at.
    #[must_use]
    pub fn counts(&self) -> ExecutorCounts {
        self.core.borrow().counts
    }

    /// Whether the log has failed: everything is refused from then on.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.core.borrow().failed
    }

    /// Orders that only their venue can settle.
    #[must_use]
    pub fn open_questions(&self) -> usize {
        self.core.borrow().questions.len()
    }

    /// Messages that wait for the authorizer.
    #[must_use]
    pub fn undelivered(&self) -> usize {
        self.core.borrow().book.outbox.len()
    }

    /// Every order in memory, oldest first.
    #[must_use]
    pub fn orders(&self) -> Vec<OrderView> {
        let core = self.core.borrow();
        let mut entries: Vec<_> = core.book.orders.values().collect();
        entries.sort_by_key(|entry| entry.number);
        entries.into_iter().map(|entry| core.view(entry)).collect()
    }

    /// The oldest orders in memory of a state, or of any; `most` at most.
    #[must_use]
    pub fn orders_in(&self, state: Option<OrderState>, most: usize) -> Vec<OrderView> {
        let core = self.core.borrow();
        let is_wanted = |own: OrderState| state.is_none_or(|state| state == own);
        let entries = core.book.orders.values();
        let mut entries: Vec<_> = entries
            .filter(|entry| is_wanted(entry.order.state()))
            .collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        entries.truncate(most);
        entries.into_iter().map(|entry| core.view(entry)).collect()
    }

    /// How many orders in memory are in each state; looks at all of them.
    #[must_use]
    pub fn orders_by_state(&self) -> Vec<(OrderState, u64)> {
        let core = self.core.borrow();
        let mut counts: Vec<_> = OrderState::ALL.iter().map(|own| (*own, 0)).collect();
        for entry in core.book.orders.values() {
            let state = entry.order.state();
            for (_, count) in counts.iter_mut().filter(|(own, _)| *own == state) {
                *count += 1;
            }
        }
        counts
    }

    /// The venues' names, what they declare, and whether they can be reached.
    #[must_use]
    pub fn venues(&self) -> Vec<VenueState> {
        let core = self.core.borrow();
        let states = core.seats.iter().map(|seat| VenueState {
            name: seat.setup.name.clone(),
            up: !seat.down,
            instruments: seat.setup.instruments.keys().cloned().collect(),
            capabilities: seat.setup.venue.capabilities().cloned(),
        });
        states.collect()
    }

    /// A venue, by its place.
    ///
    /// # Panics
    /// Where there is none.
    pub fn with_venue<R>(&mut self, venue: usize, act: impl FnOnce(&mut dyn Venue) -> R) -> R {
        assert!(venue < self.venues, "there are {} venues", self.venues);
        act(&mut *self.core.borrow_mut().seats[venue].setup.venue)
    }

    /// Forgets what ended long enough ago and is in the history (rule O18).
    pub fn forget_old(&mut self) {
        let mut core = self.core.borrow_mut();
        let now = core.judged_time();
        let retention = u64::try_from(core.settings.retention.as_nanos()).unwrap_or(u64::MAX);
        let before = UnixNanos(now.0.saturating_sub(retention));
        let Core { book, history, .. } = &mut *core;
        book.forget(before, |order| history.holds(order.terms.client_order_id));
    }
}

/// A venue as an executor sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VenueState {
    /// Its name in decisions.
    pub name: String,
    /// Whether it could be reached when it was last tried.
    pub up: bool,
    /// The names of its instruments.
    pub instruments: Vec<String>,
    /// What it declares; nothing is sent to one that declares nothing.
    pub capabilities: Option<crate::orders::venue::Capabilities>,
}

fn seat(setup: VenueSetup, waiting_max: u32) -> Seat {
    let capabilities = setup.venue.capabilities();
    let second = Throttle::PERIOD;
    let of_rate = |rate: Option<NonZeroU32>| {
        rate.map(|rate| Throttle::with_queue(rate, second, waiting_max.saturating_mul(2)))
    };
    let orders = of_rate(capabilities.and_then(|own| own.orders_per_second));
    let cancels = of_rate(capabilities.and_then(|own| own.cancels_per_second));
    let queries = capabilities.and_then(|own| own.queries_per_second);
    let queries = queries.or(NonZeroU32::new(limits::QUERIES_PER_SECOND));
    Seat {
        orders,
        cancels,
        queries: Throttle::new(queries.unwrap_or(NonZeroU32::MIN)),
        setup,
        down: false,
        back_since: Nanos(0),
        recovering: std::collections::BTreeMap::new(),
        held: VecDeque::new(),
    }
}

impl Core {
    /// What is due after a restart.
    fn resume(&mut self) {
        let mut open: Vec<_> = self
            .book
            .orders
            .values()
            .filter(|entry| !entry.order.state().is_terminal())
            .map(|entry| (entry.number, entry.order.terms.client_order_id))
            .collect();
        open.sort_unstable();
        for (_, id) in open {
            self.commit_if_long();
            let Some(entry) = self.entry(id) else {
                continue;
            };
            let (venue, account) = (entry.order.terms.venue, entry.order.terms.account);
            match entry.order.state() {
                OrderState::New => {
                    let why = Some("it was not sent before a restart".to_owned());
                    let moved = self.advance(id, OrderState::Rejected, Mover::Event, why);
                    debug_assert!(moved.is_ok(), "new may become rejected");
                    continue;
                }
                OrderState::PendingNew => {
                    self.counts.unknown += 1;
                    let why = Some("a restart came before its acknowledgement".to_owned());
                    let moved = self.advance(id, OrderState::Unknown, Mover::Event, why);
                    debug_assert!(moved.is_ok(), "pending_new may become unknown");
                }
                _ => {}
            }
            let Some(seat) = self.seats.get_mut(usize::from(venue)) else {
                continue;
            };
            *seat.recovering.entry(account).or_default() += 1;
            self.open_question(id, false, true);
            let now = self.clock.now();
            self.schedule(id, now.after(self.settings.audit_every));
        }
        // An order that ended just before the crash may not have been released.
        let ended: Vec<_> = self
            .book
            .orders
            .iter()
            .filter(|(_, entry)| entry.order.state().is_terminal() && !entry.released)
            .map(|(id, _)| *id)
            .collect();
        for id in ended {
            self.commit_if_long();
            self.after_move(id);
        }
    }

    fn has_undelivered(&self) -> bool {
        matches!(self.authority, Authority::Remote(_)) && !self.book.outbox.is_empty()
    }

    /// Offers what is durable, in order, and notes what was taken; backs off
    /// while the authorizer is away (rule O30). Whether anything was taken.
    fn deliver(&mut self) -> bool {
        let now = self.clock.now();
        if self.failed || now < self.next_delivery || !self.has_undelivered() {
            return false;
        }
        let durable = self.durable_messages();
        let Authority::Remote(receiver) = &mut self.authority else {
            return false;
        };
        let delivered = self
            .book
            .outbox
            .front()
            .map_or(0, |message| message.sequence - 1);
        self.offered = self.offered.max(delivered);
        let mut place = usize::try_from(self.offered - delivered).unwrap_or(usize::MAX);
        let mut is_away = false;
        while place < limits::EXECUTOR_DELIVERIES_MAX
            && let Some(message) = self.book.outbox.get(place)
            && message.sequence <= durable
        {
            is_away = receiver.offer(message).is_err();
            if is_away {
                break;
            }
            self.offered = message.sequence;
            place += 1;
        }
        let taken = receiver.taken().map(|taken| taken.min(self.offered));
        let through = taken.unwrap_or(delivered).max(delivered);
        if is_away || taken.is_err() {
            self.offered = through;
            self.back_off_delivery(now);
        }
        if through == delivered {
            return false;
        }
        if !is_away {
            self.delivery_failures = 0;
        }
        self.record(Record::Delivered { through });
        true
    }

    fn back_off_delivery(&mut self, now: Nanos) {
        use rand_chacha::rand_core::Rng;
        self.delivery_failures = self.delivery_failures.saturating_add(1);
        let jitter = self.random.next_u64();
        let pause = back_off(self.settings.query_pause, self.delivery_failures, jitter);
        self.next_delivery = now.after(pause);
    }

    /// When the outbox is looked at again, where nobody rings before.
    fn delivery_due(&self) -> Nanos {
        let look = self.clock.now().after(limits::EXECUTOR_DELIVERY_LOOK);
        self.next_delivery.max(look)
    }
}
