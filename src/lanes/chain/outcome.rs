//! What became of a chain (rule L34).

use core::fmt;

use crate::steps::StepError;

use super::result::HookError;

/// How a chain ended, and whether running it again may do something twice.
#[derive(Debug)]
pub struct ChainOutcome<E> {
    /// How it ended.
    pub end: ChainEnd<E>,
    /// A call that can change the engine's state was entered; not that it did.
    /// On every end, the only sign that a second run may not be safe.
    pub retry_unsafe: bool,
}

/// How a chain ended.
#[derive(Debug)]
pub enum ChainEnd<E> {
    /// Every step ran.
    Completed,
    /// The engine refused an order, or a hook rolled its operation back.
    Rejected,
    /// Something went wrong; later steps did not run.
    Failed(ChainError<E>),
}

impl<E> ChainEnd<E> {
    /// Whether every step ran.
    #[must_use]
    pub const fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }

    /// Whether it was refused, or rolled back by a hook.
    #[must_use]
    pub const fn is_rejected(&self) -> bool {
        matches!(self, Self::Rejected)
    }

    /// What went wrong, if something did.
    #[must_use]
    pub const fn error(&self) -> Option<&ChainError<E>> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Completed | Self::Rejected => None,
        }
    }
}

/// Why a chain failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChainError<E> {
    /// `begin` gave no state: no step ran, and `finally` does not.
    Begin(HookError),
    /// A hook's error; what it was to decide on is rolled back.
    Hook(HookError),
    /// A hook, or `begin`, panicked; as for an error.
    HookPanicked,
    /// The error of `finally`, after a chain that had not failed before.
    Finally(HookError),
    /// The driver's own error.
    Driver(E),
    /// The driver panicked; it was told (rule L14).
    DriverPanicked,
    /// The driver refused without a reason, which breaks its contract.
    DriverResult,
    /// The wait was ended by a hard stop of the engine.
    Stopped,
    /// The chain could not wait: as many wait in its lane as may, or its event
    /// loop was closed.
    Wait(StepError),
    /// A report of another account than the chain's: it was not booked, because
    /// it belongs into another lane.
    OtherAccount,
}

impl<E: fmt::Display> fmt::Display for ChainError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin(error) => write!(f, "the chain could not begin: {error}"),
            Self::Hook(error) => write!(f, "a hook of the chain failed: {error}"),
            Self::HookPanicked => f.write_str("a hook of the chain panicked"),
            Self::Finally(error) => write!(f, "the chain's last hook failed: {error}"),
            Self::Driver(error) => fmt::Display::fmt(error, f),
            Self::DriverPanicked => f.write_str("the driver panicked in a call of the chain"),
            Self::DriverResult => f.write_str("the driver's result breaks its contract"),
            Self::Stopped => f.write_str("the engine was stopped while the chain waited"),
            Self::Wait(error) => write!(f, "the chain could not wait: {error}"),
            Self::OtherAccount => f.write_str(
                "the report is of another account; send it with apply_execution_report instead",
            ),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for ChainError<E> {}
