//! The seam to the product: what a shard publishes, and on which topics.
//!
//! A shard publishes each change as it makes it: an order's [`Report`], a mark. Who
//! is told of it (client reports, drop copy, counters, alarms, strategies) is a
//! component that subscribes. An event is plain data of fixed size, so that a
//! publication allocates nothing.

use super::account::HeapBytes;
use super::routes::Topic;
use crate::types::{InstrumentId, Price, Report};

/// Reports of orders: accepts, rejects, executions, ends.
pub const REPORTS: Topic = Topic(0);
/// Prices of instruments: the last trade, as the shard sees it.
pub const MARKS: Topic = Topic(1);

/// What a shard publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardEvent {
    /// An order changed.
    Order(Report),
    /// An instrument has traded, or is marked, at this price.
    Mark {
        /// Which one.
        instrument: InstrumentId,
        /// Its price.
        price: Price,
    },
}

impl ShardEvent {
    /// The topic on which such events are published.
    #[must_use]
    pub const fn topic(&self) -> Topic {
        match self {
            Self::Order(_) => REPORTS,
            Self::Mark { .. } => MARKS,
        }
    }

    /// The report, if it is one.
    #[must_use]
    pub const fn report(&self) -> Option<&Report> {
        match self {
            Self::Order(report) => Some(report),
            Self::Mark { .. } => None,
        }
    }
}

impl HeapBytes for ShardEvent {
    const IS_PLAIN: bool = true;

    fn heap_bytes(&self) -> usize {
        0
    }
}
