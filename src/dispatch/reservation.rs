//! A place in the queue whose capture is still to come.

use super::dispatcher::Dispatcher;
use super::roots::{ClearBlock, NONE};

/// Room for one callback: its place in the order, its count, its bytes and its root
/// are taken. Dropping it cancels it; the slot then waits for a drain (rule R10).
#[must_use = "dropping a reservation cancels it"]
pub struct Reservation<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
    slot: u32,
    _block: ClearBlock<'a>,
}

impl<'a, E: 'static> Reservation<'a, E> {
    pub(super) fn new(dispatcher: &'a Dispatcher<E>, slot: u32) -> Self {
        Self {
            dispatcher,
            slot,
            _block: dispatcher.roots.block_clear(),
        }
    }

    /// Hands in the capture; accepted even if something latched since (rule R8).
    pub fn commit(mut self, capture: E) {
        let slot = std::mem::replace(&mut self.slot, NONE);
        self.dispatcher.slots.borrow_mut().commit(slot, capture);
    }

    /// Gives the place up.
    pub fn cancel(self) {
        drop(self);
    }
}

impl<E: 'static> Drop for Reservation<'_, E> {
    fn drop(&mut self) {
        if self.slot != NONE {
            self.dispatcher.slots.borrow_mut().cancel(self.slot);
        }
    }
}

impl<E: 'static> core::fmt::Debug for Reservation<'_, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reservation")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}
