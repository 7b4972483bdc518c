//! A mutex between the flows of one shard.
//!
//! It promises strict first-in-first-out order with direct hand-over, re-entry
//! by the flow that is inside, and that a waiter whose step ends frees its place.
//! It does not span shards: two shards that need one limit need something else.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::rc::Rc;

use hashbrown::HashMap;

use super::super::error::{StepError, codes};
use super::super::event_loop::EventLoop;
use super::contract::{Admission, Entry, OwnerId, StepSync};
use super::wait_queue::WaitQueue;

/// Lets at most `max` flows of one event loop be inside at once (rule S13).
///
/// Works between the flows of **one shard** only; it does not span shards.
/// Clones are the same mutex. Each flow is an owner of its own, parallel
/// children too: a child that would wait for its own parent, which waits for
/// it, fails with `InternalError`.
#[derive(Clone, Debug)]
pub struct Mutex(Rc<MutexState>);

impl Mutex {
    /// One flow inside, any number waiting.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max(NonZeroU32::MIN)
    }

    /// `max` flows inside, any number waiting.
    #[must_use]
    pub fn with_max(max: NonZeroU32) -> Self {
        Self(Rc::new(MutexState(RefCell::new(MutexCore::new(max, None)))))
    }

    /// `max` flows inside and `max_queue` waiting; one more fails with
    /// `DefenseRejected`. With 0, none waits.
    #[must_use]
    pub fn with_queue(max: NonZeroU32, max_queue: u32) -> Self {
        let core = MutexCore::new(max, Some(max_queue));
        Self(Rc::new(MutexState(RefCell::new(core))))
    }

    /// Flows that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.0.borrow().queue.len()
    }

    /// Flows that are inside.
    #[must_use]
    pub fn inside(&self) -> usize {
        self.0.0.borrow().holders.len()
    }

    pub(super) fn state(&self) -> Rc<dyn StepSync> {
        self.0.clone()
    }
}

impl Default for Mutex {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug)]
struct MutexState(RefCell<MutexCore>);

impl StepSync for MutexState {
    fn enter(&self, event_loop: &EventLoop, entry: Entry) -> Result<Admission, StepError> {
        self.0.borrow_mut().enter(event_loop, entry, "mutex queue")
    }

    fn leave(&self, event_loop: &EventLoop, entry: Entry) {
        let next = self.0.borrow_mut().leave(entry);
        if let Some(next) = next {
            event_loop.admit(next);
        }
    }
}

/// Who is inside and who waits; the caller wakes who is let in.
#[derive(Debug)]
pub(super) struct MutexCore {
    max: usize,
    max_queue: Option<u32>,
    /// How often each flow that is inside went in.
    holders: HashMap<OwnerId, u32, foldhash::fast::RandomState>,
    queue: WaitQueue,
    home: Option<u32>,
}

impl MutexCore {
    pub(super) fn new(max: NonZeroU32, max_queue: Option<u32>) -> Self {
        Self {
            max: max.get() as usize,
            max_queue,
            holders: HashMap::default(),
            queue: WaitQueue::default(),
            home: None,
        }
    }

    pub(super) fn enter(
        &mut self,
        event_loop: &EventLoop,
        entry: Entry,
        queue_name: &'static str,
    ) -> Result<Admission, StepError> {
        at_home(&mut self.home, entry)?;
        if let Some(depth) = self.holders.get_mut(&entry.owner) {
            *depth += 1;
            return Ok(Admission::Entered);
        }
        if self.holders.len() < self.max {
            self.holders.insert(entry.owner, 1);
            return Ok(Admission::Entered);
        }
        // All who are inside wait for this flow to end: it would wait for ever.
        let holding = |owner: &OwnerId| self.holders.contains_key(owner);
        if event_loop.ancestors(entry.owner).filter(holding).count() == self.holders.len() {
            return Err(StepError::internal(
                "a parallel child waits for a mutex that its own parent holds",
            ));
        }
        if self
            .max_queue
            .is_some_and(|max| self.queue.len() >= max as usize)
        {
            return Err(StepError::new(codes::DEFENSE_REJECTED).with_info(queue_name));
        }
        self.queue.push(entry);
        Ok(Admission::Queued)
    }

    /// Takes an entry out, and says who is inside in its place.
    pub(super) fn leave(&mut self, entry: Entry) -> Option<Entry> {
        if self.queue.remove(entry) {
            return None;
        }
        let depth = self.holders.get_mut(&entry.owner)?;
        *depth -= 1;
        if *depth > 0 {
            return None;
        }
        self.holders.remove(&entry.owner);
        let next = self.queue.pop()?;
        self.holders.insert(next.owner, 1);
        Some(next)
    }

    pub(super) fn inside(&self) -> usize {
        self.holders.len()
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }
}

/// A synchronizer belongs to the first event loop that uses it.
pub(super) fn at_home(home: &mut Option<u32>, entry: Entry) -> Result<(), StepError> {
    if *home.get_or_insert(entry.handle.event_loop) == entry.handle.event_loop {
        Ok(())
    } else {
        Err(StepError::internal(
            "the synchronizer belongs to another event loop: it does not span shards",
        ))
    }
}
