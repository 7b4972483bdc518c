//! Reading and cancelling (rules O31 to O33).

use super::core::{CancelWaiter, Core, Effect, Flow, log_failed, not_found};
use super::record::Record;
use super::view::{Answer, OrderView};
use crate::orders::lifecycle::{Mover, OrderState};
use crate::orders::{Code, Refusal};
use crate::types::ClientOrderId;

impl Core {
    /// An order of this agent; the same refusal for another's as for none.
    pub(super) fn status(&self, agent: &str, id: ClientOrderId) -> Result<OrderView, Refusal> {
        let entry = self.entry(id);
        if let Some(entry) = entry.filter(|entry| entry.order.terms.agent_id == agent) {
            return Ok(self.view(entry));
        }
        // Asked in every case, so that another's order costs what none does.
        let past = self.history.order(id).filter(|past| past.agent_id == agent);
        past.map(|past| past.view).ok_or_else(not_found)
    }

    pub(super) fn read(&mut self, request: u64, agent: &str, id: ClientOrderId) {
        if self.failed {
            return self.answers.push_back(Answer {
                request,
                result: Err(log_failed()),
            });
        }
        let result = self.status(agent, id);
        self.answer(request, result);
    }

    pub(super) fn cancel(&mut self, request: u64, agent: &str, id: ClientOrderId) {
        if self.failed {
            return self.answers.push_back(Answer {
                request,
                result: Err(log_failed()),
            });
        }
        self.commit_if_long();
        let view = match self.status(agent, id) {
            Ok(view) => view,
            Err(refusal) => return self.answer(request, Err(refusal)),
        };
        match view.state {
            state if state.is_terminal() => self.answer(request, Ok(view)),
            OrderState::Unknown => {
                self.ask(id, false);
                let detail = "the venue has not said whether it has the order; it is being asked";
                self.answer(request, Err(Refusal::new(Code::Unknown, detail)));
            }
            OrderState::New => {
                let why = Some("cancelled before it was sent".to_owned());
                let moved = self.advance(id, OrderState::Rejected, Mover::Event, why);
                let result = moved.and_then(|()| self.status(agent, id));
                self.answer(request, result);
            }
            _ => {
                let until = self.clock.now().after(self.settings.cancel_wait);
                if self.cancel_waiters.len() >= self.settings.waiting_max as usize {
                    let detail = "as many cancels wait as may; read the order instead";
                    return self.answer(request, Err(Refusal::new(Code::Capacity, detail)));
                }
                self.cancel_waiters
                    .push(CancelWaiter { request, id, until });
                let asked = self.entry(id).is_some_and(|entry| entry.cancelling);
                if !asked {
                    self.record(Record::Cancelling { id, wanted: true });
                    let venue = self
                        .entry(id)
                        .map(|entry| usize::from(entry.order.terms.venue));
                    let limited = venue.is_some_and(|venue| self.seats[venue].cancels.is_some());
                    if limited {
                        self.flows.push(Flow::Cancel(id));
                    } else {
                        self.after_records(Effect::Cancel(id));
                    }
                }
            }
        }
    }

    /// A cancel's turn has come at its venue's rate.
    pub(super) fn depart_cancel(&mut self, id: ClientOrderId) {
        self.after_records(Effect::Cancel(id));
    }

    pub(super) fn cancel_at_venue(&mut self, id: ClientOrderId) {
        let Some(entry) = self.book.orders.get(&id) else {
            return;
        };
        if entry.order.state().is_terminal() {
            return;
        }
        let seat = &mut self.seats[usize::from(entry.order.terms.venue)];
        // A cancel that was not sent is sent again with the next question.
        let _ = seat.setup.venue.cancel(id);
        self.ask(id, false);
    }

    /// The order is over: whoever waited for its cancel gets it.
    pub(super) fn answer_cancel_waiters(&mut self, id: ClientOrderId) {
        let waiters = core::mem::take(&mut self.cancel_waiters);
        for waiter in waiters {
            if waiter.id == id
                && let Some(entry) = self.book.orders.get(&id)
            {
                let view = self.view(entry);
                self.answer(waiter.request, Ok(view));
            } else {
                self.cancel_waiters.push(waiter);
            }
        }
    }

    /// Callers that have waited long enough: not cancelled, not refused.
    pub(super) fn take_cancel_timeouts(&mut self) {
        let now = self.clock.now();
        let (late, wait): (Vec<_>, Vec<_>) = core::mem::take(&mut self.cancel_waiters)
            .into_iter()
            .partition(|waiter| waiter.until <= now);
        self.cancel_waiters = wait;
        for waiter in late {
            let unknown = self.state(waiter.id) == Some(OrderState::Unknown);
            let refused = !self.entry(waiter.id).is_some_and(|entry| entry.cancelling);
            let (code, detail) = if unknown {
                let detail = "the venue has not said whether it has the order; it is being asked";
                (Code::Unknown, detail)
            } else if refused {
                (
                    Code::OrderState,
                    "the venue refused the cancel; read the order",
                )
            } else {
                let detail = "the venue has not confirmed the cancel; it is not cancelled yet";
                (Code::CancelPending, detail)
            };
            self.answer(waiter.request, Err(Refusal::new(code, detail)));
        }
    }
}
