//! Why a server does not start, each with its place and its mend.

use core::fmt;
use core::net::SocketAddr;
use std::io;

use crate::session::RulesError;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; {}", bind_mend(source))]
    Bind {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Frames after the logon are not signed: who owns the wire owns the
    /// session, so that a reachable address must be asked for.
    #[error(
        "{address} can be reached from other machines, and sessions are not encrypted; \
         listen on loopback behind a tunnel, or set allow_public for a private network"
    )]
    PublicAddress {
        /// Where.
        address: SocketAddr,
    },
    /// A setting is out of its range.
    #[error("{setting} {problem}")]
    Config {
        /// Which.
        setting: &'static str,
        /// What it must be.
        problem: &'static str,
    },
    /// A deadline is out of its range.
    #[error("timing: {0}")]
    Timing(RulesError),
    /// io_uring was asked for and is refused.
    #[error("{0}; or run with --io epoll")]
    Uring(IoRefused),
    /// The epoll runtime cannot be made.
    #[error("I/O thread {thread} has no runtime: {source}; raise the descriptor limit (ulimit -n)")]
    Runtime {
        /// Which thread.
        thread: u16,
        /// What the system said.
        source: io::Error,
    },
    /// A thread cannot be started, or ended while it set up.
    #[error("I/O thread {thread} does not start: {source}; raise the process limit (ulimit -u)")]
    Thread {
        /// Which thread.
        thread: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The thread that watches deadlines cannot be started.
    #[error("the deadline thread does not start: {source}; raise the process limit (ulimit -u)")]
    Ticker {
        /// What the system said.
        source: io::Error,
    },
    /// Making the thread's path panicked.
    #[error("I/O thread {thread} ended while it set up: its order path panicked")]
    Path {
        /// Which thread.
        thread: u16,
    },
}

/// Why the system refuses io_uring (rule G15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IoRefusal {
    /// The sysctl `kernel.io_uring_disabled` has this value.
    Sysctl(u8),
    /// EPERM or EACCES, and the sysctl does not say so: a seccomp filter.
    Seccomp,
    /// ENOMEM: the locked-memory limit, or no memory.
    MemoryLock,
    /// ENOSYS: a kernel without io_uring, or a filter that says so.
    Missing,
    /// EINVAL: the kernel does not take these settings.
    Settings,
    /// EMFILE or ENFILE.
    Descriptors,
    /// Any other error number; zero where there was none.
    Other(i32),
}

/// That io_uring is refused, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRefused {
    /// Why.
    pub reason: IoRefusal,
}

impl IoRefused {
    /// Reads a failed ring set-up; `sysctl` is what `kernel.io_uring_disabled`
    /// says, where it can be read.
    #[must_use]
    pub fn new(error: &io::Error, sysctl: Option<u8>) -> Self {
        let reason = match (number(error), sysctl) {
            (errno::EPERM | errno::EACCES, Some(value @ 1..)) => IoRefusal::Sysctl(value),
            (errno::EPERM | errno::EACCES, _) => IoRefusal::Seccomp,
            (errno::ENOMEM, _) => IoRefusal::MemoryLock,
            (errno::ENOSYS, _) => IoRefusal::Missing,
            (errno::EINVAL, _) => IoRefusal::Settings,
            (errno::EMFILE | errno::ENFILE, _) => IoRefusal::Descriptors,
            (other, _) => IoRefusal::Other(other),
        };
        Self { reason }
    }

    /// Reads a failed ring set-up on this host.
    #[must_use]
    pub(super) fn here(error: &io::Error) -> Self {
        let sysctl = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled")
            .ok()
            .and_then(|text| text.trim().parse().ok());
        Self::new(error, sysctl)
    }
}

impl fmt::Display for IoRefused {
    /// Which, why, and how to mend it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            IoRefusal::Sysctl(value) => write!(
                f,
                "io_uring is refused: kernel.io_uring_disabled is {value}; \
                 allow it with sysctl -w kernel.io_uring_disabled=0"
            ),
            IoRefusal::Seccomp => f.write_str(
                "io_uring is refused (EPERM): a seccomp filter forbids io_uring_setup, as \
                 containers do by default; allow it in the container's seccomp profile",
            ),
            IoRefusal::MemoryLock => f.write_str(
                "io_uring is refused (ENOMEM): the locked-memory limit is too low for its \
                 rings; raise it with ulimit -l or LimitMEMLOCK, or ask for fewer entries",
            ),
            IoRefusal::Missing => f.write_str(
                "io_uring is refused (ENOSYS): the kernel has none, or a filter hides it; \
                 use Linux 5.11 or newer",
            ),
            IoRefusal::Settings => f.write_str(
                "io_uring is refused (EINVAL): the kernel does not take the ring's settings; \
                 ask for 1 to 32,768 entries, or use Linux 5.11 or newer",
            ),
            IoRefusal::Descriptors => f.write_str(
                "io_uring is refused (EMFILE): no descriptor is left for its ring; \
                 raise the limit with ulimit -n or LimitNOFILE",
            ),
            IoRefusal::Other(errno) => {
                write!(f, "io_uring is refused: error {errno} at its set-up")
            }
        }
    }
}

impl core::error::Error for IoRefused {}

/// Error numbers of Linux, the same on every architecture that it runs on
/// with io_uring, but for ENOSYS on two that Pitlane does not support.
mod errno {
    pub(super) const EPERM: i32 = 1;
    pub(super) const ENOMEM: i32 = 12;
    pub(super) const EACCES: i32 = 13;
    pub(super) const EINVAL: i32 = 22;
    pub(super) const ENFILE: i32 = 23;
    pub(super) const EMFILE: i32 = 24;
    pub(super) const ENOSYS: i32 = 38;
    pub(super) const ENOBUFS: i32 = 105;
}

fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

/// Whether accepting failed for want of descriptors or memory, so that it must
/// pause (rule G17).
pub(super) fn is_exhausted(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(errno::EMFILE | errno::ENFILE | errno::ENOMEM | errno::ENOBUFS)
    )
}

fn bind_mend(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "stop what listens there (ss -ltnp), or choose another port",
        io::ErrorKind::AddrNotAvailable => "choose an address that this machine has (ip addr)",
        io::ErrorKind::PermissionDenied => {
            "choose a port above 1023, or grant CAP_NET_BIND_SERVICE"
        }
        _ => "check the address and the descriptor limit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f39_each_refusal_is_named_with_its_mend() {
        let refused = |errno, sysctl| IoRefused::new(&io::Error::from_raw_os_error(errno), sysctl);
        for (errno, sysctl, reason, word) in [
            (1, Some(2), IoRefusal::Sysctl(2), "sysctl -w"),
            (1, Some(0), IoRefusal::Seccomp, "seccomp"),
            (13, None, IoRefusal::Seccomp, "seccomp"),
            (12, Some(0), IoRefusal::MemoryLock, "ulimit -l"),
            (38, None, IoRefusal::Missing, "Linux 5.11"),
            (22, None, IoRefusal::Settings, "entries"),
            (24, None, IoRefusal::Descriptors, "ulimit -n"),
            (5, None, IoRefusal::Other(5), "error 5"),
        ] {
            let refused = refused(errno, sysctl);
            assert_eq!(refused.reason, reason);
            assert!(refused.to_string().contains(word), "{refused}");
        }
    }
}
