//! A hierarchical timer wheel with nanosecond due times.
//!
//! It promises that timers come out in the order of their due times, equal ones
//! in the order they were set, and none before its time; that setting and
//! cancelling cost the same however many timers there are; and that it does not
//! allocate while the number of timers stays below its highest so far.
//!
//! It does not read a clock, call anything, or hold what it is not given: the
//! owner asks [`TimerWheel::pop_due`] with the time of its own clock. A timer
//! carries one `Copy` value that says what is due.
//!
//! Level 0 has one slot per nanosecond of the current 64, level 1 one per 64
//! nanoseconds of the current 4,096, and so on over the whole of `u64`. A
//! timer sits on the level of the highest bit in which its due time differs
//! from the wheel's time, and moves down as that time comes near: at most ten
//! times, and most timers are cancelled before.

use super::Nanos;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 64usize.div_ceil(BITS as usize);
const NIL: u32 = u32::MAX;

const _: () = assert!(LEVELS == 11, "ten levels of six bits and one of four");

/// Names one timer for [`TimerWheel::cancel`]. Copies are harmless: the key of
/// a timer that fired or was cancelled never names another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerKey {
    index: u32,
    sequence: u64,
}

/// The wheel holds as many timers as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all {max} timers are in use: cancel some, or raise the limit")]
pub struct WheelFull {
    /// The most timers that this wheel holds.
    pub max: u32,
}

#[derive(Debug)]
struct Entry<T> {
    due: u64,
    /// Zero while the entry is free.
    sequence: u64,
    prev: u32,
    /// The next of the slot, or the next free entry.
    next: u32,
    level: u8,
    slot: u8,
    what: T,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    head: u32,
    tail: u32,
}

/// Timers by due time, each with a `what`.
#[derive(Debug)]
pub struct TimerWheel<T> {
    /// The wheel's time: every timer due before it has been popped.
    elapsed: u64,
    sequence: u64,
    entries: Vec<Entry<T>>,
    free: u32,
    len: u32,
    max: u32,
    /// Bit `s` of word `l`: slot `s` of level `l` holds a timer.
    occupied: [u64; LEVELS],
    slots: Box<[[Slot; SLOTS]; LEVELS]>,
}

impl<T: Copy> TimerWheel<T> {
    /// An empty wheel that holds at most `max` timers.
    #[must_use]
    pub fn new(max: u32) -> Self {
        let empty = Slot {
            head: NIL,
            tail: NIL,
        };
        Self {
            elapsed: 0,
            sequence: 0,
            entries: Vec::new(),
            free: NIL,
            len: 0,
            max: max.min(NIL - 1),
            occupied: [0; LEVELS],
            slots: Box::new([[empty; SLOTS]; LEVELS]),
        }
    }

    /// Timers that are set.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether no timer is set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Sets a timer. One that is due in the past is due at once, after those
    /// that are due already.
    ///
    /// # Errors
    /// [`WheelFull`] when the wheel holds as many timers as it may.
    pub fn set(&mut self, due: Nanos, what: T) -> Result<TimerKey, WheelFull> {
        if self.len == self.max {
            return Err(WheelFull { max: self.max });
        }
        self.sequence += 1;
        let entry = Entry {
            due: due.0.max(self.elapsed),
            sequence: self.sequence,
            prev: NIL,
            next: NIL,
            level: 0,
            slot: 0,
            what,
        };
        let index = if self.free == NIL {
            let index =
                u32::try_from(self.entries.len()).map_err(|_| WheelFull { max: self.max })?;
            self.entries.push(entry);
            index
        } else {
            let index = self.free;
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            index
        };
        self.len += 1;
        self.link(index);
        Ok(TimerKey {
            index,
            sequence: self.sequence,
        })
    }

