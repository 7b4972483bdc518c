//! The requests and reservations of one worker, by generational token.

use crate::types::AccountId;

use super::pre_trade::PreTradeDriver;

/// Names a handle from any thread; goes stale when the handle is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandleToken {
    index: usize,
    generation: u64,
}

/// What a wrapper stands for.
pub(crate) enum Handle<D: PreTradeDriver> {
    Request {
        request: D::Request,
        /// Whose order it is.
        account: AccountId,
    },
    Reservation {
        reservation: D::Reservation,
        /// Committed or rolled back; only a release is left.
        finished: bool,
    },
}

struct Entry<D: PreTradeDriver> {
    generation: u64,
    handle: Option<Handle<D>>,
}

/// Every open handle; as many as there are completion slots, at most.
pub(crate) struct Handles<D: PreTradeDriver> {
    entries: Vec<Entry<D>>,
    free: Vec<usize>,
}

impl<D: PreTradeDriver> Handles<D> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, handle: Handle<D>) -> HandleToken {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry {
                generation: 0,
                handle: None,
            });
            self.entries.len() - 1
        });
        let entry = &mut self.entries[index];
        entry.handle = Some(handle);
        HandleToken {
            index,
            generation: entry.generation,
        }
    }

    pub(crate) fn get(&mut self, token: HandleToken) -> Option<&mut Handle<D>> {
        let entry = self.entries.get_mut(token.index)?;
        if entry.generation == token.generation {
            entry.handle.as_mut()
        } else {
            None
        }
    }

    pub(crate) fn take(&mut self, token: HandleToken) -> Option<Handle<D>> {
        let entry = self.entries.get_mut(token.index)?;
        if entry.generation != token.generation {
            return None;
        }
        let handle = entry.handle.take()?;
        entry.generation += 1;
        self.free.push(token.index);
        Some(handle)
    }

    /// Takes everything that is left, oldest place first.
    pub(crate) fn drain(&mut self) -> Vec<Handle<D>> {
        self.free.clear();
        self.entries
            .drain(..)
            .filter_map(|entry| entry.handle)
            .collect()
    }

    pub(crate) fn open(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}
