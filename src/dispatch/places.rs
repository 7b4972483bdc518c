//! Where components are: taken out of their place for a delivery, put back by a
//! guard, so that nobody else can reach one meanwhile (rule R13).
//!
//! A place that is used again has a new generation; a component's lifecycle has an
//! epoch, and what was queued in an earlier one stays silent (rules R11, R12).

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

struct Place<E> {
    generation: u32,
    /// Grows with every start, stop and reset.
    epoch: u32,
    lifecycle: Lifecycle,
    registered: bool,
    /// Absent while the component is taken out.
    component: Option<Box<dyn Component<E>>>,
    name: Box<str>,
    needs: Needs,
    rule: MaintenanceRule,
}

/// Whether and as what a component was eligible when an event arrived for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    epoch: u32,
    running: bool,
}

impl Arrival {
    /// Of a slot that was never used.
    pub(super) const NEVER: Self = Self {
        epoch: 0,
        running: false,
    };
}

/// The component is taken out by someone else.
#[derive(Debug)]
pub(super) struct Busy;

/// A component that may be taken out of its place.
pub(super) struct Seat<'a, E> {
    component: &'a mut Option<Box<dyn Component<E>>>,
    needs: Needs,
    rule: MaintenanceRule,
}

impl<E> Seat<'_, E> {
    /// What a delivery needs beside the component.
    #[inline]
    pub(super) const fn needs(&self) -> Needs {
        self.needs
    }

    #[inline]
    pub(super) fn take(self) -> Option<Taken<E>> {
        Some(Taken {
            component: self.component.take()?,
            rule: self.rule,
            needs: self.needs,
        })
    }
}

/// A component outside of its place.
pub(super) struct Taken<E> {
    pub(super) component: Box<dyn Component<E>>,
    pub(super) rule: MaintenanceRule,
    pub(super) needs: Needs,
}

/// No room for another component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a dispatcher has at most {max} components; retire one first", max = limits::DISPATCH_COMPONENTS_MAX)]
pub struct TooManyComponents;

pub(super) struct Places<E> {
    places: Vec<Place<E>>,
    free: Vec<u32>,
}

impl<E: 'static> Places<E> {
    pub(super) const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
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
                        generation: 0,
                        epoch: 0,
                        lifecycle: Lifecycle::Stopped,
                        registered: false,
                        component: None,
                        name: "".into(),
                        needs: Needs::NOTHING,
                        rule: MaintenanceRule::default(),
                    });
                    index
                }
                _ => return Err((component, TooManyComponents)),
            },
        };
        let place = &mut self.places[index as usize];
        place.generation += 1;
        place.lifecycle = Lifecycle::Stopped;
        place.registered = true;
        place.component = Some(component);
        place.name = facts.name;
        place.needs = facts.needs;
        place.rule = facts.rule;
        Ok(ComponentId {
            index,
            generation: place.generation,
        })
    }

    #[inline]
    fn place(&self, id: ComponentId) -> Option<&Place<E>> {
        let place = self.places.get(id.index as usize)?;
        (place.registered && place.generation == id.generation).then_some(place)
    }

    #[inline]
    fn place_mut(&mut self, id: ComponentId) -> Option<&mut Place<E>> {
        let place = self.places.get_mut(id.index as usize)?;
        (place.registered && place.generation == id.generation).then_some(place)
    }

    /// Ends a registration. The component itself, unless it is taken out: then
    /// its guard has it, and drops it.
    pub(super) fn retire(&mut self, id: ComponentId) -> Option<Option<Box<dyn Component<E>>>> {
        let place = self.place_mut(id)?;
        place.registered = false;
        let component = place.component.take();
        // A generation is never used twice; a place that has used all is left.
        if place.generation < u32::MAX {
            self.free.push(id.index);
        }
        Some(component)
    }

    /// What an event for this component notes at its arrival.
    #[inline]
    pub(super) fn arrival(&self, id: ComponentId) -> Arrival {
        self.place(id).map_or(
            Arrival {
                epoch: 0,
                running: false,
            },
            |place| Arrival {
                epoch: place.epoch,
                running: place.lifecycle == Lifecycle::Running,
            },
        )
    }

    /// Whether author code may run now for an event that arrived like that.
    #[inline]
    pub(super) fn is_eligible(&self, id: ComponentId, arrival: Arrival) -> bool {
        self.place(id).is_some_and(|place| {
            arrival.running && place.lifecycle == Lifecycle::Running && place.epoch == arrival.epoch
        })
    }

    /// Looks at the target's place; takes nothing. `None` where nothing of it may
    /// run.
    #[inline]
    pub(super) fn seat(&mut self, id: ComponentId) -> Result<Option<Seat<'_, E>>, Busy> {
        match self.place_mut(id) {
            None => Ok(None),
            Some(place) if place.lifecycle == Lifecycle::Disabled => Ok(None),
            Some(Place {
                component,
                needs,
                rule,
                ..
            }) => {
                let (needs, rule) = (*needs, *rule);
                match component {
                    None => Err(Busy),
                    Some(_) => Ok(Some(Seat {
                        component,
                        needs,
                        rule,
                    })),
                }
            }
        }
    }

    /// Takes the component out of its place, if it is there.
    pub(super) fn take(&mut self, id: ComponentId) -> Option<Taken<E>> {
        let place = self.place_mut(id)?;
        let (rule, needs) = (place.rule, place.needs);
        let runs = place.lifecycle != Lifecycle::Disabled;
        let component = place.component.take_if(|_| runs)?;
        Some(Taken {
            component,
            rule,
            needs,
        })
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
        self.place(id).map(|place| place.lifecycle)
    }

    pub(super) fn name(&self, id: ComponentId) -> Option<&str> {
        self.place(id).map(|place| &*place.name)
    }

    /// The same; `None` where it hears nothing, gone or disabled.
    #[inline]
    pub(super) fn hearing(&self, id: ComponentId) -> Option<Arrival> {
        let place = self.place(id)?;
        (place.lifecycle != Lifecycle::Disabled).then_some(Arrival {
            epoch: place.epoch,
            running: place.lifecycle == Lifecycle::Running,
        })
    }

    pub(super) fn disable(&mut self, id: ComponentId) {
        if let Some(place) = self.place_mut(id) {
            place.lifecycle = Lifecycle::Disabled;
        }
    }

    /// Moves a component that nobody uses to a lifecycle; a new epoch begins.
    pub(super) fn change(
        &mut self,
        id: ComponentId,
        lifecycle: Lifecycle,
    ) -> Result<(), LifecycleError> {
        let place = self.place_mut(id).ok_or(LifecycleError::Gone(id))?;
        if place.lifecycle == Lifecycle::Disabled {
            return Err(LifecycleError::Disabled(id));
        }
        if place.component.is_none() {
            return Err(LifecycleError::Overlap(id));
        }
        place.epoch = place.epoch.wrapping_add(1);
        place.lifecycle = lifecycle;
        Ok(())
    }

    /// Every registered component.
    pub(super) fn ids(&self) -> impl Iterator<Item = ComponentId> {
        self.places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.registered)
            .filter_map(|(index, place)| {
                let index = u32::try_from(index).ok()?;
                Some(ComponentId {
                    index,
                    generation: place.generation,
                })
            })
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
