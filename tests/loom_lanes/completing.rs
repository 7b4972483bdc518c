//! A completion slot between its worker, its future and a submitter that goes.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering, fence};
use loom::thread;

use super::completion::{Claim, Completion, Generation, LetGo, Wish, Wished, Word};
use super::node::NodeList;
use super::reentry::EngineId;
use super::retired;
use super::slab::{Share, SlabOwner, Slot as RealSlot};
use super::time::IdleStrategy;

/// A slot whose cells are what the real slab keeps beside the word; loom
/// checks that no two parties touch one at once.
struct Slot {
    word: Word,
    wish: Wish,
    result: UnsafeCell<Option<u32>>,
    waiter: UnsafeCell<Option<Arc<AtomicUsize>>>,
    recycled: AtomicUsize,
    dropped_by_worker: AtomicUsize,
}

/// How a worker completes.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Publishes, looks, and looks again after a fence.
    Late,
    /// Closes the wish, then publishes.
    Closing,
    /// The planted fault: no look after a fence.
    NoFence,
    /// The planted fault: the last look means the slot's next use as well.
    AnyUse,
}

const SOUND: [Way; 2] = [Way::Late, Way::Closing];

// Loom's cells are checked by loom.
impl Slot {
    fn claimed() -> (Arc<Self>, Generation) {
        let slot = Arc::new(Self {
            word: Word::new(),
            wish: Wish::new(),
            result: UnsafeCell::new(None),
            waiter: UnsafeCell::new(None),
            recycled: AtomicUsize::new(0),
            dropped_by_worker: AtomicUsize::new(0),
        });
        let generation = slot.word.claim().expect("a new slot is free");
        (slot, generation)
    }

    fn completion(&self) -> Completion<'_> {
        Completion {
            word: &self.word,
            wish: &self.wish,
        }
    }

    fn put_result(&self, value: Option<u32>) -> Option<u32> {
        self.result.with_mut(|cell| cell_mut(cell, value))
    }

    fn put_waiter(&self, waiter: Option<Arc<AtomicUsize>>) -> Option<Arc<AtomicUsize>> {
        self.waiter.with_mut(|cell| cell_mut(cell, waiter))
    }

    fn recycle(&self) {
        // Whoever recycles owns both cells.
        self.put_result(None);
        self.put_waiter(None);
        self.recycled.fetch_add(1, Ordering::Relaxed);
        self.word.recycle();
    }

    fn worker(&self, way: Way) {
        self.put_result(Some(7));
        if way == Way::Closing {
            let waiter = match self.completion().close() {
                Wished::Dropping => return self.drop_unwanted(),
                Wished::Nothing => None,
                Wished::Waking => Some(self.put_waiter(None).expect("announced")),
            };
            self.word.publish();
            if let Some(waiter) = waiter {
                waiter.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        let generation = self.word.publish();
        self.look(generation);
        if way == Way::NoFence {
            return;
        }
        fence(Ordering::SeqCst);
        self.look(generation);
        if way == Way::AnyUse {
            self.look(second_generation());
        }
    }

    fn look(&self, generation: Generation) {
        match self.completion().look(generation) {
            Wished::Nothing => {}
            Wished::Waking => {
                let waiter = self.put_waiter(None).expect("announced");
                if self.completion().taken(generation) {
                    self.recycle();
                }
                waiter.fetch_add(1, Ordering::Relaxed);
            }
            Wished::Dropping => self.drop_unwanted(),
        }
    }

    fn drop_unwanted(&self) {
        assert_eq!(self.put_result(None), Some(7));
        self.dropped_by_worker.fetch_add(1, Ordering::Relaxed);
        self.recycle();
    }

    /// Registers like a future; `false` when the result is there.
    fn register(&self, woken: &Arc<AtomicUsize>, claim: &mut Claim) -> bool {
        let generation = claim.generation();
        if claim.is_waiting() && !self.completion().unregister(generation) {
            return false;
        }
        self.put_waiter(Some(Arc::clone(woken)));
        let registered = self.completion().register(generation);
        claim.set_waiting(registered);
        if !registered {
            self.put_waiter(None);
        }
        registered
    }

    fn await_done(&self, generation: Generation) {
        while !self.word.is_done(generation) {
            thread::yield_now();
        }
    }

    fn take(&self, claim: Claim) -> u32 {
        let value = self.put_result(None).expect("done");
        if !claim.is_waiting() {
            self.recycle();
            return value;
        }
        match self.completion().let_go(claim.generation()) {
            LetGo::ToWorker => {}
            LetGo::WithWaiter => {
                assert!(self.put_waiter(None).is_some());
                self.recycle();
            }
            LetGo::Free => self.recycle(),
        }
        value
    }

    /// Goes away like a future; whether it had the result.
    fn abandon(&self, claim: &mut Claim) -> bool {
        let generation = claim.generation();
        if claim.is_waiting() {
            if !self.completion().unregister(generation) {
                assert_eq!(self.take(*claim), 7);
                return true;
            }
            claim.set_waiting(false);
            self.put_waiter(None);
        }
        let had = !self.completion().abandon(generation);
        if had {
            assert_eq!(self.take(*claim), 7);
        }
        had
    }
}

/// Swaps a cell's value.
#[allow(unsafe_code)]
fn cell_mut<T>(cell: *mut T, value: T) -> T {
    // SAFETY: loom's cell hands out a valid pointer and checks exclusivity.
    unsafe { std::mem::replace(&mut *cell, value) }
}

/// A slot's generation once it was recycled.
fn second_generation() -> Generation {
    let word = Word::new();
    word.recycle();
    word.generation()
}

fn counter() -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(0))
}

