//! The executor's state, and the two ways out of it: records into the log, and
//! effects that wait until the records before them are durable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;

use super::book::{Book, Entry};
use super::counts::ExecutorCounts;
use super::log::{IntentLog, Room};
use super::message::{Authority, Message, MessageBody, Release};
use super::question::Question;
use super::record::Record;
use super::settings::{ExecutorSettings, VenueSetup};
use super::view::{Answer, History, OrderView};
use crate::limits;
use crate::orders::lifecycle::{Booking, Mover, OrderState};
use crate::orders::{Code, Refusal};
use crate::steps::{Throttle, WaitHandle};
use crate::time::{Clock, Nanos, UnixNanos};
use crate::types::{AccountId, ClientOrderId};

/// What leaves once the records before it are durable.
pub(super) enum Effect {
    Submit(ClientOrderId),
    Cancel(ClientOrderId),
    Answer(Box<Answer>),
    Mark(u64),
}

/// A flow that is to be started.
#[derive(Clone, Copy)]
pub(super) enum Flow {
    /// Sends an order, once its venue's rate lets it.
    Send(ClientOrderId),
    /// Sends a cancel, once its venue's rate lets it.
    Cancel(ClientOrderId),
    /// Asks the venue for an order until it is settled.
    Question(ClientOrderId),
}

/// A venue with what stands in front of it.
pub(super) struct Seat {
    pub(super) setup: VenueSetup,
    /// The venue said that it cannot be reached, and has not been heard since.
    pub(super) down: bool,
    /// When it was last heard of after it was down: what was on its way then
    /// may have arrived only now.
    pub(super) back_since: Nanos,
    pub(super) orders: Option<Throttle>,
    pub(super) cancels: Option<Throttle>,
    pub(super) queries: Throttle,
    /// Recovered orders of an account that the venue has not answered for.
    pub(super) recovering: BTreeMap<AccountId, usize>,
    /// New orders that wait for those, in order.
    pub(super) held: VecDeque<ClientOrderId>,
}

impl Seat {
    pub(super) fn is_up(&mut self, now: Nanos) {
        if core::mem::take(&mut self.down) {
            self.back_since = now;
        }
    }

    /// From when on "not there" counts, as far as its outages are concerned.
    pub(super) fn back_since_for(&self, settle: core::time::Duration) -> Nanos {
        if self.back_since == Nanos(0) {
            return Nanos(0);
        }
        self.back_since.after(settle)
    }
}

/// A caller that waits for a cancel.
pub(super) struct CancelWaiter {
    pub(super) request: u64,
    pub(super) id: ClientOrderId,
    pub(super) until: Nanos,
}

pub(super) struct Core {
    pub(super) settings: ExecutorSettings,
    pub(super) clock: Box<dyn Clock>,
    pub(super) log: Box<dyn IntentLog>,
    pub(super) history: Box<dyn History>,
    pub(super) authority: Authority,
    pub(super) book: Book,
    pub(super) seats: Vec<Seat>,
    /// The group that is being gathered.
    pending: Vec<Record>,
    /// The number of the last group that was appended.
    appended: u64,
    effects: VecDeque<(u64, Effect)>,
    /// Messages that are not durable yet: their groups and sequences.
    told: VecDeque<(u64, u64)>,
    pub(super) answers: VecDeque<Answer>,
    /// Marks that everything before them is durable.
    pub(super) marks: VecDeque<u64>,
    pub(super) questions: BTreeMap<ClientOrderId, Question>,
    /// When orders were sent, of those in flight in this process.
    pub(super) sent: BTreeMap<ClientOrderId, Nanos>,
    /// When an order was last heard of.
    pub(super) heard: BTreeMap<ClientOrderId, Nanos>,
    /// When an order that is not acknowledged becomes unknown; when a working
    /// one that is silent is asked for.
    pub(super) deadlines: BTreeSet<(Nanos, ClientOrderId)>,
    pub(super) cancel_waiters: Vec<CancelWaiter>,
    pub(super) flows: Vec<Flow>,
    pub(super) wakes: Vec<WaitHandle>,
    pub(super) random: ChaCha12Rng,
    pub(super) failed: bool,
    pub(super) counts: ExecutorCounts,
    /// When the outbox is next tried, and how long the pause was.
    pub(super) next_delivery: Nanos,
    pub(super) delivery_failures: u32,
    /// The last message that the authorizer was offered by this process.
    pub(super) offered: u64,
}

