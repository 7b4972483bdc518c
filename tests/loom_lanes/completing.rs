//! A completion slot between its worker, its future and a submitter that goes.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::completion::{Completed, Completion, Generation};

/// A slot whose cells are what the real slab keeps beside the word; loom
/// checks that no two parties touch one at once.
struct Slot {
    word: Completion,
    result: UnsafeCell<Option<u32>>,
    waiter: UnsafeCell<Option<Arc<AtomicUsize>>>,
    recycled: AtomicUsize,
    /// Shares of the slab that were given back: the slot's and the submitter's.
    given_back: AtomicUsize,
    dropped_by_worker: AtomicUsize,
}

// Loom's cells are checked by loom.
impl Slot {
    fn claimed() -> (Arc<Self>, Generation) {
        let slot = Arc::new(Self {
            word: Completion::new(),
            result: UnsafeCell::new(None),
            waiter: UnsafeCell::new(None),
            recycled: AtomicUsize::new(0),
            given_back: AtomicUsize::new(0),
            dropped_by_worker: AtomicUsize::new(0),
        });
        let generation = slot.word.claim().expect("a new slot is free");
        (slot, generation)
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
        if self.word.recycle() {
            self.given_back.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn worker(&self) {
        self.put_result(Some(7));
        match self.word.complete() {
            Completed::Delivered => {}
            Completed::Wake => {
                let waiter = self.put_waiter(None).expect("announced");
                if self.word.woken() {
                    self.recycle();
                }
                waiter.fetch_add(1, Ordering::Relaxed);
            }
            Completed::Abandoned { waiter } => {
                if waiter {
                    assert!(self.put_waiter(None).is_some());
                }
                assert_eq!(self.put_result(None), Some(7));
                self.dropped_by_worker.fetch_add(1, Ordering::Relaxed);
                self.recycle();
            }
        }
    }

    /// Registers like a future; `false` when the result is there.
    fn register(&self, woken: &Arc<AtomicUsize>, registered: &mut bool) -> bool {
        if *registered && !self.word.unregister() {
            return false;
        }
        *registered = false;
        self.put_waiter(Some(Arc::clone(woken)));
        if self.word.register() {
            *registered = true;
            return true;
        }
        self.put_waiter(None);
        false
    }

    fn take(&self) -> u32 {
        let value = self.put_result(None).expect("done");
        if self.word.release() {
            self.recycle();
        }
        value
    }

    fn orphan(&self) {
        if self.word.orphan() {
            self.given_back.fetch_add(1, Ordering::Relaxed);
        }
        self.given_back.fetch_add(1, Ordering::Relaxed);
    }
}

/// Swaps a cell's value.
#[allow(unsafe_code)]
fn cell_mut<T>(cell: *mut T, value: T) -> T {
    // SAFETY: loom's cell hands out a valid pointer and checks exclusivity.
    unsafe { std::mem::replace(&mut *cell, value) }
}

#[test]
fn loom_l21_l37_a_waiter_is_woken_and_the_slot_recycled_once() {
    loom::model(|| {
        let (slot, generation) = Slot::claimed();
        let worker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.worker())
        };
        let woken = Arc::new(AtomicUsize::new(0));
        let waits = slot.register(&woken, &mut false);
        while !slot.word.is_done(generation) {
            thread::yield_now();
        }
        assert_eq!(slot.take(), 7);
        worker.join().expect("worker");
        assert_eq!(woken.load(Ordering::Relaxed), usize::from(waits));
        assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
        assert!(slot.word.claim().is_some(), "free for its next use");
    });
}

#[test]
fn loom_l21_l37_a_waiter_is_replaced_or_the_result_is_there() {
    loom::model(|| {
        let (slot, generation) = Slot::claimed();
        let worker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.worker())
        };
        let (old, new) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut registered = false;
        let waits = slot.register(&old, &mut registered) && slot.register(&new, &mut registered);
        while !slot.word.is_done(generation) {
            thread::yield_now();
        }
        assert_eq!(slot.take(), 7);
        worker.join().expect("worker");
        if waits {
            assert_eq!(new.load(Ordering::Relaxed), 1, "the latest waiter is woken");
            assert_eq!(old.load(Ordering::Relaxed), 0);
        }
        assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn loom_l22_l37_an_abandoned_result_is_dropped_by_one_party() {
    for wait_first in [false, true] {
        loom::model(move || {
            let (slot, _) = Slot::claimed();
            let worker = {
                let slot = Arc::clone(&slot);
                thread::spawn(move || slot.worker())
            };
            let mut registered = false;
            if wait_first {
                slot.register(&Arc::new(AtomicUsize::new(0)), &mut registered);
            }
            let mine = slot.word.abandon();
            if mine {
                assert_eq!(slot.take(), 7);
            }
            worker.join().expect("worker");
            assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
            let by_worker = slot.dropped_by_worker.load(Ordering::Relaxed);
            assert_eq!(by_worker, usize::from(!mine));
        });
    }
}

#[test]
fn loom_l22_l37_a_slab_whose_submitter_goes_is_given_back_whole() {
    loom::model(|| {
        let (slot, generation) = Slot::claimed();
        let worker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.worker())
        };
        let future = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                if slot.word.is_done(generation) {
                    slot.take();
                } else if slot.word.abandon() {
                    slot.take();
                }
            })
        };
        slot.orphan();
        worker.join().expect("worker");
        future.join().expect("future");
        assert_eq!(slot.given_back.load(Ordering::Relaxed), 2);
        assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
    });
}

