//! Clocks: the system's, and one that a test moves by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A point of monotonic time: nanoseconds since the clock was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Time since `earlier`; zero if that is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This point, moved on; stays at the end of time rather than wrapping.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration_nanos(duration)))
    }
}

/// A wall-clock time: nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct UnixNanos(pub u64);

/// Where time comes from.
pub trait Clock {
    /// Monotonic: never before an earlier answer.
    fn now(&self) -> Nanos;
    /// The wall's time; may jump either way.
    fn wall(&self) -> UnixNanos;
}

/// The operating system's clocks.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock that starts at zero now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Nanos {
        Nanos(duration_nanos(self.start.elapsed()))
    }

    fn wall(&self) -> UnixNanos {
        UnixNanos(
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, duration_nanos),
        )
    }
}

/// A clock that stands still until it is moved; clones share the time.
#[derive(Clone, Debug, Default)]
pub struct SimClock {
    monotonic: Arc<AtomicU64>,
    wall: Arc<AtomicU64>,
}

impl SimClock {
    /// Starts at zero, with the wall at `wall`.
    #[must_use]
    pub fn new(wall: UnixNanos) -> Self {
        Self {
            monotonic: Arc::default(),
            wall: Arc::new(AtomicU64::new(wall.0)),
        }
    }

    /// Moves both clocks on.
    pub fn advance(&self, duration: Duration) {
        let nanos = duration_nanos(duration);
        self.monotonic.fetch_add(nanos, Ordering::Relaxed);
        self.wall.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Sets the wall alone, back or forward.
    pub fn set_wall(&self, wall: UnixNanos) {
        self.wall.store(wall.0, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Nanos {
        Nanos(self.monotonic.load(Ordering::Relaxed))
    }

    fn wall(&self) -> UnixNanos {
        UnixNanos(self.wall.load(Ordering::Relaxed))
    }
}

/// Nanoseconds of a duration; 584 years and more are the end of time.
fn duration_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
