//! Decisions that were never brought: the authorizer's shards list them, the
//! executor voids them, and its message releases what they held (rule O4).

use std::time::Duration;

use pitlane::orders::executor::Executor;
use pitlane::shard::authority::{Authorizer, Due};
use pitlane::time::Nanos;

/// How often the shards are asked. A hold that nobody wants waits as long, beyond
/// its decision's expiry.
const EVERY: Duration = Duration::from_secs(1);

pub(super) struct Sweep {
    authorizer: Authorizer,
    open: Option<Due>,
    next: Nanos,
}

impl Sweep {
    pub(super) const fn new(authorizer: Authorizer) -> Self {
        Self {
            authorizer,
            open: None,
            next: Nanos(0),
        }
    }

    /// Voids what was listed; asks again, one question at a time.
    pub(super) fn turn(&mut self, executor: &mut Executor, now: Nanos) {
        if let Some(due) = &mut self.open {
            let more = due.poll(&mut |decision| _ = executor.void_unseen(&decision));
            if !more {
                self.open = None;
            }
        }
        if self.open.is_none() && now >= self.next {
            self.next = now.after(EVERY);
            self.open = Some(self.authorizer.due());
        }
    }
}
