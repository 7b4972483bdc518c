//! What venues say, and what time says while they do not (rules O20, O23 to
//! O28).

use super::core::{Core, Effect};
use super::message::{Execution, MessageBody};
use super::record::Record;
use crate::limits;
use crate::orders::decision::Size;
use crate::orders::lifecycle::{Booking, Fill, Mover, OrderState};
use crate::orders::venue::{VenueError, VenueEvent, VenueOrder};
use crate::time::Nanos;
use crate::types::{Amount, ClientOrderId, FillId, OrderType, RejectCode};

impl Core {
    /// Takes at most a turn's worth of events from every venue; whether there
    /// may be more.
    pub(super) fn take_events(&mut self) -> bool {
        let mut more = false;
        for venue in 0..self.seats.len() {
            let wall = self.clock.wall();
            self.seats[venue].setup.venue.advance_to(wall);
            let mut taken = 0;
            while taken < limits::EXECUTOR_EVENTS_MAX && self.has_room() {
                let Some(event) = self.seats[venue].setup.venue.next_event() else {
                    break;
                };
                taken += 1;
                self.commit_if_long();
                let now = self.clock.now();
                self.seats[venue].is_up(now);
                self.take_event(u16::try_from(venue).unwrap_or(u16::MAX), event);
            }
            more |= taken == limits::EXECUTOR_EVENTS_MAX;
        }
        more
    }

    fn take_event(&mut self, venue: u16, event: VenueEvent) {
        if let Some(id) = event.order() {
            self.touch(id);
        }
        match event {
            VenueEvent::Acknowledged { id } => {
                if self.state(id) == Some(OrderState::PendingNew) {
                    let moved = self.advance(id, OrderState::Acked, Mover::Event, None);
                    debug_assert!(moved.is_ok(), "pending_new may become acked");
                }
            }
            VenueEvent::Rejected { id, code } => self.take_reject(id, code),
            VenueEvent::Executed {
                id,
                fill_id,
                price,
                quantity,
                leaves,
                ..
            } => {
                let fee = Amount::ZERO;
                let fill = Fill {
                    fill_id,
                    quantity,
                    price,
                    fee,
                };
                self.take_fill(venue, id, fill);
                let open = self.state(id).is_some_and(|state| !state.is_terminal());
                if leaves.is_zero() && open {
                    // It is over, and some of its fills are not here.
                    self.ask(id, true);
                }
            }
            // Neither says what was filled until then: the snapshot does (O33).
            VenueEvent::Canceled { id, .. } | VenueEvent::Expired { id, .. } => self.ask(id, true),
            VenueEvent::CancelRejected { id, .. } => {
                if self.entry(id).is_some_and(|entry| entry.cancelling) {
                    self.record(Record::Cancelling { id, wanted: false });
                }
                // Refused because it has just ended, perhaps.
                self.ask(id, false);
            }
            VenueEvent::Replaced { id, .. } => self.ask(id, false),
            VenueEvent::Busted { id, fill_id } => self.take_reversal(venue, id, fill_id),
            VenueEvent::Snapshot(snapshot) => self.take_snapshot(venue, &snapshot),
            VenueEvent::OpenOrders { .. } => {}
        }
    }

    fn take_reject(&mut self, id: ClientOrderId, code: RejectCode) {
        let clean = self.entry(id).is_some_and(|entry| {
            entry.order.state() == OrderState::PendingNew && !entry.order.has_fills()
        });
        // A repeated message of ours is refused as a duplicate, though the order
        // works: only the venue's record tells.
        if clean && code != RejectCode::DuplicateClientOrderId {
            let why = Some(format!("the venue refused it: {code}"));
            let moved = self.advance(id, OrderState::Rejected, Mover::Event, why);
            debug_assert!(moved.is_ok(), "pending_new may become rejected");
        } else {
            self.ask(id, false);
        }
    }

    fn take_fill(&mut self, venue: u16, id: ClientOrderId, fill: Fill) {
        let ours = self
            .entry(id)
            .is_some_and(|entry| entry.order.terms.venue == venue);
        if !ours {
            return self.set_aside(venue, id, fill);
        }
        let Some(before) = self.state(id) else { return };
        if self
            .entry(id)
            .is_some_and(|entry| entry.order.has_fill(fill.fill_id))
        {
            self.counts.duplicate_fills += 1;
            return;
        }
        let booking = self.record(Record::Filled { id, fill });
        let Some(Booking::Booked { late, overfilled }) = booking else {
            return;
        };
        self.tell_execution(id, &fill, false);
        if late {
            self.counts.late_fills += 1;
        }
        if overfilled {
            self.counts.overfills += 1;
            self.block(id);
        }
        match before {
            OrderState::Unknown => self.ask(id, false),
            before if !before.is_terminal() => self.after_move(id),
            _ => {}
        }
    }

    /// A fill of an order that is not ours: kept for a person, and told once.
    fn set_aside(&mut self, venue: u16, id: ClientOrderId, fill: Fill) {
        if self.book.external.contains_key(&(venue, fill.fill_id)) || self.was_ours(id) {
            self.counts.duplicate_fills += 1;
            return;
        }
        self.counts.external_fills += 1;
        self.record(Record::External { venue, id, fill });
        let name = &self.seats[usize::from(venue)].setup.name;
        let execution = Execution {
            fill_id: fill.fill_id,
            user_id: String::new(),
            account_id: None,
            instrument: String::new(),
            side: None,
            qty: fill.quantity,
            price: fill.price,
            fee: fill.fee,
            reservation_id: String::new(),
            client_order_id: id,
            venue: name.clone(),
            external: true,
            release_remainder: false,
        };
        self.tell(MessageBody::Execution(execution));
    }

