//! Work that is kept for later, under the root that it belongs to (rules R35, R36).
//!
//! It counts against the storage limits by its capacity, keeps its root's budget
//! alive, and keeps the dispatcher from being cleared until it is dropped.

use std::rc::Rc;

use super::ancestry::Ancestry;
use super::dispatcher::Dispatcher;
use super::error::{DispatchError, Fatal};
use super::roots::Roots;

/// What a growable store has taken from the account: units and bytes by capacity,
/// and the heap that its values own.
#[derive(Debug)]
pub(super) struct Charge {
    roots: Rc<Roots>,
    units: usize,
    bytes: usize,
}

impl Charge {
    pub(super) fn new(roots: &Rc<Roots>) -> Self {
        Self {
            roots: Rc::clone(roots),
            units: 0,
            bytes: 0,
        }
    }

    /// Takes more, or latches the overflow.
    pub(super) fn take(&mut self, units: usize, bytes: usize) -> Result<(), DispatchError> {
        if let Some(fatal) = self.roots.latched() {
            return Err(fatal.into());
        }
        self.roots
            .account
            .take(units, bytes)
            .inspect_err(|fatal| self.roots.latch(*fatal))?;
        self.units += units;
        self.bytes += bytes;
        Ok(())
    }

    /// Makes room in `values` for one more, by doubling, and charges `heap`.
    pub(super) fn make_room<T>(
        &mut self,
        values: &mut Vec<T>,
        heap: usize,
    ) -> Result<(), DispatchError> {
        if values.len() < values.capacity() {
            return self.take(0, heap);
        }
        let more = values
            .capacity()
            .max(4)
            .min(self.roots.account.units_left().max(1));
        self.reserve(values, more, heap)
    }

    /// Room for `more` values, and `heap` bytes beside them.
    pub(super) fn reserve<T>(
        &mut self,
        values: &mut Vec<T>,
        more: usize,
        heap: usize,
    ) -> Result<(), DispatchError> {
        let bytes = more
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_add(heap));
        let Some(bytes) = bytes else {
            self.roots.latch(Fatal::Overflow);
            return Err(Fatal::Overflow.into());
        };
        self.take(more, bytes)?;
        values.reserve_exact(more);
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.roots.account.give(self.units, self.bytes);
    }
}

/// Values that are kept under one root.
#[derive(Debug)]
pub struct Retained<T> {
    values: Vec<T>,
    ancestry: Ancestry,
    charge: Charge,
}

impl<E: 'static> Dispatcher<E> {
    /// Keeps values for later, under the active root, or a new one (rule R35).
    ///
    /// # Errors
    /// The dispatcher is halted, or halts now because a limit is reached; or it is
    /// being cleared.
    pub fn retain<T>(&self, capacity: usize) -> Result<Retained<T>, DispatchError> {
        if self.clearing.get() {
            return Err(DispatchError::Active);
        }
        let mut charge = Charge::new(&self.roots);
        let mut values = Vec::new();
        charge.reserve(&mut values, capacity, 0)?;
        let ancestry = Ancestry::of_retained(&self.roots)?;
        Ok(Retained {
            values,
            ancestry,
            charge,
        })
    }
}

impl<T> Retained<T> {
    /// Keeps one more, which owns `heap` bytes beside itself; growing keeps the root.
    /// The room is reserved before the value is built.
    ///
    /// # Errors
    /// The dispatcher is halted, or halts now because a limit is reached.
    pub fn push(&mut self, heap: usize, value: impl FnOnce() -> T) -> Result<(), DispatchError> {
        self.charge.make_room(&mut self.values, heap)?;
        self.values.push(value());
        Ok(())
    }

    /// What is kept.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Takes the latest one out; the room stays.
    pub fn pop(&mut self) -> Option<T> {
        self.values.pop()
    }

    /// The root, by a number that is never used again.
    #[must_use]
    pub fn root(&self) -> Option<u64> {
        self.ancestry.serial()
    }

    /// Deliveries that the root has completed (rule R31).
    #[must_use]
    pub fn deliveries(&self) -> u32 {
        self.ancestry.deliveries()
    }

    /// Goes on with the work: its root is active for the call, and what was active
    /// before is restored, on unwind too. Nothing is charged (rule R36).
    pub fn with_chain<R>(&mut self, body: impl FnOnce(&mut Self) -> R) -> R {
        let ancestry = self.ancestry.again();
        let _block = ancestry.roots().block_clear();
        let _scope = ancestry.enter();
        body(self)
    }
}

impl<T> Drop for Retained<T> {
    fn drop(&mut self) {
        let _scope = self.ancestry.enter();
        self.values.clear();
    }
}
