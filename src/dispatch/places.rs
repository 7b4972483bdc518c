//! Where components are: taken out of their place for a delivery, put back by a
//! guard, so that nobody else can reach one meanwhile (rule R13).
//!
//! A place that is used again has a new generation; a component's lifecycle has an
//! epoch, and what was queued in an earlier one stays silent (rules R11, R12).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::component::{Component, ComponentId, MaintenanceRule};
use super::error::{AccessError, Conflict, LifecycleError, ResourceName};
use super::holds::Needs;
use super::stable::Stable;
use crate::limits;

/// What a component may do at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// Registered, or stopped: maintained, but its author code is silent.
    Stopped,
    /// Its author code runs.
    Running,
    /// It panicked: nothing of it runs until it is replaced.
    Disabled,
}

/// Which registration of a place, which of its lifecycles, and what it may do: one
/// word, so that an event's arrival is compared with the present at once.
///
/// From the top: the generation (32 bits), the epoch (30), the phase (2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing(u64);

impl Standing {
    /// Of a place that was never used, and of a slot that was never used.
    pub(super) const NEVER: Self = Self(0);

    const EPOCH: u64 = 1 << 2;
    const GENERATION: u64 = 1 << 32;
    const PHASE: u64 = 0b11;
    const GONE: u64 = 0b00;
    const DISABLED: u64 = 0b01;
    /// With this bit it hears.
    const STOPPED: u64 = 0b10;
    const RUNNING: u64 = 0b11;

    #[inline]
    const fn generation(self) -> u64 {
        self.0 / Self::GENERATION
    }

    /// Whose it is, of the place with this index.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a generation has 32 bits")]
    pub(super) const fn id(self, index: u32) -> ComponentId {
        ComponentId {
            index,
            generation: self.generation() as u32,
        }
    }

    /// Of a component that is not registered.
    const fn gone(id: ComponentId) -> Self {
        Self((id.generation as u64 * Self::GENERATION) | Self::GONE)
    }

    #[inline]
    const fn is_of(self, id: ComponentId) -> bool {
        self.generation() == id.generation as u64 && self.0 & Self::PHASE != Self::GONE
    }

    /// Registered and not disabled.
    #[inline]
    const fn hears(self) -> bool {
        self.0 & Self::STOPPED != 0
    }

    #[inline]
    const fn runs(self) -> bool {
        self.0 & Self::PHASE == Self::RUNNING
    }

    /// Whether author code may run for an event that arrived in `arrival`: it ran
    /// then, and nothing has changed since.
    #[inline]
    const fn lets_run(self, arrival: Self) -> bool {
        arrival.runs() && self.0 == arrival.0
    }

    const fn with_phase(self, phase: u64) -> Self {
        Self(self.0 & !Self::PHASE | phase)
    }

    const fn next_generation(self) -> Self {
        Self(((self.generation() + 1) * Self::GENERATION) | Self::STOPPED)
    }

    /// The next epoch, in this phase; after 2^30 of them their count starts again.
    const fn next_epoch(self, phase: u64) -> Self {
        let generation = self.generation() * Self::GENERATION;
        let epoch = (self.0 + Self::EPOCH) % Self::GENERATION;
        Self(generation | epoch).with_phase(phase)
    }
}

struct Place<E> {
    standing: Cell<Standing>,
    /// Absent while the component is taken out.
    component: Cell<Option<Box<dyn Component<E>>>>,
    /// Of its turns.
    flags: Cell<u64>,
    needs: Cell<Needs>,
    name: RefCell<Rc<str>>,
}

impl<E> Default for Place<E> {
    fn default() -> Self {
        Self {
            standing: Cell::new(Standing::NEVER),
            component: Cell::new(None),
            flags: Cell::new(0),
            needs: Cell::new(Needs::NOTHING),
            name: RefCell::new("".into()),
        }
    }
}

/// What a delivery cannot have now.
#[derive(Debug)]
pub(super) enum Busy {
    /// The component is taken out by someone else.
    Component,
    /// Something that it needs beside its component is held.
    Resource,
}

/// A component that was taken out of its place for a delivery.
pub(super) struct Taken<E> {
    pub(super) component: Box<dyn Component<E>>,
    pub(super) turn: Turn,
}

/// What a delivery may run. Two words, so that it is passed in registers.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    arrival: Standing,
    /// The count of changes, above the flags.
    word: u64,
}

impl Turn {
    /// Maintenance, whatever the component may do at present.
    const MAINTAINS: u64 = 0b001;
    /// Author code, as long as no standing has changed since.
    const RUNS: u64 = 0b010;
    /// More than the component is needed.
    const NEEDS: u64 = 0b100;
    const CHANGE: u64 = 0b1000;

