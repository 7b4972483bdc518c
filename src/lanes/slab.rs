//! The completion slots of one submitter: preallocated, found by index, freed
//! by whoever is last (rules L21 to L23).
//!
//! A slot holds the operation until it runs and its result until it is taken.
//! Who may touch a slot's cells at any moment is decided by its
//! [`Completion`] word alone. The slab outlives its submitter while slots are
//! out, and is freed with the last of them.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::{MaybeUninit, align_of, size_of};
use core::ptr::NonNull;
use core::task::Waker;

use std::sync::Arc;

use super::completion::{Completed, Completion, Generation};
use super::node::{Node, NodeList};
use super::reentry::EngineId;
use super::sync::{AtomicUsize, Ordering, Thread};

/// The largest operation, and the largest result, that a slot holds.
pub(crate) const PAYLOAD_BYTES: usize = 256;

/// Room for an operation or its result.
#[repr(C, align(64))]
struct Payload(UnsafeCell<MaybeUninit<[u8; PAYLOAD_BYTES]>>);

/// Who waits for a result.
#[derive(Debug)]
pub(crate) enum Waiter {
    Nobody,
    Task(Waker),
    Thread(Thread),
}

impl Waiter {
    pub(crate) fn wake(self) {
        match self {
            Self::Nobody => {}
            Self::Task(waker) => waker.wake(),
            Self::Thread(thread) => thread.unpark(),
        }
    }
}

struct Slab {
    words: Box<[Completion]>,
    waiters: Box<[UnsafeCell<Waiter>]>,
    payloads: Box<[Payload]>,
    /// The links by which wrappers' slots reach their lane without a ring.
    nodes: Box<[Node]>,
    /// Slots that are not returned for good, one for the submitter, and one for
    /// each wrapper.
    alive: AtomicUsize,
    /// The lists that nodes go to, by shard.
    lists: Arc<[NodeList]>,
    engine: EngineId,
}

// SAFETY: the cells are touched only by the party that the slot's word names;
// what is put into them is required to be `Send` where it is put in.
unsafe impl Send for Slab {}
// SAFETY: as above; every other field is `Sync` by itself.
unsafe impl Sync for Slab {}

/// The submitter's end: claims slots, and marks them orphans when it goes.
pub(crate) struct SlabOwner {
    slab: NonNull<Slab>,
    /// Where the next free slot is looked for: results are mostly taken in the
    /// order of their submits.
    cursor: usize,
}

// SAFETY: a slab is `Send` and `Sync`; the owner's end is one value.
unsafe impl Send for SlabOwner {}

/// A claimed slot, to be found again by index.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    slab: NonNull<Slab>,
    index: u16,
}

// SAFETY: a slot is a pointer to a slab, which is `Sync`, kept alive by the
// claim that made the slot.
unsafe impl Send for Slot {}
// SAFETY: as above; every use is guarded by the slot's word.
unsafe impl Sync for Slot {}

/// A slab as the worker knows it, by its ring.
#[derive(Clone, Copy)]
pub(crate) struct SlabRef(NonNull<Slab>);

// SAFETY: a pointer to a `Sync` slab; only used for slots that a message names,
// and a message's slot is out, so the slab is alive.
unsafe impl Send for SlabRef {}

impl SlabRef {
    /// The slot that a message names.
    #[inline]
    pub(crate) fn slot(self, index: u16) -> Slot {
        Slot {
            slab: self.0,
            index,
        }
    }
}

impl SlabOwner {
    pub(crate) fn new(slots: u16, engine: EngineId, lists: Arc<[NodeList]>) -> Self {
        let count = usize::from(slots);
        let slab = Box::new(Slab {
            words: (0..count).map(|_| Completion::new()).collect(),
            waiters: (0..count)
                .map(|_| UnsafeCell::new(Waiter::Nobody))
                .collect(),
            payloads: (0..count)
                .map(|_| Payload(UnsafeCell::new(MaybeUninit::uninit())))
                .collect(),
            nodes: (0..if lists.is_empty() { 0 } else { count })
                .map(|_| Node::new())
                .collect(),
            alive: AtomicUsize::new(count + 1),
            lists,
            engine,
        });
        Self {
            slab: NonNull::from(Box::leak(slab)),
            cursor: 0,
        }
    }

