//! Teardown: gives up every waiting callback (rules R49 to R51).
//!
//! The caller reports the failure first, then ends all scopes, then clears: the
//! latch is gone afterwards.

use super::component::ComponentId;
use super::dispatcher::Dispatcher;
use super::error::DispatchError;

impl<E: 'static> Dispatcher<E> {
    /// Detaches the queue, drops its captures, and starts again: ordinals from 1, no
    /// failure. What captures' destructors admit meanwhile is refused; clearing again
    /// from there does nothing (choice A4).
    ///
    /// # Errors
    /// [`DispatchError::Active`] while a scope, an access, a reservation or a root
    /// outside is alive. Nothing was changed: end it, and ask again.
    ///
    /// # Panics
    /// With the panic of a capture's destructor, after all the others have run; the
    /// failure then stays.
    pub fn clear(&self) -> Result<(), DispatchError> {
        if self.clearing.get() {
            return Ok(());
        }
        self.roots.reclaim();
        if self.is_deferred() || self.roots.blockers() > 0 || self.roots.external() > 0 {
            return Err(DispatchError::Active);
        }
        let clearing = Clearing::new(self);
        let detached = self.slots.borrow_mut().detach(&self.roots);
        detached.release();
        self.reset_sequence();
        self.roots.reset_latch();
        drop(clearing);
        Ok(())
    }
}

impl<E: 'static> Dispatcher<E> {
    /// Detaches the queue of a halted dispatcher and gives its captures, with whom
    /// they were for, in the order in which they would have been delivered. The
    /// failure stays.
    ///
    /// # Errors
    /// As for [`Dispatcher::clear`]; nothing was changed.
    pub fn salvage(&self, give: impl FnMut(ComponentId, E)) -> Result<(), DispatchError> {
        self.roots.reclaim();
        if self.clearing.get() || self.is_deferred() || self.roots.blockers() > 0 {
            return Err(DispatchError::Active);
        }
        let clearing = Clearing::new(self);
        let detached = self.slots.borrow_mut().detach(&self.roots);
        detached.give(give);
        drop(clearing);
        Ok(())
    }
}

/// Admissions fail while it lives, also when a destructor panics.
struct Clearing<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
}

impl<'a, E: 'static> Clearing<'a, E> {
    fn new(dispatcher: &'a Dispatcher<E>) -> Self {
        dispatcher.clearing.set(true);
        Self { dispatcher }
    }
}

impl<E: 'static> Drop for Clearing<'_, E> {
    fn drop(&mut self) {
        self.dispatcher.clearing.set(false);
    }
}