    #[inline]
    pub(super) const fn maintains(self) -> bool {
        self.word & Self::MAINTAINS != 0
    }

    /// Whether [`Turn::runs`] still holds.
    #[inline]
    pub(super) const fn is_of(self, changes: &Cell<u64>) -> bool {
        self.word / Self::CHANGE == changes.get()
    }

    #[inline]
    pub(super) const fn runs(self) -> bool {
        self.word & Self::RUNS != 0
    }

    /// Whether more than the component is needed.
    #[inline]
    pub(super) const fn needs_more(self) -> bool {
        self.word & Self::NEEDS != 0
    }
}

/// No room for another component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a dispatcher has at most {max} components; retire one first", max = limits::DISPATCH_COMPONENTS_MAX)]
pub struct TooManyComponents;

pub(super) struct Places<E> {
    places: Stable<Place<E>>,
    /// How many places were ever used.
    used: Cell<u32>,
    free: RefCell<Vec<u32>>,
    /// How often a standing has changed; where it has not, one that was looked at
    /// needs no second look.
    changes: Rc<Cell<u64>>,
}

impl<E> Places<E> {
    /// Most dispatchers have fewer components.
    const AT_FIRST: usize = 32;

    pub(super) fn new() -> Self {
        Self {
            places: Stable::new(Self::AT_FIRST),
            used: Cell::new(0),
            free: RefCell::default(),
            changes: Rc::default(),
        }
    }

