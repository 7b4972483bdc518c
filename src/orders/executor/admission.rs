//! A decision on arrival: every check in its order, the first failure wins
//! (rules O5 to O16).

use super::book::Outcome;
use super::core::{Core, Effect, Flow, log_failed};
use super::log::Room;
use super::message::{Authority, MessageBody, Release};
use super::record::{Record, Void};
use super::view::OrderView;
use crate::orders::decision::{Decision, Grant, SignedDecision, order_type, time_in_force};
use crate::orders::lifecycle::{Mover, OrderState, OrderTerms};
use crate::orders::venue::Capabilities;
use crate::orders::{Code, Refusal};
use crate::types::ClientOrderId;

impl Core {
    /// Takes a body from an agent; the answer leaves when it is durable.
    pub(super) fn submit(&mut self, request: u64, agent: &str, body: &[u8]) {
        if self.failed {
            return self.answers.push_back(super::view::Answer {
                request,
                result: Err(log_failed()),
            });
        }
        self.commit_if_long();
        let result = self.admit(agent, body);
        self.answer(request, result);
    }

    fn admit(&mut self, agent: &str, body: &[u8]) -> Result<OrderView, Refusal> {
        let now = self.judged_time();
        let signed = SignedDecision::read(body, &self.settings.keys, now)?;
        if signed.decision.agent_id != agent {
            let detail = "the decision was signed for another agent";
            return Err(Refusal::new(Code::AgentUnknown, detail));
        }
        if let Some(known) = self.known(&signed, agent) {
            return known;
        }
        // Nothing of the decision's is touched by what is full here.
        self.has_place()?;
        match self.judge(&signed.decision) {
            Ok(terms) => Ok(self.open(terms, signed.digest)),
            Err(refusal) => {
                self.void(&signed.decision, signed.digest, &refusal);
                Err(refusal)
            }
        }
    }

    /// The answer to a decision that was here before, or whose identity was
    /// (rules O15, O16, O18).
    fn known(&self, signed: &SignedDecision, agent: &str) -> Option<Result<OrderView, Refusal>> {
        let SignedDecision { decision, digest } = signed;
        let conflict = |detail: &str| Some(Err(Refusal::new(Code::Idempotency, detail)));
        if let Some(outcome) = self.book.decision(&decision.decision_id) {
            if outcome.digest() != digest {
                return conflict("the decision_id was used with another body");
            }
            return Some(match outcome {
                Outcome::Void(void) => Err(Refusal::new(void.code, void.detail.clone())),
                Outcome::Order(id, _) => {
                    let entry = self.entry(*id);
                    entry
                        .map(|entry| self.view(entry))
                        .ok_or_else(super::core::not_found)
                }
            });
        }
        if let Some(past) = self.history.order_of(&decision.decision_id) {
            if past.digest != *digest || past.agent_id != agent {
                return conflict("the decision_id was used with another body");
            }
            return Some(Ok(past.view));
        }
        let id = decision.grant.as_ref()?.client_order_id;
        if self.book.decision_of(id).is_some() || self.history.order(id).is_some() {
            return conflict("the client_order_id belongs to another decision");
        }
        None
    }

    /// Whether one more order can be written down, and told of.
    fn has_place(&self) -> Result<(), Refusal> {
        let refuse = |code, detail: &str| Err(Refusal::new(code, detail));
        match self.log.room() {
            Room::Plenty => {}
            Room::Behind => {
                let detail = "as much waits for the journal's disk as may; try again later";
                return refuse(Code::Capacity, detail);
            }
            Room::Reserved | Room::Gone => {
                let detail = "the journal's disk is full; cancels still go through";
                return refuse(Code::DiskFull, detail);
            }
        }
        if self.book.outbox.len() >= self.settings.outbox_max {
            let detail = "too much waits for the authorizer; cancels still go through";
            return refuse(Code::OutboxFull, detail);
        }
        if self.book.len() >= self.settings.orders_max {
            return refuse(
                Code::Capacity,
                "as many orders are kept as may be; try again later",
            );
        }
        Ok(())
    }

    /// O8 to O12, in their order, and what else keeps an order from its venue.
    fn judge(&mut self, decision: &Decision) -> Result<OrderTerms, Refusal> {
        let refuse = |code, detail: String| Err(Refusal::new(code, detail));
        let Some(grant) = decision.grant.as_ref() else {
            let detail = "the verdict lets nothing be executed".to_owned();
            return refuse(Code::NotAuthorized, detail);
        };
        if decision.enforcement != "hard" {
            let detail = format!(
                "enforcement {:?}: only hard is executed",
                decision.enforcement
            );
            return refuse(Code::Enforcement, detail);
        }
        if self.book.high_water > decision.expires_at {
            let detail = "the decision came after its expires_at".to_owned();
            return refuse(Code::DecisionExpired, detail);
        }
        let venue = self
            .seats
            .iter()
            .position(|seat| seat.setup.name == decision.venue);
        let venue = venue.and_then(|venue| u16::try_from(venue).ok());
        let Some(venue) = venue else {
            let detail = format!("no way to the venue {:?}", decision.venue);
            return refuse(Code::NoRoute, detail);
        };
        let seat = &self.seats[usize::from(venue)];
        let Some(&instrument) = seat.setup.instruments.get(&decision.instrument) else {
            let detail = format!("{} has no {:?}", decision.venue, decision.instrument);
            return refuse(Code::NoRoute, detail);
        };
        if seat.down {
            return refuse(
                Code::VenueDown,
                format!("{} cannot be reached", decision.venue),
            );
        }
        let Some(capabilities) = seat.setup.venue.capabilities() else {
            let detail = format!("{} does not say what it takes", decision.venue);
            return refuse(Code::OrderType, detail);
        };
        let terms = terms(decision, grant, venue, instrument, capabilities)?;
        if !capabilities.ids.fits() {
            let detail = format!(
                "the ids of {} are too short to tell ours apart",
                decision.venue
            );
            return refuse(Code::NoRoute, detail);
        }
        let waiting = seat
            .orders
            .as_ref()
            .map_or(0, crate::steps::Throttle::waiting);
        if waiting + seat.held.len() >= self.settings.waiting_max as usize {
            let detail = format!("as many orders wait for {} as may", decision.venue);
            return refuse(Code::VenueBusy, detail);
        }
        if self.book.blocked.contains(&terms.account) {
            let detail = format!("account {} is blocked; a person must look", terms.account);
            return refuse(Code::AccountBlocked, detail);
        }
        if let Authority::Local(settlement) = &self.authority
            && !settlement.holds(&grant.reservation_id, terms.account)
        {
            let detail = "the reservation is not one of this account".to_owned();
            return refuse(Code::NotAuthorized, detail);
        }
        Ok(terms)
    }

