//! Draining: the one place where callbacks run (rules R19 to R27, R31, R32, R43).
//!
//! A pass takes slots from the head, one after the other, at most as many as its
//! budget. Author code, and a capture's destructor, may do everything but drain and
//! clear: what changes is in cells.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::component::{Component, ComponentId, Context};
use super::dispatcher::Dispatcher;
use super::error::{DispatchError, Fatal};
use super::places::{Busy, Taken};
use super::roots::{Active, is_made};
use super::slots::{Position, Slot, Slots, State};

/// What a busy head means to the caller of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtBusyHead {
    /// It waits.
    Waits,
    /// It is stalled, unless it is a resource that keeps it.
    WaitsForResources,
    /// It is stalled.
    Stalls,
}

/// How a pass ended that did not fail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// Slots remain.
    pub(super) pending: bool,
    /// Where the busy head stands that ended the pass.
    pub(super) waiting: Option<Position>,
}

impl<E: 'static> Dispatcher<E> {
    /// Takes at most `budget` slots, and tells whether slots remain. A callback whose
    /// component is held by someone is left, and so is everything behind it.
    ///
    /// # Errors
    /// [`DispatchError::Active`] where no delivery may start, or at an unfinished
    /// reservation; a [`Fatal`] that stands, or that this pass latched.
    pub fn drain(&self, budget: usize) -> Result<bool, DispatchError> {
        self.pass(budget, AtBusyHead::Waits)
            .map(|pass| pass.pending)
    }

    /// The same at a boundary, where the caller has ended every access: what still
    /// cannot run never will, and latches [`Fatal::Stalled`] (rule R22).
    ///
    /// # Errors
    /// As for [`Dispatcher::drain`].
    pub fn boundary(&self, budget: usize) -> Result<bool, DispatchError> {
        self.pass(budget, AtBusyHead::Stalls)
            .map(|pass| pass.pending)
    }

    /// The same for a loop that goes on while a resource is held, and so can bring
    /// that to an end: only a taken component stalls.
    pub(super) fn boundary_beside_holds(&self, budget: usize) -> Result<Pass, DispatchError> {
        self.pass(budget, AtBusyHead::WaitsForResources)
    }

    fn pass(&self, budget: usize, busy: AtBusyHead) -> Result<Pass, DispatchError> {
        if self.is_deferred() {
            return Err(DispatchError::Active);
        }
        if let Some(fatal) = self.roots.latched() {
            return Err(fatal.into());
        }
        let slots = self.slots.borrow();
        let mut flight = Flight::new(self);
        for _ in 0..budget {
            let Some((index, slot)) = slots.head() else {
                break;
            };
            let state = slot.state.get();
            if state == State::Ready {
                match self.take_target(slot) {
                    Ok(taken) => self.deliver(slot, taken, &mut flight)?,
                    Err(Busy::Resource) if busy != AtBusyHead::Stalls => {
                        return Ok(self.pass_ends(Some(slot.position()), &slots));
                    }
                    Err(Busy::Component) if busy == AtBusyHead::Waits => {
                        return Ok(self.pass_ends(Some(slot.position()), &slots));
                    }
                    Err(_) => {
                        let target = slot.target();
                        return Err(self.latches(Fatal::Stalled { target }));
                    }
                }
                slots.pop(&self.roots.account, index, slot);
                let root = self.roots.lent();
                if is_made(root) {
                    self.roots.charge_and_disown(root);
                }
            } else if state == State::Cancelled {
                slots.pop(&self.roots.account, index, slot);
                self.roots.disown(slot.root.get());
            } else {
                return Err(DispatchError::Active);
            }
            if let Some(fatal) = self.roots.latched() {
                return Err(fatal.into());
            }
        }
        Ok(self.pass_ends(None, &slots))
    }

    #[inline]
    fn pass_ends(&self, waiting: Option<Position>, slots: &Slots<E>) -> Pass {
        if std::thread::panicking() {
            self.roots.latch(Fatal::DeliveryUnwound);
        }
        Pass {
            pending: !slots.is_empty(),
            waiting,
        }
    }

    /// Takes the target of a ready slot out of its place, if all is free for it.
    /// `None` where nothing of it may run.
    #[inline]
    fn take_target(&self, slot: &Slot<E>) -> Result<Option<Taken<E>>, Busy> {
        let (index, arrival) = (slot.target_index.get(), slot.arrival.get());
        self.places
            .take_for(index, arrival, |needs| self.holds.allow(needs))
    }

    /// Runs maintenance and, where it is eligible, author code; contains a panic, and
    /// drops the capture.
    #[inline]
    fn deliver(
        &self,
        slot: &Slot<E>,
        taken: Option<Taken<E>>,
        flight: &mut Flight<'_, E>,
    ) -> Result<(), DispatchError> {
        let root = slot.root.get();
        if is_made(root) && self.roots.is_exhausted(root) {
            return Err(self.runs_away(slot, taken));
        }
        let Some(mut capture) = slot.take() else {
            return Err(DispatchError::Active); // A ready slot has its capture.
        };
        flight.take_off(root);
        if let (Some(taken), Some(event)) = (taken, &*capture) {
            let target = slot.target();
            let was_taken = if taken.turn.needs_more() {
                self.call_holding(target, taken, event)
            } else {
                self.call(target, taken, event)
            };
            if !was_taken {
                slot.put_back(capture);
                slot.root.set(self.roots.lent());
                flight.land();
                return Err(self.latches(Fatal::InvalidDestination { target }));
            }
        }
        *capture = None; // With its root active (rule R39), before the charge (A2).
        flight.land();
        slot.give_storage(capture);
        Ok(())
    }

    /// The same, while what the component needs beside itself is held.
    #[inline(never)]
    fn call_holding(&self, target: ComponentId, taken: Taken<E>, event: &E) -> bool {
        let _hold = self.holds.take(self.places.needs(target));
        self.call(target, taken, event)
    }

    /// Runs one turn of a component, and puts it back. Whether it takes such events.
    #[inline(always)]
    fn call(&self, target: ComponentId, taken: Taken<E>, event: &E) -> bool {
        let Taken {
            mut component,
            turn,
        } = taken;
        let cx = Context::new(self, target);
        let outcome = catch_unwind(AssertUnwindSafe(|| component.take_turn(event, &cx, turn)));
        if let Some(leftover) = self.places.end_turn(target, turn, component) {
            self.discard(target, leftover);
        }
        outcome.unwrap_or_else(|panic| {
            self.disable(target, panic);
            true
        })
    }

    #[cold]
    fn runs_away(&self, slot: &Slot<E>, taken: Option<Taken<E>>) -> DispatchError {
        if let Some(taken) = taken {
            self.seat(slot.target(), taken.component);
        }
        let root = self.roots.serial(slot.root.get());
        self.latches(Fatal::Runaway { root })
    }

    /// Puts a component back into its place; one whose registration ended while it
    /// was out is dropped, and its panics are contained too.
    #[inline]
    pub(super) fn seat(&self, id: ComponentId, component: Box<dyn Component<E>>) {
        let leftover = self.places.put_back(id, component);
        if let Some(leftover) = leftover {
            self.discard(id, leftover);
        }
    }

    /// Drops a component that was retired while it was out.
    #[cold]
    fn discard(&self, id: ComponentId, leftover: Box<dyn Component<E>>) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(leftover))) {
            self.alarms.raise(id, "a retired component", panic);
        }
    }

    /// A component panicked: nothing of it runs until it is replaced.
    pub(super) fn disable(&self, id: ComponentId, panic: Box<dyn std::any::Any + Send>) {
        let name = self.places.name(id);
        let name = name.as_deref().unwrap_or("a retired component");
        self.alarms.raise(id, name, panic);
        self.places.disable(id);
    }
}

