//! Where components are: taken out of their place for a delivery, put back by a
//! guard, so that nobody else can reach one meanwhile (rule R13).
//!
//! A place that is used again has a new generation; a component's lifecycle has an
//! epoch, and what was queued in an earlier one stays silent (rules R11, R12).

use std::cell::Cell;
use std::rc::Rc;

use super::component::{Component, ComponentId, MaintenanceRule};
use super::error::{AccessError, Conflict, LifecycleError, ResourceName};
use super::holds::Needs;
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
    standing: Standing,
    /// Absent while the component is taken out.
    component: Option<Box<dyn Component<E>>>,
    needs: Needs,
    rule: MaintenanceRule,
    name: Box<str>,
}

/// The component is taken out by someone else.
#[derive(Debug)]
pub(super) struct Busy;

/// A component that may be taken out of its place.
pub(super) struct Seat<'a, E> {
    place: &'a mut Place<E>,
    changes: u64,
}

impl<E> Seat<'_, E> {
    /// What a delivery needs beside the component.
    #[inline]
    pub(super) const fn needs(&self) -> Needs {
        self.place.needs
    }

    /// Takes it out, for an event that arrived like that.
    #[inline]
    pub(super) fn take(self, arrival: Standing) -> Option<Taken<E>> {
        let Self { place, changes } = self;
        let turn = Turn::new(
            arrival,
            place.rule == MaintenanceRule::WhileRegistered,
            place.standing.lets_run(arrival),
            changes,
        );
        Some(Taken {
            component: place.component.take()?,
            turn,
            needs: place.needs,
        })
    }
}

/// A component outside of its place, and what it may do there.
pub(super) struct Taken<E> {
    pub(super) component: Box<dyn Component<E>>,
    pub(super) turn: Turn,
    pub(super) needs: Needs,
}

/// What a delivery may run. Two words, so that it is passed in registers.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    arrival: Standing,
    /// The count of changes, above the two flags.
    word: u64,
}

impl Turn {
    /// Maintenance, whatever the component may do at present.
    const MAINTAINS: u64 = 0b01;
    /// Author code, as long as no standing has changed since.
    const RUNS: u64 = 0b10;
    const CHANGE: u64 = 0b100;

    #[inline]
    fn new(arrival: Standing, maintains: bool, runs: bool, changes: u64) -> Self {
        let flags = (u64::from(maintains) * Self::MAINTAINS) | (u64::from(runs) * Self::RUNS);
        Self {
            arrival,
            word: changes.wrapping_mul(Self::CHANGE) | flags,
        }
    }

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
}

/// No room for another component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a dispatcher has at most {max} components; retire one first", max = limits::DISPATCH_COMPONENTS_MAX)]
pub struct TooManyComponents;

pub(super) struct Places<E> {
    places: Vec<Place<E>>,
    free: Vec<u32>,
    /// How often a standing has changed; where it has not, one that was looked at
    /// needs no second look.
    changes: Rc<Cell<u64>>,
}

