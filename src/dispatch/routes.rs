//! Who is told of what: topics, their subscribers, and the tap that sees all.
//!
//! A publication runs the tap and the direct subscribers at once, in the order in
//! which they subscribed, and queues a callback for each subscribed component.

use core::fmt;
use std::rc::Rc;

use super::account::HeapBytes;
use super::component::ComponentId;
use super::dispatcher::Dispatcher;
use super::error::{AccessError, Conflict, Fatal, ResourceName};
use super::places::Standing;
use super::reservation::Place;
use super::roots::{NONE, UNMADE};
use super::slots::{Admission, Position, Slots};
use crate::limits;

/// What a publication is about; `0` to `DISPATCH_TOPICS_MAX - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topic(pub u16);

/// A subscriber that runs at once, inside the publication. It may publish; it may
/// not drain.
pub type DirectSubscriber<E> = Rc<dyn Fn(&Dispatcher<E>, &E)>;

/// Sees every event of every topic, before all subscribers.
pub type Tap<E> = Rc<dyn Fn(&Dispatcher<E>, Topic, &E)>;

struct TopicRoutes<E> {
    direct: Vec<DirectSubscriber<E>>,
    components: Vec<ComponentId>,
}

/// The subscriptions of one dispatcher.
pub struct Routes<E> {
    topics: Vec<TopicRoutes<E>>,
    tap: Option<Tap<E>>,
}

/// Why a subscription was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The topic's number is out of range.
    #[error("topic {} is out of range: topics are below {}", .0.0, limits::DISPATCH_TOPICS_MAX)]
    TopicOutOfRange(Topic),
    /// The topic has as many subscribers as it may.
    #[error("topic {} is full at {} subscribers", .0.0, limits::DISPATCH_SUBSCRIBERS_MAX)]
    TopicFull(Topic),
}

impl<E: 'static> Routes<E> {
    pub(super) const fn new() -> Self {
        Self {
            topics: Vec::new(),
            tap: None,
        }
    }

    fn topic(&mut self, topic: Topic) -> Result<&mut TopicRoutes<E>, SubscribeError> {
        let index = usize::from(topic.0);
        if index >= limits::DISPATCH_TOPICS_MAX {
            return Err(SubscribeError::TopicOutOfRange(topic));
        }
        while self.topics.len() <= index {
            self.topics.push(TopicRoutes {
                direct: Vec::new(),
                components: Vec::new(),
            });
        }
        Ok(&mut self.topics[index])
    }

    /// Queues the topic's events for a component from now on; twice is once.
    ///
    /// # Errors
    /// The topic is out of range or full.
    pub fn subscribe(&mut self, topic: Topic, id: ComponentId) -> Result<(), SubscribeError> {
        let routes = self.topic(topic)?;
        if routes.components.contains(&id) {
            return Ok(());
        }
        if routes.components.len() >= limits::DISPATCH_SUBSCRIBERS_MAX {
            return Err(SubscribeError::TopicFull(topic));
        }
        routes.components.push(id);
        Ok(())
    }

    /// Ends a component's subscription; what is queued for it stays.
    pub fn unsubscribe(&mut self, topic: Topic, id: ComponentId) {
        if let Some(routes) = self.topics.get_mut(usize::from(topic.0)) {
            routes.components.retain(|one| *one != id);
        }
    }

    /// Runs a subscriber at once for each of the topic's events (rule R6).
    ///
    /// # Errors
    /// The topic is out of range or full.
    pub fn subscribe_direct(
        &mut self,
        topic: Topic,
        subscriber: DirectSubscriber<E>,
    ) -> Result<(), SubscribeError> {
        let routes = self.topic(topic)?;
        if routes.direct.len() >= limits::DISPATCH_SUBSCRIBERS_MAX {
            return Err(SubscribeError::TopicFull(topic));
        }
        routes.direct.push(subscriber);
        Ok(())
    }

    /// Sets or removes what sees everything first.
    pub fn set_tap(&mut self, tap: Option<Tap<E>>) {
        self.tap = tap;
    }

    pub(super) fn forget(&mut self, id: ComponentId) {
        for routes in &mut self.topics {
            routes.components.retain(|one| *one != id);
        }
    }

    fn tap(&self) -> Option<Tap<E>> {
        self.tap.clone()
    }

    /// Those whom a callback is queued for, where nobody is told at once.
    #[inline]
    fn only_components(&self, topic: Topic) -> Option<&[ComponentId]> {
        let routes = self.topics.get(usize::from(topic.0))?;
        (self.tap.is_none() && routes.direct.is_empty()).then_some(&routes.components)
    }

    fn has_direct(&self, topic: Topic) -> bool {
        let routes = self.topics.get(usize::from(topic.0));
        routes.is_some_and(|routes| !routes.direct.is_empty())
    }

    fn direct(&self, topic: Topic, at: usize) -> Option<DirectSubscriber<E>> {
        self.topics
            .get(usize::from(topic.0))?
            .direct
            .get(at)
            .cloned()
    }

    fn component(&self, topic: Topic, at: usize) -> Option<ComponentId> {
        self.topics
            .get(usize::from(topic.0))?
            .components
            .get(at)
            .copied()
    }
}

impl<E> fmt::Debug for Routes<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes")
            .field("topics", &self.topics.len())
            .finish_non_exhaustive()
    }
}

