//! Progress on stderr, a line a second, for what takes longer than two.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_secs(1);

/// Tells how far a run is.
pub(crate) struct Progress {
    begun: Instant,
    next: Option<Duration>,
}

impl Progress {
    /// Begins now; says nothing at all unless `on`.
    pub(crate) fn new(on: bool) -> Self {
        Self {
            begun: Instant::now(),
            next: on.then_some(FIRST),
        }
    }

    /// Says `line` if it is time; `line` is made only then.
    pub(crate) fn tick(&mut self, line: impl FnOnce() -> String) {
        let Some(next) = self.next else { return };
        let elapsed = self.begun.elapsed();
        if elapsed >= next {
            self.next = Some(elapsed + EVERY);
            eprintln!("{:>4} s  {}", elapsed.as_secs(), line());
        }
    }
}
