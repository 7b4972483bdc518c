//! What a shard's owner sets its components up with: strategies, feeds, alarms.

use super::callbacks::{Callbacks, RiskRequest};
use super::reports::DROP_COPY_PORT;
use crate::dispatch::contingent::OrderPort;
use crate::dispatch::{
    CommandSender, Component, ComponentId, Dispatcher, LifecycleError, ShardEvent, SubscribeError,
    TooManyComponents, Topic,
};
use crate::types::{AccountId, ClientReference, Command, Origin, ShardId};

/// The port of commands that no I/O thread sent: there is nobody to report to but
/// the components, and the drop copy.
const NO_PORT: u16 = DROP_COPY_PORT;

/// Why a component was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// There are as many as a shard may have.
    #[error(transparent)]
    TooMany(#[from] TooManyComponents),
    /// A topic cannot be subscribed to.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// It did not start.
    #[error(transparent)]
    Start(#[from] LifecycleError),
}

/// One shard, as its components may use it.
#[derive(Clone, Copy)]
pub struct ComponentPorts<'a> {
    shard: ShardId,
    callbacks: &'a Callbacks,
}

impl<'a> ComponentPorts<'a> {
    pub(super) const fn new(shard: ShardId, callbacks: &'a Callbacks) -> Self {
        Self { shard, callbacks }
    }

    /// Which shard it is.
    #[must_use]
    pub const fn shard(&self) -> ShardId {
        self.shard
    }

    /// Registers a component, subscribes it to the topics
    /// ([`REPORTS`](crate::dispatch::REPORTS), [`MARKS`](crate::dispatch::MARKS)) and
    /// starts it: from then on it is told, behind whoever was added before.
    ///
    /// # Errors
    /// What was refused; what was done before that stays.
    pub fn add(
        &self,
        component: Box<dyn Component<ShardEvent>>,
        topics: &[Topic],
    ) -> Result<ComponentId, AddError> {
        add(self.dispatcher(), component, topics)
    }

    /// Everything else that can be done with callbacks.
    #[must_use]
    pub fn dispatcher(&self) -> &'a Dispatcher<ShardEvent> {
        &self.callbacks.dispatcher
    }

    /// Sends commands: each is run in the turn in which it is sent, after the
    /// callbacks, through every check of a client's.
    #[must_use]
    pub fn commands(&self) -> CommandSender<Command> {
        self.callbacks.commands.sender()
    }

    /// Sends orders of one account whose references, `first` and on, are those of
    /// `credential`: name one that no client has.
    #[must_use]
    pub fn orders(&self, credential: u16, account: AccountId, first: ClientReference) -> OrderPort {
        let origin = Origin {
            port: NO_PORT,
            credential,
            session: 0,
        };
        OrderPort::new(self.commands(), origin, account, first)
    }

    /// Asks for blocks: done in the turn in which it is asked, before the commands of
    /// that turn's callbacks.
    #[must_use]
    pub fn risk(&self) -> CommandSender<RiskRequest> {
        self.callbacks.risk_requests.sender()
    }
}

/// See [`ComponentPorts::add`].
pub(super) fn add(
    dispatcher: &Dispatcher<ShardEvent>,
    component: Box<dyn Component<ShardEvent>>,
    topics: &[Topic],
) -> Result<ComponentId, AddError> {
    let id = dispatcher.register(component)?;
    for &topic in topics {
        dispatcher.subscribe(topic, id)?;
    }
    dispatcher.start(id)?;
    Ok(id)
}
