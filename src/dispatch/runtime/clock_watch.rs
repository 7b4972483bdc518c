//! Sees a monotonic clock that goes back, and halts the dispatcher for it.

use crate::dispatch::{Dispatcher, Fatal};
use crate::time::Nanos;

/// The latest time that a loop has seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockWatch {
    last: Nanos,
}

impl ClockWatch {
    /// Takes the time in, or halts the dispatcher with what was seen.
    pub(super) fn see<E: 'static>(
        &mut self,
        now: Nanos,
        dispatcher: &Dispatcher<E>,
    ) -> Result<(), Fatal> {
        if now < self.last {
            let fatal = Fatal::ClockWentBack {
                last: self.last,
                now,
            };
            dispatcher.halt(fatal);
            return Err(fatal);
        }
        self.last = now;
        Ok(())
    }
}
