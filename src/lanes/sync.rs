//! The one switch between the standard library's atomics and loom's, so that
//! the models check the very protocols that run.

#[cfg(not(loom))]
pub(crate) use std::{
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::{Thread, current, yield_now},
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread::{Thread, current, yield_now},
};

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;

/// As loom's, which checks each access; this one only hands out the pointer.
#[cfg(not(loom))]
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// A pointer to read through.
    #[inline]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// A pointer to write through.
    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// What the only thread that writes to it reads; the model checks that it is.
#[inline]
pub(crate) fn read_own(word: &AtomicU64) -> u64 {
    #[cfg(not(loom))]
    return word.load(Ordering::Relaxed);
    // Not an access that loom would take for somebody else's: it remembers the
    // last one only, and tries what happens before that.
    #[cfg(loom)]
    #[allow(unsafe_code)]
    // SAFETY: loom checks that nobody writes at the same time.
    unsafe {
        word.unsync_load()
    }
}

/// Parks for at most `nanos`; the model has no time and parks until it is woken.
pub(crate) fn park_for(nanos: u64) {
    #[cfg(not(loom))]
    std::thread::park_timeout(std::time::Duration::from_nanos(nanos));
    #[cfg(loom)]
    {
        let _ = nanos;
        loom::thread::park();
    }
}
