//! Dense records found by key: a slab and an index of record numbers.
//!
//! The index holds 4 bytes and a control byte a place, and never the key: the
//! record that a look-up is for has it. A number stays the record's for its
//! life. Nothing is ever visited in the index's order, so that what the engine
//! does is a function of its inputs.

use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// A record with its key inside.
pub(crate) trait Record {
    type Key: Copy + Eq + core::hash::Hash;
    fn key(&self) -> Self::Key;
}

pub(crate) struct Table<R> {
    records: Vec<R>,
    index: HashTable<u32>,
    free: Vec<u32>,
    hasher: FixedState,
}

impl<R: Record> Table<R> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            records: Vec::with_capacity(capacity),
            index: HashTable::with_capacity(capacity),
            free: Vec::new(),
            hasher: FixedState::default(),
        }
    }

    #[inline]
    pub(crate) fn find(&self, key: R::Key) -> Option<u32> {
        self.index
            .find(self.hasher.hash_one(key), |&number| {
                self.records[number as usize].key() == key
            })
            .copied()
    }

    /// The number of `key`'s record, made by `make` where there is none.
    pub(crate) fn find_or_insert(&mut self, key: R::Key, make: impl FnOnce() -> R) -> u32 {
        match self.find(key) {
            Some(number) => number,
            None => self.insert(make()),
        }
    }

    /// Adds a record whose key the table does not have.
    pub(crate) fn insert(&mut self, record: R) -> u32 {
        let hash = self.hasher.hash_one(record.key());
        let number = if let Some(number) = self.free.pop() {
            self.records[number as usize] = record;
            number
        } else {
            // The shard's limits keep every table far below 2^32 records.
            let number = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
            self.records.push(record);
            number
        };
        let (records, hasher) = (&self.records, &self.hasher);
        self.index.insert_unique(hash, number, |&other| {
            hasher.hash_one(records[other as usize].key())
        });
        number
    }

    /// Forgets a record; its number will be another's.
    pub(crate) fn remove(&mut self, number: u32) {
        let hash = self.hasher.hash_one(self.records[number as usize].key());
        if let Ok(entry) = self.index.find_entry(hash, |&other| other == number) {
            entry.remove();
            self.free.push(number);
        }
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &R {
        &self.records[number as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut R {
        &mut self.records[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Live records with their numbers, in number order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &R)> {
        (0u32..)
            .zip(&self.records)
            .filter(|(number, record)| self.find(record.key()) == Some(*number))
    }

    /// Numbers ever given: every live record's is below it.
    pub(crate) fn numbers(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }
}