/// A pass is under way; it ends however the pass ends. A delivery that does not land
/// was left by a panic: it is not charged, and its slot stays, emptied (rule R43,
/// choice A3).
struct Flight<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
    /// What was active before.
    outer: Active,
    flies: bool,
}

impl<'a, E: 'static> Flight<'a, E> {
    #[inline]
    fn new(dispatcher: &'a Dispatcher<E>) -> Self {
        dispatcher.draining.set(true);
        Self {
            dispatcher,
            outer: dispatcher.roots.active(),
            flies: false,
        }
    }

    /// A delivery begins, with its root active; its slot owns the root meanwhile.
    #[inline]
    fn take_off(&mut self, root: u32) {
        self.flies = true;
        self.dispatcher.roots.lend(root);
    }

    #[inline]
    const fn land(&mut self) {
        self.flies = false;
    }
}

impl<E: 'static> Drop for Flight<'_, E> {
    #[inline]
    fn drop(&mut self) {
        let Self {
            dispatcher, outer, ..
        } = self;
        if self.flies {
            if let Some((_, slot)) = dispatcher.slots.borrow().head() {
                slot.root.set(dispatcher.roots.lent());
            }
            dispatcher.roots.latch(Fatal::DeliveryUnwound);
        }
        dispatcher.roots.restore(*outer);
        dispatcher.draining.set(false);
    }
}
