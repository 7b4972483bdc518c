//! The dispatcher itself: publications and admissions (rules R1 to R11).
//!
//! It promises that callbacks run one after the other, in the order (publication,
//! admission), never from inside a publication, and never two at once. It never
//! waits, takes no lock, and allocates only to grow. It stays on its thread.
//!
//! ```compile_fail,E0277
//! fn sent<T: Send>() {}
//! sent::<pitlane::dispatch::Dispatcher<u64>>(); // One per shard; it never leaves it.
//! ```

use core::fmt;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::account::Limits;
use super::alarms::Alarms;
use super::component::ComponentId;
use super::error::{AccessError, DispatchError, Fatal};
use super::holds::{Hold, Holds, Resource};
use super::places::{Places, Standing};
use super::reservation::{Place, Reservation};
use super::roots::{NONE, Publishing, Roots};
use super::routes::Routes;
use super::slots::{Admission, Capture, Position, Slot, Slots};

/// Slots that a dispatcher has room for before it first grows.
const SLOTS_AT_FIRST: usize = 1_024;

/// The innermost open publication.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Zero: none is open.
    ordinal: u64,
    /// The last slot that is not behind this publication; [`NONE`]: there is none.
    last: u32,
}

/// Queues callbacks and runs them, for components that take events of type `E`.
pub struct Dispatcher<E> {
    pub(super) roots: Rc<Roots>,
    /// Borrowed for change only to be detached.
    pub(super) slots: RefCell<Slots<E>>,
    pub(super) places: Places<E>,
    /// The places' count of changes.
    pub(super) changes: Rc<Cell<u64>>,
    pub(super) routes: RefCell<Routes<E>>,
    pub(super) holds: Rc<Holds>,
    pub(super) alarms: Alarms,
    frame: Cell<Frame>,
    /// The next ordinal; publications and admissions count together.
    sequence: Cell<u64>,
    /// A pass is under way.
    pub(super) draining: Cell<bool>,
    /// Captures are being released.
    pub(super) clearing: Cell<bool>,
    /// Components are accessed, scope by scope.
    pub(super) accesses: Cell<u32>,
}

