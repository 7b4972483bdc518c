//! What can go wrong in a dispatcher: what halts it, what only says "not now",
//! and what a conflicting access is told.

use core::fmt;

use super::component::ComponentId;
use crate::time::Nanos;

/// What halts a dispatcher: the first one latches, stops every root and refuses
/// reservations until [`Dispatcher::clear`](super::Dispatcher::clear) (rule R25).
///
/// Effects that were already done stay; nothing is rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fatal {
    /// Retained units, known bytes or queued commands are at their limit
    /// (rules R45, R48, R59).
    #[error(
        "callback storage is full: drain more often, or split the work into roots of its own; \
         clear to go on"
    )]
    Overflow,
    /// At a boundary the first callback's component, or a resource that it
    /// needs, was held by someone (rule R22).
    #[error(
        "the callback for {target} cannot run: the component, or a resource that it needs, is \
         held at a boundary; end that access before the boundary"
    )]
    Stalled {
        /// Whose callback.
        target: ComponentId,
    },
    /// One root has completed as many deliveries as it may (rule R32).
    #[error(
        "a chain of callbacks has no end: root {root} is at its limit of deliveries; look for a \
         component that publishes what it receives"
    )]
    Runaway {
        /// The root, as [`Dispatcher::active_root`](super::Dispatcher::active_root) names it.
        root: u64,
    },
    /// A callback was addressed to a component that does not take such an event
    /// (choice A6).
    #[error("{target} does not accept the event that was addressed to it; mend the route")]
    InvalidDestination {
        /// The addressee.
        target: ComponentId,
    },
    /// A panic left a publication (rule R42).
    #[error("a panic left a publication: its recipients may be incomplete")]
    PublicationUnwound,
    /// A panic left a delivery, or a drain ran during a panic (rule R43).
    #[error("a panic left a delivery, or a drain ran while a panic unwound")]
    DeliveryUnwound,
    /// The monotonic clock of a runtime went back.
    #[error("the monotonic clock went back from {last:?} to {now:?}: time order is lost")]
    ClockWentBack {
        /// The latest time that was seen.
        last: Nanos,
        /// What the clock then said.
        now: Nanos,
    },
}

/// Why a drain, an admission or a clear did not do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// A publication, reservation, delivery, access, chain or clearing is under
    /// way, or roots are still owned outside. Nothing is latched by this: end it,
    /// and ask again (rules R20, R21, R50).
    #[error("a dispatch scope is open, or a root is still owned: end it, then ask again")]
    Active,
    /// The dispatcher is halted.
    #[error("dispatch is halted: {0}")]
    Fatal(#[from] Fatal),
}

/// Why an access was refused: it names the resource and the operation (rule R85).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {resource} {conflict}")]
pub struct AccessError {
    /// What was to be used.
    pub resource: ResourceName,
    /// What was attempted.
    pub operation: &'static str,
    /// What stood in the way.
    pub conflict: Conflict,
}

/// What an [`AccessError`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceName {
    /// A component.
    Component(ComponentId),
    /// Something else, by its name.
    Named(&'static str),
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Component(id) => fmt::Display::fmt(id, f),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// What stood in the way of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// It is in use: end that use first; asking again meanwhile does not help.
    InUse,
    /// It is not there: never registered, replaced or retired.
    Gone,
    /// It is of another type than the one that was asked for.
    WrongType,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InUse => "is in use; end that use first",
            Self::Gone => "is not registered (any more)",
            Self::WrongType => "is of another type",
        })
    }
}

/// Why a start, stop or reset did not happen: a check by id, apart from access
/// errors (rule R85).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// The component is in use: a delivery or an access to it is under way.
    #[error("{0} is in use: its lifecycle cannot change under its own callback")]
    Overlap(ComponentId),
    /// Not registered (any more).
    #[error("{0} is not registered (any more)")]
    Gone(ComponentId),
    /// It panicked, and stays disabled until it is replaced.
    #[error("{0} is disabled after a panic: replace it")]
    Disabled(ComponentId),
    /// Its hook panicked just now; it is disabled and an alarm waits.
    #[error("{0} panicked in its lifecycle hook and is disabled now")]
    Panicked(ComponentId),
}
