//! What an I/O thread needs from the core.

use core::task::{Context, Poll};

use pitlane::types::{Command, Report};

use crate::session::Full;

/// The way of orders into the core and of reports back, for one I/O thread.
///
/// It is made on its thread and stays there. No call blocks.
///
/// After each read that brought orders the thread calls `submit` for each,
/// `flush` once, then `turn` and `drain` in turns until neither has more, a
/// bounded number of times. What is left, and reports that come on their own,
/// are fetched when `poll_ready` says so.
pub trait OrderPath {
    /// Hands a command over; it may wait until `flush`.
    ///
    /// Its origin's port is the number that the path was made with.
    ///
    /// # Errors
    /// There is no room; nothing was taken.
    fn submit(&mut self, command: &Command) -> Result<(), Full>;

    /// Makes what was submitted visible to the core: once per read.
    fn flush(&mut self);

    /// Where this thread runs the shard itself, one turn of it, and whether
    /// there is more to do at once. Elsewhere nothing, and `false`. It is also
    /// called once a tick.
    fn turn(&mut self) -> bool;

    /// Gives at most `budget` reports to `sink`, oldest first; how many it gave.
    fn drain(&mut self, budget: usize, sink: &mut dyn FnMut(&Report)) -> usize;

    /// Ready when `drain` has something to give, or `turn` something to do;
    /// otherwise the waker is woken when that becomes so. It need not be
    /// remembered longer than until the next call.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()>;
}
