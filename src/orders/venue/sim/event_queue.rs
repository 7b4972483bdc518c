//! The events that wait to be polled: a ring of fixed size.
//!
//! Never grows, never drops: the venue asks for room before it takes work.

use crate::orders::venue::VenueEvent;
use crate::types::ClientOrderId;

pub(super) struct EventQueue {
    /// A power of two long.
    ring: Box<[VenueEvent]>,
    /// Index of the oldest; below `ring.len()`.
    head: usize,
    /// How many wait; at most `ring.len()`.
    len: usize,
}

impl EventQueue {
    pub(super) fn new(capacity: usize) -> Self {
        let nothing = VenueEvent::Acknowledged {
            id: ClientOrderId::default(),
        };
        Self {
            ring: vec![nothing; capacity.next_power_of_two()].into_boxed_slice(),
            head: 0,
            len: 0,
        }
    }

    /// How many more fit.
    pub(super) const fn room(&self) -> usize {
        self.ring.len() - self.len
    }

    /// Adds the newest; the caller has seen that there is room.
    pub(super) fn push(&mut self, event: VenueEvent) {
        assert!(self.len < self.ring.len(), "room is asked for before work");
        let mask = self.ring.len() - 1;
        self.ring[(self.head + self.len) & mask] = event;
        self.len += 1;
    }

    /// Takes the oldest.
    pub(super) fn pop(&mut self) -> Option<VenueEvent> {
        if self.len == 0 {
            return None;
        }
        let event = self.ring[self.head];
        self.len -= 1;
        // An emptied ring starts over, so that a drained queue stays in cache.
        self.head = if self.len == 0 {
            0
        } else {
            (self.head + 1) & (self.ring.len() - 1)
        };
        Some(event)
    }
}