impl<E> Places<E> {
    pub(super) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            changes: Rc::default(),
        }
    }

    /// The count of changes, to be looked at without a borrow of the places.
    pub(super) fn changes(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.changes)
    }

    fn set(&mut self, index: u32, standing: Standing) {
        self.places[index as usize].standing = standing;
        self.changes.set(self.changes.get() + 1);
    }

    pub(super) fn register(
        &mut self,
        component: Box<dyn Component<E>>,
        facts: Facts,
    ) -> Result<ComponentId, (Box<dyn Component<E>>, TooManyComponents)> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => match u32::try_from(self.places.len()) {
                Ok(index) if self.places.len() < limits::DISPATCH_COMPONENTS_MAX => {
                    self.places.push(Place {
                        standing: Standing::NEVER,
                        component: None,
                        needs: Needs::NOTHING,
                        rule: MaintenanceRule::default(),
                        name: "".into(),
                    });
                    index
                }
                _ => return Err((component, TooManyComponents)),
            },
        };
        let standing = self.places[index as usize].standing.next_generation();
        self.set(index, standing);
        let place = &mut self.places[index as usize];
        place.component = Some(component);
        place.name = facts.name;
        place.needs = facts.needs;
        place.rule = facts.rule;
        Ok(standing.id(index))
    }

    #[inline]
    fn place(&self, id: ComponentId) -> Option<&Place<E>> {
        let place = self.places.get(id.index as usize)?;
        place.standing.is_of(id).then_some(place)
    }

    #[inline]
    fn place_mut(&mut self, id: ComponentId) -> Option<&mut Place<E>> {
        let place = self.places.get_mut(id.index as usize)?;
        place.standing.is_of(id).then_some(place)
    }

    /// Ends a registration. The component itself, unless it is taken out: then
    /// its guard has it, and drops it.
    pub(super) fn retire(&mut self, id: ComponentId) -> Option<Option<Box<dyn Component<E>>>> {
        let place = self.place_mut(id)?;
        let (standing, component) = (place.standing, place.component.take());
        self.set(id.index, standing.with_phase(Standing::GONE));
        // A generation is never used twice; a place that has used all is left.
        if id.generation < u32::MAX {
            self.free.push(id.index);
        }
        Some(component)
    }

    /// What an event for this component notes at its arrival.
    #[inline]
    pub(super) fn standing(&self, id: ComponentId) -> Standing {
        self.place(id)
            .map_or(Standing::gone(id), |place| place.standing)
    }

    /// Whether author code may run now, in this turn.
    pub(super) fn lets_run(&self, id: ComponentId, turn: Turn) -> bool {
        // A generation is in its standing, and none that was ever noted is zero.
        let place = self.places.get(id.index as usize);
        place.is_some_and(|place| place.standing.lets_run(turn.arrival))
    }

    /// Looks at the target's place; takes nothing. `None` where nothing of it may
    /// run.
    #[inline]
    pub(super) fn seat(&mut self, id: ComponentId) -> Result<Option<Seat<'_, E>>, Busy> {
        let changes = self.changes.get();
        match self.place_mut(id) {
            Some(place) if place.standing.hears() => match place.component {
                Some(_) => Ok(Some(Seat { place, changes })),
                None => Err(Busy),
            },
            _ => Ok(None),
        }
    }

    /// Takes the component out of its place, if it is there.
    pub(super) fn take(&mut self, id: ComponentId) -> Option<Box<dyn Component<E>>> {
        let place = self.place_mut(id)?;
        let hears = place.standing.hears();
        place.component.take_if(|_| hears)
    }

    /// Puts it back; or returns it, where its registration ended meanwhile.
    #[inline]
    pub(super) fn put_back(
        &mut self,
        id: ComponentId,
        component: Box<dyn Component<E>>,
    ) -> Option<Box<dyn Component<E>>> {
        match self.place_mut(id) {
            Some(place) => {
                place.component = Some(component);
                None
            }
            None => Some(component),
        }
    }

    pub(super) fn lifecycle(&self, id: ComponentId) -> Option<Lifecycle> {
        let standing = self.place(id)?.standing;
        Some(match standing.0 & Standing::PHASE {
            Standing::RUNNING => Lifecycle::Running,
            Standing::STOPPED => Lifecycle::Stopped,
            _ => Lifecycle::Disabled,
        })
    }

    pub(super) fn name(&self, id: ComponentId) -> Option<&str> {
        self.place(id).map(|place| &*place.name)
    }

    /// The standing of what hears; `None` where it hears nothing, gone or disabled.
    #[inline]
    pub(super) fn hearing(&self, id: ComponentId) -> Option<Standing> {
        let standing = self.place(id)?.standing;
        standing.hears().then_some(standing)
    }

    pub(super) fn disable(&mut self, id: ComponentId) {
        if let Some(standing) = self.place(id).map(|place| place.standing) {
            self.set(id.index, standing.with_phase(Standing::DISABLED));
        }
    }

    /// Starts or stops a component that nobody uses; a new epoch begins.
    pub(super) fn change(&mut self, id: ComponentId, starts: bool) -> Result<(), LifecycleError> {
        let place = self.place(id).ok_or(LifecycleError::Gone(id))?;
        if !place.standing.hears() {
            return Err(LifecycleError::Disabled(id));
        }
        if place.component.is_none() {
            return Err(LifecycleError::Overlap(id));
        }
        let phase = if starts {
            Standing::RUNNING
        } else {
            Standing::STOPPED
        };
        let standing = place.standing.next_epoch(phase);
        self.set(id.index, standing);
        Ok(())
    }

    /// Every registered component.
    pub(super) fn ids(&self) -> impl Iterator<Item = ComponentId> {
        (0..)
            .zip(&self.places)
            .map(|(index, place)| (place.standing, place.standing.id(index)))
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
    name: Box<str>,
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
