//! Decisions that were never brought: the authorizer's shards list them, the
//! executor voids them, and its message releases what they held (rule O4).

use std::time::Duration;

use crossbeam_channel::Receiver;
use pitlane::orders::decision::Decision;
use pitlane::orders::executor::Executor;
use pitlane::shard::authority::{self, Authorizer};
use pitlane::time::Nanos;

/// How often the shards are asked. A hold that nobody wants waits as long, beyond
/// its decision's expiry.
const EVERY: Duration = Duration::from_secs(1);

/// Who lists them.
pub enum Due {
    /// The authorizer of this process.
    Here(Authorizer),
    /// One elsewhere, which is asked by another thread.
    Elsewhere(Receiver<Decision>),
}

pub(super) struct Sweep {
    due: Due,
    open: Option<authority::Due>,
    next: Nanos,
}

impl Sweep {
    pub(super) const fn new(due: Due) -> Self {
        Self {
            due,
            open: None,
            next: Nanos(0),
        }
    }

    /// Voids what was listed; asks again, one question at a time.
    pub(super) fn turn(&mut self, executor: &mut Executor, now: Nanos) {
        let authorizer = match &self.due {
            Due::Here(authorizer) => authorizer,
            Due::Elsewhere(decisions) => {
                while let Ok(decision) = decisions.try_recv() {
                    executor.void_unseen(&decision);
                }
                return;
            }
        };
        if let Some(due) = &mut self.open {
            let more = due.poll(&mut |decision| _ = executor.void_unseen(&decision));
            if !more {
                self.open = None;
            }
        }
        if self.open.is_none() && now >= self.next {
            self.next = now.after(EVERY);
            self.open = Some(authorizer.due());
        }
    }
}
