//! The queue of callbacks: slots in a slab, linked in the order of delivery.
//!
//! The order is (publication, admission). A slot goes in behind the last one of
//! its own publication, which its publication's frame remembers, so that an
//! admission never searches and never moves another slot. Freed slots are used
//! again; the storage grows by doubling, and its capacity is charged (rule R46).

use std::cell::Cell;

use super::account::Account;
use super::component::ComponentId;
use super::error::Fatal;
use super::places::Standing;
use super::roots::{NONE, Roots};
use super::stable::Stable;

/// Where a callback stands in the order of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Its publication; of a direct admission, its own admission.
    pub publication: u64,
    /// Its admission.
    pub admission: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Free,
    /// Its capture is still to come.
    Reserved,
    Cancelled,
    Ready,
    /// Its capture was taken for a delivery; after an unwound one it stays so
    /// (choice A3).
    Emptied,
}

/// The storage of one capture. It belongs to a slot for good, and is handed around
/// in place of the capture, so that a capture is written once and never moved.
pub(super) type Capture<E> = Box<Option<E>>;

/// A cache line each.
#[repr(align(64))]
pub(super) struct Slot<E> {
    /// Away while it is built and while it is delivered.
    capture: Cell<Option<Capture<E>>>,
    /// The target's generation is in its standing.
    pub(super) arrival: Cell<Standing>,
    pub(super) target_index: Cell<u32>,
    pub(super) root: Cell<u32>,
    next: Cell<u32>,
    pub(super) state: Cell<State>,
    heap: Cell<usize>,
    publication: Cell<u64>,
    admission: Cell<u64>,
}

impl<E> Default for Slot<E> {
    fn default() -> Self {
        Self {
            capture: Cell::new(None),
            arrival: Cell::new(Standing::NEVER),
            target_index: Cell::new(NONE),
            root: Cell::new(NONE),
            next: Cell::new(NONE),
            state: Cell::new(State::Free),
            heap: Cell::new(0),
            publication: Cell::new(0),
            admission: Cell::new(0),
        }
    }
}

impl<E> Slot<E> {
    pub(super) fn target(&self) -> ComponentId {
        self.arrival.get().id(self.target_index.get())
    }

    pub(super) fn position(&self) -> Position {
        Position {
            publication: self.publication.get(),
            admission: self.admission.get(),
        }
    }

    #[inline]
    fn fill(&self, new: Admission, next: u32, state: State) {
        self.publication.set(new.position.publication);
        self.admission.set(new.position.admission);
        self.heap.set(new.heap);
        self.arrival.set(new.arrival);
        self.target_index.set(new.target_index);
        self.root.set(new.root);
        self.next.set(next);
        self.state.set(state);
    }

    /// Takes the capture of a ready slot for a delivery; the slot stays queued.
    #[inline]
    pub(super) fn take(&self) -> Option<Capture<E>> {
        self.state.set(State::Emptied);
        self.capture.take()
    }

    /// Gives back what [`Slot::take`] took.
    pub(super) fn put_back(&self, capture: Capture<E>) {
        self.capture.set(Some(capture));
        self.state.set(State::Ready);
    }

    /// Gives the emptied storage of a capture back after its delivery.
    #[inline]
    pub(super) fn give_storage(&self, emptied: Capture<E>) {
        debug_assert!(emptied.is_none());
        self.capture.set(Some(emptied));
    }
}

pub(super) struct Slots<E> {
    store: Stable<Slot<E>>,
    /// How many of its entries were ever used.
    used: Cell<u32>,
    free: Cell<u32>,
    head: Cell<u32>,
    tail: Cell<u32>,
}

impl<E> Slots<E> {
    /// A slot and the storage of its capture.
    const SLOT_BYTES: usize = size_of::<Slot<E>>() + size_of::<Option<E>>();

    pub(super) fn new() -> Self {
        Self::of(0)
    }

    fn of(count: usize) -> Self {
        Self {
            store: Stable::new(count),
            used: Cell::new(0),
            free: Cell::new(NONE),
            head: Cell::new(NONE),
            tail: Cell::new(NONE),
        }
    }

    /// With room for `count` slots, charged; less where the limits say so.
    pub(super) fn preallocated(account: &Account, count: usize) -> Self {
        let room = account.bytes_left() / Self::SLOT_BYTES;
        let count = count.min(account.limits().units).min(room);
        match account.take_bytes(count * Self::SLOT_BYTES) {
            Ok(()) => Self::of(count),
            Err(_) => Self::new(),
        }
    }

    /// The first slot with its index.
    #[inline]
    pub(super) fn head(&self) -> Option<(u32, &Slot<E>)> {
        let head = self.head.get();
        self.store.get(head).map(|slot| (head, slot))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.get() == NONE
    }

    /// The last slot, or [`NONE`].
    #[inline]
    pub(super) fn tail(&self) -> u32 {
        self.tail.get()
    }

    /// A slot by an index that was given here.
    #[inline]
    fn at(&self, slot: u32) -> &Slot<E> {
        self.store.get(slot).expect("storage never shrinks")
    }

    /// The next free slot; the storage grows as far as the limits allow.
    #[inline]
    fn allocate(&self, account: &Account, heap: usize) -> Result<(u32, &Slot<E>), Fatal> {
        let index = self.free.get();
        let Some(slot) = self.store.get(index) else {
            return self.allocate_new(account, heap);
        };
        account.take_queued(heap)?;
        self.free.set(slot.next.get());
        Ok((index, slot))
    }

