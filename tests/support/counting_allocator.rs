//! A global allocator that counts what each thread allocates, for tests that
//! promise "no allocation" (rule K8 and its like).
//!
//! It promises exact counts per thread: what other threads do meanwhile is not
//! seen. It does not track who frees what, and adds a few nanoseconds a call.
//!
//! ```ignore
//! #[path = "support/counting_allocator.rs"]
//! mod counting_allocator;
//! use counting_allocator::{CountingAllocator, counted};
//!
//! #[global_allocator]
//! static ALLOCATOR: CountingAllocator = CountingAllocator;
//!
//! let (answer, counts) = counted(|| 6 * 7);
//! assert_eq!((answer, counts.allocations), (42, 0));
//! ```
#![allow(unsafe_code)] // `GlobalAlloc` cannot be implemented without.
#![allow(dead_code)] // Each test uses the part that it needs.
#![allow(unreachable_pub)] // Also included by test crates of other packages.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting.
#[derive(Debug)]
pub struct CountingAllocator;

/// What one thread did to the heap: since it began, or within [`counted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of `alloc`, `alloc_zeroed` and `realloc`.
    pub allocations: u64,
    /// Calls of `dealloc`.
    pub frees: u64,
    /// Bytes asked for, not less what was freed; a `realloc` counts its growth.
    pub bytes: u64,
    /// Bytes given back, as asked for.
    pub bytes_freed: u64,
}

thread_local! {
    // `const` and without a destructor: touching it never allocates, and it can
    // still be touched while the thread's other locals are dropped.
    static COUNTS: Cell<Counts> = const {
        Cell::new(Counts { allocations: 0, frees: 0, bytes: 0, bytes_freed: 0 })
    };
}

/// What this thread did to the heap since it began.
pub fn counts() -> Counts {
    COUNTS.get()
}

/// Runs `work`, and tells what it did to the heap on this thread.
pub fn counted<R>(work: impl FnOnce() -> R) -> (R, Counts) {
    let before = counts();
    let result = work();
    let after = counts();
    let done = Counts {
        allocations: after.allocations - before.allocations,
        frees: after.frees - before.frees,
        bytes: after.bytes - before.bytes,
        bytes_freed: after.bytes_freed - before.bytes_freed,
    };
    (result, done)
}

/// Changes this thread's counts; a thread that is already gone is not counted.
fn record(change: impl FnOnce(&mut Counts)) {
    let _ = COUNTS.try_with(|cell| {
        let mut counts = cell.get();
        change(&mut counts);
        cell.set(counts);
    });
}

fn took(bytes: usize) {
    record(|counts| {
        counts.allocations += 1;
        counts.bytes += bytes as u64;
    });
}

fn gave_back(bytes: usize) {
    record(|counts| {
        counts.frees += 1;
        counts.bytes_freed += bytes as u64;
    });
}

// SAFETY: every call is passed on to `System` unchanged, so its guarantees are
// ours; the counting beside it touches a `Cell` only, and never allocates.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promise (a size above zero) is what `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave_back(layout.size());
        // SAFETY: the caller got `pointer` from us with `layout`, and we from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size.saturating_sub(layout.size()));
        // SAFETY: as for `dealloc`; the caller promises that `size` is above zero.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
