//! An index from a key's hash to a slot of a slab, without tombstones.
//!
//! The keys live in the slab; the index holds only a slot and a part of the
//! hash, eight bytes an entry. Open addressing with backward-shift deletion:
//! an order's whole life leaves the table as if it had never been there, so
//! there is no clean-up pass that would stop the shard, and no allocation after
//! construction. It never iterates, so hashing cannot change an order of events.

/// No slot: what an empty entry holds.
const EMPTY: u32 = u32::MAX;

/// One place of the table.
#[derive(Clone, Copy)]
struct Entry {
    /// The hash's upper half, whose low bits give the entry's home.
    hash: u32,
    slot: u32,
}

/// The index: bounded when made, at most half full.
pub struct SlotIndex {
    entries: Box<[Entry]>,
    mask: usize,
    len: usize,
    max: usize,
}

impl SlotIndex {
    /// For at most `max` keys; takes 16 to 32 bytes a key.
    ///
    /// # Panics
    /// Where `max` is over 2^30, which no slab of `u32` slots reaches.
    #[must_use]
    pub fn with_max(max: usize) -> Self {
        assert!(
            max <= 1 << 30,
            "an index holds at most 2^30 keys, not {max}"
        );
        let places = (max * 2).next_power_of_two().max(8);
        Self {
            entries: vec![
                Entry {
                    hash: 0,
                    slot: EMPTY
                };
                places
            ]
            .into_boxed_slice(),
            mask: places - 1,
            len: 0,
            max,
        }
    }

    /// How many keys it holds.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot of the key with this hash for which `is_key` holds.
    pub fn find(&self, hash: u64, is_key: impl FnMut(u32) -> bool) -> Option<u32> {
        self.place_of(hash, is_key)
            .map(|place| self.entries[place].slot)
    }

    /// Adds a key that is not there; `false`, and no change, when full.
    #[must_use]
    pub fn insert(&mut self, hash: u64, slot: u32) -> bool {
        debug_assert_ne!(slot, EMPTY, "the last slot number marks an empty place");
        if self.len == self.max {
            return false;
        }
        let hash = upper_half(hash);
        let mut place = self.home(hash);
        while self.entries[place].slot != EMPTY {
            place = (place + 1) & self.mask;
        }
        self.entries[place] = Entry { hash, slot };
        self.len += 1;
        true
    }

    /// Removes the key with this hash for which `is_key` holds, and says which
    /// slot it had.
    pub fn remove(&mut self, hash: u64, is_key: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut hole = self.place_of(hash, is_key)?;
        let slot = self.entries[hole].slot;
        // Every entry behind the hole that may stand in it moves back: one that
        // is at least as far from its home as from the hole.
        let mut place = (hole + 1) & self.mask;
        while self.entries[place].slot != EMPTY {
            let from_home = place.wrapping_sub(self.home(self.entries[place].hash)) & self.mask;
            let from_hole = place.wrapping_sub(hole) & self.mask;
            if from_home >= from_hole {
                self.entries[hole] = self.entries[place];
                hole = place;
            }
            place = (place + 1) & self.mask;
        }
        self.entries[hole].slot = EMPTY;
        self.len -= 1;
        Some(slot)
    }

    fn place_of(&self, hash: u64, mut is_key: impl FnMut(u32) -> bool) -> Option<usize> {
        let hash = upper_half(hash);
        let mut place = self.home(hash);
        loop {
            let entry = self.entries[place];
            if entry.slot == EMPTY {
                return None;
            }
            if entry.hash == hash && is_key(entry.slot) {
                return Some(place);
            }
            place = (place + 1) & self.mask;
        }
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & self.mask
    }
}

/// The bits of a hash that the index keeps.
const fn upper_half(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Few distinct homes, so that runs collide, wrap and shift.
    fn hash_of(key: u16) -> u64 {
        u64::from(key % 13) << 60 | u64::from(key % 7) << 32
    }

    proptest! {
        #[test]
        fn index_agrees_with_a_hash_map(
            steps in prop::collection::vec((0u8..3, 0u16..64), 1..400),
        ) {
            let mut index = SlotIndex::with_max(24);
            let mut oracle = HashMap::<u16, u32>::new();
            // Slot numbers carry their key, as the slab does.
            let is = |key: u16| move |slot: u32| slot % 64 == u32::from(key);
            for (number, (action, key)) in steps.into_iter().enumerate() {
                match action {
                    0 if !oracle.contains_key(&key) => {
                        let slot = u32::try_from(number).unwrap() * 64 + u32::from(key);
                        let fits = oracle.len() < 24;
                        prop_assert_eq!(index.insert(hash_of(key), slot), fits);
                        if fits {
                            oracle.insert(key, slot);
                        }
                    }
                    1 => {
                        prop_assert_eq!(index.remove(hash_of(key), is(key)), oracle.remove(&key));
                    }
                    _ => {
                        let found = index.find(hash_of(key), is(key));
                        prop_assert_eq!(found, oracle.get(&key).copied());
                    }
                }
                prop_assert_eq!(index.len(), oracle.len());
                for (&key, &slot) in &oracle {
                    prop_assert_eq!(index.find(hash_of(key), is(key)), Some(slot));
                }
            }
        }
    }
}