    pub(crate) fn by_ref(&self) -> SlabRef {
        SlabRef(self.slab)
    }

    fn slab(&self) -> &Slab {
        // SAFETY: alive while its owner is, by the owner's share of `alive`.
        unsafe { self.slab.as_ref() }
    }

    /// Takes a free slot, if there is one: the next one as a rule, else a scan.
    #[inline]
    pub(crate) fn claim(&mut self) -> Option<(Slot, Generation)> {
        let count = self.slab().words.len();
        for _ in 0..count {
            let index = self.cursor;
            self.cursor = if index + 1 == count { 0 } else { index + 1 };
            if let Some(generation) = self.slab().words[index].claim() {
                let slot = Slot {
                    slab: self.slab,
                    // The constructor takes the count as u16.
                    index: u16::try_from(index).unwrap_or(u16::MAX),
                };
                return Some((slot, generation));
            }
        }
        None
    }
}

impl Drop for SlabOwner {
    fn drop(&mut self) {
        // What is still out returns its share itself.
        let free = self
            .slab()
            .words
            .iter()
            .filter(|word| word.orphan())
            .count();
        give_back(self.slab, free + 1);
    }
}

/// Returns shares of the slab; the last ones free it.
fn give_back(slab: NonNull<Slab>, shares: usize) {
    // SAFETY: the caller's shares keep it alive until this subtraction.
    let alive = unsafe { &slab.as_ref().alive };
    // Release: what this party did is over; acquire: so is everyone else's.
    if alive.fetch_sub(shares, Ordering::AcqRel) == shares {
        // SAFETY: it was leaked from a box, and no share is left.
        drop(unsafe { Box::from_raw(slab.as_ptr()) });
    }
}

impl Slot {
    #[inline]
    fn slab(&self) -> &Slab {
        // SAFETY: a claimed slot keeps its slab alive until it is recycled,
        // and no slot is used after that.
        unsafe { self.slab.as_ref() }
    }

    #[inline]
    pub(crate) fn word(&self) -> &Completion {
        &self.slab().words[usize::from(self.index)]
    }

    #[inline]
    pub(crate) fn index(self) -> u16 {
        self.index
    }

    pub(crate) fn engine(&self) -> EngineId {
        self.slab().engine
    }

    /// Where a `T` stands in the slot.
    #[inline]
    fn payload<T>(&self) -> *mut T {
        const {
            assert!(
                size_of::<T>() <= PAYLOAD_BYTES && align_of::<T>() <= 64,
                "an operation and its result each fit 256 bytes; box what is larger"
            );
        }
        self.slab().payloads[usize::from(self.index)]
            .0
            .get()
            .cast::<T>()
    }

    /// Puts an operation or a result in.
    ///
    /// # Safety
    /// The caller is the party that the slot's word names, and nothing that
    /// needs a drop stands there.
    #[inline]
    pub(crate) unsafe fn write<T: Send>(&self, value: T) {
        // SAFETY: sized and aligned for T, exclusive by the caller's promise.
        unsafe { self.payload::<T>().write(value) };
    }

    /// Moves a value out.
    ///
    /// # Safety
    /// A `T` was written and not read since, and the caller is the party that
    /// the slot's word names.
    #[inline]
    pub(crate) unsafe fn read<T: Send>(&self) -> T {
        // SAFETY: by the caller's promise.
        unsafe { self.payload::<T>().read() }
    }

