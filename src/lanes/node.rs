//! Finalizations on their way to a lane: an intrusive list that needs no room
//! (rules L12 and L19).
//!
//! A wrapper's completion slot is its node: preallocated, so that a commit, a
//! rollback or a drop on any thread can always be sent. Many threads push; the
//! lane's worker takes all at once and orders them with the rings by ticket.
#![allow(unsafe_code)]

use core::cmp::Ordering as Compare;
use core::ptr;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::merge::UNSEEN;
use super::slab::Slot;
use super::sync::{AtomicPtr, Ordering, UnsafeCell};

/// One slot's link.
pub(crate) struct Node(UnsafeCell<Link>);

#[derive(Clone, Copy)]
struct Link {
    next: *const Node,
    ticket: u64,
    slot: Option<Slot>,
}

impl Node {
    pub(crate) fn new() -> Self {
        Self(UnsafeCell::new(Link {
            next: ptr::null(),
            ticket: 0,
            slot: None,
        }))
    }
}

/// One shard's list.
pub(crate) struct NodeList {
    /// Newest first; [`closed`] once the lane is finished.
    head: AtomicPtr<Node>,
    door: Arc<dyn Door>,
}

/// What a push needs of the shard, whatever its driver.
pub(crate) trait Door: Send + Sync {
    /// The next ticket; nodes always take one.
    fn ticket(&self) -> u64;
    /// Wakes the worker, if it sleeps.
    fn wake(&self);
}

/// The head of a list whose lane is finished: no node's address.
fn closed() -> *mut Node {
    ptr::without_provenance_mut(align_of::<Node>())
}

// SAFETY: a node is touched by its pusher before the push and by the worker
// after it took the list.
unsafe impl Send for NodeList {}
// SAFETY: as above.
unsafe impl Sync for NodeList {}

impl NodeList {
    pub(crate) fn new(door: Arc<dyn Door>) -> Self {
        Self {
            head: AtomicPtr::new(ptr::null_mut()),
            door,
        }
    }

    /// Adds a node; `false` when the lane is finished.
    ///
    /// # Safety
    /// The node is in no list, belongs to the slot, and stays where it is until
    /// the worker has taken it: the slot is pending.
    pub(crate) unsafe fn push(&self, node: &Node, slot: Slot) -> bool {
        let ticket = self.door.ticket();
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            if head == closed() {
                return false;
            }
            let link = Link {
                next: head,
                ticket,
                slot: Some(slot),
            };
            // SAFETY: in no list, so it is the caller's.
            node.0.with_mut(|to| unsafe { *to = link });
            // Release publishes the link and the slot's payload.
            match self.head.compare_exchange_weak(
                head,
                ptr::from_ref(node).cast_mut(),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    self.door.wake();
                    return true;
                }
                Err(seen) => head = seen,
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let head = self.head.load(Ordering::Acquire);
        head.is_null() || head == closed()
    }
}

/// A node that the worker has taken.
pub(crate) struct Arrived {
    pub(crate) ticket: u64,
    pub(crate) slot: Slot,
}

impl PartialEq for Arrived {
    fn eq(&self, other: &Self) -> bool {
        self.ticket == other.ticket
    }
}
impl Eq for Arrived {}
impl PartialOrd for Arrived {
    fn partial_cmp(&self, other: &Self) -> Option<Compare> {
        Some(self.cmp(other))
    }
}
impl Ord for Arrived {
    /// The smallest ticket is the greatest, for the heap.
    fn cmp(&self, other: &Self) -> Compare {
        other.ticket.cmp(&self.ticket)
    }
}

/// The worker's side of a list.
pub(crate) struct NodeQueue {
    arrived: BinaryHeap<Arrived>,
}

impl NodeQueue {
    pub(crate) fn new() -> Self {
        Self {
            arrived: BinaryHeap::with_capacity(crate::limits::COMPLETION_SLOTS),
        }
    }

    /// Takes in what was pushed; the smallest ticket.
    pub(crate) fn head(&mut self, list: &NodeList) -> u64 {
        if !list.is_empty() {
            let first = list.head.swap(ptr::null_mut(), Ordering::AcqRel);
            self.take_in(first);
        }
        self.arrived.peek().map_or(UNSEEN, |first| first.ticket)
    }

    fn take_in(&mut self, first: *mut Node) {
        let mut next: *const Node = first;
        while !next.is_null() {
            // SAFETY: pushed, and its slot is pending until the worker ends it.
            let node = unsafe { &*next };
            // SAFETY: the swap gave the list, and with it the link, to this worker.
            let link = node.0.with(|from| unsafe { *from });
            next = link.next;
            if let Some(slot) = link.slot {
                self.arrived.push(Arrived {
                    ticket: link.ticket,
                    slot,
                });
            }
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Arrived> {
        self.arrived.pop()
    }

    /// Closes the list for good; what was pushed before is taken in.
    pub(crate) fn close(&mut self, list: &NodeList) {
        let first = list.head.swap(closed(), Ordering::AcqRel);
        if first != closed() {
            self.take_in(first);
        }
    }
}