/// A worker and a future meet at a slot, then `after` looks what came of it.
/// Either is the model's first thread in turn: loom remembers one access to an
/// atomic, so what it tries depends on who runs first.
fn meet<R: 'static>(
    way: Way,
    future: impl Fn(&Slot, Generation) -> R + Copy + Send + Sync + 'static,
    after: impl Fn(&Slot, R) + Copy + Send + Sync + 'static,
) {
    for worker_first in [false, true] {
        loom::model(move || {
            let (slot, generation) = Slot::claimed();
            let other = Arc::clone(&slot);
            let came = if worker_first {
                let future = thread::spawn(move || future(&other, generation));
                slot.worker(way);
                future.join().expect("future")
            } else {
                let worker = thread::spawn(move || other.worker(way));
                let came = future(&slot, generation);
                worker.join().expect("worker");
                came
            };
            after(&slot, came);
        });
    }
}

/// A future announces a waiter and sleeps: it is woken, or has the result.
fn waiter_is_woken(way: Way) {
    let future = |slot: &Slot, generation: Generation| {
        let (woken, mut claim) = (counter(), Claim::from(generation));
        let waits = slot.register(&woken, &mut claim);
        (waits, woken, claim)
    };
    meet(way, future, |slot, (waits, woken, claim)| {
        assert!(slot.word.is_done(claim.generation()));
        if waits {
            assert_eq!(woken.load(Ordering::Relaxed), 1, "asleep for ever");
        }
        assert_eq!(slot.take(claim), 7);
        assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
        assert!(slot.word.claim().is_some(), "free for its next use");
    });
}

#[test]
fn loom_l21_l37_a_waiter_is_woken() {
    SOUND.into_iter().for_each(waiter_is_woken);
}

/// The planted fault: the worker looks only right after it has published.
#[test]
#[should_panic]
fn loom_l21_l37_a_worker_that_looks_without_a_fence_is_found() {
    waiter_is_woken(Way::NoFence);
}

/// A future that announced a waiter polls, and takes the result as it comes.
fn poller_recycles(way: Way, lets_go: bool) {
    let future = move |slot: &Slot, generation: Generation| {
        let (woken, mut claim) = (counter(), Claim::from(generation));
        slot.register(&woken, &mut claim);
        slot.await_done(generation);
        if lets_go {
            assert_eq!(slot.take(claim), 7);
        } else {
            slot.put_result(None);
            slot.recycle();
        }
    };
    meet(way, future, |slot, ()| {
        assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
        assert!(slot.word.claim().is_some(), "free for its next use");
    });
}

#[test]
fn loom_l21_l37_a_slot_that_was_waited_for_is_recycled_once() {
    SOUND.into_iter().for_each(|way| poller_recycles(way, true));
}

