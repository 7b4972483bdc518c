//! The queue of callbacks: slots in a slab, linked in the order of delivery.
//!
//! The order is (publication, admission). A slot goes in behind the last one of
//! its own publication, which its publication's frame remembers, so that an
//! admission never searches and never moves another slot. Freed slots are used
//! again; the slab grows by doubling, and its capacity is charged (rule R46).

use super::account::Account;
use super::component::ComponentId;
use super::error::Fatal;
use super::places::Standing;
use super::roots::{NONE, Roots};

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
pub(super) type Cell<E> = Box<Option<E>>;

#[derive(Debug)]
pub(super) struct Slot<E> {
    /// Where the capture is; away while it is built and while it is delivered.
    cell: Option<Cell<E>>,
    pub(super) position: Position,
    heap: usize,
    /// The target's generation is in its standing.
    pub(super) arrival: Standing,
    target_index: u32,
    /// [`NONE`]: it has its own, once anything needs it.
    pub(super) root: u32,
    next: u32,
    pub(super) state: State,
}

impl<E> Slot<E> {
    #[inline]
    pub(super) const fn target(&self) -> ComponentId {
        self.arrival.id(self.target_index)
    }

    #[inline]
    fn fill(&mut self, new: Admission, next: u32, state: State) {
        self.position = new.position;
        self.heap = new.heap;
        self.arrival = new.arrival;
        self.target_index = new.target_index;
        self.root = new.root;
        self.next = next;
        self.state = state;
    }
}

#[derive(Debug)]
pub(super) struct Slots<E> {
    slab: Vec<Slot<E>>,
    free: u32,
    head: u32,
    tail: u32,
}

impl<E> Slots<E> {
    /// A slot and the storage of its capture.
    const SLOT_BYTES: usize = size_of::<Slot<E>>() + size_of::<Option<E>>();

    pub(super) const fn new() -> Self {
        Self {
            slab: Vec::new(),
            free: NONE,
            head: NONE,
            tail: NONE,
        }
    }

    pub(super) const fn head(&self) -> Option<u32> {
        if self.head == NONE {
            None
        } else {
            Some(self.head)
        }
    }

    /// The last slot, or [`NONE`].
    #[inline]
    pub(super) const fn tail(&self) -> u32 {
        self.tail
    }

    pub(super) fn get(&self, slot: u32) -> &Slot<E> {
        &self.slab[slot as usize]
    }

    /// Room for `count` slots in all, charged; less where the limits say so.
    pub(super) fn preallocate(&mut self, account: &Account, count: usize) {
        let count = count.min(account.limits().units);
        let more = count.saturating_sub(self.slab.capacity());
        let more = more.min(account.bytes_left() / Self::SLOT_BYTES);
        self.grow(account, more);
    }

    fn grow(&mut self, account: &Account, more: usize) {
        let before = self.slab.capacity();
        if account.take_bytes(more * Self::SLOT_BYTES).is_ok() {
            self.slab.reserve_exact(before + more - self.slab.len());
            debug_assert_eq!(self.slab.capacity(), before + more);
        }
    }

    /// The next free slot of the slab; the slab grows as far as the limits allow.
    #[inline]
    fn allocate(&mut self, account: &Account, heap: usize) -> Result<u32, Fatal> {
        if self.free == NONE {
            return self.allocate_new(account, heap);
        }
        account.take_queued(heap)?;
        let slot = self.free;
        self.free = self.slab[slot as usize].next;
        Ok(slot)
    }

    #[cold]
    fn allocate_new(&mut self, account: &Account, heap: usize) -> Result<u32, Fatal> {
        if self.slab.len() == self.slab.capacity() {
            let room = account.bytes_left().saturating_sub(heap) / Self::SLOT_BYTES;
            let wanted = self.slab.capacity().max(64);
            let limit = account.limits().units.saturating_sub(self.slab.capacity());
            self.grow(account, wanted.min(limit).min(room));
            if self.slab.len() == self.slab.capacity() {
                return Err(Fatal::Overflow);
            }
        }
        account.take_queued(heap)?;
        // The unit limit keeps the index below `NONE`.
        let slot = u32::try_from(self.slab.len()).map_err(|_| Fatal::Overflow)?;
        self.slab.push(Slot {
            cell: None,
            position: Position {
                publication: 0,
                admission: 0,
            },
            heap: 0,
            arrival: Standing::NEVER,
            target_index: NONE,
            root: NONE,
            next: NONE,
            state: State::Free,
        });
        Ok(slot)
    }

    /// Reserves a slot behind `after`, or first where that is [`NONE`] (rule R7).
    #[inline]
    pub(super) fn reserve(
        &mut self,
        account: &Account,
        after: u32,
        new: Admission,
    ) -> Result<(u32, Cell<E>), Fatal> {
        let index = self.allocate(account, new.heap)?;
        let next = if after == NONE {
            self.head
        } else {
            self.slab[after as usize].next
        };
        let slot = &mut self.slab[index as usize];
        slot.fill(new, next, State::Reserved);
        let cell = slot.cell.take();
        debug_assert!(after == NONE || self.slab[after as usize].position < new.position);
        debug_assert!(next == NONE || new.position < self.slab[next as usize].position);
        if after == NONE {
            self.head = index;
        } else {
            self.slab[after as usize].next = index;
        }
        if next == NONE {
            self.tail = index;
        }
        Ok((index, cell.unwrap_or_else(|| Box::new(None))))
    }

