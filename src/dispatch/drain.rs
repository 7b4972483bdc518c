//! Draining: the one place where callbacks run (rules R19 to R27, R31, R32, R43).
//!
//! A pass takes slots from the head, one after the other, at most as many as its
//! budget. Nothing is borrowed while author code, or a capture's destructor, runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::component::{Component, ComponentId, Context, MaintenanceRule};
use super::dispatcher::Dispatcher;
use super::error::{DispatchError, Fatal};
use super::places::{Arrival, Busy, Seat, Taken};
use super::roots::BorrowedScope;
use super::slots::{Position, State};

/// How a try to deliver the head ended.
enum Delivery {
    /// The queue is empty.
    Nothing,
    Done,
    /// Its component is taken out by someone.
    BusyComponent,
    /// Something that it needs beside its component is held.
    BusyResource,
}

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
        let _draining = Draining::new(self);
        let mut waiting = None;
        for _ in 0..budget {
            let waits = match self.step()? {
                Delivery::Nothing => break,
                Delivery::Done => None,
                Delivery::BusyResource => Some(busy != AtBusyHead::Stalls),
                Delivery::BusyComponent => Some(busy == AtBusyHead::Waits),
            };
            if let Some(waits) = waits {
                let Some((target, position)) = self.slots.borrow().first() else {
                    break; // There is a busy head.
                };
                if waits {
                    waiting = Some(position);
                    break;
                }
                return Err(self.latches(Fatal::Stalled { target }));
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

    /// Takes the first slot: one look at everything, then the call with no borrow
    /// left, then one look to finish.
    fn step(&self) -> Result<Delivery, DispatchError> {
        let (target, arrival, flight, mut cell, taken) = {
            let mut slots = self.slots.borrow_mut();
            let Some(head) = slots.head() else {
                return Ok(Delivery::Nothing);
            };
            let slot = slots.get(head);
            let (target, arrival, root) = (slot.target, slot.arrival, slot.root);
            match slot.state {
                State::Ready => {}
                State::Cancelled => {
                    let root = slots.pop(&self.roots.account);
                    self.roots.disown(root);
                    return Ok(Delivery::Done);
                }
                State::Reserved | State::Emptied | State::Free => {
                    return Err(DispatchError::Active);
                }
            }
            let mut places = self.places.borrow_mut();
            let seat = match places.seat(target) {
                Err(Busy) => return Ok(Delivery::BusyComponent),
                Ok(Some(seat)) if !seat.needs().is_nothing() && !self.holds.allow(seat.needs()) => {
                    return Ok(Delivery::BusyResource);
                }
                Ok(seat) => seat,
            };
            if self.roots.is_exhausted(root) {
                let root = self.roots.serial(root);
                return Err(self.latches(Fatal::Runaway { root }));
            }
            let Some(cell) = slots.take(head) else {
                return Err(DispatchError::Active); // A ready slot has its capture.
            };
            let flight = Flight::new(self, root);
            (target, arrival, flight, cell, seat.and_then(Seat::take))
        };
        if let (Some(taken), Some(event)) = (taken, &*cell)
            && matches!(self.call(target, arrival, taken, event), Call::WrongAddress)
        {
            self.slots.borrow_mut().put_back_first(cell);
            flight.land();
            return Err(self.latches(Fatal::InvalidDestination { target }));
        }
        *cell = None; // With its root active (rule R39), before the charge (A2).
        flight.land();
        let root = self
            .slots
            .borrow_mut()
            .finish_first(&self.roots.account, cell);
        self.roots.charge_and_disown(root);
        Ok(Delivery::Done)
    }

    #[cold]
    fn latches(&self, fatal: Fatal) -> DispatchError {
        self.roots.latch(fatal);
        fatal.into()
    }

    /// Runs maintenance and, where it is eligible, author code; contains a panic.
    fn call(&self, id: ComponentId, arrival: Arrival, taken: Taken<E>, event: &E) -> Call {
        let Taken {
            mut component,
            rule,
            needs,
        } = taken;
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
    #[inline]
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
    _root: BorrowedScope<'a>,
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
