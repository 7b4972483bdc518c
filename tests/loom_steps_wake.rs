//! The steps' cross-thread protocol under loom: no wake is lost, and the owner
//! is told once per look. The inbox itself is `crossbeam-queue`'s.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom_steps_wake`
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use pitlane::steps::WakeSet;

/// Drains if signalled, as a turn does.
fn look(set: &WakeSet, seen: &mut Vec<u32>) {
    if set.take_signal() {
        set.drain(|number| seen.push(number));
    }
}

#[test]
fn s14_no_wake_is_lost_between_two_wakers_and_a_drain() {
    loom::model(|| {
        let set = Arc::new(WakeSet::new(128));
        // One word shared, one of its own.
        let wakers: Vec<_> = [3, 64]
            .map(|number| {
                let set = set.clone();
                thread::spawn(move || set.wake(number))
            })
            .into_iter()
            .collect();
        let mut seen = Vec::new();
        look(&set, &mut seen);
        for waker in wakers {
            waker.join().expect("it does not panic");
        }
        // What the first look missed is signalled for the next.
        look(&set, &mut seen);
        seen.sort_unstable();
        assert_eq!(seen, [3, 64], "each once: nobody woke twice");
        assert!(!set.is_signalled());
    });
}

#[test]
fn s14_two_wakes_of_one_word_are_both_seen() {
    loom::model(|| {
        let set = Arc::new(WakeSet::new(64));
        let other = set.clone();
        let waker = thread::spawn(move || other.wake(1));
        set.wake(2);
        let mut seen = Vec::new();
        look(&set, &mut seen);
        waker.join().expect("it does not panic");
        look(&set, &mut seen);
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    });
}

/// What a sender wrote before its signal is seen by who takes it, and a parked
/// owner is told: one of two senders gets `true` for each look of the owner's.
#[test]
fn s10_a_post_before_the_signal_is_seen_after_it_and_the_owner_is_told() {
    loom::model(|| {
        let set = Arc::new(WakeSet::new(0));
        let inbox = Arc::new(AtomicU64::new(0));
        let told = Arc::new(AtomicU64::new(0));
        let senders: Vec<_> = (0..2)
            .map(|_| {
                let (set, inbox, told) = (set.clone(), inbox.clone(), told.clone());
                thread::spawn(move || {
                    inbox.fetch_add(1, Ordering::Relaxed);
                    if set.signal() {
                        told.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let mut taken = 0;
        let mut looks = 0;
        if set.take_signal() {
            looks += 1;
            taken += inbox.swap(0, Ordering::Relaxed);
            assert!(taken >= 1, "a signal without its post");
        }
        for sender in senders {
            sender.join().expect("it does not panic");
        }
        if set.take_signal() {
            looks += 1;
            taken += inbox.swap(0, Ordering::Relaxed);
        }
        assert_eq!(taken, 2, "a post was lost");
        assert_eq!(told.load(Ordering::Relaxed), looks, "told once per look");
    });
}
