//! Messages that come in over a channel, with the root that they were sent under
//! (rules R62 to R68, R72).
//!
//! Who captures a root is decided by type: an [`EventSender`] cannot leave the
//! thread whose roots it captures, and a [`ForeignSender`], which can, captures
//! none. So messages between shards have no root. Only tokens cross threads.

use core::fmt;
use std::rc::Rc;

use super::ancestry::{Ancestry, Carried};
use super::dispatcher::Dispatcher;
use super::release::Token;
use super::roots::Roots;
use crate::limits::DISPATCH_CHANNEL_MAX;

/// A message on its way: it may cross threads, and says nothing about its root.
pub struct Envelope<T> {
    value: T,
    /// Dropped after the value, wherever that is.
    token: Option<Token>,
}

/// A message on the thread that it belongs to; dropping it unread restores its root
/// for its destructor (rule R68).
#[derive(Debug)]
pub struct Message<T> {
    carried: Carried<T>,
}

/// Sends from the dispatcher's own thread, under the root that is active there.
pub struct EventSender<T> {
    roots: Rc<Roots>,
    sender: crossbeam_channel::Sender<Envelope<T>>,
}

/// Sends from any thread; always independent of what is active there (rule R62).
pub struct ForeignSender<T> {
    sender: crossbeam_channel::Sender<Envelope<T>>,
}

/// The receiving end, on the dispatcher's thread.
pub struct EventReceiver<T> {
    roots: Rc<Roots>,
    receiver: crossbeam_channel::Receiver<Envelope<T>>,
}

/// Why a message was not sent; it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError<T> {
    /// The channel holds as many messages as it may; receive some first.
    #[error("the channel is full; try again when some were received")]
    Full(T),
    /// The receiver is gone.
    #[error("the receiver is gone")]
    Closed(T),
}

/// A channel of `capacity` messages, from 1 to `DISPATCH_CHANNEL_MAX` (taken into
/// that range), whose messages belong to this dispatcher.
#[must_use]
pub fn channel<T, E: 'static>(
    dispatcher: &Dispatcher<E>,
    capacity: usize,
) -> (EventSender<T>, EventReceiver<T>) {
    let capacity = capacity.clamp(1, DISPATCH_CHANNEL_MAX);
    let (sender, receiver) = crossbeam_channel::bounded(capacity);
    let roots = &dispatcher.roots;
    (
        EventSender {
            roots: Rc::clone(roots),
            sender,
        },
        EventReceiver {
            roots: Rc::clone(roots),
            receiver,
        },
    )
}

fn send<T>(
    sender: &crossbeam_channel::Sender<Envelope<T>>,
    envelope: Envelope<T>,
) -> Result<(), SendError<T>> {
    use crossbeam_channel::TrySendError;
    sender.try_send(envelope).map_err(|error| match error {
        TrySendError::Full(envelope) => SendError::Full(envelope.value),
        TrySendError::Disconnected(envelope) => SendError::Closed(envelope.value),
    })
}

impl<T> EventSender<T> {
    /// Sends under the active root, or none (rule R52).
    ///
    /// # Errors
    /// The channel is full, or closed; the message comes back.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.roots.reclaim();
        let root = Ancestry::of_send(&self.roots).into_root();
        let token = root.map(|root| Token::new(&self.roots.releases, root));
        let sent = send(&self.sender, Envelope { value, token });
        self.roots.reclaim(); // Of a message that came back.
        sent
    }

    /// A sender for other threads.
    #[must_use]
    pub fn foreign(&self) -> ForeignSender<T> {
        ForeignSender {
            sender: self.sender.clone(),
        }
    }
}

impl<T> ForeignSender<T> {
    /// Sends without a root.
    ///
    /// # Errors
    /// The channel is full, or closed; the message comes back.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        send(&self.sender, Envelope { value, token: None })
    }
}

impl<T> EventReceiver<T> {
    /// The next message, if there is one.
    pub fn try_recv(&self) -> Option<Message<T>> {
        self.recv_envelope()
            .map(|envelope| envelope.claim(&self.roots))
    }

    /// The next message as it travels, to be passed on to another thread.
    pub fn recv_envelope(&self) -> Option<Envelope<T>> {
        self.receiver.try_recv().ok()
    }

    /// Messages that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.receiver.len()
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.receiver.is_empty()
    }

    /// Drops what waits, each message under its own root.
    pub fn discard(&self) {
        while let Some(message) = self.try_recv() {
            drop(message);
        }
    }
}

impl<T> Drop for EventReceiver<T> {
    fn drop(&mut self) {
        self.discard();
    }
}

impl<T> Envelope<T> {
    /// Whether it carries a root.
    #[must_use]
    pub const fn is_rooted(&self) -> bool {
        self.token.is_some()
    }

    /// Binds it to the thread and dispatcher that it belongs to.
    fn claim(self, roots: &Rc<Roots>) -> Message<T> {
        roots.reclaim();
        let ancestry = match self.token {
            None => Ancestry::none(roots),
            Some(token) => {
                assert!(
                    token.is_of(&roots.releases),
                    "a rooted message is processed by the dispatcher that it was sent under, on \
                     its thread; send it on through a ForeignSender instead"
                );
                Ancestry::from_root(roots, token.take())
            }
        };
        Message {
            carried: Carried::new(self.value, ancestry),
        }
    }

    /// Lets `handler` have the message, under its root, or in a scope of its own
    /// (rules R63, R64).
    ///
    /// # Panics
    /// A rooted message with another dispatcher than its own; the handler is not called.
    pub fn dispatch<E: 'static, R>(
        self,
        dispatcher: &Dispatcher<E>,
        handler: impl FnOnce(T) -> R,
    ) -> R {
        self.claim(&dispatcher.roots).dispatch(handler)
    }
}

impl<T> Message<T> {
    /// Lets `handler` have the message, under its root, or in a scope of its own.
    pub fn dispatch<R>(self, handler: impl FnOnce(T) -> R) -> R {
        self.carried
            .process(handler)
            .expect("a message is opened once")
    }

    /// Whether it was sent under a root.
    #[must_use]
    pub const fn is_rooted(&self) -> bool {
        self.carried.ancestry().is_rooted()
    }

    /// What it says.
    #[must_use]
    pub fn value(&self) -> &T {
        self.carried.value().expect("a message is opened once")
    }
}

impl<T, L: IntoIterator<Item = T>> Message<L> {
    /// Takes a list apart into messages of its items, each with the root of the list;
    /// those of a list without a root stay independent of each other (rule R65).
    pub fn split(self) -> impl Iterator<Item = Message<T>> {
        let (list, ancestry) = self.carried.open().expect("a message is opened once");
        list.into_iter().map(move |value| Message {
            carried: Carried::new(value, ancestry.again()),
        })
    }
}

impl<T> Clone for EventSender<T> {
    fn clone(&self) -> Self {
        Self {
            roots: Rc::clone(&self.roots),
            sender: self.sender.clone(),
        }
    }
}

impl<T> Clone for ForeignSender<T> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
        }
    }
}

macro_rules! opaque {
    ($($name:ident),*) => {
        $(impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        })*
    };
}

opaque!(Envelope, EventSender, ForeignSender, EventReceiver);
