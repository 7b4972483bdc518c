//! Components from outside of deliveries: registering, starting, stopping, and
//! looking at one (rules R11, R12, R85).

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::alarms::Alarm;
use super::component::{Component, ComponentId, Context};
use super::dispatcher::Dispatcher;
use super::error::{AccessError, Conflict, LifecycleError, ResourceName};
use super::places::{Facts, Lifecycle, TooManyComponents};

impl<E: 'static> Dispatcher<E> {
    /// Registers a component, stopped; [`Dispatcher::start`] lets its author code run.
    ///
    /// # Errors
    /// There are as many as there may be; the component is dropped.
    pub fn register(
        &self,
        component: Box<dyn Component<E>>,
    ) -> Result<ComponentId, TooManyComponents> {
        let facts = Facts::of(&*component);
        let registered = self.places.register(component, facts);
        registered.map_err(|(component, error)| {
            drop(component);
            error
        })
    }

    /// Ends a registration and its subscriptions: what is queued for it is skipped,
    /// and charged (rule R11). Returns the component, unless it is in use: then its
    /// user drops it.
    ///
    /// # Errors
    /// It is not registered.
    pub fn retire(&self, id: ComponentId) -> Result<Option<Box<dyn Component<E>>>, LifecycleError> {
        let retired = self.places.retire(id).ok_or(LifecycleError::Gone(id))?;
        if let Ok(mut routes) = self.routes.try_borrow_mut() {
            routes.forget(id);
        }
        Ok(retired)
    }

    /// Starts a component: its author code runs for events that arrive from now on.
    /// Its `on_start` runs at once.
    ///
    /// # Errors
    /// It is gone, disabled or in use; or it panicked in the hook, and is disabled.
    pub fn start(&self, id: ComponentId) -> Result<(), LifecycleError> {
        self.change(id, true, |component, cx| {
            component.on_start(cx);
        })
    }

    /// Stops a component: its author code is silent from now on, also for what is
    /// queued. Its `on_stop` runs at once.
    ///
    /// # Errors
    /// As for [`Dispatcher::start`].
    pub fn stop(&self, id: ComponentId) -> Result<(), LifecycleError> {
        self.change(id, false, |component, cx| {
            component.on_stop(cx);
        })
    }

    /// Stops a component without telling it: nothing that is queued reaches its
    /// author code, not even after a new start.
    ///
    /// # Errors
    /// It is gone, disabled or in use.
    pub fn reset(&self, id: ComponentId) -> Result<(), LifecycleError> {
        self.places.change(id, false)
    }

    fn change(
        &self,
        id: ComponentId,
        starts: bool,
        hook: impl FnOnce(&mut dyn Component<E>, &Context<'_, E>),
    ) -> Result<(), LifecycleError> {
        self.places.change(id, starts)?;
        let taken = self.places.take(id);
        let mut component = taken.ok_or(LifecycleError::Overlap(id))?;
        let access = AccessScope::new(self);
        let cx = Context::new(self, id);
        let outcome = catch_unwind(AssertUnwindSafe(|| hook(&mut *component, &cx)));
        self.seat(id, component);
        drop(access);
        outcome.map_err(|panic| {
            self.disable(id, panic);
            LifecycleError::Panicked(id)
        })
    }

    /// What a component may do at present; `None` where it is not registered.
    #[must_use]
    pub fn lifecycle(&self, id: ComponentId) -> Option<Lifecycle> {
        self.places.lifecycle(id)
    }

    /// The name under which a component was registered.
    #[must_use]
    pub fn component_name(&self, id: ComponentId) -> Option<String> {
        self.places.name(id).map(|name| name.to_string())
    }

    /// Every registered component.
    #[must_use]
    pub fn components(&self) -> Vec<ComponentId> {
        self.places.ids().collect()
    }

    /// The oldest alarm that nobody has read.
    #[must_use]
    pub fn take_alarm(&self) -> Option<Alarm> {
        self.alarms.take()
    }

    /// Alarms that found no room.
    #[must_use]
    pub fn alarms_lost(&self) -> u64 {
        self.alarms.lost()
    }

    /// Lets `body` use a component of type `C`. No delivery starts meanwhile.
    ///
    /// # Errors
    /// The component is in use, gone, or no `C`.
    pub fn try_with<C: Component<E>, R>(
        &self,
        id: ComponentId,
        body: impl FnOnce(&mut C) -> R,
    ) -> Result<R, AccessError> {
        let mut loan = self.take_out(id, "with")?;
        let _access = AccessScope::new(self);
        let any: &mut dyn Any = &mut *loan;
        let component = any.downcast_mut::<C>().ok_or(AccessError {
            resource: ResourceName::Component(id),
            operation: "with",
            conflict: Conflict::WrongType,
        })?;
        Ok(body(component))
    }

    /// Like [`Dispatcher::try_with`] (rule R85).
    ///
    /// # Panics
    /// The component is in use, gone, or no `C`.
    pub fn with<C: Component<E>, R>(&self, id: ComponentId, body: impl FnOnce(&mut C) -> R) -> R {
        self.try_with(id, body)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Takes a component out of its place for longer. Deliveries to it have to wait,
    /// and so has everything behind them; at a boundary that is fatal.
    ///
    /// # Errors
    /// The component is in use or gone.
    pub fn lend(&self, id: ComponentId) -> Result<Loan<'_, E>, AccessError> {
        self.take_out(id, "lend")
    }

    fn take_out(
        &self,
        id: ComponentId,
        operation: &'static str,
    ) -> Result<Loan<'_, E>, AccessError> {
        match self.places.take(id) {
            Some(taken) => Ok(Loan {
                dispatcher: self,
                id,
                component: Some(taken),
            }),
            None => Err(self.places.refusal(id, operation)),
        }
    }
}

/// A component that is out of its place until this is dropped. Dropping it never
/// drains (rule R27).
pub struct Loan<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
    id: ComponentId,
    /// Present until the drop.
    component: Option<Box<dyn Component<E>>>,
}

impl<E: 'static> Deref for Loan<'_, E> {
    type Target = dyn Component<E>;

    fn deref(&self) -> &Self::Target {
        self.component.as_deref().expect("present until the drop")
    }
}

impl<E: 'static> DerefMut for Loan<'_, E> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.component
            .as_deref_mut()
            .expect("present until the drop")
    }
}

impl<E: 'static> Drop for Loan<'_, E> {
    fn drop(&mut self) {
        if let Some(component) = self.component.take() {
            self.dispatcher.seat(self.id, component);
        }
    }
}

impl<E: 'static> fmt::Debug for Loan<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// An access by scope: no delivery starts, and nothing is cleared, meanwhile.
struct AccessScope<'a, E: 'static> {
    dispatcher: &'a Dispatcher<E>,
}

impl<'a, E: 'static> AccessScope<'a, E> {
    fn new(dispatcher: &'a Dispatcher<E>) -> Self {
        dispatcher.accesses.set(dispatcher.accesses.get() + 1);
        Self { dispatcher }
    }
}

impl<E: 'static> Drop for AccessScope<'_, E> {
    fn drop(&mut self) {
        self.dispatcher
            .accesses
            .set(self.dispatcher.accesses.get() - 1);
    }
}