    /// Queues a capture last, at once.
    #[inline]
    pub(super) fn append(
        &mut self,
        account: &Account,
        new: Admission,
        capture: E,
    ) -> Result<(), Fatal> {
        let index = self.allocate(account, new.heap)?;
        let slot = &mut self.slab[index as usize];
        slot.fill(new, NONE, State::Ready);
        match &mut slot.cell {
            Some(cell) => **cell = Some(capture),
            empty => *empty = Some(Box::new(Some(capture))),
        }
        match self.slab.get_mut(self.tail as usize) {
            Some(last) => last.next = index,
            None => self.head = index,
        }
        self.tail = index;
        Ok(())
    }

    /// Gives a reserved slot its capture (rule R8).
    #[inline]
    pub(super) fn commit(&mut self, slot: u32, cell: Cell<E>) {
        let slot = &mut self.slab[slot as usize];
        debug_assert!(slot.state == State::Reserved && cell.is_some());
        slot.cell = Some(cell);
        slot.state = State::Ready;
    }

    /// A cancelled slot stays until a drain or a clear takes it (rule R10).
    pub(super) fn cancel(&mut self, slot: u32, cell: Cell<E>) {
        let slot = &mut self.slab[slot as usize];
        debug_assert!(slot.state == State::Reserved && cell.is_none());
        slot.cell = Some(cell);
        slot.state = State::Cancelled;
    }

    /// Takes the capture of a ready slot for a delivery; the slot stays queued.
    #[inline]
    pub(super) fn take(&mut self, slot: u32) -> Option<Cell<E>> {
        let slot = &mut self.slab[slot as usize];
        slot.state = State::Emptied;
        slot.cell.take()
    }

    /// Undoes [`Slots::take`] of the first slot.
    pub(super) fn put_back_first(&mut self, cell: Cell<E>) {
        let slot = &mut self.slab[self.head as usize];
        slot.cell = Some(cell);
        slot.state = State::Ready;
    }

    /// Gives the first slot the root that it was lent as.
    pub(super) fn root_first(&mut self, root: u32) {
        self.slab[self.head as usize].root = root;
    }

    /// Takes the first slot off the queue after its delivery, and gives it its emptied
    /// storage back; its root is the caller's.
    #[inline]
    pub(super) fn finish_first(&mut self, account: &Account, cell: Cell<E>) {
        debug_assert!(cell.is_none());
        self.slab[self.head as usize].cell = Some(cell);
        self.pop(account);
    }

    /// Whom the first slot is for, and where it stands.
    pub(super) fn first(&self) -> Option<(ComponentId, Position)> {
        self.head()
            .map(|head| (self.get(head).target(), self.get(head).position))
    }

    /// Takes the first slot off the queue and frees it; its root is the caller's.
    #[inline]
    pub(super) fn pop(&mut self, account: &Account) -> u32 {
        let index = self.head;
        let free = self.free;
        let slot = &mut self.slab[index as usize];
        self.head = slot.next;
        slot.next = free;
        slot.state = State::Free;
        account.give_queued(slot.heap);
        let root = slot.root;
        self.free = index;
        if self.head == NONE {
            self.tail = NONE;
        }
        root
    }

    /// What waits, first to last.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot<E>> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let slot = self.slab.get(at as usize)?;
            at = slot.next;
            Some(slot)
        })
    }

    /// Gives up the whole storage and its charge; what it held is the caller's to
    /// drop, after no borrow of the dispatcher is left (rule R49).
    pub(super) fn detach<'a>(&mut self, roots: &'a Roots) -> Detached<'a, E> {
        let slots = std::mem::replace(self, Self::new());
        let heap = slots.iter().fold(0, |sum, slot| sum + slot.heap);
        roots.account.give_queue();
        roots
            .account
            .give_bytes(heap + slots.slab.capacity() * Self::SLOT_BYTES);
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
#[derive(Debug)]
pub(super) struct Detached<'a, E> {
    roots: &'a Roots,
    slots: Slots<E>,
}

impl<E> Detached<'_, E> {
    /// Drops the captures in the order in which they were queued, each with its
    /// root active.
    pub(super) fn release(mut self) {
        self.release_rest();
    }

    /// Gives the captures away instead of dropping them.
    pub(super) fn give(mut self, mut give: impl FnMut(ComponentId, E)) {
        while self.slots.head != NONE {
            let slot = &mut self.slots.slab[self.slots.head as usize];
            self.slots.head = slot.next;
            let _root = self.roots.enter_owned(slot.root);
            let target = slot.target();
            if let Some(capture) = slot.cell.take().and_then(|mut cell| cell.take()) {
                give(target, capture);
            }
        }
    }

    fn release_rest(&mut self) {
        while self.slots.head != NONE {
            let slot = &mut self.slots.slab[self.slots.head as usize];
            self.slots.head = slot.next;
            let _root = self.roots.enter_owned(slot.root);
            drop(slot.cell.take());
        }
    }
}

impl<E> Drop for Detached<'_, E> {
    /// Whatever is left when a destructor panicked goes too.
    fn drop(&mut self) {
        self.release_rest();
    }
}