    /// Removes a timer, and returns what it was for; `None` if it fired or was
    /// cancelled before.
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        if !self.is_set(key) {
            return None;
        }
        self.unlink(key.index);
        Some(self.release(key.index))
    }

    /// Whether the timer is set: neither fired nor cancelled.
    #[must_use]
    pub fn is_set(&self, key: TimerKey) -> bool {
        self.entries
            .get(key.index as usize)
            .is_some_and(|entry| entry.sequence == key.sequence)
    }

    /// The earliest timer that is due at `now`, removed. Call it until it
    /// returns `None`. A `now` before an earlier one counts as that one.
    pub fn pop_due(&mut self, now: Nanos) -> Option<T> {
        while let Some((level, slot, start)) = self.earliest_slot() {
            if start > now.0 {
                break;
            }
            self.elapsed = self.elapsed.max(start);
            if level == 0 {
                let index = self.slots[0][slot].head;
                self.unlink(index);
                return Some(self.release(index));
            }
            self.move_down(level, slot);
        }
        self.elapsed = self.elapsed.max(now.0);
        None
    }

    /// A time at which it is worth calling [`Self::pop_due`] again: no timer is
    /// due before it. It may be earlier than the earliest timer, never later;
    /// who sleeps until then and asks again gets there in a few steps. `None`
    /// when no timer is set.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.earliest_slot().map(|(_, _, start)| Nanos(start))
    }

    /// Level, slot and first nanosecond of the earliest slot that holds a timer.
    fn earliest_slot(&self) -> Option<(usize, usize, u64)> {
        if self.len == 0 {
            return None;
        }
        // Lower levels lie before higher ones: they split the higher one's
        // current slot, and a timer of a higher level is in a later slot.
        for (level, &occupied) in self.occupied.iter().enumerate() {
            if occupied == 0 {
                continue;
            }
            let slot = occupied.trailing_zeros();
            let shift = BITS * u32::try_from(level).unwrap_or(0);
            let above = self.elapsed.checked_shr(shift + BITS).unwrap_or(0);
            let block = above.checked_shl(shift + BITS).unwrap_or(0);
            return Some((level, slot as usize, block | (u64::from(slot) << shift)));
        }
        None
    }

    /// Files the slot's timers anew, in their order, now that its time has come.
    fn move_down(&mut self, level: usize, slot: usize) {
        let mut index = self.slots[level][slot].head;
        self.slots[level][slot] = Slot {
            head: NIL,
            tail: NIL,
        };
        self.occupied[level] &= !(1 << slot);
        while index != NIL {
            let next = self.entries[index as usize].next;
            self.link(index);
            index = next;
        }
    }

    fn link(&mut self, index: u32) {
        let due = self.entries[index as usize].due;
        let (level, slot) = place(self.elapsed, due);
        let tail = self.slots[level][slot].tail;
        let entry = &mut self.entries[index as usize];
        (entry.prev, entry.next) = (tail, NIL);
        (entry.level, entry.slot) = (narrow(level), narrow(slot));
        if tail == NIL {
            self.slots[level][slot].head = index;
            self.occupied[level] |= 1 << slot;
        } else {
            self.entries[tail as usize].next = index;
        }
        self.slots[level][slot].tail = index;
    }

    fn unlink(&mut self, index: u32) {
        let entry = &self.entries[index as usize];
        let (prev, next) = (entry.prev, entry.next);
        let (level, slot) = (usize::from(entry.level), usize::from(entry.slot));
        if prev == NIL {
            self.slots[level][slot].head = next;
        } else {
            self.entries[prev as usize].next = next;
        }
        if next == NIL {
            self.slots[level][slot].tail = prev;
        } else {
            self.entries[next as usize].prev = prev;
        }
        if self.slots[level][slot].head == NIL {
            self.occupied[level] &= !(1 << slot);
        }
    }

    fn release(&mut self, index: u32) -> T {
        let entry = &mut self.entries[index as usize];
        entry.sequence = 0;
        entry.next = self.free;
        self.free = index;
        self.len -= 1;
        entry.what
    }
}

/// The level and slot of a timer that is due at `due`, not before `elapsed`.
fn place(elapsed: u64, due: u64) -> (usize, usize) {
    let differing = elapsed ^ due;
    let highest = 63 - (differing | 1).leading_zeros();
    let level = highest / BITS;
    let slot = (due >> (level * BITS)) & (SLOTS as u64 - 1);
    (level as usize, usize::try_from(slot).unwrap_or(0))
}

