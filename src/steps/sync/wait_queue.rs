//! Entries that wait, first in, first out, with removal from anywhere.
//!
//! It promises the same cost for every operation however long the queue is, and
//! no allocation below the longest it ever was. The map finds entries; it is
//! never iterated.

use hashbrown::HashMap;

use super::contract::Entry;

const NIL: u32 = u32::MAX;

#[derive(Debug)]
struct Node {
    entry: Entry,
    prev: u32,
    /// The next in the queue, or the next free node.
    next: u32,
}

#[derive(Debug)]
pub(super) struct WaitQueue {
    nodes: Vec<Node>,
    free: u32,
    head: u32,
    tail: u32,
    by_number: HashMap<u64, u32, foldhash::fast::RandomState>,
}

impl Default for WaitQueue {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            free: NIL,
            head: NIL,
            tail: NIL,
            by_number: HashMap::default(),
        }
    }
}

impl WaitQueue {
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    pub(super) fn push(&mut self, entry: Entry) {
        let node = Node {
            entry,
            prev: self.tail,
            next: NIL,
        };
        let index = if self.free == NIL {
            let index = u32::try_from(self.nodes.len()).unwrap_or(NIL);
            self.nodes.push(node);
            index
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        if self.tail == NIL {
            self.head = index;
        } else {
            self.nodes[self.tail as usize].next = index;
        }
        self.tail = index;
        self.by_number.insert(entry.number(), index);
    }

    pub(super) fn pop(&mut self) -> Option<Entry> {
        if self.head == NIL {
            return None;
        }
        let entry = self.nodes[self.head as usize].entry;
        self.remove(entry);
        Some(entry)
    }

    /// Whether the entry waited here.
    pub(super) fn remove(&mut self, entry: Entry) -> bool {
        let Some(index) = self.by_number.remove(&entry.number()) else {
            return false;
        };
        let Node { prev, next, .. } = self.nodes[index as usize];
        if prev == NIL {
            self.head = next;
        } else {
            self.nodes[prev as usize].next = next;
        }
        if next == NIL {
            self.tail = prev;
        } else {
            self.nodes[next as usize].prev = prev;
        }
        self.nodes[index as usize].next = self.free;
        self.free = index;
        true
    }
}