    fn open(&mut self, terms: OrderTerms, digest: [u8; 32]) -> OrderView {
        let id = terms.client_order_id;
        let (venue, account) = (usize::from(terms.venue), terms.account);
        let terms = Box::new(terms);
        self.record(Record::Opened { terms, digest });
        let seat = &mut self.seats[venue];
        if seat.recovering.contains_key(&account) {
            seat.held.push_back(id);
        } else {
            self.send_when_free(id, venue);
        }
        let entry = self.entry(id);
        entry
            .map(|entry| self.view(entry))
            .expect("it was just opened")
    }

    /// Sends at once, or as the venue's rate allows.
    pub(super) fn send_when_free(&mut self, id: ClientOrderId, venue: usize) {
        if self.seats[venue].orders.is_some() {
            self.flows.push(Flow::Send(id));
        } else {
            self.depart(id);
        }
    }

    /// The intent: from here on the order may be at the venue. Out of any other
    /// state than `new` this is a blind resend, and refused (rule O20).
    pub(super) fn depart(&mut self, id: ClientOrderId) {
        match self.state(id) {
            Some(OrderState::New) => {
                self.commit_if_long();
                let moved = self.advance(id, OrderState::PendingNew, Mover::Event, None);
                debug_assert!(moved.is_ok(), "new may become pending_new");
                self.after_records(Effect::Submit(id));
            }
            Some(OrderState::Rejected) | None => {}
            Some(_) => self.counts.illegal_moves += 1,
        }
    }

    /// A refusal at O8 or later: void for good, released, recorded (rule O14).
    pub(super) fn void(&mut self, decision: &Decision, digest: [u8; 32], refusal: &Refusal) {
        self.counts.voided += 1;
        let grant = decision.grant.as_ref();
        self.record(Record::Voided(Box::new(Void {
            decision_id: decision.decision_id.clone(),
            digest,
            client_order_id: grant.map(|grant| grant.client_order_id),
            code: refusal.code,
            detail: refusal.detail.clone(),
            expires_at: decision.expires_at,
        })));
        if let Some(grant) = grant {
            self.tell(MessageBody::Release(Release {
                reservation_id: grant.reservation_id.clone(),
                account_id: decision.account_id,
                client_order_id: grant.client_order_id,
            }));
        }
    }

    /// Voids a decision that was never brought, and is past its expiry; false
    /// where it was, or is not (rule O4).
    pub(super) fn void_unseen(&mut self, decision: &Decision) -> bool {
        let now = self.judged_time();
        if self.failed
            || now <= decision.expires_at
            || self.book.decision(&decision.decision_id).is_some()
            || self.history.order_of(&decision.decision_id).is_some()
        {
            return false;
        }
        let digest = SignedDecision::digest_of(decision);
        let detail = "the decision was not brought before its expires_at";
        self.void(
            decision,
            digest,
            &Refusal::new(Code::DecisionExpired, detail),
        );
        true
    }
}

/// O12: nothing is guessed, and nothing turned into what the venue would take.
fn terms(
    decision: &Decision,
    grant: &Grant,
    venue: u16,
    instrument: crate::types::InstrumentId,
    capabilities: &Capabilities,
) -> Result<OrderTerms, Refusal> {
    let declared = |name: &str| {
        let known = order_type(name);
        known.filter(|own| capabilities.order_types.contains(own))
    };
    let Some(order_type) = declared(&decision.order_type) else {
        let detail = format!("{} takes no {} orders", decision.venue, decision.order_type);
        return Err(Refusal::new(Code::OrderType, detail));
    };
    let known = time_in_force(&decision.time_in_force);
    let known = known.filter(|own| capabilities.times_in_force.contains(own));
    let Some(time_in_force) = known else {
        let detail = format!(
            "{} takes no {} orders",
            decision.venue, decision.time_in_force
        );
        return Err(Refusal::new(Code::TimeInForce, detail));
    };
    Ok(OrderTerms {
        client_order_id: grant.client_order_id,
        decision_id: decision.decision_id.clone(),
        agent_id: decision.agent_id.clone(),
        user_id: decision.user_id.clone(),
        account: decision.account_id,
        venue,
        instrument_name: decision.instrument.clone(),
        instrument,
        side: decision.side,
        order_type,
        time_in_force,
        size: decision.size,
        price: decision.price,
        stop_price: decision.stop_price,
        good_till: decision.good_till,
        reservation_id: grant.reservation_id.clone(),
        expires_at: decision.expires_at,
    })
}
