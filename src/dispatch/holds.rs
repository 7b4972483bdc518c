//! What callbacks need beside their component: engines, clients, caches. A
//! delivery starts only when all that it can reach is free for it (rule R14).
//!
//! A hold is a word that says so, no lock: it is checked by everyone who asks for
//! a hold, and by every delivery. It does not guard the resource's memory; the
//! borrow checker does.

use std::cell::RefCell;
use std::rc::Rc;

use super::error::{AccessError, Conflict, ResourceName};

/// How many resources can be told apart.
const RESOURCES: usize = 64;

/// Something that callbacks can reach and that others hold at times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    index: u8,
    name: &'static str,
}

impl Resource {
    /// A resource; the same index is the same resource.
    ///
    /// # Panics
    /// With an index of 64 or more; in a constant, when it is compiled.
    #[must_use]
    pub const fn new(index: u8, name: &'static str) -> Self {
        assert!(
            (index as usize) < RESOURCES,
            "a resource's index is below 64"
        );
        Self { index, name }
    }

    const fn bit(self) -> u64 {
        1 << self.index
    }
}

/// What a component's callbacks need, beside the component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    shared: u64,
    exclusive: u64,
}

impl Needs {
    /// Nothing else.
    pub const NOTHING: Self = Self {
        shared: 0,
        exclusive: 0,
    };

    /// And this, beside others who only read it.
    #[must_use]
    pub const fn shared(self, resource: Resource) -> Self {
        Self {
            shared: self.shared | resource.bit(),
            ..self
        }
    }

    /// And this, alone.
    #[must_use]
    pub const fn exclusive(self, resource: Resource) -> Self {
        Self {
            exclusive: self.exclusive | resource.bit(),
            ..self
        }
    }

    #[inline]
    pub(super) const fn is_nothing(self) -> bool {
        self.shared | self.exclusive == 0
    }
}

#[derive(Debug)]
struct State {
    shared: [u32; RESOURCES],
    shared_bits: u64,
    exclusive_bits: u64,
}

/// Who holds what, of one dispatcher.
#[derive(Debug)]
pub(super) struct Holds {
    state: RefCell<State>,
}

impl Holds {
    pub(super) const fn new() -> Self {
        let state = State {
            shared: [0; RESOURCES],
            shared_bits: 0,
            exclusive_bits: 0,
        };
        Self {
            state: RefCell::new(state),
        }
    }

    /// Whether all of it is free for whoever asks now.
    #[inline]
    pub(super) fn allow(&self, needs: Needs) -> bool {
        let state = self.state.borrow();
        needs.shared & state.exclusive_bits == 0
            && needs.exclusive & (state.exclusive_bits | state.shared_bits) == 0
    }

    fn change(&self, needs: Needs, take: bool) {
        let mut state = self.state.borrow_mut();
        for index in 0..RESOURCES {
            if needs.shared & (1 << index) != 0 {
                let count = &mut state.shared[index];
                *count = if take { *count + 1 } else { *count - 1 };
                let held = *count > 0;
                state.shared_bits = state.shared_bits & !(1 << index) | u64::from(held) << index;
            }
        }
        if take {
            state.exclusive_bits |= needs.exclusive;
        } else {
            state.exclusive_bits &= !needs.exclusive;
        }
    }

    /// Takes what [`Holds::allow`] allowed; `None` where nothing is needed.
    #[inline]
    pub(super) fn take(self: &Rc<Self>, needs: Needs) -> Option<Hold> {
        if needs.is_nothing() {
            return None;
        }
        self.change(needs, true);
        Some(Hold {
            holds: Rc::clone(self),
            needs,
        })
    }

    pub(super) fn hold(
        self: &Rc<Self>,
        resource: Resource,
        exclusive: bool,
        operation: &'static str,
    ) -> Result<Hold, AccessError> {
        let needs = if exclusive {
            Needs::NOTHING.exclusive(resource)
        } else {
            Needs::NOTHING.shared(resource)
        };
        let refused = AccessError {
            resource: ResourceName::Named(resource.name),
            operation,
            conflict: Conflict::InUse,
        };
        self.allow(needs)
            .then(|| self.take(needs))
            .flatten()
            .ok_or(refused)
    }
}

/// Something is held until this is dropped; dropping it never drains (rule R27).
#[derive(Debug)]
pub struct Hold {
    holds: Rc<Holds>,
    needs: Needs,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holds.change(self.needs, false);
    }
}
