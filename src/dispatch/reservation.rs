//! A place in the queue whose capture is still to come.

use super::dispatcher::Dispatcher;
use super::roots::ClearBlock;
use super::slots::Capture;

/// A reserved slot with the storage of its capture. Dropping it cancels the slot.
pub(super) struct Place<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
    slot: u32,
    /// Present until it goes to the slot.
    storage: Option<Capture<E>>,
}

impl<'a, E: 'static> Place<'a, E> {
    #[inline]
    pub(super) const fn new(dispatcher: &'a Dispatcher<E>, slot: u32, storage: Capture<E>) -> Self {
        Self {
            dispatcher,
            slot,
            storage: Some(storage),
        }
    }

    /// Builds the capture where it stays.
    #[inline]
    pub(super) fn commit_with(mut self, capture: impl FnOnce() -> E) {
        let capture = capture(); // A panic in here cancels.
        if let Some(mut storage) = self.storage.take() {
            *storage = Some(capture);
            self.dispatcher.slots.borrow().commit(self.slot, storage);
        }
    }
}

impl<E: 'static> Drop for Place<'_, E> {
    #[inline]
    fn drop(&mut self) {
        if let Some(storage) = self.storage.take() {
            self.dispatcher.slots.borrow().cancel(self.slot, storage);
        }
    }
}

/// Room for one callback: its place in the order, its count, its bytes and its root
/// are taken. Dropping it cancels it; the slot then waits for a drain (rule R10).
#[must_use = "dropping a reservation cancels it"]
pub struct Reservation<'a, E: 'static> {
    place: Place<'a, E>,
    block: ClearBlock<'a>,
}

impl<'a, E: 'static> Reservation<'a, E> {
    pub(super) fn new(place: Place<'a, E>) -> Self {
        let block = place.dispatcher.roots.block_clear();
        Self { place, block }
    }

    /// Hands in the capture; accepted even if something latched since (rule R8).
    pub fn commit(self, capture: E) {
        self.commit_with(move || capture);
    }

    /// Builds the capture where it stays.
    #[inline]
    pub(super) fn commit_with(self, capture: impl FnOnce() -> E) {
        let Self { place, block } = self;
        place.commit_with(capture);
        drop(block);
    }

    /// Gives the place up.
    pub fn cancel(self) {
        drop(self);
    }
}

impl<E: 'static> core::fmt::Debug for Reservation<'_, E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reservation")
            .field("slot", &self.place.slot)
            .finish_non_exhaustive()
    }
}
