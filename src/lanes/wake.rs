//! Sleep and wake: one thread sleeps, any thread wakes it, no wake is lost.
//!
//! The sleeper raises a flag, passes the heavy barrier and looks once more at
//! what it waits for; the waker makes that visible, passes the light barrier
//! and reads the flag. One of the two sees the other. A wake with nobody asleep
//! is a load of a line that rarely changes.

use super::barrier;
use super::sync::{AtomicBool, Mutex, Ordering, Thread, current, park_for};

/// Where one thread sleeps.
#[derive(Debug)]
pub(crate) struct Sleeper {
    /// Raised by the sleeper before its last look, lowered by who wakes it.
    asleep: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

impl Sleeper {
    pub(crate) fn new() -> Self {
        Self {
            asleep: AtomicBool::new(false),
            thread: Mutex::new(None),
        }
    }

    /// Sleeps until woken, at most `nanos`, unless `ready` already holds.
    /// One thread at a time; may return early.
    pub(crate) fn sleep(&self, nanos: u64, mut ready: impl FnMut() -> bool) {
        *lock(&self.thread) = Some(current());
        self.asleep.store(true, Ordering::Relaxed);
        // Pairs with the light barrier in `wake`.
        barrier::heavy();
        if !ready() {
            park_for(nanos);
        }
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the sleeper, if there is one; call it after making visible what
    /// it waits for.
    #[inline]
    pub(crate) fn wake(&self) {
        // Pairs with the heavy barrier in `sleep`.
        barrier::light();
        if self.asleep.load(Ordering::Relaxed) {
            self.unpark();
        }
    }

    #[cold]
    fn unpark(&self) {
        if self.asleep.swap(false, Ordering::AcqRel)
            && let Some(thread) = lock(&self.thread).as_ref()
        {
            thread.unpark();
        }
    }
}

/// A poisoned lock here guards a plain value that is always whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

#[cfg(loom)]
pub(crate) type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;
#[cfg(not(loom))]
pub(crate) type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;
