//! An asymmetric pair of barriers: free for who runs often, dear for who is
//! about to sleep or to stop.
//!
//! Store, [`light`], load on one side and store, [`heavy`], load on the other:
//! at least one of the two loads sees the other side's store. On Linux the
//! heavy side asks the kernel (`membarrier`) to run a full barrier on every
//! running thread of the process, so the light one only holds the compiler
//! back: a fence for each submit would cost 8 ns. Where the kernel refuses, or
//! on another system, both are full fences.
#![allow(unsafe_code)]

use super::sync::Ordering;

/// The side that runs for each operation.
#[inline]
pub(crate) fn light() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
    #[cfg(not(loom))]
    if kernel::available() {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    } else {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// The side that runs before a sleep or a stop; a system call.
pub(crate) fn heavy() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
    #[cfg(not(loom))]
    {
        std::sync::atomic::fence(Ordering::SeqCst);
        kernel::barrier();
    }
}

/// Decides, once, which kind this process has; call it before threads meet.
pub(crate) fn prepare() {
    #[cfg(not(loom))]
    kernel::prepare();
}

#[cfg(not(loom))]
mod kernel {
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, Ordering, fence};

    static AVAILABLE: AtomicBool = AtomicBool::new(false);
    static PREPARED: Once = Once::new();

    /// Set once, before any engine has a thread; both sides of a pair see the
    /// same answer because both come after [`prepare`].
    #[inline]
    pub(super) fn available() -> bool {
        AVAILABLE.load(Ordering::Relaxed)
    }

    pub(super) fn prepare() {
        PREPARED.call_once(|| AVAILABLE.store(register(), Ordering::SeqCst));
    }

    #[cfg(target_os = "linux")]
    fn register() -> bool {
        // A registered process may use the expedited command; a kernel without
        // it, or a filter that forbids it, answers with an error.
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
            && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }

    #[cfg(not(target_os = "linux"))]
    fn register() -> bool {
        false
    }

    pub(super) fn barrier() {
        #[cfg(target_os = "linux")]
        if available() {
            let done = membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
            // It worked when the process registered, and nothing unregisters.
            assert!(done, "membarrier worked at start and is refused now");
            return;
        }
        fence(Ordering::SeqCst);
    }

    #[cfg(target_os = "linux")]
    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: membarrier takes no pointer; flags and cpu are zero as the
        // private expedited commands want them.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}
