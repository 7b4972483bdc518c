//! Requests and reservations as other threads hold them (rules L17 to L20).
//!
//! A wrapper keeps the completion slot that brought it, and is finalized
//! through it: that needs no room in a ring, so a commit, a rollback or a drop
//! always gets through, from any thread, ordered with everything else.
#![allow(unsafe_code)]

use core::fmt;
use core::marker::PhantomData;

use std::sync::Arc;

use super::error::{Failure, LaneError};
use super::future::LaneFuture;
use super::handles::HandleToken;
use super::key::LaneKey;
use super::pre_trade::PreTradeDriver;
use super::reentry::{self, LaneId};
use super::slab::{KeptSlot, Slot};

/// What a wrapper asks of its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Execute,
    CommitAndClose,
    RollbackAndClose,
    /// Releases the handle; what is unfinished is rolled back.
    Close,
}

/// What stands in a wrapper's slot on its way to the lane.
#[derive(Clone, Copy)]
pub(crate) struct NodeCall {
    pub(crate) token: HandleToken,
    pub(crate) action: Action,
}

/// Where a wrapper comes from.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) lane: LaneId,
    /// Where its calls go, where that is not a shard's list.
    pub(crate) queue: Option<QueueHome>,
}

/// A queue of the dynamic strategy, as wrappers see it.
#[doc(hidden)]
#[derive(Clone)]
pub struct QueueHome {
    pub(super) key: LaneKey,
    pub(super) door: Arc<dyn QueueDoor>,
}

/// Takes what wrappers send, whatever a queue's driver is.
pub(super) trait QueueDoor: Send + Sync {
    /// Appends a loaded slot, which needs no room; `false` when the queue is
    /// closed for good.
    fn post(&self, slot: Slot) -> bool;
}

impl fmt::Debug for QueueHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("QueueHome").field(&self.key).finish()
    }
}

/// The part that is the same for every wrapper.
pub(crate) struct Held {
    kept: KeptSlot,
    token: HandleToken,
    home: Home,
    /// The closing call is on its way, or done.
    sent: bool,
}

impl Held {
    /// Made by the worker, of the slot that it is completing.
    pub(crate) fn new(slot: Slot, token: HandleToken, home: Home) -> Self {
        Self {
            kept: KeptSlot::keep(slot),
            token,
            home,
            sent: false,
        }
    }

    pub(crate) const fn token(&self) -> HandleToken {
        self.token
    }

    pub(crate) const fn is_sent(&self) -> bool {
        self.sent
    }

    pub(crate) fn slot(&self) -> Slot {
        self.kept.slot()
    }

    pub(crate) const fn home(&self) -> &Home {
        &self.home
    }

    /// Sends a closing call; the future of its outcome.
    fn send<T: Send, E: Send>(&mut self, action: Action) -> LaneFuture<T, E> {
        let fail = |error| LaneFuture::ready(Err(Failure::without_payload(error)));
        if self.sent {
            return fail(LaneError::Closed);
        }
        let slot = self.kept.slot();
        if reentry::in_lane(slot.engine(), self.home.lane) {
            return fail(LaneError::ReentrantLane);
        }
        if self.post(action, true) {
            LaneFuture::pending(slot, self.kept.generation())
        } else {
            fail(LaneError::Closed)
        }
    }

    /// Loads the slot and sends it; `false` when the lane is finished, and with
    /// it the handle.
    fn post(&mut self, action: Action, wanted: bool) -> bool {
        self.sent = true;
        let slot = self.kept.slot();
        self.kept.rearm(wanted);
        let call = NodeCall {
            token: self.token,
            action,
        };
        // SAFETY: the wrapper owns its slot, and took its result out of it.
        unsafe { slot.write(call) };
        let posted = match (&self.home.queue, self.home.lane) {
            (Some(queue), _) => queue.door.post(slot),
            // SAFETY: re-armed and loaded; only lanes with nodes make wrappers.
            (None, LaneId::Shard(shard)) => unsafe { self.kept.post(shard.0) },
            (None, LaneId::Key(_)) => false,
        };
        if !posted {
            slot.recycle();
        }
        posted
    }