/// The planted fault: the future recycles a slot while the worker still wakes.
#[test]
#[should_panic]
fn loom_l21_l37_a_slot_recycled_under_its_waker_is_found() {
    poller_recycles(Way::Late, false);
}

#[test]
fn loom_l21_l37_a_waiter_is_replaced_or_the_result_is_there() {
    let future = |slot: &Slot, generation: Generation| {
        let (old, new) = (counter(), counter());
        let mut claim = Claim::from(generation);
        let waits = slot.register(&old, &mut claim) && slot.register(&new, &mut claim);
        (waits, old, new, claim)
    };
    for way in SOUND {
        meet(way, future, |slot, (waits, old, new, claim)| {
            if waits {
                assert_eq!(new.load(Ordering::Relaxed), 1, "the latest waiter is woken");
                assert_eq!(old.load(Ordering::Relaxed), 0);
            }
            assert_eq!(slot.take(claim), 7);
            assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
        });
    }
}

#[test]
fn loom_l22_l37_an_abandoned_result_is_dropped_by_one_party() {
    for way in SOUND {
        for wait_first in [false, true] {
            let future = move |slot: &Slot, generation: Generation| {
                let mut claim = Claim::from(generation);
                if wait_first {
                    slot.register(&counter(), &mut claim);
                }
                slot.abandon(&mut claim)
            };
            meet(way, future, |slot, mine| {
                assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
                let by_worker = slot.dropped_by_worker.load(Ordering::Relaxed);
                assert_eq!(by_worker, usize::from(!mine));
            });
        }
    }
}

/// While a worker has a look left to do, its slot is taken, used again, and
/// waited for: that look is not for the second use.
fn second_use(way: Way) {
    let future = |slot: &Slot, generation: Generation| {
        // No waiting: that would let the worker come to its end.
        if !slot.word.is_done(generation) {
            return None;
        }
        assert_eq!(slot.take(generation.into()), 7);
        let again = slot.word.claim().expect("recycled");
        let (woken, mut claim) = (counter(), Claim::from(again));
        assert!(slot.register(&woken, &mut claim), "not run yet");
        Some((woken, claim))
    };
    meet(way, future, |slot, used| {
        let Some((woken, claim)) = used else { return };
        assert_eq!(woken.load(Ordering::Relaxed), 0, "woken for nothing");
        slot.worker(Way::Late);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert_eq!(slot.take(claim), 7);
    });
}

#[test]
fn loom_l21_l37_a_late_look_leaves_the_next_use_alone() {
    second_use(Way::Late);
}

/// The planted fault: wishes that carry no generation.
#[test]
#[should_panic]
fn loom_l21_l37_a_late_look_at_the_next_use_is_found() {
    second_use(Way::AnyUse);
}

/// The worker's side of the real slab.
#[allow(unsafe_code)]
fn run_real(share: &Share, index: u16) {
    let slot = share.slot(index);
    // SAFETY: claimed, and sent to this worker alone; its share keeps the slab.
    unsafe {
        slot.write(7u32);
        let published = slot.publish();
        fence(Ordering::SeqCst);
        if published.is_wished() && published.grant() {
            let _: u32 = slot.read();
            slot.recycle();
        }
    }
}

/// The future's side: takes the result if it is there, else goes away.
#[allow(unsafe_code)]
fn drop_real(slot: RealSlot, generation: Generation) {
    let mut claim = Claim::from(generation);
    if slot.abandon(&mut claim) {
        // SAFETY: done, and this is its future.
        let _: u32 = unsafe { slot.read() };
        slot.release(claim);
    }
}

#[test]
fn loom_l22_l37_a_slab_whose_submitter_goes_is_freed_once_and_after_its_last_user() {
    loom::model(|| {
        let lists: std::sync::Arc<[NodeList]> = std::sync::Arc::new([]);
        let mut owner = SlabOwner::new(
            1,
            EngineId::next(),
            IdleStrategy::shared(),
            std::sync::Arc::clone(&lists),
        );
        let (slot, generation) = owner.claim().expect("a new slab is free");
        let (share, index) = (owner.share(), slot.index());
        let worker = thread::spawn(move || run_real(&share, index));
        let future = thread::spawn(move || drop_real(slot, generation));
        drop(owner);
        worker.join().expect("worker");
        future.join().expect("future");
        // What came back at the moment of the retirement is found by the next.
        retired::sweep();
        assert_eq!(std::sync::Arc::strong_count(&lists), 1, "freed");
    });
}