impl Core {
    pub(super) fn new(
        settings: ExecutorSettings,
        clock: Box<dyn Clock>,
        log: Box<dyn IntentLog>,
        history: Box<dyn History>,
        authority: Authority,
        seats: Vec<Seat>,
    ) -> Self {
        let random = ChaCha12Rng::seed_from_u64(settings.seed);
        Self {
            settings,
            clock,
            log,
            history,
            authority,
            book: Book::default(),
            seats,
            pending: Vec::new(),
            appended: 0,
            effects: VecDeque::new(),
            told: VecDeque::new(),
            answers: VecDeque::new(),
            marks: VecDeque::new(),
            questions: BTreeMap::new(),
            sent: BTreeMap::new(),
            heard: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            cancel_waiters: Vec::new(),
            flows: Vec::new(),
            wakes: Vec::new(),
            random,
            failed: false,
            counts: ExecutorCounts::default(),
            next_delivery: Nanos(0),
            delivery_failures: 0,
            offered: 0,
        }
    }

    /// The time by which expiry is judged: the wall's, never earlier than one
    /// that was judged by before (rule O14).
    pub(super) fn judged_time(&mut self) -> UnixNanos {
        let wall = self.clock.wall();
        if wall > self.book.high_water {
            self.record(Record::Time(wall));
        }
        self.book.high_water
    }

    /// Writes an effect down and applies it.
    pub(super) fn record(&mut self, record: Record) -> Option<Booking> {
        let booking = self.book.apply(&record);
        self.pending.push(record);
        booking
    }

    /// Lets something leave once all that is written so far is durable.
    pub(super) fn after_records(&mut self, effect: Effect) {
        let group = self.appended + u64::from(!self.pending.is_empty());
        self.effects.push_back((group, effect));
    }

    pub(super) fn answer(&mut self, request: u64, result: Result<OrderView, Refusal>) {
        self.after_records(Effect::Answer(Box::new(Answer { request, result })));
    }

    /// Tells the authorizer, in the record group that is being gathered.
    pub(super) fn tell(&mut self, body: MessageBody) {
        let sequence = self.book.messages + 1;
        let message = Message { sequence, body };
        if let Authority::Local(settlement) = &mut self.authority {
            settlement.settle(&message);
        }
        let is_local = matches!(self.authority, Authority::Local(_));
        self.record(Record::Message(Box::new(message)));
        self.told.push_back((self.appended + 1, sequence));
        if is_local {
            self.record(Record::Delivered { through: sequence });
        }
    }

    /// Moves an order, if there is such a move; an illegal one is counted and
    /// changes nothing (rule O19).
    pub(super) fn advance(
        &mut self,
        id: ClientOrderId,
        to: OrderState,
        mover: Mover,
        error: Option<String>,
    ) -> Result<(), Refusal> {
        let Some(from) = self.state(id) else {
            return Err(not_found());
        };
        if !from.may_move(to, mover) {
            self.counts.illegal_moves += 1;
            let detail = format!("{id}: no move to {to} from {from}");
            return Err(Refusal::new(Code::OrderState, detail));
        }
        self.record(Record::Moved {
            id,
            to,
            mover,
            error,
        });
        self.after_move(id);
        Ok(())
    }

    /// What follows from an order's new state.
    pub(super) fn after_move(&mut self, id: ClientOrderId) {
        let Some(entry) = self.book.orders.get(&id) else {
            return;
        };
        if !entry.order.state().is_terminal() {
            return;
        }
        if !entry.released {
            let terms = &entry.order.terms;
            let release = Release {
                reservation_id: terms.reservation_id.clone(),
                account_id: terms.account,
                client_order_id: id,
            };
            self.tell(MessageBody::Release(release));
        }
        self.sent.remove(&id);
        self.close_question(id);
        self.answer_cancel_waiters(id);
    }

