//! The completion slots of one submitter: preallocated, found by index, freed
//! by whoever is last (rules L21 to L23).
//!
//! A slot holds the operation until it runs and its result until it is taken.
//! Who may touch a slot's cells at any moment is decided by its
//! [`Completion`] alone. What is small stands in one cache line with the
//! slot's word, so that a round trip moves one line to the worker and back.
//!
//! The slab is kept by its [`Share`]s, the submitter's and one for each ring.
//! Slots that are out when the last share goes keep it too;
//! [`retired`](super::retired) frees it then.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::{MaybeUninit, align_of, size_of};
use core::ptr::NonNull;
use core::task::Waker;

use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::time::IdleStrategy;

use super::completion::{Claim, Completion, Generation, LetGo, Wish, Wished, Word};
use super::node::{Node, NodeList};
use super::prefetch;
use super::reentry::EngineId;
use super::retired;
use super::sync::{AtomicBool, AtomicUsize, Ordering, Thread};

/// The largest operation, and the largest result, that a slot holds.
pub(crate) const PAYLOAD_BYTES: usize = 256;

/// What fits beside the word.
const SMALL_BYTES: usize = 40;

/// The front of a slot: its word, and a small operation or result.
#[repr(C, align(64))]
struct Front {
    word: Word,
    slab: NonNull<Slab>,
    index: u16,
    /// A plain commit or rollback of the slot's wrapper is under way.
    finalizing: AtomicBool,
    small: Small,
}

#[repr(C, align(8))]
struct Small(UnsafeCell<MaybeUninit<[u8; SMALL_BYTES]>>);

/// Room for a large operation or its result.
#[repr(C, align(64))]
struct Large(UnsafeCell<MaybeUninit<[u8; PAYLOAD_BYTES]>>);

#[cfg(not(loom))] // Its atomics are larger.
const _: () = assert!(size_of::<Front>() == 64, "one cache line");

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

/// The slots.
pub(crate) struct Slab {
    fronts: Box<[Front]>,
    /// Apart from the fronts, because nearly nobody writes to them.
    wishes: Box<[Wish]>,
    waiters: Box<[UnsafeCell<Waiter>]>,
    large: Box<[Large]>,
    /// The links by which wrappers' slots reach their lane without a ring.
    nodes: Box<[Node]>,
    /// The submitter and its rings.
    shares: AtomicUsize,
    /// Wrappers, and futures that are going away.
    guests: CachePadded<AtomicUsize>,
    /// No share is left; who recycles a slot looks whether it was the last.
    retired: AtomicBool,
    /// The lists that nodes go to, by shard.
    lists: Arc<[NodeList]>,
    engine: EngineId,
    /// How those wait that wait for a result.
    idle: IdleStrategy,
}

// SAFETY: the cells are touched only by the party that the slot's completion
// names; what is put into them is required to be `Send` where it is put in.
unsafe impl Send for Slab {}
// SAFETY: as above; every other field is `Sync` by itself.
unsafe impl Sync for Slab {}

/// Keeps a slab's memory, not its slots: the submitter's, or a ring's.
pub(crate) struct Share(NonNull<Slab>);

// SAFETY: a slab is `Send` and `Sync`.
unsafe impl Send for Share {}
// SAFETY: as above.
unsafe impl Sync for Share {}

impl Share {
    fn slab(&self) -> &Slab {
        // SAFETY: alive while this share is.
        unsafe { self.0.as_ref() }
    }

    /// The slot that a message of this slab's submitter names.
    #[inline]
    pub(crate) fn slot(&self, index: u16) -> Slot {
        Slot(NonNull::from(&self.slab().fronts[usize::from(index)]))
    }

    /// Fetches the line of a slot that the worker is about to run, to write to;
    /// nothing if there is no such slot.
    #[inline]
    pub(crate) fn expect(&self, index: u16) {
        if let Some(front) = self.slab().fronts.get(usize::from(index)) {
            prefetch::for_writing(front);
        }
    }
}

impl Clone for Share {
    fn clone(&self) -> Self {
        // Relaxed: this share keeps the slab alive meanwhile.
        self.slab().shares.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // Release: what this party did is over; acquire: so is everyone else's.
        if self.slab().shares.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Shares come from shares, so there will be none again.
            self.slab().retired.store(true, Ordering::Relaxed);
            retired::keep(Remains(self.0));
        }
    }
}

