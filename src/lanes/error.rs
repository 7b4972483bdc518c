//! Why an operation did not run, or a submit was not taken.

use core::convert::Infallible;
use core::fmt;

/// Why an operation has no value (rules L14 to L16).
///
/// `E` is the driver's own error; it travels unchanged in
/// [`Driver`](LaneError::Driver) and is never mistaken for one of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneError<E = Infallible> {
    /// The engine is stopping or stopped; the operation did not start.
    Stopped,
    /// No room: the ring, or the submitter's completion slots, are taken.
    Full,
    /// A queue for a new key would exceed `max_queues` (dynamic strategy).
    QueueLimit,
    /// The submission deadline passed before there was room.
    SubmitCancelled,
    /// The operation panicked; the worker lives on.
    TaskFailed,
    /// The order names no account; the driver was not touched.
    MissingAccountId,
    /// The driver broke its contract; its handle is closed.
    DriverResult,
    /// Called from inside the engine's own lane, where it would wait for itself.
    ReentrantLane,
    /// The value was taken before.
    ValueConsumed,
    /// The wrapper is being finalized; try again.
    FinalizationInProgress,
    /// The wrapper is closed, for good.
    Closed,
    /// The driver's own error.
    Driver(E),
}

impl<E> LaneError<E> {
    /// Whether the operation is certain not to have reached the driver.
    #[must_use]
    pub const fn is_before_run(&self) -> bool {
        matches!(
            self,
            Self::Stopped
                | Self::Full
                | Self::QueueLimit
                | Self::SubmitCancelled
                | Self::MissingAccountId
                | Self::ReentrantLane
        )
    }

    /// The same error beside another driver error type.
    pub(crate) fn map_driver<F>(self, driver: impl FnOnce(E) -> F) -> LaneError<F> {
        match self {
            Self::Stopped => LaneError::Stopped,
            Self::Full => LaneError::Full,
            Self::QueueLimit => LaneError::QueueLimit,
            Self::SubmitCancelled => LaneError::SubmitCancelled,
            Self::TaskFailed => LaneError::TaskFailed,
            Self::MissingAccountId => LaneError::MissingAccountId,
            Self::DriverResult => LaneError::DriverResult,
            Self::ReentrantLane => LaneError::ReentrantLane,
            Self::ValueConsumed => LaneError::ValueConsumed,
            Self::FinalizationInProgress => LaneError::FinalizationInProgress,
            Self::Closed => LaneError::Closed,
            Self::Driver(error) => LaneError::Driver(driver(error)),
        }
    }
}

impl LaneError<Infallible> {
    /// The same error beside a driver error type that it cannot have.
    #[must_use]
    pub fn widen<E>(self) -> LaneError<E> {
        self.map_driver(|never| match never {})
    }
}

impl<E: fmt::Display> fmt::Display for LaneError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stopped => "the engine is stopped; the operation did not start",
            Self::Full => "the lane is full; try again",
            Self::QueueLimit => "no queue is free for a new key; try again",
            Self::SubmitCancelled => "the submission deadline passed before there was room",
            Self::TaskFailed => "the operation panicked",
            Self::MissingAccountId => "the order names no account",
            Self::DriverResult => "the driver's result breaks its contract",
            Self::ReentrantLane => "called from inside the engine's own lane",
            Self::ValueConsumed => "the value was already taken",
            Self::FinalizationInProgress => "the wrapper is being finalized; try again",
            Self::Closed => "the wrapper is closed",
            Self::Driver(error) => return fmt::Display::fmt(error, f),
        })
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for LaneError<E> {}

/// An error together with what was submitted, where it was not used
/// (rule L16): facts must not be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure<E = Infallible, P = ()> {
    /// Why there is no value.
    pub error: LaneError<E>,
    /// What was submitted; present whenever the driver has not seen it.
    pub payload: Option<P>,
}

impl<E, P> Failure<E, P> {
    /// A failure that has nothing to give back.
    #[must_use]
    pub const fn without_payload(error: LaneError<E>) -> Self {
        Self {
            error,
            payload: None,
        }
    }
}

impl<E: fmt::Display, P> fmt::Display for Failure<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl<E: fmt::Debug + fmt::Display, P: fmt::Debug> core::error::Error for Failure<E, P> {}

/// A submit that was not taken, with its payload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Refused<P> {
    /// Why.
    pub error: LaneError,
    /// What was submitted.
    pub payload: P,
}

impl<P> fmt::Display for Refused<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

/// Without the payload, which may be a closure.
impl<P> fmt::Debug for Refused<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<P> core::error::Error for Refused<P> {}

/// Why an engine could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting is out of its range.
    #[error("{setting} is {value}, but must be {range}")]
    Setting {
        /// Which setting.
        setting: &'static str,
        /// Its value.
        value: usize,
        /// What is allowed.
        range: &'static str,
    },
    /// The system gave no thread.
    #[error("the worker of shard {shard} could not be started: {reason}")]
    Thread {
        /// Which shard.
        shard: u16,
        /// What the system said.
        reason: String,
    },
    /// The driver's constructor panicked.
    #[error("the driver of shard {shard} panicked while it was built")]
    Driver {
        /// Which shard.
        shard: u16,
    },
}

/// Why there is no new submitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitterError {
    /// As many submitters exist as a lane may know; drop one first.
    #[error("{0} submitters exist already; drop one, and let its ring drain")]
    TooMany(usize),
    /// The engine is stopped.
    #[error("the engine is stopped")]
    Stopped,
}