    fn was_ours(&self, id: ClientOrderId) -> bool {
        self.history.order(id).is_some()
    }

    fn take_reversal(&mut self, venue: u16, id: ClientOrderId, fill_id: FillId) {
        let ours = self.entry(id);
        let Some(entry) = ours.filter(|entry| entry.order.terms.venue == venue) else {
            self.counts.foreign_orders += 1;
            return;
        };
        let fill = entry.order.fill(fill_id);
        if entry.order.is_reversed(fill_id) {
            return;
        }
        self.record(Record::Reversed { id, fill_id });
        self.counts.reversals += 1;
        if let Some(fill) = fill {
            self.tell_execution(id, &fill, true);
        }
    }

    fn tell_execution(&mut self, id: ClientOrderId, fill: &Fill, reversal: bool) {
        let Some(entry) = self.entry(id) else { return };
        let terms = &entry.order.terms;
        let ends = entry.order.state().is_terminal() && !entry.released && !reversal;
        let seat = self.seats.get(usize::from(terms.venue));
        let execution = Execution {
            fill_id: fill.fill_id,
            user_id: terms.user_id.clone(),
            account_id: Some(terms.account),
            instrument: terms.instrument_name.clone(),
            side: Some(terms.side),
            qty: fill.quantity,
            price: fill.price,
            fee: fill.fee,
            reservation_id: terms.reservation_id.clone(),
            client_order_id: id,
            venue: seat.map_or_else(String::new, |seat| seat.setup.name.clone()),
            external: false,
            release_remainder: ends,
        };
        // A fill whose reversal came first is told with it, so that they add up.
        let reversed = entry.order.is_reversed(fill.fill_id) && !reversal;
        if reversal {
            return self.tell(MessageBody::Reversal(execution));
        }
        let back = Execution {
            release_remainder: false,
            ..execution.clone()
        };
        self.tell(MessageBody::Execution(execution));
        if reversed {
            self.tell(MessageBody::Reversal(back));
        }
    }

    fn block(&mut self, id: ClientOrderId) {
        let Some(account) = self.entry(id).map(|entry| entry.order.terms.account) else {
            return;
        };
        if !self.book.blocked.contains(&account) {
            let blocked = true;
            self.record(Record::Blocked { account, blocked });
        }
    }

    /// Lets an effect happen.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Answer(answer) => self.answers.push_back(*answer),
            Effect::Mark(number) => self.marks.push_back(number),
            Effect::Submit(id) => self.submit_to_venue(id),
            Effect::Cancel(id) => self.cancel_at_venue(id),
        }
    }

    fn submit_to_venue(&mut self, id: ClientOrderId) {
        if self.state(id) != Some(OrderState::PendingNew) || self.sent.contains_key(&id) {
            return;
        }
        let Some(entry) = self.book.orders.get(&id) else {
            return;
        };
        let terms = &entry.order.terms;
        let (quantity, volume) = match terms.size {
            Size::Quantity(quantity) => (Some(quantity), None),
            Size::Volume(volume) => (None, Some(volume)),
        };
        let (price, stop) = match terms.order_type {
            OrderType::Stop => (None, terms.price),
            _ => (terms.price, terms.stop_price),
        };
        let order = VenueOrder {
            id,
            instrument: terms.instrument,
            side: terms.side,
            order_type: terms.order_type,
            time_in_force: terms.time_in_force,
            expires_at: terms.good_till,
            quantity,
            volume,
            price,
            stop,
        };
        let seat = &mut self.seats[usize::from(terms.venue)];
        let sent = seat.setup.venue.submit(&order);
        let now = self.clock.now();
        match sent {
            Ok(()) => {
                self.sent.insert(id, now);
                self.schedule(id, now.after(self.settings.ack_timeout));
            }
            Err(error) => {
                seat.down |= error == VenueError::Down;
                let moved = self.advance(
                    id,
                    OrderState::Rejected,
                    Mover::Event,
                    Some(error.to_string()),
                );
                debug_assert!(moved.is_ok(), "nothing was sent of it");
            }
        }
    }

    pub(super) fn schedule(&mut self, id: ClientOrderId, at: Nanos) {
        self.deadlines.insert((at, id));
    }

    /// A word was heard of an order.
    pub(super) fn touch(&mut self, id: ClientOrderId) {
        if self.book.orders.contains_key(&id) {
            self.heard.insert(id, self.clock.now());
        }
    }

    /// Orders that were silent for too long.
    pub(super) fn take_deadlines(&mut self) {
        let now = self.clock.now();
        while let Some(&(at, id)) = self.deadlines.first() {
            if at > now {
                return;
            }
            self.deadlines.pop_first();
            self.commit_if_long();
            let heard = self.heard.get(&id).copied().unwrap_or(Nanos(0));
            match self.state(id) {
                Some(OrderState::PendingNew) => {
                    self.counts.unknown += 1;
                    let why = Some("no acknowledgement in time".to_owned());
                    let moved = self.advance(id, OrderState::Unknown, Mover::Event, why);
                    debug_assert!(moved.is_ok(), "pending_new may become unknown");
                    self.ask(id, false);
                }
                Some(OrderState::Acked | OrderState::PartiallyFilled) => {
                    if now >= heard.after(self.settings.audit_every) {
                        self.ask(id, false);
                    }
                }
                Some(OrderState::Unknown) => self.ask(id, false),
                _ => {
                    self.heard.remove(&id);
                    continue;
                }
            }
            self.schedule(id, now.after(self.settings.audit_every));
        }
    }
}