    /// The worker's end of an operation: publishes the result, wakes who waits;
    /// whether nobody wants it, so that the caller must drop it and then
    /// [`recycle`](Self::recycle).
    ///
    /// # Safety
    /// The result was written, and this is the worker that the slot was sent to.
    #[inline]
    pub(crate) unsafe fn complete(self) -> bool {
        match self.word().complete() {
            Completed::Delivered => false,
            Completed::Wake => {
                // SAFETY: the word gives the cell to the worker.
                let waiter = unsafe { self.take_waiter() };
                if self.word().woken() {
                    self.recycle();
                }
                waiter.wake();
                false
            }
            Completed::Abandoned { waiter } => {
                if waiter {
                    // SAFETY: the word gives the cell to the worker.
                    drop(unsafe { self.take_waiter() });
                    // A wrapper in the result re-arms the slot, and waits for
                    // this. The future is gone, so nobody has let go of it.
                    self.word().woken();
                }
                true
            }
        }
    }

    /// # Safety
    /// The slot's word gives the cell to the caller.
    unsafe fn take_waiter(&self) -> Waiter {
        let cell = self.slab().waiters[usize::from(self.index)].get();
        // SAFETY: exclusive by the caller's promise.
        core::mem::replace(unsafe { &mut *cell }, Waiter::Nobody)
    }

    /// Frees the slot for its next use; the caller is the last party.
    #[inline]
    pub(crate) fn recycle(self) {
        let orphan = self.word().recycle();
        if orphan {
            give_back(self.slab, 1);
        }
    }

    #[inline]
    pub(crate) fn is_done(&self, generation: Generation) -> bool {
        self.word().is_done(generation)
    }

    /// Puts the future's waiter in, for the worker to wake; `false` when the
    /// result is there already.
    pub(crate) fn register(&self, waiter: Waiter, registered: &mut bool) -> bool {
        if *registered && !self.word().unregister() {
            return false;
        }
        *registered = false;
        let cell = self.slab().waiters[usize::from(self.index)].get();
        // SAFETY: without its mark in the word the cell is the future's.
        unsafe { *cell = waiter };
        if self.word().register() {
            *registered = true;
            return true;
        }
        // SAFETY: the mark was not set, so the cell is still the future's.
        drop(unsafe { self.take_waiter() });
        false
    }

    /// The future took the result out of a completed slot; a wrapper among it
    /// keeps the slot.
    #[inline]
    pub(crate) fn release(self) {
        if self.word().is_kept() {
            return;
        }
        if self.word().release() {
            self.recycle();
        }
    }

    /// The future goes away; `true` when the result is there, for it to drop
    /// and then [`release`](Self::release).
    pub(crate) fn abandon(&self) -> bool {
        self.word().abandon()
    }
}

/// A wrapper's share of the slab: the slot's word can be read for as long as
/// the wrapper lives, whoever recycles the slot.
pub(crate) struct KeptSlot {
    slot: Slot,
    generation: Generation,
}

impl KeptSlot {
    /// The worker makes the wrapper of the slot that it is completing.
    pub(crate) fn keep(slot: Slot) -> Self {
        // Relaxed: the slot itself keeps the slab alive meanwhile.
        slot.slab().alive.fetch_add(1, Ordering::Relaxed);
        slot.word().keep();
        Self {
            slot,
            generation: slot.word().generation(),
        }
    }

    pub(crate) const fn slot(&self) -> Slot {
        self.slot
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.slot.word().is_pending(self.generation)
    }

    /// Sends what stands in the slot to its lane, with a ticket; `false` when
    /// the lane is closed for good.
    ///
    /// # Safety
    /// The wrapper owns the slot, re-armed and loaded, and was made by a lane
    /// with nodes.
    pub(crate) unsafe fn post(&self, shard: u16) -> bool {
        let slab = self.slot.slab();
        let list = &slab.lists[usize::from(shard)];
        let node = &slab.nodes[usize::from(self.slot.index)];
        // SAFETY: by the caller's promise the node is in no list.
        unsafe { list.push(node, self.slot) }
    }
}

impl Drop for KeptSlot {
    fn drop(&mut self) {
        give_back(self.slot.slab, 1);
    }
}
