//! Messages on their way in one direction.

use std::collections::BTreeMap;

use rand_chacha::ChaCha12Rng;

use super::Faults;
use crate::time::UnixNanos;

/// By the time of arrival; of one time, in the order sent.
pub(super) struct Line<T> {
    on_the_way: BTreeMap<(UnixNanos, u64), T>,
    sent: u64,
    /// The latest arrival so far: where messages keep their order, none is
    /// before it.
    latest: UnixNanos,
    max: usize,
}

impl<T: Copy> Line<T> {
    pub(super) const fn new(max: usize) -> Self {
        Self {
            on_the_way: BTreeMap::new(),
            sent: 0,
            latest: UnixNanos(0),
            max,
        }
    }

    /// Whether a message would be taken, doubled or not.
    pub(super) fn has_room(&self) -> bool {
        self.on_the_way.len() + 2 <= self.max
    }

    /// Sends at `now`, as the faults have it, `extra` later than it would
    /// arrive. A message for which there is no room is lost.
    pub(super) fn send(
        &mut self,
        message: T,
        now: UnixNanos,
        extra: core::time::Duration,
        faults: &Faults,
        random: &mut ChaCha12Rng,
    ) {
        if faults.lose.happens(random) {
            return;
        }
        let copies = if faults.duplicate.happens(random) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            if self.on_the_way.len() >= self.max {
                return;
            }
            let mut due = now.after(faults.delay(random)).after(extra);
            if !faults.reorder {
                due = due.max(self.latest);
            }
            self.latest = self.latest.max(due);
            self.sent += 1;
            self.on_the_way.insert((due, self.sent), message);
        }
    }

    /// The message that arrives first, if it is there at `now`.
    pub(super) fn arrive(&mut self, now: UnixNanos) -> Option<T> {
        let ((due, _), _) = self.on_the_way.first_key_value()?;
        if *due > now {
            return None;
        }
        self.on_the_way.pop_first().map(|(_, message)| message)
    }

    /// When the next one arrives.
    pub(super) fn next_due(&self) -> Option<UnixNanos> {
        self.on_the_way.first_key_value().map(|((due, _), _)| *due)
    }
}