/// Keeps a slab's memory on behalf of who has, or had, one of its slots.
struct Guest(NonNull<Slab>);

// SAFETY: a slab is `Send` and `Sync`.
unsafe impl Send for Guest {}
// SAFETY: as above.
unsafe impl Sync for Guest {}

impl Guest {
    /// Made by the party that has the slot.
    fn of(slot: Slot) -> Self {
        // Relaxed: the slot keeps the slab alive, and whoever sees it freed
        // sees this.
        slot.slab().guests.fetch_add(1, Ordering::Relaxed);
        Self(slot.front().slab)
    }

    fn slab(&self) -> &Slab {
        // SAFETY: alive while this guest is.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Before the last touch: the slab may be gone after it.
        let retired = self.slab().retired.load(Ordering::Relaxed);
        self.slab().guests.fetch_sub(1, Ordering::AcqRel);
        if retired {
            retired::sweep();
        }
    }
}

/// A slab without shares; dropping it frees it.
pub(crate) struct Remains(NonNull<Slab>);

// SAFETY: a slab is `Send`.
unsafe impl Send for Remains {}

impl Remains {
    /// No slot is out and nobody visits, for good: only a submitter claims, and
    /// it is gone.
    pub(crate) fn is_over(&self) -> bool {
        // SAFETY: freed by its drop alone.
        let slab = unsafe { self.0.as_ref() };
        // In this order: who made a guest had a slot.
        slab.fronts.iter().all(|front| front.word.is_free())
            && slab.guests.load(Ordering::Acquire) == 0
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        // SAFETY: it was leaked from a box, and is over.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The submitter's end: claims slots.
pub(crate) struct SlabOwner {
    share: Share,
    /// Where the next free slot is looked for: results are mostly taken in the
    /// order of their submits.
    cursor: usize,
}

/// A claimed slot: one word, because futures are moved about.
#[derive(Clone, Copy)]
pub(crate) struct Slot(NonNull<Front>);

// SAFETY: a slot is a pointer into a slab, which is `Sync`, kept alive by the
// claim that made the slot.
unsafe impl Send for Slot {}
// SAFETY: as above; every use is guarded by the slot's completion.
unsafe impl Sync for Slot {}

impl SlabOwner {
    pub(crate) fn new(
        slots: u16,
        engine: EngineId,
        idle: IdleStrategy,
        lists: Arc<[NodeList]>,
    ) -> Self {
        // What futures kept after their submitter had gone, and let go of since.
        retired::sweep();
        let count = usize::from(slots);
        let slab = Box::leak(Box::new(Slab {
            fronts: Box::new([]),
            wishes: (0..count).map(|_| Wish::new()).collect(),
            waiters: (0..count)
                .map(|_| UnsafeCell::new(Waiter::Nobody))
                .collect(),
            large: (0..count)
                .map(|_| Large(UnsafeCell::new(MaybeUninit::uninit())))
                .collect(),
            nodes: (0..if lists.is_empty() { 0 } else { count })
                .map(|_| Node::new())
                .collect(),
            shares: AtomicUsize::new(1),
            guests: CachePadded::new(AtomicUsize::new(0)),
            retired: AtomicBool::new(false),
            lists,
            engine,
            idle,
        }));
        let mut slab = NonNull::from(slab);
        let front = |index| Front {
            word: Word::new(),
            slab,
            index,
            finalizing: AtomicBool::new(false),
            small: Small(UnsafeCell::new(MaybeUninit::uninit())),
        };
        let fronts = (0..slots).map(front).collect();
        // SAFETY: just made, and nobody else knows it yet.
        unsafe { slab.as_mut() }.fronts = fronts;
        Self {
            share: Share(slab),
            cursor: 0,
        }
    }

    /// For a worker that runs this submitter's operations.
    pub(crate) fn share(&self) -> Share {
        self.share.clone()
    }

    /// Takes a free slot, if there is one: the next one as a rule, else a scan.
    #[inline]
    pub(crate) fn claim(&mut self) -> Option<(Slot, Generation)> {
        let fronts = &self.share.slab().fronts;
        for _ in 0..fronts.len() {
            let front = &fronts[self.cursor];
            let next = self.cursor + 1;
            self.cursor = if next == fronts.len() { 0 } else { next };
            if let Some(generation) = front.word.claim() {
                return Some((Slot(NonNull::from(front)), generation));
            }
        }
        None
    }
}

impl Slot {
    #[inline]
    fn front(&self) -> &Front {
        // SAFETY: a claimed slot keeps its slab alive until it is recycled;
        // who uses a slot after that has a share.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn slab(&self) -> &Slab {
        // SAFETY: as above.
        unsafe { self.front().slab.as_ref() }
    }

    fn place(&self) -> usize {
        usize::from(self.front().index)
    }

    #[inline]
    pub(crate) fn word(&self) -> &Word {
        &self.front().word
    }

    #[inline]
    fn completion(&self) -> Completion<'_> {
        Completion {
            word: self.word(),
            wish: &self.slab().wishes[self.place()],
        }
    }

    #[inline]
    pub(crate) fn index(self) -> u16 {
        self.front().index
    }

    pub(crate) fn engine(&self) -> EngineId {
        self.slab().engine
    }

    pub(crate) fn idle(&self) -> IdleStrategy {
        self.slab().idle
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
        if const { size_of::<T>() <= SMALL_BYTES && align_of::<T>() <= 8 } {
            self.front().small.0.get().cast::<T>()
        } else {
            self.slab().large[self.place()].0.get().cast::<T>()
        }
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

    /// The worker's end of an operation whose result it wrote: publishes it.
    /// The worker must look for wishes at once and after a fence.
    #[inline]
    pub(crate) fn publish(self) -> Published {
        let wish = NonNull::from(self.completion().wish);
        Published {
            generation: self.word().publish(),
            wish,
            slot: self,
        }
    }

    /// As publish and look in one, without a share: whether nobody wants the
    /// result, which is then not published.
    ///
    /// # Safety
    /// The result was written, and this is the worker that the slot was sent to.
    pub(crate) unsafe fn complete(self) -> bool {
        let waiter = match self.completion().close() {
            Wished::Dropping => return true,
            Wished::Nothing => Waiter::Nobody,
            // SAFETY: the wish gives the cell to the worker.
            Wished::Waking => unsafe { self.take_waiter() },
        };
        self.word().publish();
        waiter.wake();
        false
    }

    /// # Safety
    /// The slot's completion gives the cell to the caller.
    unsafe fn take_waiter(&self) -> Waiter {
        let cell = self.slab().waiters[self.place()].get();
        // SAFETY: exclusive by the caller's promise.
        core::mem::replace(unsafe { &mut *cell }, Waiter::Nobody)
    }

    /// Frees the slot for its next use; the caller has it, and no more after
    /// this.
    #[inline]
    pub(crate) fn recycle(self) {
        // Before the last touch: the slab may be gone after it.
        let retired = self.slab().retired.load(Ordering::Relaxed);
        self.word().recycle();
        if retired {
            retired::sweep();
        }
    }

    #[inline]
    pub(crate) fn is_done(&self, generation: Generation) -> bool {
        self.word().is_done(generation)
    }

    /// Puts the future's waiter in, for the worker to wake; `false` when the
    /// result is there already.
    pub(crate) fn register(&self, claim: &mut Claim, waiter: Waiter) -> bool {
        let generation = claim.generation();
        if claim.is_waiting() && !self.completion().unregister(generation) {
            return false;
        }
        let cell = self.slab().waiters[self.place()].get();
        // SAFETY: without a wish the cell is the future's.
        unsafe { *cell = waiter };
        let registered = self.completion().register(generation);
        claim.set_waiting(registered);
        if !registered {
            // SAFETY: the wish was not made, so the cell is still the future's.
            drop(unsafe { self.take_waiter() });
        }
        registered
    }

    /// The future took the result out of a completed slot; a wrapper among it
    /// keeps the slot.
    #[inline]
    pub(crate) fn release(self, claim: Claim) {
        if claim.is_waiting() {
            self.release_waited(claim.generation());
        } else if !self.word().is_kept() {
            self.recycle();
        }
    }

    #[cold]
    fn release_waited(self, generation: Generation) {
        let is_kept = self.word().is_kept();
        let has_waiter = if is_kept {
            self.completion().settle(generation)
        } else {
            match self.completion().let_go(generation) {
                LetGo::ToWorker => return,
                LetGo::WithWaiter => true,
                LetGo::Free => false,
            }
        };
        if has_waiter {
            // SAFETY: the wish was taken back, so the cell is the future's.
            drop(unsafe { self.take_waiter() });
        }
        if !is_kept {
            self.recycle();
        }
    }

    /// The future goes away; `true` when the result is there, for it to drop
    /// and then [`release`](Self::release).
    pub(crate) fn abandon(&self, claim: &mut Claim) -> bool {
        let generation = claim.generation();
        if self.is_done(generation) {
            return true;
        }
        // The worker may recycle the slot while this still looks at it.
        let _guest = Guest::of(*self);
        if claim.is_waiting() {
            if !self.completion().unregister(generation) {
                return true;
            }
            claim.set_waiting(false);
            // SAFETY: the wish was taken back, so the cell is the future's.
            drop(unsafe { self.take_waiter() });
        }
        !self.completion().abandon(generation)
    }

    /// Marks, or unmarks, a plain finalization of the slot's wrapper.
    pub(crate) fn set_finalizing(&self, finalizing: bool) {
        self.front().finalizing.store(finalizing, Ordering::Release);
    }

    /// Whether a plain finalization is under way.
    pub(crate) fn is_finalizing(&self) -> bool {
        self.front().finalizing.load(Ordering::Acquire)
    }
}

/// A use of a slot that a worker published. It has a share of the slab, and no
/// more business with the slot's front, whose cache line is the future's now.
#[derive(Clone, Copy)]
pub(crate) struct Published {
    wish: NonNull<Wish>,
    generation: Generation,
    slot: Slot,
}

impl Published {
    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }

    /// Whether somebody wished for something.
    ///
    /// # Safety
    /// The caller has a share of the slab.
    #[inline]
    pub(crate) unsafe fn is_wished(&self) -> bool {
        // SAFETY: by the caller's promise.
        unsafe { self.wish.as_ref() }.is_for(self.generation)
    }

    /// Wakes who waits; whether nobody wants the result, so that the caller
    /// must drop it and then [`recycle`](Slot::recycle). A wish is granted
    /// once, so another look, or one at a slot that is used again, does nothing.
    ///
    /// # Safety
    /// This is the worker that published it, and it has a share of the slab.
    #[cold]
    pub(crate) unsafe fn grant(&self) -> bool {
        let completion = self.slot.completion();
        match completion.look(self.generation) {
            Wished::Nothing => false,
            Wished::Waking => {
                // SAFETY: the wish gives the cell to the worker.
                let waiter = unsafe { self.slot.take_waiter() };
                if completion.taken(self.generation) {
                    self.slot.recycle();
                }
                waiter.wake();
                false
            }
            Wished::Dropping => true,
        }
    }
}

/// A wrapper's share of the slab: the slot's word can be read for as long as
/// the wrapper lives, whoever recycles the slot.
pub(crate) struct KeptSlot {
    guest: Guest,
    slot: Slot,
    generation: Generation,
}

impl KeptSlot {
    /// The worker makes the wrapper of the slot that it is completing.
    pub(crate) fn keep(slot: Slot) -> Self {
        slot.word().keep();
        Self {
            guest: Guest::of(slot),
            slot,
            generation: slot.word().generation(),
        }
    }

    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.slot.word().is_pending(self.generation)
    }

    /// Makes the slot, whose result was taken, pending again; `wanted` is
    /// whether somebody will take the next result.
    pub(crate) fn rearm(&mut self, wanted: bool) {
        let slot = self.slot;
        slot.set_finalizing(false);
        self.generation = slot.completion().rearm(wanted);
    }

    /// Sends what stands in the slot to its lane, with a ticket; `false` when
    /// the lane is closed for good.
    ///
    /// # Safety
    /// The wrapper owns the slot, re-armed and loaded, and was made by a lane
    /// with nodes.
    pub(crate) unsafe fn post(&self, shard: u16) -> bool {
        let slab = self.guest.slab();
        let list = &slab.lists[usize::from(shard)];
        let node = &slab.nodes[self.slot.place()];
        // SAFETY: by the caller's promise the node is in no list.
        unsafe { list.push(node, self.slot) }
    }
}