/// A level or slot number, below 64 by construction.
fn narrow(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn timers_come_in_due_order_and_equal_ones_in_the_order_set() {
        let mut wheel = TimerWheel::new(8);
        for (due, what) in [(70, 'c'), (5, 'a'), (70, 'd'), (6, 'b'), (1 << 40, 'e')] {
            wheel.set(Nanos(due), what).expect("there is room");
        }
        let mut seen = Vec::new();
        while let Some(what) = wheel.pop_due(Nanos(70)) {
            seen.push(what);
        }
        assert_eq!(seen, ['a', 'b', 'c', 'd']);
        assert_eq!(wheel.pop_due(Nanos((1 << 40) - 1)), None);
        assert_eq!(wheel.pop_due(Nanos(1 << 40)), Some('e'));
        assert!(wheel.is_empty());
    }

    #[test]
    fn the_end_of_time_is_a_due_time_like_any_other() {
        let mut wheel = TimerWheel::new(2);
        wheel.set(Nanos(u64::MAX), 1).expect("there is room");
        assert_eq!(wheel.pop_due(Nanos(u64::MAX - 1)), None);
        assert_eq!(wheel.pop_due(Nanos(u64::MAX)), Some(1));
        wheel.set(Nanos(u64::MAX), 2).expect("there is room");
        assert_eq!(wheel.pop_due(Nanos(u64::MAX)), Some(2));
    }

    #[test]
    fn a_full_wheel_says_so_and_takes_one_again_after_a_cancel() {
        let mut wheel = TimerWheel::new(1);
        let first = wheel.set(Nanos(1), ()).expect("there is room");
        assert_eq!(wheel.set(Nanos(2), ()), Err(WheelFull { max: 1 }));
        assert_eq!(wheel.cancel(first), Some(()));
        assert_eq!(wheel.cancel(first), None, "once");
        let second = wheel.set(Nanos(2), ()).expect("there is room again");
        assert!(wheel.is_set(second));
        assert!(!wheel.is_set(first), "an old key never names a new timer");
    }

    #[derive(Clone, Debug)]
    enum Act {
        Set(u64),
        Cancel(usize),
        Advance(u64),
    }

    fn act() -> impl Strategy<Value = Act> {
        let span = prop_oneof![0u64..4, 0u64..200, 0u64..100_000, any::<u64>()];
        prop_oneof![
            3 => span.clone().prop_map(Act::Set),
            1 => any::<usize>().prop_map(Act::Cancel),
            2 => span.prop_map(Act::Advance),
        ]
    }

    proptest! {
        /// Against a sorted map by (due, sequence).
        #[test]
        fn it_agrees_with_a_sorted_map(acts in prop::collection::vec(act(), 1..200)) {
            let mut wheel = TimerWheel::new(1_000);
            let mut oracle: BTreeMap<(u64, usize), TimerKey> = BTreeMap::new();
            let mut now = 0u64;
            for (number, act) in acts.into_iter().enumerate() {
                match act {
                    Act::Set(after) => {
                        let due = now.saturating_add(after);
                        let key = wheel.set(Nanos(due), number).expect("there is room");
                        oracle.insert((due, number), key);
                    }
                    Act::Cancel(pick) if !oracle.is_empty() => {
                        let at = *oracle.keys().nth(pick % oracle.len()).expect("in range");
                        let key = oracle.remove(&at).expect("it is there");
                        prop_assert_eq!(wheel.cancel(key), Some(at.1));
                        prop_assert_eq!(wheel.cancel(key), None);
                    }
                    Act::Cancel(_) => {}
                    Act::Advance(by) => {
                        now = now.saturating_add(by);
                        loop {
                            let first = oracle.first_key_value().map(|(&at, _)| at);
                            let due = first.filter(|at| at.0 <= now);
                            prop_assert_eq!(wheel.pop_due(Nanos(now)), due.map(|at| at.1));
                            let Some(at) = due else { break };
                            oracle.remove(&at);
                        }
                    }
                }
                prop_assert_eq!(wheel.len(), oracle.len());
                match (wheel.next_due(), oracle.first_key_value()) {
                    (None, None) => {}
                    (Some(hint), Some((&(due, _), _))) => {
                        prop_assert!(hint.0 <= due && hint.0 >= now.min(due));
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
    }
}
