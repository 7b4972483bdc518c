//! The account lane: a mutex fused into the scheduler.
//!
//! It promises that one instance at a time runs on an account, first in, first
//! out: from `execute` (or from entering the step) to its end, over all its
//! waits; and that entering again from the same instance is free, for parallel
//! children too. An account that nothing runs on takes no memory. It does not
//! span shards: an account has one.

use super::super::error::{StepError, codes};
use super::super::event_loop::EventLoop;
use super::contract::{Admission, Entry, OwnerId};
use super::wait_queue::WaitQueue;
use crate::types::AccountId;

/// The lane of one account, to enter by
/// [`Compose::sync`](crate::steps::Compose::sync) or, for a whole instance,
/// [`AsyncSteps::on_account`](crate::steps::AsyncSteps::on_account).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccountLane(pub AccountId);

/// Who runs on an account, and who waits.
#[derive(Debug, Default)]
pub(crate) struct LaneState {
    holder: Option<OwnerId>,
    depth: u32,
    queue: WaitQueue,
}

impl AccountLane {
    pub(super) fn enter(
        self,
        event_loop: &EventLoop,
        entry: Entry,
    ) -> Result<Admission, StepError> {
        let mut tables = event_loop.tables();
        let tables = &mut *tables;
        let spare = &mut tables.spare_lanes;
        let lane = tables
            .lanes
            .entry(self.0)
            .or_insert_with(|| spare.pop().unwrap_or_default());
        match lane.holder {
            None => (lane.holder, lane.depth) = (Some(entry.root), 1),
            Some(holder) if holder == entry.root => lane.depth += 1,
            Some(_) if lane.queue.len() >= event_loop.lane_queue_max() => {
                return Err(StepError::new(codes::DEFENSE_REJECTED).with_info("account lane queue"));
            }
            Some(_) => {
                lane.queue.push(entry);
                return Ok(Admission::Queued);
            }
        }
        Ok(Admission::Entered)
    }

    pub(super) fn leave(self, event_loop: &EventLoop, entry: Entry) {
        let next = {
            let mut tables = event_loop.tables();
            let Some(lane) = tables.lanes.get_mut(&self.0) else {
                return;
            };
            if lane.queue.remove(entry) {
                return;
            }
            lane.depth -= 1;
            if lane.depth > 0 {
                return;
            }
            let next = lane.queue.pop();
            lane.holder = next.map(|entry| entry.root);
            lane.depth = u32::from(next.is_some());
            if next.is_none()
                && let Some(lane) = tables.lanes.remove(&self.0)
            {
                tables.spare_lanes.push(lane);
            }
            next
        };
        if let Some(next) = next {
            event_loop.admit(next);
        }
    }
}
