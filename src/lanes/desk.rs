//! A pre-trade engine as a lane's driver: it keeps the handles at home
//! (rules L13 to L20, L26).
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::time::Nanos;
use crate::types::ShardId;

use super::driver::{LocalDriver, Rest};
use super::error::{Failure, LaneError};
use super::future::Outcome;
use super::handles::{Handle, HandleToken, Handles};
use super::key::LaneKey;
use super::lane::SentNode;
use super::operation::{fenced, publish, task_failed};
use super::pre_trade::PreTradeDriver;
use super::reentry::LaneId;
use super::slab::Slot;
use super::wrapper::{Action, AsyncReservation, Held, Home, NodeCall, QueueHome, Verdict};

/// The driver of lanes with typed calls: start, execute, commit and the rest
/// are methods of a [`Submitter`](super::Submitter) over it, and of the wrappers
/// that those resolve with.
pub struct Desk<D: PreTradeDriver> {
    pub(super) driver: D,
    pub(super) handles: Handles<D>,
    home: Home,
}

impl<D: PreTradeDriver> Desk<D> {
    /// A desk of `shard`, around its engine.
    pub fn new(shard: ShardId, driver: D) -> Self {
        Self {
            driver,
            handles: Handles::new(),
            home: Home {
                lane: LaneId::Shard(shard),
                queue: None,
            },
        }
    }

    /// The engine; for work that is submitted to the lane.
    pub const fn driver(&mut self) -> &mut D {
        &mut self.driver
    }

    /// Requests and reservations that are not released.
    #[must_use]
    pub fn open_handles(&self) -> usize {
        self.handles.open()
    }

    /// A wrapper's common part, for a handle that was just accepted.
    pub(super) fn hold(&mut self, slot: Slot, handle: Handle<D>) -> Held {
        let token = self.handles.add(handle);
        Held::new(slot, token, self.home.clone())
    }

    /// An accepted order's wrapper, or its refusal.
    pub(super) fn judged(
        &mut self,
        slot: Slot,
        answer: Result<Result<D::Reservation, D::Rejects>, D::Error>,
    ) -> Outcome<Verdict<AsyncReservation<D>, D::Rejects>, D::Error> {
        match checked::<D, _>(answer)? {
            Ok(reservation) => {
                let view = self.driver.view(&reservation);
                let held = self.hold(
                    slot,
                    Handle::Reservation {
                        reservation,
                        finished: false,
                    },
                );
                Ok(Ok(AsyncReservation::new(held, view)))
            }
            Err(rejects) => Ok(Err(rejects)),
        }
    }

    /// Commits or rolls back; what is finished already is `Closed`.
    pub(super) fn finalize(
        &mut self,
        token: HandleToken,
        commit: bool,
        now: Nanos,
    ) -> Result<(), LaneError<D::Error>> {
        let Some(Handle::Reservation {
            reservation,
            finished,
        }) = self.handles.get(token)
        else {
            return Err(LaneError::Closed);
        };
        if *finished {
            return Err(LaneError::Closed);
        }
        // One attempt: an engine whose finalizer fails has armed its own switch.
        *finished = true;
        let answer = if commit {
            self.driver.commit(reservation, now)
        } else {
            self.driver.rollback(reservation, now)
        };
        answer.map_err(LaneError::Driver)
    }

    /// Gives a handle back to the engine; what is unfinished is rolled back.
    fn release(&mut self, handle: Handle<D>, now: Nanos) -> Result<(), D::Error> {
        match handle {
            Handle::Request { request, .. } => {
                self.driver.abandon(request);
                Ok(())
            }
            Handle::Reservation {
                mut reservation,
                finished,
            } => {
                if finished {
                    return Ok(());
                }
                self.driver.rollback(&mut reservation, now)
            }
        }
    }

    /// A closing call of a wrapper: the handle is released, whatever happens.
    fn close(&mut self, call: NodeCall, now: Nanos, abort: bool) -> Outcome<(), D::Error> {
        let finalized = match call.action {
            _ if abort => Err(LaneError::Stopped),
            Action::CommitAndClose => self.finalize(call.token, true, now),
            Action::RollbackAndClose => self.finalize(call.token, false, now),
            Action::Close | Action::Execute => Ok(()),
        };
        let released = match self.handles.take(call.token) {
            Some(handle) => self.release(handle, now).map_err(LaneError::Driver),
            None => Ok(()),
        };
        // After a finalization, a `Closed` handle was finished by a plain one.
        finalized.and(released).map_err(Failure::without_payload)
    }

