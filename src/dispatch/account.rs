//! How much a dispatcher retains: units and known bytes, against fixed limits
//! (rules R45 to R47).
//!
//! It counts what it is told. What the allocator adds, capacity that nobody can
//! see and what registered components own is not counted; payload that is shared
//! may count twice.

use std::cell::Cell;

use super::error::Fatal;
use crate::limits;

/// The storage fuses of a dispatcher. The product's are [`Limits::default`];
/// tests make smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Queued callbacks, batch captures and batch capacity, together.
    pub units: usize,
    /// Known bytes.
    pub bytes: usize,
    /// Completed deliveries of one root, from 1.
    pub deliveries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            units: limits::DISPATCH_UNITS_MAX,
            bytes: limits::DISPATCH_BYTES_MAX,
            deliveries: limits::DISPATCH_DELIVERIES_MAX,
        }
    }
}

/// What is retained now. Never above the limits.
#[derive(Debug)]
pub(super) struct Account {
    limits: Limits,
    /// Queued callbacks.
    queued: Cell<usize>,
    /// All other units.
    others: Cell<usize>,
    bytes: Cell<usize>,
}

impl Account {
    pub(super) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            queued: Cell::new(0),
            others: Cell::new(0),
            bytes: Cell::new(0),
        }
    }

    #[inline]
    pub(super) const fn limits(&self) -> Limits {
        self.limits
    }

    #[inline]
    pub(super) fn units(&self) -> usize {
        self.queued.get() + self.others.get()
    }

    /// The units that are queued callbacks.
    #[inline]
    pub(super) fn queued(&self) -> usize {
        self.queued.get()
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    #[inline]
    pub(super) fn bytes_left(&self) -> usize {
        self.limits.bytes - self.bytes.get()
    }

    #[inline]
    pub(super) fn units_left(&self) -> usize {
        self.limits.units - self.units()
    }

    /// Takes both, or neither.
    #[inline]
    pub(super) fn take(&self, units: usize, bytes: usize) -> Result<(), Fatal> {
        if units > self.units_left() {
            return Err(Fatal::Overflow);
        }
        self.take_bytes(bytes)?;
        self.others.set(self.others.get() + units);
        Ok(())
    }

    #[inline]
    pub(super) fn take_bytes(&self, bytes: usize) -> Result<(), Fatal> {
        match self.bytes.get().checked_add(bytes) {
            Some(sum) if sum <= self.limits.bytes => {
                self.bytes.set(sum);
                Ok(())
            }
            _ => Err(Fatal::Overflow),
        }
    }

    /// Takes the unit of a callback with its heap, or nothing.
    #[inline]
    pub(super) fn take_queued(&self, heap: usize) -> Result<(), Fatal> {
        let queued = self.queued.get() + 1;
        if queued + self.others.get() > self.limits.units {
            return Err(Fatal::Overflow);
        }
        if heap > 0 {
            self.take_bytes(heap)?;
        }
        self.queued.set(queued);
        Ok(())
    }

    /// Gives back the unit of a callback with its heap.
    #[inline]
    pub(super) fn give_queued(&self, heap: usize) {
        self.queued.set(self.queued.get() - 1);
        if heap > 0 {
            self.give_bytes(heap);
        }
    }

    /// Gives back the units of all callbacks.
    pub(super) fn give_queue(&self) {
        self.queued.set(0);
    }

    /// Gives back what was taken.
    #[inline]
    pub(super) fn give(&self, units: usize, bytes: usize) {
        self.others.set(self.others.get() - units);
        self.give_bytes(bytes);
    }

    #[inline]
    pub(super) fn give_bytes(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() - bytes);
    }
}

/// The heap that a value owns, as far as it can be seen: what a caller charges
/// beside a value itself (rule R46).
///
/// Visible capacity counts, spare capacity that cannot be seen does not; a value
/// that is shared counts at each of its owners.
pub trait HeapBytes {
    /// Such a value owns no heap, and cloning it copies its bytes and runs nobody's
    /// code, as for a `Copy` type with a derived `Clone`. A publication that nobody
    /// hears at once then queues it for all of its subscribers in one go, and does not
    /// promise an order for what a clone would publish.
    const IS_PLAIN: bool = false;

    /// Bytes on the heap, not those of the value itself.
    fn heap_bytes(&self) -> usize;
}

macro_rules! inline {
    ($($name:ty),* $(,)?) => {
        $(impl HeapBytes for $name {
            const IS_PLAIN: bool = true;

            fn heap_bytes(&self) -> usize {
                0
            }
        })*
    };
}

inline!(
    (),
    bool,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    char
);
inline!(
    crate::types::Report,
    crate::types::Command,
    crate::types::Order
);
inline!(
    crate::types::Price,
    crate::types::Quantity,
    crate::types::Amount,
    &'static str
);

impl HeapBytes for String {
    fn heap_bytes(&self) -> usize {
        self.capacity()
    }
}

impl HeapBytes for Box<str> {
    fn heap_bytes(&self) -> usize {
        self.len()
    }
}

impl<T: HeapBytes> HeapBytes for Vec<T> {
    fn heap_bytes(&self) -> usize {
        let own = self.capacity().saturating_mul(size_of::<T>());
        self.iter()
            .fold(own, |sum, one| sum.saturating_add(one.heap_bytes()))
    }
}

impl<T: HeapBytes> HeapBytes for Box<[T]> {
    fn heap_bytes(&self) -> usize {
        self.iter().fold(size_of_val(&**self), |sum, one| {
            sum.saturating_add(one.heap_bytes())
        })
    }
}

impl<T: HeapBytes> HeapBytes for Option<T> {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, T::heap_bytes)
    }
}

impl<A: HeapBytes, B: HeapBytes> HeapBytes for (A, B) {
    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes().saturating_add(self.1.heap_bytes())
    }
}
