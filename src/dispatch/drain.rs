//! Draining: the one place where callbacks run (rules R19 to R27, R31, R32, R43).
//!
//! A pass takes slots from the head, one after the other, at most as many as its
//! budget. Nothing is borrowed while author code, or a capture's destructor, runs.

use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::component::{Component, ComponentId, Context};
use super::dispatcher::{Dispatcher, Tables};
use super::error::{DispatchError, Fatal};
use super::places::{Busy, Taken};
use super::roots::{Active, NONE, Slab};
use super::slots::{self, Position, State};

/// What is first in the queue.
enum Head<E> {
    Ready(Delivery<E>),
    Cancelled,
    /// Its component is taken out by someone.
    BusyComponent,
    /// Something that it needs beside its component is held.
    BusyResource,
}

/// A callback that is taken out of its slot to be run.
struct Delivery<E> {
    target: ComponentId,
    root: u32,
    cell: slots::Cell<E>,
    /// Absent where nothing of it may run.
    taken: Option<Taken<E>>,
}

/// A callback that has run, to be put away.
struct Landed<E> {
    target: ComponentId,
    cell: slots::Cell<E>,
    /// Absent where it is in its place again.
    component: Option<Box<dyn Component<E>>>,
}

/// A component without a place, and the callback that it has run.
type Unseated<E> = (Box<dyn Component<E>>, Landed<E>);

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
        let mut flight = Flight::new(self);
        let mut left = budget;
        let mut landed = None;
        loop {
            // One look puts the last callback away and takes the next one.
            let mut tables = self.tables.borrow_mut();
            let mut slab = self.roots.slab();
            if let Some(last) = landed.take()
                && let Err((leftover, last)) = self.put_away(&mut tables, &mut slab, last)
            {
                drop((tables, slab));
                self.discard(last.target, leftover);
                landed = Some(last);
                continue;
            }
            if let Some(fatal) = self.roots.latched() {
                return Err(fatal.into());
            }
            let head = tables.slots.head();
            let Some(head) = head.filter(|_| left > 0) else {
                if std::thread::panicking() {
                    self.roots.latch(Fatal::DeliveryUnwound);
                }
                return Ok(Pass {
                    pending: head.is_some(),
                    waiting: None,
                });
            };
            left -= 1;
            let waits = match self.take_head(&mut tables, &mut slab, head)? {
                Head::Ready(delivery) => {
                    drop((tables, slab));
                    landed = Some(self.deliver(delivery, &mut flight)?);
                    continue;
                }
                Head::Cancelled => continue,
                Head::BusyResource => busy != AtBusyHead::Stalls,
                Head::BusyComponent => busy == AtBusyHead::Waits,
            };
            return self.busy_head(&tables, waits);
        }
    }

    /// The pass ends here, or everything does.
    #[cold]
    fn busy_head(&self, tables: &Tables<E>, waits: bool) -> Result<Pass, DispatchError> {
        let first = tables.slots.first();
        match first {
            Some((target, _)) if !waits => Err(self.latches(Fatal::Stalled { target })),
            _ => {
                if std::thread::panicking() {
                    self.roots.latch(Fatal::DeliveryUnwound);
                }
                Ok(Pass {
                    pending: first.is_some(),
                    waiting: first.map(|(_, position)| position),
                })
            }
        }
    }

    /// Takes what is first, if it can run now.
    #[inline]
    fn take_head(
        &self,
        tables: &mut Tables<E>,
        slab: &mut Slab,
        head: u32,
    ) -> Result<Head<E>, DispatchError> {
        let Tables { slots, places } = tables;
        let slot = slots.get(head);
        let (target, arrival, root) = (slot.target(), slot.arrival, slot.root);
        if slot.state != State::Ready {
            if slot.state != State::Cancelled {
                return Err(DispatchError::Active);
            }
            let root = slots.pop(&self.roots.account);
            slab.disown(&self.roots.account, root);
            return Ok(Head::Cancelled);
        }
        let seat = match places.seat(target) {
            Err(Busy) => return Ok(Head::BusyComponent),
            Ok(Some(seat)) if !seat.needs().is_nothing() && !self.holds.allow(seat.needs()) => {
                return Ok(Head::BusyResource);
            }
            Ok(seat) => seat,
        };
        if root != NONE && slab.is_exhausted(&self.roots.account, root) {
            let root = slab.serial(root);
            return Err(self.latches(Fatal::Runaway { root }));
        }
        let Some(cell) = slots.take(head) else {
            return Err(DispatchError::Active); // A ready slot has its capture.
        };
        Ok(Head::Ready(Delivery {
            target,
            root,
            cell,
            taken: seat.and_then(|seat| seat.take(arrival)),
        }))
    }

    /// Runs maintenance and, where it is eligible, author code; contains a panic, and
    /// drops the capture.
    #[inline]
    fn deliver(
        &self,
        delivery: Delivery<E>,
        flight: &mut Flight<'_, E>,
    ) -> Result<Landed<E>, DispatchError> {
        let Delivery {
            target,
            root,
            mut cell,
            taken,
        } = delivery;
        flight.take_off(root);
        let mut out = None;
        if let (Some(taken), Some(event)) = (taken, &*cell) {
            let Taken {
                mut component,
                turn,
                needs,
            } = taken;
            let hold = self.holds.take(needs);
            let cx = Context::new(self, target);
            let outcome = catch_unwind(AssertUnwindSafe(|| component.take_turn(event, &cx, turn)));
            drop(hold);
            match outcome {
                Ok(true) => out = Some(component),
                Ok(false) => return Err(self.wrong_address(target, component, cell, flight)),
                Err(panic) => {
                    self.seat(target, component);
                    self.disable(target, panic);
                }
            }
        }
        // A capture's destructor may look at everything, and runs with the root active
        // (rule R39).
        if needs_drop::<E>()
            && let Some(component) = out.take()
        {
            self.seat(target, component);
        }
        *cell = None; // Before the charge (A2).
        flight.land();
        Ok(Landed {
            target,
            cell,
            component: out,
        })
    }

    #[cold]
    fn wrong_address(
        &self,
        target: ComponentId,
        component: Box<dyn Component<E>>,
        cell: slots::Cell<E>,
        flight: &mut Flight<'_, E>,
    ) -> DispatchError {
        self.seat(target, component);
        let slots = &mut self.tables.borrow_mut().slots;
        slots.put_back_first(cell);
        slots.root_first(self.roots.lent());
        flight.land();
        self.latches(Fatal::InvalidDestination { target })
    }

    /// Frees the slot of a callback that has run, and charges its root. A component
    /// whose registration ended meanwhile comes back first: it is the caller's to drop
    /// while the root is still active and nothing is borrowed.
    #[inline]
    fn put_away(
        &self,
        tables: &mut Tables<E>,
        slab: &mut Slab,
        mut landed: Landed<E>,
    ) -> Result<(), Unseated<E>> {
        if let Some(component) = landed.component.take()
            && let Some(leftover) = tables.places.put_back(landed.target, component)
        {
            return Err((leftover, landed));
        }
        tables.slots.finish_first(&self.roots.account, landed.cell);
        let root = self.roots.lent();
        if root != NONE {
            slab.charge_and_disown(&self.roots.account, root);
        }
        Ok(())
    }

    /// Puts a component back into its place; one whose registration ended while it
    /// was out is dropped, and its panics are contained too.
    #[inline]
    pub(super) fn seat(&self, id: ComponentId, component: Box<dyn Component<E>>) {
        let leftover = self.tables.borrow_mut().places.put_back(id, component);
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
        let places = &mut self.tables.borrow_mut().places;
        self.alarms
            .raise(id, places.name(id).unwrap_or("a retired component"), panic);
        places.disable(id);
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
            let slots = &mut dispatcher.tables.borrow_mut().slots;
            slots.root_first(dispatcher.roots.lent());
            dispatcher.roots.latch(Fatal::DeliveryUnwound);
        }
        dispatcher.roots.restore(*outer);
        dispatcher.draining.set(false);
    }
}
