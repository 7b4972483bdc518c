//! Draining: the one place where callbacks run (rules R19 to R27, R31, R32, R43).
//!
//! A pass takes slots from the head, one after the other, at most as many as its
//! budget. Nothing is borrowed while author code, or a capture's destructor, runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::component::{Component, ComponentId, Context, MaintenanceRule};
use super::dispatcher::Dispatcher;
use super::error::{DispatchError, Fatal};
use super::holds::Needs;
use super::places::{Arrival, Taken};
use super::roots::RootScope;
use super::slots::{Position, State};

/// How a try to deliver the head ended.
enum Delivery {
    Done,
    /// Its component is taken out by someone.
    BusyComponent,
    /// Something that it needs beside its component is held.
    BusyResource,
}

/// What a busy head means to the caller of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Busy {
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

/// How a component took its event.
enum Call {
    Done,
    /// It takes no such event.
    WrongAddress,
}

impl<E: 'static> Dispatcher<E> {
    /// Takes at most `budget` slots, and tells whether slots remain. A callback whose
    /// component is held by someone is left, and so is everything behind it.
    ///
    /// # Errors
    /// [`DispatchError::Active`] where no delivery may start, or at an unfinished
    /// reservation; a [`Fatal`] that stands, or that this pass latched.
    pub fn drain(&self, budget: usize) -> Result<bool, DispatchError> {
        self.pass(budget, Busy::Waits).map(|pass| pass.pending)
    }

    /// The same at a boundary, where the caller has ended every access: what still
    /// cannot run never will, and latches [`Fatal::Stalled`] (rule R22).
    ///
    /// # Errors
    /// As for [`Dispatcher::drain`].
    pub fn boundary(&self, budget: usize) -> Result<bool, DispatchError> {
        self.pass(budget, Busy::Stalls).map(|pass| pass.pending)
    }

    /// The same for a loop that goes on while a resource is held, and so can bring
    /// that to an end: only a taken component stalls.
    pub(super) fn boundary_beside_holds(&self, budget: usize) -> Result<Pass, DispatchError> {
        self.pass(budget, Busy::WaitsForResources)
    }

    fn pass(&self, budget: usize, busy: Busy) -> Result<Pass, DispatchError> {
        if self.is_deferred() {
            return Err(DispatchError::Active);
        }
        if let Some(fatal) = self.roots.latched() {
            return Err(fatal.into());
        }
        let _draining = Draining::new(self);
        let mut waiting = None;
        for _ in 0..budget {
            let Some(slot) = self.slots.borrow().head() else {
                break;
            };
            let waits = match self.step(slot)? {
                Delivery::Done => None,
                Delivery::BusyResource => Some(busy != Busy::Stalls),
                Delivery::BusyComponent => Some(busy == Busy::Waits),
            };
            if let Some(waits) = waits {
                let (target, position) = {
                    let slots = self.slots.borrow();
                    (slots.get(slot).target, slots.get(slot).position)
                };
                if waits {
                    waiting = Some(position);
                    break;
                }
                let fatal = Fatal::Stalled { target };
                self.roots.latch(fatal);
                return Err(fatal.into());
            }
            if let Some(fatal) = self.roots.latched() {
                return Err(fatal.into());
            }
        }
        if std::thread::panicking() {
            self.roots.latch(Fatal::DeliveryUnwound);
        }
        Ok(Pass {
            pending: self.slots.borrow().queued() > 0,
            waiting,
        })
    }

    fn step(&self, slot: u32) -> Result<Delivery, DispatchError> {
        let (state, target, arrival, root) = {
            let slots = self.slots.borrow();
            let slot = slots.get(slot);
            (slot.state, slot.target, slot.arrival, slot.root)
        };
        match state {
            State::Ready => {}
            State::Cancelled => {
                let root = self.slots.borrow_mut().pop(&self.roots.account);
                self.roots.disown(root);
                return Ok(Delivery::Done);
            }
            State::Reserved | State::Emptied | State::Free => return Err(DispatchError::Active),
        }
        let Ok(present) = self.places.borrow().look(target) else {
            return Ok(Delivery::BusyComponent);
        };
        if present.is_some_and(|needs| !needs.is_nothing() && !self.holds.allow(needs)) {
            return Ok(Delivery::BusyResource);
        }
        if self.roots.is_exhausted(root) {
            let fatal = Fatal::Runaway {
                root: self.roots.serial(root),
            };
            self.roots.latch(fatal);
            return Err(fatal.into());
        }
        let flight = Flight::new(self, root);
        let Some(capture) = self.slots.borrow_mut().take(slot) else {
            return Err(DispatchError::Active); // A ready slot has its capture.
        };
        if let Some(needs) = present
            && matches!(
                self.call(target, arrival, needs, &capture),
                Call::WrongAddress
            )
        {
            self.slots.borrow_mut().put_back(slot, capture);
            flight.land();
            let fatal = Fatal::InvalidDestination { target };
            self.roots.latch(fatal);
            return Err(fatal.into());
        }
        drop(capture); // With its root active (rule R39), before the charge (A2).
        flight.land();
        let root = self.slots.borrow_mut().pop(&self.roots.account);
        self.roots.charge_and_disown(root);
        Ok(Delivery::Done)
    }

    /// Runs maintenance and, where it is eligible, author code; contains a panic.
    fn call(&self, id: ComponentId, arrival: Arrival, needs: Needs, event: &E) -> Call {
        let Some(Taken {
            mut component,
            rule,
        }) = self.places.borrow_mut().take(id)
        else {
            return Call::Done;
        };
        let hold = self.holds.take(needs);
        let cx = Context::new(self, id);
        let eligible = || self.places.borrow().is_eligible(id, arrival);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if !component.accepts(event) {
                return Call::WrongAddress;
            }
            if rule == MaintenanceRule::WhileRegistered || eligible() {
                component.maintain(event, &cx);
            }
            // Asked after maintenance, which may have changed it.
            if eligible() {
                component.on_event(event, &cx);
            }
            Call::Done
        }));
        drop(hold);
        self.seat(id, component);
        outcome.unwrap_or_else(|panic| {
            self.disable(id, panic);
            Call::Done
        })
    }

    /// Puts a component back into its place; one whose registration ended while it
    /// was out is dropped, and its panics are contained too.
    pub(super) fn seat(&self, id: ComponentId, component: Box<dyn Component<E>>) {
        let leftover = self.places.borrow_mut().put_back(id, component);
        if let Some(leftover) = leftover
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(leftover)))
        {
            self.alarms.raise(id, "a retired component", panic);
        }
    }

    /// A component panicked: nothing of it runs until it is replaced.
    pub(super) fn disable(&self, id: ComponentId, panic: Box<dyn std::any::Any + Send>) {
        let mut places = self.places.borrow_mut();
        self.alarms
            .raise(id, places.name(id).unwrap_or("a retired component"), panic);
        places.disable(id);
    }
}

/// A pass is under way; it ends however the pass ends.
struct Draining<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
}

impl<'a, E: 'static> Draining<'a, E> {
    fn new(dispatcher: &'a Dispatcher<E>) -> Self {
        dispatcher.draining.set(true);
        Self { dispatcher }
    }
}

impl<E: 'static> Drop for Draining<'_, E> {
    fn drop(&mut self) {
        self.dispatcher.draining.set(false);
    }
}

/// A delivery with its root active. One that does not land was left by a panic: it
/// is not charged, and its slot stays, emptied (rule R43, choice A3).
struct Flight<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
    landed: bool,
    _root: RootScope<'a>,
}

impl<'a, E: 'static> Flight<'a, E> {
    /// The slot owns the root meanwhile.
    fn new(dispatcher: &'a Dispatcher<E>, root: u32) -> Self {
        Self {
            dispatcher,
            landed: false,
            _root: dispatcher.roots.enter_borrowed(root),
        }
    }

    fn land(mut self) {
        self.landed = true;
    }
}

impl<E: 'static> Drop for Flight<'_, E> {
    fn drop(&mut self) {
        if !self.landed {
            self.dispatcher.roots.latch(Fatal::DeliveryUnwound);
        }
    }
}