    fn execute(
        &mut self,
        slot: Slot,
        call: NodeCall,
        now: Nanos,
        abort: bool,
    ) -> Outcome<Verdict<AsyncReservation<D>, D::Rejects>, D::Error> {
        match self.handles.take(call.token) {
            Some(Handle::Request { request, .. }) if abort => {
                self.driver.abandon(request);
                Err(Failure::without_payload(LaneError::Stopped))
            }
            Some(Handle::Request { request, .. }) => {
                let answer = self.driver.execute(request, now);
                self.judged(slot, answer)
            }
            Some(other) => {
                let _ = self.release(other, now);
                Err(Failure::without_payload(LaneError::DriverResult))
            }
            None => Err(Failure::without_payload(LaneError::Closed)),
        }
    }
}

/// The driver's answer, unless it breaks the contract (rule L15).
pub(super) fn checked<D: PreTradeDriver, T>(
    answer: Result<Result<T, D::Rejects>, D::Error>,
) -> Outcome<Result<T, D::Rejects>, D::Error> {
    match answer {
        Ok(Err(rejects)) if D::is_malformed(&rejects) => {
            Err(Failure::without_payload(LaneError::DriverResult))
        }
        Ok(verdict) => Ok(verdict),
        Err(error) => Err(Failure::without_payload(LaneError::Driver(error))),
    }
}

impl<D: PreTradeDriver> LocalDriver for Desk<D> {
    type Command = ();

    const HAS_NODES: bool = true;

    fn key((): &()) -> LaneKey {
        LaneKey::Engine
    }

    fn command(&mut self, (): &(), _now: Nanos) {}

    fn turn(&mut self, now: Nanos, budget: usize) -> bool {
        self.driver.turn(now, budget)
    }

    fn rest(&self, _now: Nanos) -> Rest {
        Rest::AtMost(std::time::Duration::from_millis(1))
    }

    fn panicked(&mut self, key: Option<LaneKey>) {
        self.driver.panicked(key);
    }

    fn set_home(&mut self, home: QueueHome) {
        self.home.lane = LaneId::Key(home.key);
        self.home.queue = Some(home);
    }

    fn has_handles(&self) -> bool {
        self.open_handles() > 0
    }

    fn order_of(&mut self, node: SentNode) -> Option<LaneKey> {
        // SAFETY: a wrapper wrote its call there; it is copied, not taken.
        let call = unsafe { node.0.read::<NodeCall>() };
        match self.handles.get(call.token) {
            Some(Handle::Request { account, .. }) if call.action == Action::Execute => {
                Some(LaneKey::Account(*account))
            }
            _ => None,
        }
    }

    fn run_node(&mut self, node: SentNode, now: Nanos, abort: bool) -> bool {
        let slot = node.0;
        // SAFETY: a wrapper wrote its call there and sent it once.
        let call = unsafe { slot.read::<NodeCall>() };
        if call.action == Action::Execute {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.execute(slot, call, now, abort)));
            let outcome = outcome.unwrap_or_else(|panic| {
                fenced(|| drop(panic));
                self.driver.panicked(None);
                task_failed()
            });
            // SAFETY: the call was moved out; this is the slot's worker.
            unsafe { publish(slot, outcome, None) };
        } else {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.close(call, now, abort)));
            let outcome = outcome.unwrap_or_else(|panic| {
                fenced(|| drop(panic));
                // Not kept for another try: its finalizer has failed.
                let handle = self.handles.take(call.token);
                fenced(|| drop(handle));
                self.driver.panicked(None);
                task_failed()
            });
            // SAFETY: the call was moved out; this is the slot's worker.
            unsafe { publish(slot, outcome, None) };
        }
        !abort
    }
}

impl<D: PreTradeDriver> Drop for Desk<D> {
    /// Rolls back what is open, before the engine goes (rule L26).
    fn drop(&mut self) {
        for handle in self.handles.drain() {
            fenced(|| {
                let _ = self.release(handle, Nanos::default());
            });
        }
    }
}
