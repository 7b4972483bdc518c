//! Sleep and wake: no wake is lost.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use super::wake::Sleeper;

/// Loom reports a thread that sleeps for ever as a deadlock.
fn sleep_and_wake(wake: impl Fn(&Sleeper) + Send + Sync + Copy + 'static) {
    loom::model(move || {
        let sleeper = Arc::new(Sleeper::new());
        let work = Arc::new(AtomicBool::new(false));
        let waker = {
            let (sleeper, work) = (Arc::clone(&sleeper), Arc::clone(&work));
            thread::spawn(move || {
                work.store(true, Ordering::Release);
                wake(&sleeper);
            })
        };
        while !work.load(Ordering::Acquire) {
            sleeper.sleep(u64::MAX, || work.load(Ordering::Acquire));
        }
        waker.join().expect("waker");
    });
}

#[test]
fn loom_l24_l37_no_wake_is_lost() {
    sleep_and_wake(Sleeper::wake);
}

/// The planted fault: work that is announced to nobody.
#[test]
#[should_panic]
fn loom_l24_l37_a_missing_wake_is_found() {
    sleep_and_wake(|_| {});
}
