//! A place in the queue whose capture is still to come.

use super::dispatcher::Dispatcher;
use super::roots::ClearBlock;
use super::slots::Cell;

/// Room for one callback: its place in the order, its count, its bytes and its root
/// are taken. Dropping it cancels it; the slot then waits for a drain (rule R10).
#[must_use = "dropping a reservation cancels it"]
pub struct Reservation<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
    slot: u32,
    /// Present until it goes to the slot.
    cell: Option<Cell<E>>,
    _block: ClearBlock<'a>,
}

impl<'a, E: 'static> Reservation<'a, E> {
    pub(super) fn new(dispatcher: &'a Dispatcher<E>, slot: u32, cell: Cell<E>) -> Self {
        Self {
            dispatcher,
            slot,
            cell: Some(cell),
            _block: dispatcher.roots.block_clear(),
        }
    }

    /// Hands in the capture; accepted even if something latched since (rule R8).
    pub fn commit(self, capture: E) {
        self.commit_with(move || capture);
    }

    /// Builds the capture where it stays.
    #[inline]
    pub(super) fn commit_with(mut self, capture: impl FnOnce() -> E) {
        let capture = capture(); // A panic in here cancels.
        if let Some(mut cell) = self.cell.take() {
            *cell = Some(capture);
            self.dispatcher.slots.borrow_mut().commit(self.slot, cell);
        }
    }

    /// Gives the place up.
    pub fn cancel(self) {
        drop(self);
    }
}

impl<E: 'static> Drop for Reservation<'_, E> {
    fn drop(&mut self) {
        if let Some(cell) = self.cell.take() {
            self.dispatcher.slots.borrow_mut().cancel(self.slot, cell);
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
