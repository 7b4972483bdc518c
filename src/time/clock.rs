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
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(transparent)]
#[repr(transparent)]
pub struct UnixNanos(pub u64);

impl UnixNanos {
    /// This time, moved on; stays at the end of time rather than wrapping.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration_nanos(duration)))
    }
}

/// Where time comes from.
pub trait Clock: 'static {
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

    /// Moves both clocks on; they stay at the end of time rather than wrap.
    pub fn advance(&self, duration: Duration) {
        let nanos = duration_nanos(duration);
        for time in [&self.monotonic, &self.wall] {
            time.update(Ordering::Relaxed, Ordering::Relaxed, |now| {
                now.saturating_add(nanos)
            });
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_system_clock_starts_at_zero_and_never_goes_back() {
        let clock = SystemClock::new();
        let mut last = clock.now();
        assert!(last < Nanos(0).after(60 * SECOND), "made just now");
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(last.0 > 0, "it moves");
    }

    #[test]
    fn the_system_clock_tells_the_walls_time() {
        let since_epoch = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, duration_nanos)
        };
        let before = since_epoch();
        let wall = SystemClock::new().wall();
        assert!((before..=since_epoch()).contains(&wall.0));
    }

    #[test]
    fn a_simulated_clock_stands_still_until_it_is_moved() {
        let clock = SimClock::new(UnixNanos(5));
        assert_eq!((clock.now(), clock.wall()), (Nanos(0), UnixNanos(5)));
        assert_eq!((clock.now(), clock.wall()), (Nanos(0), UnixNanos(5)));
        clock.advance(SECOND);
        assert_eq!(clock.now(), Nanos(1_000_000_000));
        assert_eq!(clock.wall(), UnixNanos(1_000_000_005));
    }

    #[test]
    fn clones_of_a_simulated_clock_share_its_time() {
        let clock = SimClock::default();
        let other = clock.clone();
        other.advance(SECOND);
        assert_eq!(clock.now(), Nanos(1_000_000_000));
    }

    #[test]
    fn the_simulated_wall_jumps_without_moving_monotonic_time() {
        let clock = SimClock::new(UnixNanos(100));
        clock.advance(SECOND);
        clock.set_wall(UnixNanos(7));
        assert_eq!(
            (clock.now(), clock.wall()),
            (Nanos(1_000_000_000), UnixNanos(7))
        );
    }

    #[test]
    fn a_simulated_clock_stays_at_the_end_of_time() {
        let clock = SimClock::new(UnixNanos(u64::MAX - 1));
        clock.advance(SECOND);
        clock.advance(Duration::MAX);
        clock.advance(SECOND);
        assert_eq!(
            (clock.now(), clock.wall()),
            (Nanos(u64::MAX), UnixNanos(u64::MAX))
        );
    }

    #[test]
    fn points_of_time_saturate_at_both_ends() {
        assert_eq!(Nanos(5).since(Nanos(3)), 2);
        assert_eq!(Nanos(3).since(Nanos(5)), 0);
        assert_eq!(Nanos(3).after(Duration::from_nanos(4)), Nanos(7));
        assert_eq!(Nanos(3).after(Duration::MAX), Nanos(u64::MAX));
        assert_eq!(Nanos(u64::MAX).after(SECOND), Nanos(u64::MAX));
    }
}