/// A wrapper's slot in its second life, ended by the worker.
fn end_unwanted(slot: &Slot) {
    assert_eq!(slot.put_result(Some(9)), Some(8), "the call that was sent");
    assert_eq!(slot.completion().close(), Wished::Dropping, "nobody waits");
    slot.put_result(None);
    slot.recycle();
}

/// Whoever has an unwanted wrapper sends the slot to the lane again.
fn send_back(slot: &Slot) {
    slot.completion().rearm(false);
    assert_eq!(slot.put_result(Some(8)), Some(7));
}

/// A future that waited goes away while its result, a wrapper, arrives.
#[test]
fn loom_l19_l22_l37_an_unwanted_wrapper_is_sent_back_by_one_party() {
    loom::model(|| {
        let (slot, generation) = Slot::claimed();
        let worker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                slot.put_result(Some(7));
                slot.word.keep();
                let generation = slot.word.publish();
                for is_late in [false, true] {
                    if is_late {
                        fence(Ordering::SeqCst);
                    }
                    match slot.completion().look(generation) {
                        Wished::Nothing => {}
                        Wished::Waking => {
                            slot.put_waiter(None).expect("announced");
                            let let_go = slot.completion().taken(generation);
                            assert!(!let_go, "a wrapper keeps the slot");
                        }
                        Wished::Dropping => {
                            send_back(&slot);
                            end_unwanted(&slot);
                        }
                    }
                }
            })
        };
        let mut claim = Claim::from(generation);
        slot.register(&counter(), &mut claim);
        let completion = slot.completion();
        let waits = claim.is_waiting();
        let mine = if waits && !completion.unregister(generation) {
            completion.settle(generation);
            true
        } else {
            if waits {
                slot.put_waiter(None);
            }
            !completion.abandon(generation)
        };
        if mine {
            send_back(&slot);
            // The worker is through with the cell: it could be waited in again.
            slot.put_waiter(None);
        }
        worker.join().expect("worker");
        if mine {
            end_unwanted(&slot);
        }
        assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
    });
}

/// A wrapper is taken and finalized at once, waited for in its second life too.
fn finalized(settles: bool) {
    loom::model(move || {
        let (slot, generation) = Slot::claimed();
        let sent = counter();
        let worker = {
            let (slot, sent) = (Arc::clone(&slot), Arc::clone(&sent));
            thread::spawn(move || {
                slot.put_result(Some(7));
                slot.word.keep();
                let generation = slot.word.publish();
                slot.look(generation);
                fence(Ordering::SeqCst);
                slot.look(generation);
                while sent.load(Ordering::Acquire) == 0 {
                    thread::yield_now();
                }
                slot.worker(Way::Closing);
            })
        };
        let (woken, mut claim) = (counter(), Claim::from(generation));
        slot.register(&woken, &mut claim);
        slot.await_done(generation);
        assert_eq!(slot.put_result(None), Some(7));
        if settles && claim.is_waiting() && slot.completion().settle(generation) {
            slot.put_waiter(None);
        }
        let next = slot.completion().rearm(true);
        let (again, mut claim) = (counter(), Claim::from(next));
        assert!(slot.register(&again, &mut claim), "not sent yet");
        sent.store(1, Ordering::Release);
        slot.await_done(next);
        worker.join().expect("worker");
        assert_eq!(again.load(Ordering::Relaxed), 1);
        assert_eq!(slot.take(claim), 7);
        assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
        assert!(slot.word.claim().is_some(), "free for its next use");
    });
}

#[test]
fn loom_l19_l37_a_slot_is_re_armed_after_its_waker() {
    finalized(true);
}

/// The planted fault: the waiter cell is written again under the worker.
#[test]
#[should_panic]
fn loom_l19_l37_a_slot_that_is_not_settled_is_found() {
    finalized(false);
}