/// The planted fault: the future recycles a slot while the worker still wakes.
#[test]
#[should_panic]
fn loom_l21_l37_a_slot_recycled_under_its_waker_is_found() {
    loom::model(|| {
        let (slot, generation) = Slot::claimed();
        let worker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.worker())
        };
        let mut registered = false;
        slot.register(&Arc::new(AtomicUsize::new(0)), &mut registered);
        while !slot.word.is_done(generation) {
            thread::yield_now();
        }
        slot.put_result(None);
        slot.recycle();
        worker.join().expect("worker");
    });
}

/// A wrapper's slot in its second life, ended by the worker.
fn end_unwanted(slot: &Slot) {
    assert_eq!(slot.put_result(Some(9)), Some(8), "the call that was sent");
    match slot.word.complete() {
        Completed::Abandoned { waiter: false } => {
            slot.put_result(None);
            slot.recycle();
        }
        other => panic!("nobody waits: {other:?}"),
    }
}

/// A future that waited goes away while its result, a wrapper, arrives; whoever
/// has the wrapper drops it, which sends the slot to the lane again.
fn wrapper_unwanted(says_woken: bool) {
    loom::model(move || {
        let (slot, _) = Slot::claimed();
        let worker = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                slot.put_result(Some(7));
                slot.word.keep();
                match slot.word.complete() {
                    Completed::Delivered => {}
                    Completed::Wake => {
                        slot.put_waiter(None).expect("announced");
                        assert!(!slot.word.woken(), "a wrapper keeps the slot");
                    }
                    Completed::Abandoned { waiter } => {
                        if waiter {
                            slot.put_waiter(None).expect("announced");
                            if says_woken {
                                slot.word.woken();
                            }
                        }
                        slot.word.rearm(false);
                        assert_eq!(slot.put_result(Some(8)), Some(7));
                        end_unwanted(&slot);
                    }
                }
            })
        };
        slot.register(&Arc::new(AtomicUsize::new(0)), &mut false);
        let mine = slot.word.abandon();
        if mine {
            slot.word.rearm(false);
            assert_eq!(slot.put_result(Some(8)), Some(7));
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

#[test]
fn loom_l19_l22_l37_an_unwanted_wrapper_is_sent_back_by_one_party() {
    wrapper_unwanted(true);
}

/// The planted fault, once a real one: the worker that drops the wrapper waits
/// for itself to have woken the waiter.
#[test]
#[should_panic]
fn loom_l19_l22_l37_a_worker_that_waits_for_itself_is_found() {
    wrapper_unwanted(false);
}

/// A wrapper is taken and finalized at once, waited for in its second life too.
fn finalized(waits_for_the_waker: bool) {
    loom::model(move || {
        let (slot, generation) = Slot::claimed();
        let sent = Arc::new(AtomicUsize::new(0));
        let worker = {
            let (slot, sent) = (Arc::clone(&slot), Arc::clone(&sent));
            thread::spawn(move || {
                slot.put_result(Some(7));
                slot.word.keep();
                if slot.word.complete() == Completed::Wake {
                    let waiter = slot.put_waiter(None).expect("announced");
                    slot.word.woken();
                    waiter.fetch_add(1, Ordering::Relaxed);
                }
                while sent.load(Ordering::Acquire) == 0 {
                    thread::yield_now();
                }
                slot.worker();
            })
        };
        let woken = Arc::new(AtomicUsize::new(0));
        let waited = slot.register(&woken, &mut false);
        while !slot.word.is_done(generation) {
            thread::yield_now();
        }
        assert_eq!(slot.put_result(None), Some(7));
        if waits_for_the_waker {
            slot.word.rearm(true);
        }
        let again = Arc::new(AtomicUsize::new(0));
        let waits = slot.register(&again, &mut false) || !waits_for_the_waker;
        assert!(waits, "not sent yet");
        sent.store(1, Ordering::Release);
        while !slot.word.is_done(generation) {
            thread::yield_now();
        }
        assert_eq!(slot.take(), 7);
        worker.join().expect("worker");
        assert_eq!(woken.load(Ordering::Relaxed), usize::from(waited));
        assert_eq!(again.load(Ordering::Relaxed), 1);
        assert_eq!(slot.recycled.load(Ordering::Relaxed), 1);
        assert!(slot.word.claim().is_some(), "free for its next use");
    });
}

#[test]
fn loom_l19_l37_a_slot_is_re_armed_after_its_waker() {
    finalized(true);
}

/// The planted fault: the waiter cell is written again without re-arming.
#[test]
#[should_panic]
fn loom_l19_l37_a_slot_that_is_not_re_armed_is_found() {
    finalized(false);
}
