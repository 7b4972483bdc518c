//! The one switch between the standard library's atomics and loom's, so that
//! the models check the very protocols that run.

#[cfg(not(loom))]
pub(crate) use std::{
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread::{Thread, current, yield_now},
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread::{Thread, current, yield_now},
};

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