    #[cold]
    fn allocate_new(&self, account: &Account, heap: usize) -> Result<(u32, &Slot<E>), Fatal> {
        let index = self.used.get();
        if self.store.get(index).is_none() {
            let capacity = self.store.capacity();
            let room = account.bytes_left().saturating_sub(heap) / Self::SLOT_BYTES;
            let limit = account.limits().units.saturating_sub(capacity);
            let more = capacity.max(64).min(limit).min(room);
            account.take_bytes(more * Self::SLOT_BYTES)?;
            self.store.grow(more);
        }
        // The unit limit keeps the index below `NONE`.
        let slot = self.store.get(index).ok_or(Fatal::Overflow)?;
        account.take_queued(heap)?;
        self.used.set(index + 1);
        Ok((index, slot))
    }

    /// Reserves a slot behind `after`, or first where that is [`NONE`] (rule R7).
    #[inline]
    pub(super) fn reserve(
        &self,
        account: &Account,
        after: u32,
        new: Admission,
    ) -> Result<(u32, Capture<E>), Fatal> {
        let (index, slot) = self.allocate(account, new.heap)?;
        let place = match self.store.get(after) {
            Some(after) => &after.next,
            None => &self.head,
        };
        let next = place.replace(index);
        slot.fill(new, next, State::Reserved);
        debug_assert!(after == NONE || self.at(after).position() < new.position);
        debug_assert!(next == NONE || new.position < self.at(next).position());
        if next == NONE {
            self.tail.set(index);
        }
        let capture = slot.capture.take();
        Ok((index, capture.unwrap_or_else(|| Box::new(None))))
    }

    /// Queues a capture last, at once.
    ///
    /// Always inlined: an [`Admission`] that is passed in memory is read in larger
    /// pieces than it was written, and each such read waits.
    #[inline(always)]
    pub(super) fn append(
        &self,
        account: &Account,
        new: Admission,
        capture: impl FnOnce() -> E,
    ) -> Result<(), Fatal> {
        let (index, slot) = self.allocate(account, new.heap)?;
        slot.fill(new, NONE, State::Ready);
        let mut storage = slot.capture.take().unwrap_or_else(|| Box::new(None));
        *storage = Some(capture());
        slot.capture.set(Some(storage));
        match self.store.get(self.tail.get()) {
            Some(last) => last.next.set(index),
            None => self.head.set(index),
        }
        self.tail.set(index);
        Ok(())
    }

    /// Gives a reserved slot its capture (rule R8).
    #[inline]
    pub(super) fn commit(&self, slot: u32, capture: Capture<E>) {
        let slot = self.at(slot);
        debug_assert!(slot.state.get() == State::Reserved && capture.is_some());
        slot.put_back(capture);
    }

    /// A cancelled slot stays until a drain or a clear takes it (rule R10).
    pub(super) fn cancel(&self, slot: u32, capture: Capture<E>) {
        let slot = self.at(slot);
        debug_assert!(slot.state.get() == State::Reserved && capture.is_none());
        slot.capture.set(Some(capture));
        slot.state.set(State::Cancelled);
    }

    /// Takes the first slot, with this index, off the queue and frees it; its root is
    /// the caller's.
    #[inline]
    pub(super) fn pop(&self, account: &Account, index: u32, slot: &Slot<E>) {
        debug_assert_eq!(self.head.get(), index);
        let next = slot.next.replace(self.free.get());
        self.free.set(index);
        self.head.set(next);
        if next == NONE {
            self.tail.set(NONE);
        }
        slot.state.set(State::Free);
        account.give_queued(slot.heap.get());
    }

    /// What waits, first to last.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot<E>> {
        let head = self.store.get(self.head.get());
        std::iter::successors(head, |slot| self.store.get(slot.next.get()))
    }

    /// Gives up the whole storage and its charge; what it held is the caller's to
    /// drop, after no borrow of the dispatcher is left (rule R49).
    pub(super) fn detach<'a>(&mut self, roots: &'a Roots) -> Detached<'a, E> {
        let slots = std::mem::replace(self, Self::new());
        let heap = slots.iter().fold(0, |sum, slot| sum + slot.heap.get());
        roots.account.give_queue();
        roots
            .account
            .give_bytes(heap + slots.store.capacity() * Self::SLOT_BYTES);
        Detached { roots, slots }
    }
}

/// What a reservation is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    pub(super) position: Position,
    pub(super) target_index: u32,
    pub(super) arrival: Standing,
    pub(super) root: u32,
    pub(super) heap: usize,
}

/// A queue that was taken away to be dropped.
pub(super) struct Detached<'a, E> {
    roots: &'a Roots,
    slots: Slots<E>,
}

impl<E> Detached<'_, E> {
    /// Drops the captures in the order in which they were queued, each with its
    /// root active.
    pub(super) fn release(self) {
        self.release_rest();
    }

    /// Gives the captures away instead of dropping them.
    pub(super) fn give(self, mut give: impl FnMut(ComponentId, E)) {
        while let Some((_, slot)) = self.slots.head() {
            self.slots.head.set(slot.next.get());
            let _root = self.roots.enter_owned(slot.root.get());
            if let Some(capture) = slot.capture.take().and_then(|mut storage| storage.take()) {
                give(slot.target(), capture);
            }
        }
    }

    fn release_rest(&self) {
        while let Some((_, slot)) = self.slots.head() {
            self.slots.head.set(slot.next.get());
            let _root = self.roots.enter_owned(slot.root.get());
            drop(slot.capture.take());
        }
    }
}

impl<E> Drop for Detached<'_, E> {
    /// Whatever is left when a destructor panicked goes too.
    fn drop(&mut self) {
        self.release_rest();
    }
}