impl<E: 'static> Dispatcher<E> {
    /// A dispatcher with the product's limits, and room for the usual work.
    #[must_use]
    pub fn new() -> Self {
        let mut dispatcher = Self::with_limits(Limits::default());
        let account = &dispatcher.roots.account;
        dispatcher.slots = RefCell::new(Slots::preallocated(account, SLOTS_AT_FIRST));
        dispatcher
    }

    /// A dispatcher with other limits and no room yet. The limits are fuses and no
    /// configuration: this is for tests that blow them.
    #[doc(hidden)]
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        let places = Places::new();
        Self {
            roots: Rc::new(Roots::new(limits)),
            changes: places.changes(),
            slots: RefCell::new(Slots::new()),
            places,
            routes: RefCell::new(Routes::new()),
            holds: Rc::new(Holds::new()),
            alarms: Alarms::new(),
            frame: Cell::new(Frame {
                ordinal: 0,
                last: NONE,
            }),
            sequence: Cell::new(1),
            draining: Cell::new(false),
            clearing: Cell::new(false),
            accesses: Cell::new(0),
        }
    }

    #[inline]
    pub(super) fn next_ordinal(&self) -> u64 {
        let ordinal = self.sequence.get();
        self.sequence.set(ordinal.wrapping_add(1)); // Centuries away.
        ordinal
    }

    pub(super) fn reset_sequence(&self) {
        self.sequence.set(1);
    }

    /// Runs `body` as a publication: it has the next ordinal, and what `body` admits
    /// is delivered after everything that was published before, and before whatever
    /// is published later, nested publications included (rules R1, R2). Nothing is
    /// delivered in here (rule R4).
    ///
    /// A panic that leaves `body` halts the dispatcher (rule R42).
    pub fn publication<R>(&self, body: impl FnOnce() -> R) -> R {
        let mut scope = self.open_publication();
        let result = body();
        scope.complete = true;
        result
    }

    #[inline]
    pub(super) fn open_publication(&self) -> PublicationScope<'_, E> {
        let frame = Frame {
            ordinal: self.next_ordinal(),
            last: self.slots.borrow().tail(),
        };
        PublicationScope {
            dispatcher: self,
            outer: self.frame.replace(frame),
            complete: false,
            _root: self.roots.enter_publication(),
        }
    }

    /// Reserves the place, the count and the storage for one callback, before its
    /// capture is built (rule R7). Until it is committed or dropped, nothing behind
    /// it is delivered (rule R9).
    ///
    /// # Errors
    /// The dispatcher is halted, or halts now because a limit is reached; or it is
    /// being cleared.
    pub fn reserve(&self, target: ComponentId) -> Result<Reservation<'_, E>, DispatchError> {
        self.reserve_with_heap(target, 0)
    }

    /// Reserves for a capture that owns `heap` bytes beside itself (rule R46).
    ///
    /// # Errors
    /// As for [`Dispatcher::reserve`].
    pub fn reserve_with_heap(
        &self,
        target: ComponentId,
        heap: usize,
    ) -> Result<Reservation<'_, E>, DispatchError> {
        let arrival = self.places.standing(target);
        let (slot, capture) = self.queue(target, arrival, heap)?;
        Ok(Reservation::new(Place::new(self, slot, capture)))
    }

    /// Takes a slot for a callback, unless admissions are refused; a limit latches.
    #[inline]
    pub(super) fn queue(
        &self,
        target: ComponentId,
        arrival: Standing,
        heap: usize,
    ) -> Result<(u32, Capture<E>), DispatchError> {
        if self.clearing.get() {
            return Err(DispatchError::Active);
        }
        if let Some(fatal) = self.roots.latched() {
            return Err(fatal.into());
        }
        self.insert(target, arrival, heap)
            .map_err(|fatal| self.latches(fatal))
    }

    #[inline]
    fn insert(
        &self,
        target: ComponentId,
        arrival: Standing,
        heap: usize,
    ) -> Result<(u32, Capture<E>), Fatal> {
        let root = self.roots.obtain()?;
        let slots = self.slots.borrow();
        let admission = self.next_ordinal();
        let mut frame = self.frame.get();
        let is_open = frame.ordinal != 0;
        if !is_open {
            frame = Frame {
                ordinal: admission,
                last: slots.tail(),
            };
        }
        let position = Position {
            publication: frame.ordinal,
            admission,
        };
        let new = Admission {
            position,
            target_index: target.index,
            arrival,
            root,
            heap,
        };
        match slots.reserve(&self.roots.account, frame.last, new) {
            Ok((slot, capture)) => {
                if is_open {
                    self.frame.set(Frame {
                        last: slot,
                        ..frame
                    });
                }
                Ok((slot, capture))
            }
            Err(fatal) => {
                self.roots.disown(root);
                Err(fatal)
            }
        }
    }

    #[cold]
    pub(super) fn latches(&self, fatal: Fatal) -> DispatchError {
        self.roots.latch(fatal);
        fatal.into()
    }

    /// Reserves, builds the capture and commits it.
    ///
    /// # Errors
    /// As for [`Dispatcher::reserve`]; the capture was not built.
    pub fn admit(
        &self,
        target: ComponentId,
        capture: impl FnOnce() -> E,
    ) -> Result<(), DispatchError> {
        self.admit_with_heap(target, 0, capture)
    }

    /// Admits a capture that owns `heap` bytes beside itself.
    ///
    /// # Errors
    /// As for [`Dispatcher::reserve`]; the capture was not built.
    pub fn admit_with_heap(
        &self,
        target: ComponentId,
        heap: usize,
        capture: impl FnOnce() -> E,
    ) -> Result<(), DispatchError> {
        let reservation = self.reserve_with_heap(target, heap)?;
        reservation.commit_with(capture);
        Ok(())
    }

    /// Runs `body` as something that came from outside: what it admits and sends has
    /// a root of its own, made when it is first needed, whatever is active now
    /// (rules R53, R64, choice A7).
    pub fn independent<R>(&self, body: impl FnOnce() -> R) -> R {
        let _block = self.roots.block_clear();
        let _scope = self.roots.enter_independent();
        body()
    }

    /// What halted the dispatcher, if anything did. The shard refuses new orders
    /// from then on; facts go on without callbacks.
    #[must_use]
    pub fn failure(&self) -> Option<Fatal> {
        self.roots.latched()
    }

    /// Halts the dispatcher for a reason that its runtime found; the first reason
    /// stays.
    pub fn halt(&self, reason: Fatal) {
        self.roots.latch(reason);
    }

    /// Whether anything is left to wait for: callbacks, retained units, roots owned
    /// outside, or a failure (choice A5). Takes in what other threads released.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        self.roots.reclaim();
        self.roots.account.units() > 0
            || self.roots.external() > 0
            || self.roots.latched().is_some()
    }

    /// Callbacks that wait, cancelled ones included.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.roots.account.queued()
    }

    /// Where the waiting callbacks stand in the order, first to last.
    #[must_use]
    pub fn positions(&self) -> Vec<Position> {
        self.slots.borrow().iter().map(Slot::position).collect()
    }

    /// Units and known bytes that are retained now (rule R45).
    #[must_use]
    pub fn retained(&self) -> (usize, usize) {
        (self.roots.account.units(), self.roots.account.bytes())
    }

    /// The active root, by a number that is never used again.
    #[must_use]
    pub fn active_root(&self) -> Option<u64> {
        self.roots.active_serial()
    }

    /// Says that a resource is in use beside others who only read it, until the
    /// hold is dropped (rule R14).
    ///
    /// # Errors
    /// Someone holds it alone.
    pub fn try_hold_shared(&self, resource: Resource) -> Result<Hold, AccessError> {
        self.holds.hold(resource, false, "hold_shared")
    }

    /// Says that a resource is in use, alone.
    ///
    /// # Errors
    /// Someone holds it.
    pub fn try_hold_exclusive(&self, resource: Resource) -> Result<Hold, AccessError> {
        self.holds.hold(resource, true, "hold_exclusive")
    }

    /// Like [`Dispatcher::try_hold_shared`] (rule R85).
    ///
    /// # Panics
    /// Someone holds it alone.
    #[must_use]
    pub fn hold_shared(&self, resource: Resource) -> Hold {
        self.try_hold_shared(resource)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`Dispatcher::try_hold_exclusive`] (rule R85).
    ///
    /// # Panics
    /// Someone holds it.
    #[must_use]
    pub fn hold_exclusive(&self, resource: Resource) -> Hold {
        self.try_hold_exclusive(resource)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Something is under way in which no delivery may start (rule R20).
    #[inline]
    pub(super) fn is_deferred(&self) -> bool {
        self.frame.get().ordinal != 0
            || self.draining.get()
            || self.clearing.get()
            || self.accesses.get() > 0
    }
}

impl<E: 'static> Default for Dispatcher<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> fmt::Debug for Dispatcher<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher")
            .field("failure", &self.roots.latched())
            .field("queued", &self.roots.account.queued())
            .finish_non_exhaustive()
    }
}

/// An open publication; they nest, and end in the reverse order (rule R4).
pub(super) struct PublicationScope<'a, E> {
    dispatcher: &'a Dispatcher<E>,
    outer: Frame,
    /// The body returned.
    pub(super) complete: bool,
    _root: Publishing<'a>,
}

impl<E> Drop for PublicationScope<'_, E> {
    #[inline]
    fn drop(&mut self) {
        self.dispatcher.frame.set(self.outer);
        if !self.complete {
            self.dispatcher.roots.latch(Fatal::PublicationUnwound);
        }
    }
}
