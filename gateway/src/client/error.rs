//! Why a client cannot go on.

use core::time::Duration;
use std::io;

use crate::wire::{
    EstablishmentRejectReason, FrameError, NegotiationRejectReason, NotOnTheWire, TerminateReason,
};

/// Why a client cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The connection failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The gateway closed the connection without a word: it may be full.
    #[error("the gateway closed the connection; it may be at its connection limit")]
    Closed,
    /// The gateway sent what this client cannot read.
    #[error("the gateway sent a bad frame: {0}")]
    Frame(#[from] FrameError),
    /// A message that has no place here.
    #[error("while {doing}, the gateway sent template {template}")]
    Unexpected {
        /// What was going on.
        doing: &'static str,
        /// Which message.
        template: u16,
    },
    /// Another gateway answers at this address.
    #[error("gateway {found} answers there; the logon is for gateway {expected}")]
    WrongGateway {
        /// Which was meant.
        expected: u64,
        /// Which it is.
        found: u64,
    },
    /// The credential was not taken.
    #[error(
        "the logon was refused ({}); check the credential id, its key and this machine's clock",
        name_of(*reason)
    )]
    LogonRefused {
        /// Why; `None` for a number that this version does not know.
        reason: Option<NegotiationRejectReason>,
    },
    /// The session was not begun.
    #[error("the session was not begun: {reason:?}")]
    NotEstablished {
        /// Why; `None` for a number that this version does not know.
        reason: Option<EstablishmentRejectReason>,
    },
    /// The gateway ended the session during logon.
    #[error("the gateway ended the session: {reason:?}")]
    Terminated {
        /// Why; `None` for a number that this version does not know.
        reason: Option<TerminateReason>,
    },
    /// No answer in time.
    #[error("no answer from the gateway within {limit:?}")]
    Silent {
        /// How long was waited.
        limit: Duration,
    },
    /// Reports are missing, or came twice: the stream cannot be trusted.
    #[error("report {found} came where {expected} should have")]
    Sequence {
        /// Which should have come.
        expected: u64,
        /// Which came.
        found: u64,
    },
    /// The order has a number that the wire cannot carry.
    #[error(transparent)]
    NotOnTheWire(#[from] NotOnTheWire),
    /// The keep-alive interval is not a whole number of milliseconds in 32 bits.
    #[error("a keep-alive interval of {0:?} cannot be said on the wire: 1 ms to 49 days")]
    KeepAlive(Duration),
    /// 2^64 messages were sent.
    #[error("no sequence number is left; log on again")]
    Exhausted,
}

fn name_of(reason: Option<NegotiationRejectReason>) -> &'static str {
    reason.map_or("unknown reason", NegotiationRejectReason::name)
}

impl ClientError {
    pub(super) const fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
