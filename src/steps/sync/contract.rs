//! What a synchronizer is to the engine: it lets entries in, or queues them.
//!
//! The engine promises that every entry that was let in or queued leaves exactly
//! once, however its step ends: success, error, time limit, cancel, panic.

use std::rc::Rc;

use super::super::error::StepError;
use super::super::event_loop::{EventLoop, WaitHandle};
use super::lane::AccountLane;
use super::{Limiter, Mutex, Throttle};

/// One flow: a root's, or a parallel child's. Never names another one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerId {
    pub(crate) flow: u32,
    pub(crate) id: u64,
}

/// A step that wants in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) handle: WaitHandle,
    pub(crate) owner: OwnerId,
    pub(crate) root: OwnerId,
}

impl Entry {
    /// The flow that wants in.
    #[must_use]
    pub const fn owner(&self) -> OwnerId {
        self.owner
    }

    /// The root flow of the instance that the flow belongs to.
    #[must_use]
    pub const fn root(&self) -> OwnerId {
        self.root
    }

    /// A number that no other entry of this event loop has.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.handle.id
    }
}

/// What a synchronizer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The step runs now.
    Entered,
    /// The step waits until [`EventLoop::admit`] or [`EventLoop::reject`].
    Queued,
}

/// A synchronizer (rule S13). It works between the flows of one event loop.
pub trait StepSync {
    /// A step wants in.
    ///
    /// # Errors
    /// The error that the step fails with; the entry then does not leave.
    fn enter(&self, event_loop: &EventLoop, entry: Entry) -> Result<Admission, StepError>;

    /// A step that was let in or queued is over.
    fn leave(&self, event_loop: &EventLoop, entry: Entry);
}

/// A synchronizer as a step holds it.
#[derive(Clone)]
pub struct SyncRef(Object);

#[derive(Clone)]
enum Object {
    Shared(Rc<dyn StepSync>),
    Lane(AccountLane),
}

impl SyncRef {
    pub(crate) fn enter(
        &self,
        event_loop: &EventLoop,
        entry: Entry,
    ) -> Result<Admission, StepError> {
        match &self.0 {
            Object::Shared(object) => object.enter(event_loop, entry),
            Object::Lane(lane) => lane.enter(event_loop, entry),
        }
    }

    pub(crate) fn leave(&self, event_loop: &EventLoop, entry: Entry) {
        match &self.0 {
            Object::Shared(object) => object.leave(event_loop, entry),
            Object::Lane(lane) => lane.leave(event_loop, entry),
        }
    }
}

impl<S: StepSync + 'static> From<Rc<S>> for SyncRef {
    fn from(object: Rc<S>) -> Self {
        Self(Object::Shared(object))
    }
}

impl From<&Mutex> for SyncRef {
    fn from(mutex: &Mutex) -> Self {
        Self(Object::Shared(mutex.state()))
    }
}

impl From<&Throttle> for SyncRef {
    fn from(throttle: &Throttle) -> Self {
        Self(Object::Shared(throttle.state()))
    }
}

impl From<&Limiter> for SyncRef {
    fn from(limiter: &Limiter) -> Self {
        Self(Object::Shared(limiter.state()))
    }
}

impl From<AccountLane> for SyncRef {
    fn from(lane: AccountLane) -> Self {
        Self(Object::Lane(lane))
    }
}

impl std::fmt::Debug for SyncRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Object::Shared(_) => "SyncRef(shared)",
            Object::Lane(_) => "SyncRef(lane)",
        })
    }
}
