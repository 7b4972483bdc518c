//! A sliding window that every shard counts in (rule K14): lock-free, never
//! more than the limit passes, and cheap while the limit is far.
//!
//! Every shard has a lane of its own: a log of its attempts' times, which it
//! alone appends to and every shard may read. What binds them is the number of
//! slots taken. A shard takes slots before it uses them, many at a time while
//! the limit is far, and what it has left is room in its lane's word, where it
//! uses them, and where another shard may take them from it once no slot is
//! free elsewhere. So a slot is free, room that anyone can take, or used; only
//! between the two steps that move it from the one to the other is it out of
//! sight, and a judge who needs it just then refuses.
//!
//! Slots in use at a time are those taken, less the attempts that were a whole
//! window ago by then; each judge counts those itself, in every lane. No time
//! is kept with the slots, so that clocks which disagree cost a false refusal
//! at worst: of a window's passed attempts, the one that was judged last found
//! all of them among the slots taken, and none of them a window old.

use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;

use super::sync::{AtomicU32, AtomicU64, Ordering};
use crate::limits::SHARDS_MAX;
use crate::time::Nanos;

/// Of a lane's word: the bits that hold the room; those above count attempts.
const ROOM_BITS: u32 = 12;
/// One attempt in a lane's word.
pub(super) const ONE_ATTEMPT: u64 = 1 << ROOM_BITS;

/// See the module; a shard counts in it from its [seat](super::Seat).
pub struct SharedWindow {
    /// Slots taken so far: used, or some lane's room.
    pub(super) taken: CachePadded<AtomicU64>,
    /// Lanes that were ever opened; the first ones.
    opened: AtomicU32,
    lanes: Box<[OnceLock<Arc<Lane>>]>,
    slots: usize,
}

impl SharedWindow {
    /// Room for limits of up to `slots`, rounded up to a power of two.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self {
            taken: CachePadded::new(AtomicU64::new(0)),
            opened: AtomicU32::new(0),
            lanes: (0..SHARDS_MAX).map(|_| OnceLock::new()).collect(),
            slots: slots.max(1).next_power_of_two() as usize,
        }
    }

    /// The largest limit that can be judged.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.slots
    }

    /// A lane that nobody holds, with what it has seen.
    pub(super) fn hold_lane(&self) -> Option<Arc<Lane>> {
        for (number, place) in (1u32..).zip(&self.lanes) {
            let lane = place.get_or_init(|| Arc::new(Lane::new(self.slots)));
            // A lane opened a moment later than it is looked for is one whose
            // attempts count as in use.
            self.opened.fetch_max(number, Ordering::AcqRel);
            if lane.held.swap(1, Ordering::AcqRel) == 0 {
                return Some(Arc::clone(lane));
            }
        }
        None
    }

    /// How many lanes were ever opened.
    pub(super) fn lanes_opened(&self) -> u64 {
        u64::from(self.opened.load(Ordering::Relaxed)).max(1)
    }

    pub(super) fn lane(&self, number: usize) -> Option<&Lane> {
        self.lanes.get(number)?.get().map(AsRef::as_ref)
    }

    /// Every lane that may have attempts or room.
    #[inline]
    pub(super) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        let opened = self.opened.load(Ordering::Acquire) as usize;
        self.lanes
            .iter()
            .take(opened)
            .filter_map(|lane| lane.get().map(AsRef::as_ref))
    }
}

/// One shard's attempts, and the slots that it has left.
pub(super) struct Lane {
    /// Attempts logged so far, above the room. Only the holder changes it
    /// while there is no room; with room, others may lower that.
    pub(super) word: CachePadded<AtomicU64>,
    /// Times that never fall; a power of two of them.
    places: Box<[AtomicU64]>,
    /// The latest attempts that are read; the other places are for those that
    /// are written meanwhile.
    kept: u64,
    held: AtomicU32,
}

/// Attempts that a lane's holder can write while another shard reads its log.
#[cfg(not(loom))]
const SPARE: usize = 256;
#[cfg(loom)]
const SPARE: usize = 1;