    pub(super) fn state(&self, id: ClientOrderId) -> Option<OrderState> {
        let entry = self.book.orders.get(&id);
        entry.map(|entry| entry.order.state())
    }

    pub(super) fn entry(&self, id: ClientOrderId) -> Option<&Entry> {
        self.book.orders.get(&id)
    }

    pub(super) fn view(&self, entry: &Entry) -> OrderView {
        let id = entry.order.terms.client_order_id;
        let seat = self.seats.get(usize::from(entry.order.terms.venue));
        let name = seat.map_or("", |seat| seat.setup.name.as_str());
        let rule = seat.and_then(|seat| seat.setup.venue.capabilities());
        let venue_order_id = rule.and_then(|capabilities| capabilities.ids.name(id));
        OrderView::new(&entry.order, name, venue_order_id)
    }

    /// Gives the gathered group to the log. A log that fails stops everything:
    /// what waited for it never leaves.
    pub(super) fn commit(&mut self) {
        if self.failed || self.pending.is_empty() {
            return;
        }
        match self.log.append(&self.pending) {
            Ok(number) => {
                self.appended = number;
                self.pending.clear();
            }
            Err(_) => self.fail(),
        }
    }

    /// The sequence of the last message that is durable.
    pub(super) fn durable_messages(&mut self) -> u64 {
        let durable = self.log.durable().unwrap_or(0);
        while self
            .told
            .front()
            .is_some_and(|(group, _)| *group <= durable)
        {
            self.told.pop_front();
        }
        self.told
            .front()
            .map_or(self.book.messages, |(_, sequence)| sequence - 1)
    }

    /// Takes what may leave now.
    pub(super) fn next_effect(&mut self) -> Option<Effect> {
        if self.failed {
            return None;
        }
        let Ok(durable) = self.log.durable() else {
            self.fail();
            return None;
        };
        let (group, _) = self.effects.front()?;
        if *group > durable {
            return None;
        }
        self.effects.pop_front().map(|(_, effect)| effect)
    }

    fn fail(&mut self) {
        self.failed = true;
        self.pending.clear();
        for (_, effect) in core::mem::take(&mut self.effects) {
            if let Effect::Answer(answer) = effect {
                self.answers.push_back(Answer {
                    request: answer.request,
                    result: Err(log_failed()),
                });
            }
        }
        for waiter in core::mem::take(&mut self.cancel_waiters) {
            self.answers.push_back(Answer {
                request: waiter.request,
                result: Err(log_failed()),
            });
        }
    }

    /// Between two things that happen: keeps a group within what a log can take.
    pub(super) fn commit_if_long(&mut self) {
        if self.pending.len() >= limits::EXECUTOR_GROUP_RECORDS {
            self.commit();
        }
    }

    /// Whether what happens can still be written down.
    pub(super) fn has_room(&self) -> bool {
        !self.failed && matches!(self.log.room(), Room::Plenty | Room::Reserved)
    }

    /// Starts again from a log's records: those that are durable, and nothing
    /// else.
    pub(super) fn recover(&mut self, records: impl IntoIterator<Item = Record>, groups: u64) {
        for record in records {
            self.book.apply(&record);
            if let (Authority::Local(settlement), Record::Message(message)) =
                (&mut self.authority, &record)
            {
                settlement.settle(message);
            }
        }
        self.appended = groups;
    }
}

/// The same for an order that is another's and one that is not there (rule
/// O32).
pub(super) fn not_found() -> Refusal {
    Refusal::new(
        Code::NotFound,
        "no order of that id; look at the id and the token",
    )
}

pub(super) fn log_failed() -> Refusal {
    let detail = "the journal has failed; nothing is acknowledged until an operator has acted";
    Refusal::new(Code::JournalFailed, detail)
}