    /// The count of changes, to be looked at without the places.
    pub(super) fn changes(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.changes)
    }

    fn set(&self, place: &Place<E>, standing: Standing) {
        place.standing.set(standing);
        self.changes.set(self.changes.get() + 1);
    }

    pub(super) fn register(
        &self,
        component: Box<dyn Component<E>>,
        facts: Facts,
    ) -> Result<ComponentId, (Box<dyn Component<E>>, TooManyComponents)> {
        let free = self.free.borrow_mut().pop();
        let index = free.unwrap_or(self.used.get());
        if index as usize >= limits::DISPATCH_COMPONENTS_MAX {
            return Err((component, TooManyComponents));
        }
        if free.is_none() {
            self.used.set(index + 1);
        }
        if self.places.get(index).is_none() {
            self.places.grow(self.places.capacity());
        }
        let Some(place) = self.places.get(index) else {
            return Err((component, TooManyComponents)); // It has just grown.
        };
        let standing = place.standing.get().next_generation();
        self.set(place, standing);
        place.component.set(Some(component));
        place.name.replace(facts.name);
        place.needs.set(facts.needs);
        let mut flags = 0;
        if facts.rule == MaintenanceRule::WhileRegistered {
            flags |= Turn::MAINTAINS;
        }
        if !facts.needs.is_nothing() {
            flags |= Turn::NEEDS;
        }
        place.flags.set(flags);
        Ok(standing.id(index))
    }

    #[inline]
    fn place(&self, id: ComponentId) -> Option<&Place<E>> {
        let place = self.places.get(id.index)?;
        place.standing.get().is_of(id).then_some(place)
    }

    /// Ends a registration. The component itself, unless it is taken out: then
    /// its guard has it, and drops it.
    pub(super) fn retire(&self, id: ComponentId) -> Option<Option<Box<dyn Component<E>>>> {
        let place = self.place(id)?;
        self.set(place, place.standing.get().with_phase(Standing::GONE));
        // A generation is never used twice; a place that has used all is left.
        if id.generation < u32::MAX {
            self.free.borrow_mut().push(id.index);
        }
        Some(place.component.take())
    }

    /// What an event for this component notes at its arrival.
    #[inline]
    pub(super) fn standing(&self, id: ComponentId) -> Standing {
        self.place(id)
            .map_or(Standing::gone(id), |place| place.standing.get())
    }

    /// Whether author code may run now, in this turn.
    pub(super) fn lets_run(&self, id: ComponentId, turn: Turn) -> bool {
        // A generation is in its standing, and none that was ever noted is zero.
        let place = self.places.get(id.index);
        place.is_some_and(|place| place.standing.get().lets_run(turn.arrival))
    }

    /// Takes the target of an event that arrived like that out of its place, if
    /// `allows` says so of what it needs. `None` where nothing of it may run.
    #[inline]
    pub(super) fn take_for(
        &self,
        index: u32,
        arrival: Standing,
        allows: impl FnOnce(Needs) -> bool,
    ) -> Result<Option<Taken<E>>, Busy> {
        let Some(place) = self.places.get(index) else {
            return Ok(None);
        };
        let standing = place.standing.get();
        let mut word = self.changes.get().wrapping_mul(Turn::CHANGE) | place.flags.get();
        if standing.lets_run(arrival) {
            word |= Turn::RUNS;
        } else if !standing.is_of(arrival.id(index)) || !standing.hears() {
            return Ok(None);
        }
        let component = place.component.take().ok_or(Busy::Component)?;
        let turn = Turn { arrival, word };
        if turn.needs_more() && !allows(place.needs.get()) {
            place.component.set(Some(component));
            return Err(Busy::Resource);
        }
        Ok(Some(Taken { component, turn }))
    }

    /// What a component needs beside itself.
    pub(super) fn needs(&self, id: ComponentId) -> Needs {
        self.place(id)
            .map_or(Needs::NOTHING, |place| place.needs.get())
    }

    /// Takes the component out of its place, if it is there.
    pub(super) fn take(&self, id: ComponentId) -> Option<Box<dyn Component<E>>> {
        let place = self.place(id)?;
        place
            .standing
            .get()
            .hears()
            .then(|| place.component.take())
            .flatten()
    }

    /// Puts it back; or returns it, where its registration ended meanwhile.
    pub(super) fn put_back(
        &self,
        id: ComponentId,
        component: Box<dyn Component<E>>,
    ) -> Option<Box<dyn Component<E>>> {
        match self.place(id) {
            Some(place) => {
                place.component.set(Some(component));
                None
            }
            None => Some(component),
        }
    }

    /// Puts a component back that was taken for a turn; see [`Places::put_back`].
    #[inline]
    pub(super) fn end_turn(
        &self,
        id: ComponentId,
        turn: Turn,
        component: Box<dyn Component<E>>,
    ) -> Option<Box<dyn Component<E>>> {
        match self.places.get(id.index) {
            // Nothing has changed: it is registered, and its place is empty.
            Some(place) if turn.is_of(&self.changes) => {
                place.component.set(Some(component));
                None
            }
            _ => self.put_back(id, component),
        }
    }

    pub(super) fn lifecycle(&self, id: ComponentId) -> Option<Lifecycle> {
        let standing = self.place(id)?.standing.get();
        Some(match standing.0 & Standing::PHASE {
            Standing::RUNNING => Lifecycle::Running,
            Standing::STOPPED => Lifecycle::Stopped,
            _ => Lifecycle::Disabled,
        })
    }

    pub(super) fn name(&self, id: ComponentId) -> Option<Rc<str>> {
        self.place(id).map(|place| Rc::clone(&place.name.borrow()))
    }

    /// The standing of what hears; `None` where it hears nothing, gone or disabled.
    #[inline]
    pub(super) fn hearing(&self, id: ComponentId) -> Option<Standing> {
        let standing = self.place(id)?.standing.get();
        standing.hears().then_some(standing)
    }

    pub(super) fn disable(&self, id: ComponentId) {
        if let Some(place) = self.place(id) {
            self.set(place, place.standing.get().with_phase(Standing::DISABLED));
        }
    }

    /// Starts or stops a component that nobody uses; a new epoch begins.
    pub(super) fn change(&self, id: ComponentId, starts: bool) -> Result<(), LifecycleError> {
        let place = self.place(id).ok_or(LifecycleError::Gone(id))?;
        let standing = place.standing.get();
        if !standing.hears() {
            return Err(LifecycleError::Disabled(id));
        }
        let component = place.component.take();
        let is_there = component.is_some();
        place.component.set(component);
        if !is_there {
            return Err(LifecycleError::Overlap(id));
        }
        let phase = if starts {
            Standing::RUNNING
        } else {
            Standing::STOPPED
        };
        self.set(place, standing.next_epoch(phase));
        Ok(())
    }

    /// Every registered component.
    pub(super) fn ids(&self) -> impl Iterator<Item = ComponentId> {
        (0..)
            .zip(self.places.iter())
            .map(|(index, place)| (place.standing.get(), place.standing.get().id(index)))
            .filter_map(|(standing, id)| standing.is_of(id).then_some(id))
    }

    pub(super) fn refusal(&self, id: ComponentId, operation: &'static str) -> AccessError {
        let gone = self.place(id).is_none();
        let conflict = if gone {
            Conflict::Gone
        } else {
            Conflict::InUse
        };
        AccessError {
            resource: ResourceName::Component(id),
            operation,
            conflict,
        }
    }
}

/// What is asked of a component once, at its registration.
#[derive(Debug)]
pub(super) struct Facts {
    name: Rc<str>,
    needs: Needs,
    rule: MaintenanceRule,
}

impl Facts {
    pub(super) fn of<E: 'static>(component: &dyn Component<E>) -> Self {
        Self {
            name: component.name().into(),
            needs: component.needs(),
            rule: component.maintenance_rule(),
        }
    }
}
