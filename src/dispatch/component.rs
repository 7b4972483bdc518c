//! What a strategy author writes: a component that is told of events, one after
//! the other, in the order in which they were published.
//!
//! Author code never sees reservations, roots or scopes (rule R87): a callback
//! gets the event and a [`Context`] to publish with. It may not drain.

use core::fmt;
use std::any::Any;

use super::account::HeapBytes;
use super::dispatcher::Dispatcher;
use super::error::{AccessError, DispatchError};
use super::holds::Needs;
use super::places::Turn;
use super::routes::Topic;

/// Which registration of a component: a place, and how often it was used.
///
/// A component that is replaced or registered again has another id, and what was
/// queued for the old one does not reach it (rule R11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComponentId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl fmt::Display for ComponentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "component {}.{}", self.index, self.generation)
    }
}

/// When a component's maintenance runs (rule R16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaintenanceRule {
    /// With each delivery while it is registered, even when author code is silent
    /// because the component is stopped or was restarted since.
    #[default]
    WhileRegistered,
    /// Only when author code would run too.
    WhileRunning,
}

/// A receiver of events of type `E`.
///
/// A delivery has exclusive access to its component (rule R13). It runs
/// [`maintain`](Self::maintain), and then, if the component was running when the
/// event arrived and has not been stopped or reset since,
/// [`on_event`](Self::on_event) (rules R12, R15). A panic in any of these methods is
/// contained: the component is disabled, an alarm is left, and the rest goes on.
pub trait Component<E>: Any {
    /// What alarms and logs call it; asked once, at registration.
    fn name(&self) -> &str;

    /// Whether the event is of a kind that this component takes. A wrong address
    /// halts the dispatcher (choice A6).
    fn accepts(&self, event: &E) -> bool {
        let _ = event;
        true
    }

    /// What it needs beside itself; asked once, at registration (rule R14).
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    /// When its maintenance runs; asked once, at registration.
    fn maintenance_rule(&self) -> MaintenanceRule {
        MaintenanceRule::default()
    }

    /// Keeps the component's own state in step with the event: indicators, timers,
    /// contingent orders. What it publishes is queued like anything else (rule R17).
    fn maintain(&mut self, event: &E, cx: &Context<'_, E>) {
        let _ = (event, cx);
    }

    /// The author's code.
    fn on_event(&mut self, event: &E, cx: &Context<'_, E>);

    /// Runs when the component is started, at once.
    fn on_start(&mut self, cx: &Context<'_, E>) {
        let _ = cx;
    }

    /// Runs when the component is stopped, at once.
    fn on_stop(&mut self, cx: &Context<'_, E>) {
        let _ = cx;
    }

    /// A whole delivery: one call through the table where three would be, and what
    /// is not overridden costs nothing. Only the dispatcher can make a [`Turn`]; it
    /// tells whether the event was taken.
    #[doc(hidden)]
    fn take_turn(&mut self, event: &E, cx: &Context<'_, E>, turn: Turn) -> bool {
        if !self.accepts(event) {
            return false;
        }
        if turn.maintains() || cx.lets_run(turn) {
            self.maintain(event, cx);
        }
        // Asked after maintenance, which may have changed it.
        if cx.lets_run(turn) {
            self.on_event(event, cx);
        }
        true
    }
}

/// What a callback may do with the dispatcher that called it.
#[derive(Debug)]
pub struct Context<'a, E> {
    dispatcher: &'a Dispatcher<E>,
    component: ComponentId,
}

impl<E> Context<'_, E> {
    /// Whether author code may run now.
    #[inline]
    fn lets_run(&self, turn: Turn) -> bool {
        if turn.is_of(&self.dispatcher.changes) {
            turn.runs()
        } else {
            self.dispatcher.places.lets_run(self.component, turn)
        }
    }
}

impl<'a, E: 'static> Context<'a, E> {
    pub(super) const fn new(dispatcher: &'a Dispatcher<E>, component: ComponentId) -> Self {
        Self {
            dispatcher,
            component,
        }
    }

    /// The component that is called.
    #[must_use]
    pub const fn component(&self) -> ComponentId {
        self.component
    }

    /// Publishes an event: its recipients get it after everything that was
    /// published before, never from inside this call.
    ///
    /// # Panics
    /// While the routes are being changed; see [`Context::try_publish`].
    pub fn publish(&self, topic: Topic, event: &E)
    where
        E: Clone + HeapBytes,
    {
        self.dispatcher.publish(topic, event);
    }

    /// Publishes, or tells what is in the way.
    ///
    /// # Errors
    /// The routes are being changed; nothing was published.
    pub fn try_publish(&self, topic: Topic, event: &E) -> Result<(), AccessError>
    where
        E: Clone + HeapBytes,
    {
        self.dispatcher.try_publish(topic, event)
    }

    /// Queues an event for one component, behind everything that is queued.
    ///
    /// # Errors
    /// The dispatcher is halted; the event was not queued.
    pub fn post(&self, target: ComponentId, event: E) -> Result<(), DispatchError>
    where
        E: HeapBytes,
    {
        let heap = event.heap_bytes();
        self.dispatcher.admit_with_heap(target, heap, move || event)
    }
}
