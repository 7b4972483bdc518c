//! What the venue knows of every order it has had, which its answers are made
//! of.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::orders::venue::{OrderSnapshot, VenueEvent, VenueOrder, VenueStatus};
use crate::time::UnixNanos;
use crate::types::{ClientOrderId, FillId, Quantity, RejectCode};

struct Entry {
    status: VenueStatus,
    filled: Quantity,
    leaves: Quantity,
    /// Its executions, busts taken off, as they were told.
    fills: Vec<VenueEvent>,
    /// When a query begins to tell of it.
    listed_at: UnixNanos,
}

/// See the module.
pub(super) struct Record {
    entries: HashMap<ClientOrderId, Entry, foldhash::fast::RandomState>,
    /// Orders that are over, the oldest first: the first to be forgotten.
    over: VecDeque<ClientOrderId>,
    max: usize,
}

impl Record {
    pub(super) fn new(max: usize) -> Self {
        Self {
            entries: HashMap::default(),
            over: VecDeque::new(),
            max,
        }
    }

    pub(super) fn knows(&self, id: ClientOrderId) -> bool {
        self.entries.contains_key(&id)
    }

    /// Whether a new order has a place, an old one's if need be.
    pub(super) fn make_room(&mut self) -> bool {
        while self.entries.len() >= self.max {
            let Some(oldest) = self.over.pop_front() else {
                return false;
            };
            self.entries.remove(&oldest);
        }
        true
    }

    pub(super) fn open(&mut self, order: &VenueOrder, listed_at: UnixNanos) {
        let entry = Entry {
            status: VenueStatus::Working,
            filled: Quantity::ZERO,
            leaves: order.quantity.unwrap_or(Quantity::ZERO),
            fills: Vec::new(),
            listed_at,
        };
        self.entries.insert(order.id, entry);
    }

    /// What the venue's book says happened.
    pub(super) fn note(&mut self, event: &VenueEvent) {
        let Some(entry) = event.order().and_then(|id| self.entries.get_mut(&id)) else {
            return;
        };
        match *event {
            VenueEvent::Executed {
                quantity, leaves, ..
            } => {
                entry.filled = entry.filled.checked_add(quantity).unwrap_or(Quantity::MAX);
                entry.leaves = leaves;
                entry.fills.push(*event);
                if leaves.is_zero() {
                    entry.status = VenueStatus::Filled;
                }
            }
            VenueEvent::Replaced { leaves, .. } => entry.leaves = leaves,
            VenueEvent::Canceled { .. } => entry.end(VenueStatus::Canceled),
            VenueEvent::Expired { .. } => entry.end(VenueStatus::Expired),
            VenueEvent::Rejected { .. } => entry.end(VenueStatus::Rejected),
            VenueEvent::Acknowledged { .. }
            | VenueEvent::CancelRejected { .. }
            | VenueEvent::Busted { .. }
            | VenueEvent::Snapshot(_)
            | VenueEvent::OpenOrders { .. } => return,
        }
        if event.is_last()
            && let Some(id) = event.order()
        {
            self.over.push_back(id);
        }
    }

    /// Takes an execution off; whether it was there.
    pub(super) fn bust(&mut self, id: ClientOrderId, bust: FillId) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else {
            return false;
        };
        let is_it = |event: &VenueEvent| match event {
            VenueEvent::Executed { fill_id, .. } => *fill_id == bust,
            _ => false,
        };
        let Some(at) = entry.fills.iter().position(is_it) else {
            return false;
        };
        if let VenueEvent::Executed { quantity, .. } = entry.fills.remove(at) {
            let filled = entry.filled.checked_sub(quantity);
            entry.filled = filled.unwrap_or(Quantity::ZERO);
        }
        true
    }

    /// The answer to a query at `now`: its executions, then how it stands.
    pub(super) fn answer(&self, id: ClientOrderId, now: UnixNanos) -> Vec<VenueEvent> {
        let entry = self.entries.get(&id).filter(|entry| entry.listed_at <= now);
        let mut events = entry.map(|entry| entry.fills.clone()).unwrap_or_default();
        events.push(VenueEvent::Snapshot(OrderSnapshot {
            id,
            status: entry.map(|entry| entry.status),
            filled: entry.map_or(Quantity::ZERO, |entry| entry.filled),
            leaves: entry.map_or(Quantity::ZERO, |entry| entry.leaves),
        }));
        events
    }

    /// The orders that work at `now` and are listed, by id.
    pub(super) fn working(&self, now: UnixNanos) -> Vec<ClientOrderId> {
        let is_working =
            |entry: &Entry| entry.status == VenueStatus::Working && entry.listed_at <= now;
        let entries = self.entries.iter();
        let mut ids: Vec<_> = entries
            .filter(|(_, entry)| is_working(entry))
            .map(|(id, _)| *id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// The refusal of an order that is known already, or has no place.
    pub(super) fn refusal(&self, id: ClientOrderId) -> VenueEvent {
        let code = if self.knows(id) {
            RejectCode::DuplicateClientOrderId
        } else {
            RejectCode::CapacityExceeded
        };
        VenueEvent::Rejected { id, code }
    }
}

impl Entry {
    const fn end(&mut self, status: VenueStatus) {
        self.status = status;
        self.leaves = Quantity::ZERO;
    }
}
