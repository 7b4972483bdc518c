//! Work that is prepared as a whole and then run one by one (rules R37, R40, R41).
//!
//! The captures belong to the call, not to its preparation: guards that the
//! preparation takes are gone before a capture that it made is dropped, when it
//! refuses and when it panics.

use super::ancestry::{Ancestry, Carried};
use super::dispatcher::Dispatcher;
use super::error::DispatchError;
use super::retain::Charge;

/// The captures of one preparation.
#[derive(Debug)]
pub struct Batch<T> {
    values: Vec<Carried<T>>,
    charge: Charge,
    roots: std::rc::Rc<super::roots::Roots>,
}

/// Why a batch was not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError<X> {
    /// There is no room, or the dispatcher is halted or being cleared.
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    /// The preparation refused.
    #[error("the batch was not prepared: {0}")]
    Refused(X),
}

impl<T> Batch<T> {
    /// Adds a capture that owns `heap` bytes beside itself, under the root that is
    /// active now, or a new one. Room is reserved before the capture is built.
    ///
    /// # Errors
    /// The dispatcher is halted, or halts now because a limit is reached; the capture
    /// was not built.
    pub fn push(&mut self, heap: usize, capture: impl FnOnce() -> T) -> Result<(), DispatchError> {
        self.charge.make_room(&mut self.values, heap)?;
        let ancestry = Ancestry::of_retained(&self.roots)?;
        self.values.push(Carried::new(capture(), ancestry));
        Ok(())
    }

    /// How many captures there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// No captures.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl<E: 'static> Dispatcher<E> {
    /// Lets `prepare` make captures, in room for `capacity` of them at first, and then
    /// runs `invoke` for each in turn, under the root that it was made under (rule R37).
    /// What is not invoked is dropped under its own root (rule R40).
    ///
    /// # Errors
    /// There is no room, or `prepare` refused; then nothing was invoked.
    pub fn invoke_batch<T, X>(
        &self,
        capacity: usize,
        prepare: impl FnOnce(&mut Batch<T>) -> Result<(), X>,
        mut invoke: impl FnMut(T),
    ) -> Result<(), BatchError<X>> {
        if self.clearing.get() {
            return Err(DispatchError::Active.into());
        }
        let _block = self.roots.block_clear();
        let mut charge = Charge::new(&self.roots);
        let mut values = Vec::new();
        charge.reserve(&mut values, capacity, 0)?;
        let mut batch = Batch {
            values,
            charge,
            roots: std::rc::Rc::clone(&self.roots),
        };
        prepare(&mut batch).map_err(BatchError::Refused)?;
        for value in batch.values.drain(..) {
            value.process(&mut invoke);
        }
        Ok(())
    }
}
