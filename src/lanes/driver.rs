//! What a lane drives.

use std::time::Duration;

use crate::time::Nanos;

use super::key::LaneKey;

/// The state that a shard's worker owns and runs operations on (rule L1).
///
/// Built on the worker that will own it, so it need not be `Send`: requests,
/// reservations and whatever else it holds stay on that thread. Every method is
/// called by that worker alone, one at a time, and must not block. A panic in a
/// method is contained: what was being run fails with
/// [`LaneError::TaskFailed`](super::LaneError::TaskFailed) (a command has no
/// future to tell), [`panicked`](Self::panicked) is called, and the worker goes
/// on.
///
/// ```
/// use pitlane::lanes::{LaneKey, LocalDriver};
/// use pitlane::time::Nanos;
/// use pitlane::types::AccountId;
///
/// /// Counts how often each of a few accounts was seen.
/// struct Counter(Vec<u64>);
///
/// impl LocalDriver for Counter {
///     type Command = AccountId;
///
///     fn key(command: &AccountId) -> LaneKey {
///         LaneKey::Account(*command)
///     }
///
///     fn command(&mut self, command: &AccountId, _now: Nanos) {
///         if let Some(count) = usize::try_from(command.0)
///             .ok()
///             .and_then(|index| self.0.get_mut(index))
///         {
///             *count += 1;
///         }
///     }
/// }
/// ```
pub trait LocalDriver: Sized + 'static {
    /// A one-way command: at most 112 bytes, aligned to at most 16, so that it
    /// travels in a ring slot with its header (checked when a submitter is
    /// compiled). `()` for drivers that take none.
    type Command: Copy + Send + 'static;

    /// The lane of a command; called on the submitting thread.
    fn key(command: &Self::Command) -> LaneKey;

    /// Runs a command.
    fn command(&mut self, command: &Self::Command, now: Nanos);

    /// Whether wrappers of this driver's handles reach the lane as nodes; for
    /// [`Desk`](super::Desk) alone.
    #[doc(hidden)]
    const HAS_NODES: bool = false;

    /// Ends what a wrapper sent; for [`Desk`](super::Desk) alone. Whether it
    /// ran, rather than being aborted.
    #[doc(hidden)]
    fn run_node(&mut self, node: super::SentNode, now: Nanos, abort: bool) -> bool {
        let _ = (node, now, abort);
        false
    }

    /// Whose new order a wrapper sent, if it is one: its second stage; for
    /// [`Desk`](super::Desk) alone.
    #[doc(hidden)]
    fn order_of(&mut self, node: super::SentNode) -> Option<LaneKey> {
        let _ = node;
        None
    }

    /// Where wrappers of this driver's handles send their calls, in the dynamic
    /// strategy; for [`Desk`](super::Desk) alone.
    #[doc(hidden)]
    fn set_home(&mut self, home: super::QueueHome) {
        let _ = home;
    }

    /// Whether handles of this driver are out, so that its queue must stay; for
    /// [`Desk`](super::Desk) alone.
    #[doc(hidden)]
    fn has_handles(&self) -> bool {
        false
    }

    /// A command that a stop keeps from running (rule L27): the place to tell
    /// its sender.
    fn aborted(&mut self, command: &Self::Command, now: Nanos) {
        let _ = (command, now);
    }

    /// Called once per turn, after its batch: the driver's own work, such as
    /// polling a venue and flushing reports, at most about `budget` items of
    /// it. Whether it got anything done; `false` lets the worker rest.
    fn turn(&mut self, now: Nanos, budget: usize) -> bool {
        let _ = (now, budget);
        false
    }

    /// Whether operations and commands may be run now. While it is `false` they
    /// wait in their rings, where their submitters see them pile up, and only
    /// [`turn`](Self::turn) is called: for a driver whose answers find no room.
    fn takes_work(&self) -> bool {
        true
    }

    /// How long the worker may sleep when neither the rings nor
    /// [`turn`](Self::turn) have work. A submit always ends the sleep at once;
    /// this bounds it for what comes from elsewhere.
    fn rest(&self, now: Nanos) -> Rest {
        let _ = now;
        Rest::AtMost(Duration::from_millis(1))
    }

    /// An operation or a method of this driver panicked (rule L14). The place
    /// to arm what must not go on after that (rule K7).
    fn panicked(&mut self, key: Option<LaneKey>) {
        let _ = key;
    }
}

/// How long an idle worker may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Keeps turning: something is due at once.
    Never,
    /// Turns again after this at the latest.
    AtMost(Duration),
    /// Sleeps until a submit or a stop.
    UntilWoken,
}
