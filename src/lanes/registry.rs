//! The submitters of an engine, for a stop to wait for and to count
//! (rules L25 and L27).

use std::sync::Arc;
use std::time::Instant;

use crate::limits;
use crate::time::IdleStrategy;

use super::entry::SubmitterCell;
use super::error::SubmitterError;

/// Every submitter that exists, and the count of those that are gone.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) cells: Vec<Arc<SubmitterCell>>,
    /// Accepted by submitters that are gone.
    accepted_before: u64,
}

impl Registry {
    /// Forgets the submitters that are gone; whether one more may come.
    pub(crate) fn make_room(&mut self) -> Result<(), SubmitterError> {
        let before = &mut self.accepted_before;
        self.cells.retain(|cell| {
            // A worker that still drains the ring holds the cell as well.
            let gone = cell.is_gone() && Arc::strong_count(cell) == 1;
            if gone {
                *before += cell.accepted();
            }
            !gone
        });
        if self.cells.len() >= limits::SUBMITTERS_MAX {
            return Err(SubmitterError::TooMany(limits::SUBMITTERS_MAX));
        }
        Ok(())
    }

    /// Operations that all of them put in.
    pub(crate) fn accepted(&self) -> u64 {
        let now = self.cells.iter().map(|cell| cell.accepted());
        self.accepted_before + now.sum::<u64>()
    }
}

/// Waits until none of them is inside a submit to `shard`; `false` when the
/// deadline came first.
pub(crate) fn wait_outside(
    cells: &[Arc<SubmitterCell>],
    shard: u16,
    deadline: Option<Instant>,
) -> bool {
    let mut idle = IdleStrategy::shared();
    while cells.iter().any(|cell| cell.is_inside(shard)) {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return false;
        }
        if !idle.pause() {
            // A producer inside a submit either leaves within nanoseconds
            // or is blocked, and then a microsecond more does not matter.
            super::sync::park_for(50_000);
        }
    }
    true
}
