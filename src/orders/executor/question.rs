//! Orders that only the venue can settle, and what its answers settle (rules
//! O20, O21, O22, O33).

use rand_chacha::rand_core::Rng;

use super::core::{Core, Flow};
use crate::limits;
use crate::orders::lifecycle::{Mover, OrderState};
use crate::orders::venue::{OrderSnapshot, VenueError, VenueStatus};
use crate::steps::WaitHandle;
use crate::time::Nanos;
use crate::types::{ClientOrderId, Quantity};
use core::time::Duration;

/// An order that the venue is asked for until it is settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    since: Nanos,
    /// No sooner does an answer "not there" mean anything, so none is asked for.
    from: Nanos,
    wait: Option<WaitHandle>,
    attempts: u32,
    alarmed: bool,
    /// One was asked from which on "not there" counts.
    counts: bool,
    /// The venue has said that the order is over, so "working" settles nothing.
    ended: bool,
    /// It was open when the process started.
    recovered: bool,
}

impl Core {
    /// Asks the venue for an order until it is settled.
    pub(super) fn ask(&mut self, id: ClientOrderId, ended: bool) {
        self.open_question(id, ended, false);
    }

    pub(super) fn open_question(&mut self, id: ClientOrderId, ended: bool, recovered: bool) {
        if let Some(question) = self.questions.get_mut(&id) {
            question.ended |= ended;
            return;
        }
        let Some(entry) = self.entry(id) else { return };
        if entry.order.state().is_terminal() || entry.order.state() == OrderState::New {
            return;
        }
        let venue = usize::from(entry.order.terms.venue);
        let settle = self.seats[venue].setup.venue.capabilities();
        let settle = settle.map_or(Duration::ZERO, |capabilities| capabilities.settle_time);
        let now = self.clock.now();
        // A recovered order may have been sent just before the end, so its time
        // begins with the restart. An acknowledged one may not be listed yet.
        let sent = *self.sent.entry(id).or_insert(now);
        let from = sent.after(settle).max(now);
        self.questions.insert(
            id,
            Question {
                since: now,
                from,
                wait: None,
                attempts: 0,
                alarmed: false,
                counts: false,
                ended,
                recovered,
            },
        );
        self.flows.push(Flow::Question(id));
    }

    pub(super) fn is_asked(&self, id: ClientOrderId) -> bool {
        self.questions.contains_key(&id)
    }

    /// The order is settled: the flow ends, and new orders may go.
    pub(super) fn close_question(&mut self, id: ClientOrderId) {
        let Some(question) = self.questions.remove(&id) else {
            return;
        };
        self.wakes.extend(question.wait);
        if question.recovered {
            self.recovered(id);
        }
    }

    /// A recovered order is settled: the account's new orders go once all are.
    fn recovered(&mut self, id: ClientOrderId) {
        let Some(entry) = self.book.orders.get(&id) else {
            return;
        };
        let (venue, account) = (
            usize::from(entry.order.terms.venue),
            entry.order.terms.account,
        );
        let seat = &mut self.seats[venue];
        let Some(open) = seat.recovering.get_mut(&account) else {
            return;
        };
        *open -= 1;
        if *open > 0 {
            return;
        }
        seat.recovering.remove(&account);
        let of_account = |book: &super::book::Book, id: &ClientOrderId| {
            let entry = book.orders.get(id);
            entry.is_some_and(|entry| entry.order.terms.account == account)
        };
        let held = core::mem::take(&mut seat.held);
        let (go, stay) = held.into_iter().partition(|id| of_account(&self.book, id));
        self.seats[venue].held = stay;
        let go: std::collections::VecDeque<ClientOrderId> = go;
        for id in go {
            self.send_when_free(id, venue);
        }
    }

    /// How long the flow pauses before its next question: to the time from
    /// which an answer counts, then backing off with jitter, 60 s at most.
    pub(super) fn pause_before(&mut self, id: ClientOrderId) -> Duration {
        let now = self.clock.now();
        let (step, jitter) = (self.settings.query_pause, self.random.next_u64());
        let Some(question) = self.questions.get(&id) else {
            return Duration::ZERO;
        };
        if question.attempts == 0 {
            return Duration::from_nanos(question.from.since(now));
        }
        back_off(step, question.attempts, jitter)
    }

    /// Asks once; whether there is an answer to wait for.
    pub(super) fn query(&mut self, id: ClientOrderId) -> bool {
        let now = self.clock.now();
        let alarm_after = self.settings.alarm_after;
        let Some(question) = self.questions.get_mut(&id) else {
            return false;
        };
        question.attempts = question.attempts.saturating_add(1);
        let late = now >= question.since.after(alarm_after);
        if late && !question.alarmed {
            question.alarmed = true;
            self.counts.unanswered += 1;
        }
        let again = question.attempts > 1;
        let Some(entry) = self.book.orders.get(&id) else {
            return false;
        };
        let venue = usize::from(entry.order.terms.venue);
        let resend_cancel = entry.cancelling && again;
        let seat = &mut self.seats[venue];
        if resend_cancel {
            // A cancel may have been lost; it does no harm twice.
            let _ = seat.setup.venue.cancel(id);
        }
        match seat.setup.venue.query(id) {
            Ok(()) => {
                seat.is_up(now);
                let settle = seat.setup.venue.capabilities();
                let settle = settle.map_or(Duration::ZERO, |own| own.settle_time);
                question.from = question.from.max(seat.back_since_for(settle));
                question.counts |= now >= question.from;
                true
            }
            Err(VenueError::Down) => {
                seat.down = true;
                false
            }
            Err(_) => false,
        }
    }

