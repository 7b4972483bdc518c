//! The atomics of the steps' one cross-thread protocol: the standard ones, or
//! loom's when it explores the interleavings.

#[cfg(loom)]
pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
#[cfg(not(loom))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
