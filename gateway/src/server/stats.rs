//! What an I/O thread counts, published for others to read.

use core::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::session::Counts;

/// Totals of a server since its start, and what is there now; at most a tick
/// old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections closed at once, for one of the caps.
    pub turned_away: u64,
    /// Times that accepting paused, because descriptors were exhausted.
    pub accept_pauses: u64,
    /// Connections now.
    pub connections: u64,
    /// Sessions that were established.
    pub established: u64,
    /// Logons that were refused.
    pub logons_refused: u64,
    /// Commands handed to the core.
    pub commands: u64,
    /// Refused by the gateway itself.
    pub refused: u64,
    /// Messages with a sequence number that had been seen.
    pub duplicates: u64,
    /// `NotApplied` sent.
    pub gaps: u64,
    /// Messages with a template that this version does not know.
    pub skipped: u64,
    /// Reports queued for clients.
    pub reports: u64,
    /// Reports for which no session was there.
    pub undelivered: u64,
    /// Sessions that ended because their client did not read.
    pub slow_readers: u64,
    /// Sessions that the gateway ended for any other fault or deadline.
    pub faulted: u64,
    /// Connections that were lost without a `Terminate`.
    pub lost: u64,
}

macro_rules! cells {
    ($($field:ident)*) => {
        /// The same, as one thread publishes it.
        #[derive(Debug, Default)]
        pub(super) struct StatCells {
            $($field: AtomicU64,)*
        }

        impl StatCells {
            /// Written by one thread alone; readers may see fields of
            /// different moments.
            pub(super) fn publish(&self, stats: &ServerStats) {
                $(self.$field.store(stats.$field, Ordering::Relaxed);)*
            }

            pub(super) fn read(&self) -> ServerStats {
                ServerStats {
                    $($field: self.$field.load(Ordering::Relaxed),)*
                }
            }
        }

        impl AddAssign for ServerStats {
            fn add_assign(&mut self, other: Self) {
                $(self.$field = self.$field.saturating_add(other.$field);)*
            }
        }
    };
}

cells! {
    accepted turned_away accept_pauses connections established logons_refused commands refused
    duplicates gaps skipped reports undelivered slow_readers faulted lost
}

impl ServerStats {
    /// Takes over what the sessions counted.
    pub(super) const fn with_counts(mut self, counts: &Counts) -> Self {
        self.established = counts.established;
        self.logons_refused = counts.logons_refused;
        self.commands = counts.commands;
        self.refused = counts.refused;
        self.duplicates = counts.duplicates;
        self.gaps = counts.gaps;
        self.skipped = counts.skipped;
        self.reports = counts.reports;
        self
    }
}