    pub(super) fn await_answer(&mut self, id: ClientOrderId, handle: WaitHandle) {
        if let Some(question) = self.questions.get_mut(&id) {
            question.wait = Some(handle);
        }
    }

    /// An answer of the venue for an order.
    pub(super) fn take_snapshot(&mut self, venue: u16, snapshot: &OrderSnapshot) {
        let id = snapshot.id;
        let known = self.entry(id).map(|entry| {
            let order = &entry.order;
            (order.state(), order.terms.venue == venue, entry.cancelling)
        });
        let Some((state, true, cancelling)) = known else {
            self.counts.foreign_orders += 1;
            return;
        };
        if state.is_terminal() || state == OrderState::New {
            return;
        }
        self.touch(id);
        let settled = match snapshot.status {
            None => self.settle_absent(id, state),
            Some(_) if !self.has_all_fills(id, snapshot.filled) => false,
            Some(VenueStatus::Working) => self.settle_working(id, state, cancelling),
            Some(end) => self.settle_ended(id, state, end),
        };
        if settled {
            self.close_question(id);
        } else if let Some(question) = self.questions.get_mut(&id) {
            // The flow backs off and asks again.
            self.wakes.extend(question.wait.take());
        }
    }

    /// Every fill that the venue has is booked; else some are on their way, or
    /// lost, and are told again at the next question.
    fn has_all_fills(&mut self, id: ClientOrderId, at_venue: Quantity) -> bool {
        let Some(booked) = self.entry(id).map(|entry| entry.order.filled()) else {
            return false;
        };
        if booked > at_venue.amount() {
            self.counts.fill_mismatches += 1;
        }
        booked >= at_venue.amount()
    }

    /// The venue does not have it. That counts only for a question that was
    /// asked after the settle time, and is about one that never had an answer.
    fn settle_absent(&mut self, id: ClientOrderId, state: OrderState) -> bool {
        let now = self.clock.now();
        let in_time = self
            .questions
            .get(&id)
            .is_some_and(|question| question.attempts > 0 && now >= question.from);
        let has_fills = self.entry(id).is_some_and(|entry| entry.order.has_fills());
        if !in_time {
            return false;
        }
        let (to, why) = match state {
            OrderState::PendingNew | OrderState::Unknown if !has_fills => {
                (OrderState::Rejected, "the venue never had it")
            }
            _ => (OrderState::Cancelled, "the venue does not have it any more"),
        };
        self.advance(id, to, Mover::Reconciliation, Some(why.to_owned()))
            .is_ok()
    }

    fn settle_working(&mut self, id: ClientOrderId, state: OrderState, cancelling: bool) -> bool {
        let by_fills = self.entry(id).map(|entry| entry.order.state_by_fills());
        if let (OrderState::Unknown | OrderState::PendingNew, Some(to)) = (state, by_fills) {
            let _ = self.advance(id, to, Mover::Reconciliation, None);
        }
        let ended = self
            .questions
            .get(&id)
            .is_some_and(|question| question.ended);
        !cancelling && !ended
    }

    fn settle_ended(&mut self, id: ClientOrderId, state: OrderState, end: VenueStatus) -> bool {
        let Some(entry) = self.entry(id) else {
            return true;
        };
        let standing = entry.order.standing();
        let has_fills = entry.order.has_fills();
        let to = match end {
            _ if standing.cum == standing.size => OrderState::Filled,
            VenueStatus::Expired => OrderState::Expired,
            VenueStatus::Rejected
                if !has_fills && state.may_move(OrderState::Rejected, Mover::Reconciliation) =>
            {
                OrderState::Rejected
            }
            _ => OrderState::Cancelled,
        };
        let why = (end == VenueStatus::Rejected).then(|| "the venue refused it".to_owned());
        self.advance(id, to, Mover::Reconciliation, why).is_ok()
    }
}

/// Half to all of `step` doubled for each attempt, 60 s at most.
pub(super) fn back_off(step: Duration, attempts: u32, jitter: u64) -> Duration {
    let most = Duration::from_secs(limits::BACK_OFF_SECONDS_MAX);
    let doubled = step
        .saturating_mul(1 << attempts.saturating_sub(1).min(20))
        .min(most);
    let half = u64::try_from(doubled.as_nanos() / 2).unwrap_or(u64::MAX);
    doubled - Duration::from_nanos(if half == 0 { 0 } else { jitter % half })
}
