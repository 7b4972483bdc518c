//! What a client is told.

use crate::wire::{
    Accepted, CancelRejected, Canceled, Executed, Rejected, Replaced, ReportHead, TerminateReason,
};

/// What a client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Risk took the order.
    Accepted(Accepted),
    /// The order was refused.
    Rejected(Rejected),
    /// The order traded.
    Executed(Executed),
    /// The order is over.
    Canceled(Canceled),
    /// The order was changed.
    Replaced(Replaced),
    /// A cancel or replace was refused.
    CancelRejected(CancelRejected),
    /// Messages of ours that never reached the gateway, and had no effect.
    NotApplied {
        /// The first one's number.
        from_seq_num: u64,
        /// How many.
        count: u64,
    },
    /// The gateway is there.
    KeepAlive {
        /// Whether it has not heard of us for too long: send something.
        is_lapsed: bool,
    },
    /// The session is over; nothing comes after it.
    Terminated {
        /// Why; `None` for a number that this version does not know.
        reason: Option<TerminateReason>,
    },
}

impl Event {
    /// What all reports have; `None` for what is no report.
    #[must_use]
    pub const fn report(&self) -> Option<&ReportHead> {
        match self {
            Self::Accepted(Accepted { head })
            | Self::Rejected(Rejected { head, .. })
            | Self::Executed(Executed { head, .. })
            | Self::Canceled(Canceled { head })
            | Self::Replaced(Replaced { head })
            | Self::CancelRejected(CancelRejected { head, .. }) => Some(head),
            Self::NotApplied { .. } | Self::KeepAlive { .. } | Self::Terminated { .. } => None,
        }
    }
}