impl Lane {
    fn new(slots: usize) -> Self {
        Self {
            word: CachePadded::new(AtomicU64::new(0)),
            places: (0..(slots + SPARE).next_power_of_two())
                .map(|_| AtomicU64::new(0))
                .collect(),
            kept: slots as u64,
            held: AtomicU32::new(0),
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // Masked to the log's length.
    fn place(&self, attempt: u64) -> &AtomicU64 {
        &self.places[attempt as usize & (self.places.len() - 1)]
    }

    /// Writes the holder's next attempt, which is seen once the word counts it.
    #[inline]
    pub(super) fn write(&self, word: u64, now: Nanos) {
        // Release: who reads this time where it looked for an older one sees
        // in the word that the log went on.
        self.place(attempts(word)).store(now.0, Ordering::Release);
    }

    /// The latest time in the log.
    pub(super) fn latest(&self) -> Nanos {
        let attempts = attempts(self.word.load(Ordering::Acquire));
        let last = attempts.checked_sub(1);
        Nanos(last.map_or(0, |last| self.place(last).load(Ordering::Relaxed)))
    }

    /// The word; slots of its room are in `taken` as seen from now on.
    pub(super) fn see(&self) -> u64 {
        self.word.load(Ordering::Acquire)
    }

    pub(super) fn has_room(&self) -> bool {
        room(self.word.load(Ordering::Relaxed)) > 0
    }

    /// Takes one slot of the room that was seen; the word where that is past.
    pub(super) fn take_one(&self, seen: u64) -> Result<u64, u64> {
        // A word never comes back: room is added with an attempt only.
        self.word
            .compare_exchange(seen, seen - 1, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Ends the hold; what room is left is given back to `taken`.
    pub(super) fn let_go(&self, taken: &AtomicU64) {
        self.give_room_back(taken);
        self.held.store(0, Ordering::Release);
    }

    pub(super) fn give_room_back(&self, taken: &AtomicU64) {
        let left = self.word.fetch_and(!(ONE_ATTEMPT - 1), Ordering::AcqRel);
        taken.fetch_sub(room(left), Ordering::AcqRel);
    }

    /// How many attempts were a whole window ago at `now`, where `known` of
    /// them are known to be. An attempt that as many as the largest limit
    /// follow counts as one: what follows it is enough to judge by.
    pub(super) fn expired(&self, known: u64, now: Nanos, window_ns: u64) -> u64 {
        loop {
            // Acquire: the times of the attempts that the word counts are seen.
            let end = attempts(self.word.load(Ordering::Acquire));
            let expired = self.search(known, end, now, window_ns);
            // Times are read right unless the holder came round the log
            // meanwhile, the attempt included that it is about to count.
            let spare = self.places.len() as u64 - self.kept;
            if attempts(self.word.load(Ordering::Acquire)) - end < spare {
                return expired;
            }
        }
    }

    /// [`expired`](Self::expired), of the first `end` attempts.
    #[inline]
    fn search(&self, known: u64, end: u64, now: Nanos, window_ns: u64) -> u64 {
        let is_old = |attempt| {
            let time = self.place(attempt).load(Ordering::Acquire);
            now.0.checked_sub(time).is_some_and(|age| age >= window_ns)
        };
        let mut low = known.max(end.saturating_sub(self.kept));
        // Everything below `low` is old: doubling steps, then halving ones.
        let mut step = 1;
        while low < end {
            let probe = (low + step - 1).min(end - 1);
            if !is_old(probe) {
                let mut high = probe;
                while low < high {
                    let middle = low.midpoint(high);
                    if is_old(middle) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                return low;
            }
            low = probe + 1;
            step *= 2;
        }
        low
    }
}

/// Attempts that a lane's word counts.
#[inline]
pub(super) const fn attempts(word: u64) -> u64 {
    word >> ROOM_BITS
}

/// Slots that a lane's word has left.
#[inline]
pub(super) const fn room(word: u64) -> u64 {
    word & (ONE_ATTEMPT - 1)
}
