//! What is ready to run, in order: this round's, the next round's, and those
//! that a burst limit cut, which go behind the next round's.
//!
//! It promises FIFO order, removal from anywhere at the same cost, and no
//! allocation below the longest it ever was. It holds each flow at most once:
//! its owner sees to that, and so the queue is bounded by flows and callbacks.

use super::pool::NIL;

/// One thing that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Flow(u32),
    Task(u32),
    /// The head of a list: never taken.
    Head,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    prev: u32,
    next: u32,
    item: Ready,
}

/// A list of the queue, by the index of its head node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    This = 0,
    Next = 1,
    Cut = 2,
}

#[derive(Debug)]
pub(super) struct ReadyQueue {
    /// The first three are the heads of circular lists.
    nodes: Vec<Node>,
    free: u32,
}

impl ReadyQueue {
    pub(super) fn new() -> Self {
        let head = |index| Node {
            prev: index,
            next: index,
            item: Ready::Head,
        };
        Self {
            nodes: vec![head(0), head(1), head(2)],
            free: NIL,
        }
    }

    pub(super) fn push_back(&mut self, round: Round, item: Ready) -> u32 {
        let last = self.nodes[round as usize].prev;
        self.insert_after(last, item)
    }

    pub(super) fn push_front(&mut self, round: Round, item: Ready) -> u32 {
        self.insert_after(round as u32, item)
    }

    pub(super) fn pop_front(&mut self, round: Round) -> Option<Ready> {
        let first = self.nodes[round as usize].next;
        if first == round as u32 {
            return None;
        }
        Some(self.remove(first))
    }

    pub(super) fn is_empty(&self, round: Round) -> bool {
        self.nodes[round as usize].next == round as u32
    }

    /// Takes a node out of whichever list it is in.
    pub(super) fn remove(&mut self, node: u32) -> Ready {
        let Node { prev, next, item } = self.nodes[node as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
        self.nodes[node as usize].next = self.free;
        self.free = node;
        item
    }

    /// Starts the next round: what waited for it, then what was cut.
    pub(super) fn turn_over(&mut self) {
        self.append(Round::This, Round::Next);
        self.append(Round::This, Round::Cut);
    }

    fn append(&mut self, to: Round, from: Round) {
        if self.is_empty(from) {
            return;
        }
        let Node {
            prev: last,
            next: first,
            ..
        } = self.nodes[from as usize];
        let tail = self.nodes[to as usize].prev;
        self.nodes[tail as usize].next = first;
        self.nodes[first as usize].prev = tail;
        self.nodes[last as usize].next = to as u32;
        self.nodes[to as usize].prev = last;
        self.nodes[from as usize].next = from as u32;
        self.nodes[from as usize].prev = from as u32;
    }

    fn insert_after(&mut self, prev: u32, item: Ready) -> u32 {
        let next = self.nodes[prev as usize].next;
        let node = Node { prev, next, item };
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
        self.nodes[prev as usize].next = index;
        self.nodes[next as usize].prev = index;
        index
    }
}