    /// Whether a read may proceed (rule L17).
    fn readable(&self) -> Result<(), LaneError> {
        if self.sent {
            return Err(if self.kept.is_pending() {
                LaneError::FinalizationInProgress
            } else {
                LaneError::Closed
            });
        }
        if self.kept.slot().is_finalizing() {
            return Err(LaneError::FinalizationInProgress);
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.sent {
            // Nobody waits; the lane recycles the slot.
            self.post(Action::Close, false);
        }
    }
}

/// What an accepted order's second stage, or both stages, resolve with.
pub type Verdict<T, R> = Result<T, R>;

/// A started request on its lane. Dropping it gives the request up, there.
pub struct AsyncRequest<D: PreTradeDriver> {
    held: Held,
    driver: PhantomData<fn() -> D>,
}

/// The future of an [`AsyncRequest::execute`].
pub type ExecuteFuture<D> = LaneFuture<
    Verdict<AsyncReservation<D>, <D as PreTradeDriver>::Rejects>,
    <D as PreTradeDriver>::Error,
>;

/// The future of a call that closes a wrapper.
pub type CloseFuture<D> = LaneFuture<(), <D as PreTradeDriver>::Error>;

impl<D: PreTradeDriver> AsyncRequest<D> {
    pub(crate) const fn new(held: Held) -> Self {
        Self {
            held,
            driver: PhantomData,
        }
    }

    /// Runs the second stage in the request's lane. The request is used up,
    /// whatever comes of it; a stop that keeps it from running releases it.
    ///
    /// Resolves [`Closed`](LaneError::Closed) if it was executed or closed
    /// before, or its engine is stopped;
    /// [`ReentrantLane`](LaneError::ReentrantLane) inside its own lane.
    pub fn execute(&mut self) -> ExecuteFuture<D> {
        self.held.send(Action::Execute)
    }

    /// Gives the request up. A second close is fine.
    pub fn close(&mut self) -> CloseFuture<D> {
        close(&mut self.held)
    }
}

/// An accepted order's reservation on its lane; `V` is what it shows.
///
/// Dropping one that is not finalized rolls it back, on its lane.
pub struct AsyncReservation<D: PreTradeDriver, V = <D as PreTradeDriver>::View> {
    held: Held,
    view: V,
    driver: PhantomData<fn() -> D>,
}

/// An applied drop copy; finalized like a reservation.
pub type AsyncDropCopy<D> = AsyncReservation<D, <D as PreTradeDriver>::DropCopyView>;

impl<D: PreTradeDriver, V> AsyncReservation<D, V> {
    pub(crate) const fn new(held: Held, view: V) -> Self {
        Self {
            held,
            view,
            driver: PhantomData,
        }
    }

    pub(crate) const fn held(&self) -> &Held {
        &self.held
    }

    /// What was fixed when it was accepted; nothing is queued.
    ///
    /// # Errors
    /// [`FinalizationInProgress`](LaneError::FinalizationInProgress) while a
    /// finalization is under way, [`Closed`](LaneError::Closed) after a closing
    /// one. A plain commit leaves it readable until it is closed.
    pub fn view(&self) -> Result<&V, LaneError> {
        self.held.readable().map(|()| &self.view)
    }

    /// Keeps the reservation and releases the handle, on a stop too.
    pub fn commit_and_close(&mut self) -> CloseFuture<D> {
        self.held.send(Action::CommitAndClose)
    }

    /// Undoes the reservation and releases the handle, on a stop too.
    pub fn rollback_and_close(&mut self) -> CloseFuture<D> {
        self.held.send(Action::RollbackAndClose)
    }

    /// Releases the handle; one that was not finalized is rolled back. A second
    /// close is fine; a commit after it resolves [`Closed`](LaneError::Closed).
    pub fn close(&mut self) -> CloseFuture<D> {
        close(&mut self.held)
    }
}

fn close<E: Send>(held: &mut Held) -> LaneFuture<(), E> {
    if held.sent {
        return LaneFuture::ready(Ok(()));
    }
    held.send(Action::Close)
}

impl<D: PreTradeDriver> fmt::Debug for AsyncRequest<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncRequest")
            .field("sent", &self.held.sent)
            .finish_non_exhaustive()
    }
}

impl<D: PreTradeDriver, V> fmt::Debug for AsyncReservation<D, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncReservation")
            .field("sent", &self.held.sent)
            .finish_non_exhaustive()
    }
}
