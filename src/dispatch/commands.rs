//! Commands: what callbacks ask of the rest of the shard (rules R52 to R61).
//!
//! A command carries the root that it was sent under; processing one charges
//! nothing and drains nothing. A drain processes what was queued at its entry, in
//! order; children that a handler captures run depth-first before the next one.
//! The queue is not bounded by the dispatcher's storage limits, and never refuses:
//! a fact that must be told is told. At `DISPATCH_COMMANDS_MAX` it latches an
//! overflow, so that the runtime ends the loop.

use core::fmt;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::ancestry::{Ancestry, Carried};
use super::dispatcher::Dispatcher;
use super::error::Fatal;
use super::roots::Roots;
use crate::limits::DISPATCH_COMMANDS_MAX;

struct Shared<C> {
    roots: Rc<Roots>,
    queue: RefCell<VecDeque<Carried<C>>>,
    /// Emptied storage of earlier drains, used again.
    spare: RefCell<Option<Storage<C>>>,
}

/// Abandoned in the order of the fields: that in which they would have run.
struct Storage<C> {
    captured: Vec<Carried<C>>,
    pending: Vec<Carried<C>>,
    batch: VecDeque<Carried<C>>,
}

impl<C> Storage<C> {
    const fn new() -> Self {
        Self {
            batch: VecDeque::new(),
            pending: Vec::new(),
            captured: Vec::new(),
        }
    }
}

/// The receiving end, with the one who processes commands. Dropping it drops what
/// is queued, each command under its own root (rule R60).
pub struct CommandQueue<C> {
    shared: Rc<Shared<C>>,
}

/// The sending end, for components: it stays on its thread, and captures the root
/// that is active at each send (rule R52).
pub struct CommandSender<C> {
    shared: Rc<Shared<C>>,
}

/// Takes deferred commands of one handler (rule R55).
pub struct Children<'a, C> {
    roots: &'a Rc<Roots>,
    captured: &'a mut Vec<Carried<C>>,
}

impl<C> Children<'_, C> {
    /// Defers a command: it runs after the handler has returned, before the next
    /// queued command, under the root that is active now.
    pub fn capture(&mut self, command: C) {
        self.captured
            .push(Carried::new(command, Ancestry::of_send(self.roots)));
    }
}

impl<C> CommandSender<C> {
    /// Queues a command; never refused (rule R59).
    pub fn send(&self, command: C) {
        self.shared.roots.reclaim();
        let command = Carried::new(command, Ancestry::of_send(&self.shared.roots));
        let mut queue = self.shared.queue.borrow_mut();
        queue.push_back(command);
        if queue.len() > DISPATCH_COMMANDS_MAX {
            self.shared.roots.latch(Fatal::Overflow);
        }
    }
}

impl<C> CommandQueue<C> {
    /// A queue for commands that are sent from this dispatcher's callbacks.
    #[must_use]
    pub fn new<E: 'static>(dispatcher: &Dispatcher<E>) -> Self {
        let shared = Shared {
            roots: Rc::clone(&dispatcher.roots),
            queue: RefCell::new(VecDeque::new()),
            spare: RefCell::new(None),
        };
        Self {
            shared: Rc::new(shared),
        }
    }

    /// Another sending end.
    #[must_use]
    pub fn sender(&self) -> CommandSender<C> {
        CommandSender {
            shared: Rc::clone(&self.shared),
        }
    }

    /// Commands that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.queue.borrow().len()
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Processes what is queued now, in order, with each one's children right behind
    /// it; what handlers send waits for a later drain (rule R54). How many ran.
    ///
    /// A panic of the handler goes through: the rest of the batch, and its children,
    /// are dropped under their own roots (rule R58).
    pub fn drain(&self, mut handler: impl FnMut(C, &mut Children<'_, C>)) -> usize {
        self.shared.roots.reclaim();
        let mut storage = self.shared.spare.take().unwrap_or_else(Storage::new);
        std::mem::swap(&mut storage.batch, &mut *self.shared.queue.borrow_mut());
        let done = self.run(&mut storage, &mut handler);
        self.shared.spare.replace(Some(storage));
        done
    }

    /// Like [`CommandQueue::drain`], and shows each command, children too, to an
    /// observer right before it is handled, under the command's own root (rule R66).
    pub fn drain_observed(
        &self,
        mut observer: impl FnMut(&C),
        mut handler: impl FnMut(C, &mut Children<'_, C>),
    ) -> usize {
        self.drain(|command, children| {
            observer(&command);
            handler(command, children);
        })
    }

    /// Handles a command at once, past the queue and under whatever is active, and
    /// then its children, each under its own root (rules R55, R61).
    pub fn direct(&self, command: C, mut handler: impl FnMut(C, &mut Children<'_, C>)) {
        let mut storage = Storage::new();
        let mut children = Children {
            roots: &self.shared.roots,
            captured: &mut storage.captured,
        };
        handler(command, &mut children);
        storage.pending.extend(storage.captured.drain(..).rev());
        self.run(&mut storage, &mut handler);
    }

    fn run(
        &self,
        storage: &mut Storage<C>,
        handler: &mut impl FnMut(C, &mut Children<'_, C>),
    ) -> usize {
        let Storage {
            batch,
            pending,
            captured,
        } = storage;
        let mut done = 0;
        while let Some(next) = pending.pop().or_else(|| batch.pop_front()) {
            let mut children = Children {
                roots: &self.shared.roots,
                captured,
            };
            next.process(|command| handler(command, &mut children));
            pending.extend(captured.drain(..).rev());
            done += 1;
        }
        done
    }

    /// Drops what is queued, each under its own root; what the destructors send is
    /// dropped too. Senders go on working.
    pub fn discard(&self) {
        loop {
            // One by one: a destructor that panics loses none of the others.
            let Some(command) = self.shared.queue.borrow_mut().pop_front() else {
                return;
            };
            drop(command);
        }
    }
}

impl<C> Drop for CommandQueue<C> {
    fn drop(&mut self) {
        self.discard();
    }
}

impl<C> Clone for CommandSender<C> {
    fn clone(&self) -> Self {
        Self {
            shared: Rc::clone(&self.shared),
        }
    }
}

impl<C> fmt::Debug for CommandQueue<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandQueue").finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for CommandSender<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSender").finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for Children<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Children")
            .field("captured", &self.captured.len())
            .finish_non_exhaustive()
    }
}
