//! A hint to the hardware: fetch a cache line that is about to be written to.
//!
//! Lines that wander between two cores come twice otherwise, to be read and then
//! to be written. It changes no result, and does nothing where it is not known.
#![allow(unsafe_code)]

/// How many places ahead a line is fetched: about as many as a core has misses
/// open at once.
pub(super) const AHEAD: usize = 8;

/// Fetches the line at an address, which need not be anything's.
#[inline]
pub(super) fn for_writing<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    // SAFETY: the instruction reads and writes nothing that a program can see,
    // and never faults.
    unsafe {
        core::arch::asm!(
            "prefetchw [{}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = address;
}