impl<E: 'static> Dispatcher<E> {
    /// Changes subscriptions; nothing can be published from `body`.
    ///
    /// # Panics
    /// From inside another change (rule R85).
    pub fn with_routes<R>(&self, body: impl FnOnce(&mut Routes<E>) -> R) -> R {
        match self.routes.try_borrow_mut() {
            Ok(mut routes) => body(&mut routes),
            Err(_) => panic!("{}", Self::routes_in_use("with_routes")),
        }
    }

    /// Queues a topic's events for a component from now on.
    ///
    /// # Errors
    /// The topic is out of range or full.
    pub fn subscribe(&self, topic: Topic, id: ComponentId) -> Result<(), SubscribeError> {
        self.with_routes(|routes| routes.subscribe(topic, id))
    }

    const fn routes_in_use(operation: &'static str) -> AccessError {
        AccessError {
            resource: ResourceName::Named("the routes"),
            operation,
            conflict: Conflict::InUse,
        }
    }

    /// Publishes an event: a publication with its tap, its direct subscribers and a
    /// callback for each subscribed component (rule R5). A callback that is refused
    /// halts the dispatcher at the next boundary; the publication runs to its end
    /// (rule R48).
    ///
    /// # Panics
    /// While the routes are being changed; [`Dispatcher::try_publish`] tells instead.
    pub fn publish(&self, topic: Topic, event: &E)
    where
        E: Clone + HeapBytes,
    {
        if let Err(error) = self.publish_as(topic, event, "publish") {
            panic!("{error}");
        }
    }

    /// Publishes, or tells what is in the way.
    ///
    /// # Errors
    /// The routes are being changed; there was no publication, and no ordinal is used.
    pub fn try_publish(&self, topic: Topic, event: &E) -> Result<(), AccessError>
    where
        E: Clone + HeapBytes,
    {
        self.publish_as(topic, event, "try_publish")
    }

    fn publish_as(
        &self,
        topic: Topic,
        event: &E,
        operation: &'static str,
    ) -> Result<(), AccessError>
    where
        E: Clone + HeapBytes,
    {
        let (tap, has_direct) = match self.routes.try_borrow() {
            Ok(routes) => match routes.only_components(topic) {
                Some(components) if E::IS_PLAIN => {
                    self.publish_plain(components, event);
                    return Ok(());
                }
                _ => (routes.tap(), routes.has_direct(topic)),
            },
            Err(_) => return Err(Self::routes_in_use(operation)),
        };
        self.publication(|| {
            if has_direct || tap.is_some() {
                self.tell_at_once(tap, topic, event);
            }
            let component = |at| self.routes.borrow().component(topic, at);
            for target in (0..).map_while(component) {
                self.tell(target, event);
            }
        });
        Ok(())
    }

    /// A publication in which nobody's code runs: nothing can nest in it, so that it
    /// opens no scope, and its callbacks are the last ones.
    #[inline]
    fn publish_plain(&self, components: &[ComponentId], event: &E)
    where
        E: Clone,
    {
        let publication = self.next_ordinal();
        if self.clearing.get() || self.roots.latched().is_some() {
            return; // Every admission is refused.
        }
        let slots = self.slots.borrow();
        if let &[target] = components
            && self.roots.is_outside()
        {
            if let Some(arrival) = self.places.hearing(target) {
                // It makes its root when it needs one.
                let _ = self.append(&slots, event, publication, (target, arrival, UNMADE));
            }
            return;
        }
        // One root is for all of them, and is owned by all of them in the end.
        let (mut root, mut owners) = (NONE, 0);
        for &target in components {
            let Some(arrival) = self.places.hearing(target) else {
                continue;
            };
            if root == NONE {
                root = match self.roots.obtain_for_callbacks() {
                    Ok(root) => root,
                    Err(fatal) => return self.roots.latch(fatal),
                };
            }
            let told = self.append(&slots, event, publication, (target, arrival, root));
            if told.is_err() {
                break;
            }
            owners += 1;
        }
        match owners {
            // The first ownership was obtained.
            0 if root != NONE => self.roots.disown(root),
            2.. => self.roots.own(root, owners - 1),
            _ => {}
        }
    }

    /// Queues a plain event last; a refusal is latched, and the next boundary reports it.
    #[inline(always)]
    fn append(
        &self,
        slots: &Slots<E>,
        event: &E,
        publication: u64,
        (target, arrival, root): (ComponentId, Standing, u32),
    ) -> Result<(), Fatal>
    where
        E: Clone,
    {
        let position = Position {
            publication,
            admission: self.next_ordinal(),
        };
        let new = Admission {
            position,
            target_index: target.index,
            arrival,
            root,
            heap: 0,
        };
        slots
            .append(&self.roots.account, new, || event.clone())
            .inspect_err(|fatal| self.roots.latch(*fatal))
    }

    /// Runs the tap, and the direct subscribers that it left.
    #[inline(never)]
    fn tell_at_once(&self, tap: Option<Tap<E>>, topic: Topic, event: &E) {
        if let Some(tap) = tap {
            tap(self, topic, event);
        }
        let direct = |at| self.routes.borrow().direct(topic, at);
        for subscriber in (0..).map_while(direct) {
            subscriber(self, event);
        }
    }

    /// Queues an event for a subscribed component, unless it panicked earlier.
    #[inline]
    fn tell(&self, target: ComponentId, event: &E)
    where
        E: Clone + HeapBytes,
    {
        let heap = event.heap_bytes();
        let Some(arrival) = self.places.hearing(target) else {
            return;
        };
        // A refusal is latched, and the next boundary reports it.
        if let Ok((slot, storage)) = self.queue(target, arrival, heap) {
            Place::new(self, slot, storage).commit_with(|| event.clone());
        }
    }
}
