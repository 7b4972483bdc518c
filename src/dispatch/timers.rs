//! Timers: each firing comes from outside, with a root of its own (rules R69, R70).
//!
//! Registering a timer captures nothing; its key is looked up when it fires, inside
//! the firing's scope. A lease names one registration: cancelling it, and only it,
//! works until it has fired. Timers of one time fire in the order of registration.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::dispatcher::Dispatcher;
use crate::limits::DISPATCH_TIMERS_MAX;
use crate::time::Nanos;

/// One registration of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerLease {
    index: usize,
    /// Never used again.
    serial: u64,
}

/// There are as many timers as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {max} timers already; cancel some first", max = DISPATCH_TIMERS_MAX)]
pub struct TooManyTimers;

#[derive(Debug)]
struct Registered<K> {
    serial: u64,
    key: K,
}

/// Timers with keys of type `K`: whatever finds the one who wants to know.
#[derive(Debug)]
pub struct Timers<K> {
    slab: Vec<Option<Registered<K>>>,
    free: Vec<usize>,
    /// By time, then registration; may hold entries that were cancelled.
    due: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    next_serial: u64,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Timers<K> {
    /// No timers.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            slab: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            next_serial: 1,
        }
    }

    /// Timers that have neither fired nor been cancelled.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.slab.len() - self.free.len()
    }

    /// No timers.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Registers a timer; whatever is active is not captured.
    ///
    /// # Errors
    /// There are as many as there may be.
    pub fn register(&mut self, at: Nanos, key: K) -> Result<TimerLease, TooManyTimers> {
        if self.len() >= DISPATCH_TIMERS_MAX {
            return Err(TooManyTimers);
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        let index = self.free.pop().unwrap_or(self.slab.len());
        let registered = Some(Registered { serial, key });
        if index == self.slab.len() {
            self.slab.push(registered);
        } else {
            self.slab[index] = registered;
        }
        self.due.push(Reverse((at, serial, index)));
        Ok(TimerLease { index, serial })
    }

    fn take(&mut self, index: usize, serial: u64) -> Option<K> {
        let place = self.slab.get_mut(index)?;
        let key = place.take_if(|one| one.serial == serial)?.key;
        self.free.push(index);
        Some(key)
    }

    /// Cancels a timer that has not fired; its key.
    pub fn cancel(&mut self, lease: TimerLease) -> Option<K> {
        let key = self.take(lease.index, lease.serial)?;
        // Cancelled entries leave the heap in bulk, so that it stays bounded.
        if self.due.len() > 64 && self.due.len() > 2 * self.len() {
            let slab = &self.slab;
            self.due.retain(|Reverse((_, serial, index))| {
                slab[*index]
                    .as_ref()
                    .is_some_and(|one| one.serial == *serial)
            });
        }
        Some(key)
    }

    /// When the next timer is due.
    pub fn next_due(&mut self) -> Option<Nanos> {
        loop {
            let Reverse((at, serial, index)) = *self.due.peek()?;
            if self.slab[index]
                .as_ref()
                .is_some_and(|one| one.serial == serial)
            {
                return Some(at);
            }
            self.due.pop();
        }
    }

    /// Takes the next timer that is due at `now`.
    pub fn pop_due(&mut self, now: Nanos) -> Option<Firing<K>> {
        let at = self.next_due().filter(|at| *at <= now)?;
        let Reverse((_, serial, index)) = self.due.pop()?;
        self.take(index, serial).map(|key| Firing { at, key })
    }
}

/// A timer that is due.
#[derive(Debug)]
pub struct Firing<K> {
    /// When it was due.
    pub at: Nanos,
    /// Whom it is for.
    pub key: K,
}

impl<K> Firing<K> {
    /// Opens the firing's own scope, looks the receiver up in it, and calls it
    /// (rule R70). `None` where nobody is there any more.
    pub fn deliver<E: 'static, F, R>(
        self,
        dispatcher: &Dispatcher<E>,
        lookup: impl FnOnce(K) -> Option<F>,
        call: impl FnOnce(F, Nanos) -> R,
    ) -> Option<R> {
        dispatcher.independent(|| lookup(self.key).map(|found| call(found, self.at)))
    }
}
