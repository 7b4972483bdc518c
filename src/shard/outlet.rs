//! The way to the venue: direct, or held until what asked for it is durable.

use std::collections::VecDeque;

use super::held::Held;
use crate::limits::SHARD_VENUE_HELD_MAX;
use crate::orders::venue::{Venue, VenueError, VenueEvent, VenueOrder};
use crate::types::{ClientOrderId, Price, Quantity, RejectCode};

/// See the module.
pub(super) struct Outlet<V> {
    pub(super) venue: V,
    /// `None` where nothing waits for a journal.
    held: Option<Held<Request>>,
    /// What a venue that could not be asked would have answered.
    refused: VecDeque<VenueEvent>,
}

#[derive(Clone, Copy)]
enum Request {
    Submit(VenueOrder),
    Cancel(ClientOrderId),
    Replace {
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    },
}

impl<V: Venue> Outlet<V> {
    pub(super) const fn direct(venue: V) -> Self {
        Self {
            venue,
            held: None,
            refused: VecDeque::new(),
        }
    }

    /// From now on requests wait for [`mark`](Self::mark) and
    /// [`release`](Self::release).
    pub(super) fn hold(&mut self) {
        self.held = Some(Held::with_capacity(SHARD_VENUE_HELD_MAX));
    }

    pub(super) fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError> {
        match &mut self.held {
            None => self.venue.submit(order),
            Some(held) => keep(held, Request::Submit(*order)),
        }
    }

    pub(super) fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        match &mut self.held {
            None => self.venue.cancel(id),
            Some(held) => keep(held, Request::Cancel(id)),
        }
    }

    pub(super) fn replace(
        &mut self,
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), VenueError> {
        match &mut self.held {
            None => self.venue.replace(id, price, quantity),
            Some(held) => keep(
                held,
                Request::Replace {
                    id,
                    price,
                    quantity,
                },
            ),
        }
    }

    #[inline]
    pub(super) fn next_event(&mut self) -> Option<VenueEvent> {
        if let Some(event) = self.refused.pop_front() {
            return Some(event);
        }
        self.venue.next_event()
    }

    /// What was asked since the last mark may leave when record `after` is
    /// durable.
    pub(super) fn mark(&mut self, after: u64) {
        if let Some(held) = &mut self.held {
            held.mark(after);
        }
    }

    /// Whether something may leave.
    pub(super) fn is_due(&self, durable: u64) -> bool {
        self.held.as_ref().is_some_and(|held| held.is_due(durable))
    }

    /// Sends what may leave, as far as the venue takes it; whether anything was
    /// sent. What it will never take is answered in its place.
    pub(super) fn release(&mut self, durable: u64) -> bool {
        let Some(held) = &mut self.held else {
            return false;
        };
        let before = held.len();
        while let Some(request) = held.due(durable) {
            let (sent, refusal) = send(&mut self.venue, request);
            match sent {
                Ok(()) => {}
                // It has no room now, and has some when its events are taken.
                Err(VenueError::Busy) => break,
                Err(_) => self.refused.push_back(refusal),
            }
            held.take_due(durable);
        }
        before != held.len()
    }

    /// Whether there is room for what one command can ask.
    pub(super) fn has_room(&self) -> bool {
        self.held
            .as_ref()
            .is_none_or(|held| held.len() < SHARD_VENUE_HELD_MAX / 2)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.as_ref().is_none_or(Held::is_empty)
    }
}

fn keep(held: &mut Held<Request>, request: Request) -> Result<(), VenueError> {
    if held.len() >= SHARD_VENUE_HELD_MAX {
        return Err(VenueError::Busy);
    }
    held.push(request);
    Ok(())
}

/// Sends a request; and what to answer where it was not sent.
fn send(venue: &mut impl Venue, request: &Request) -> (Result<(), VenueError>, VenueEvent) {
    let code = RejectCode::SystemUnavailable;
    match *request {
        Request::Submit(ref order) => (
            venue.submit(order),
            VenueEvent::Rejected { id: order.id, code },
        ),
        Request::Cancel(id) => (venue.cancel(id), VenueEvent::CancelRejected { id, code }),
        Request::Replace {
            id,
            price,
            quantity,
        } => (
            venue.replace(id, price, quantity),
            VenueEvent::CancelRejected { id, code },
        ),
    }
}
