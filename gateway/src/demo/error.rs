//! Why a demo does not run to its end.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pitlane::orders::venue::sim::ControlError;

use crate::assembly::StartError;
use crate::client::ClientError;
use crate::flow::FlowError;
use crate::wire::TerminateReason;

/// Why a demo does not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The gateway does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The session failed.
    #[error("the demo's session: {0}")]
    Client(#[from] ClientError),
    /// The operating system gives no random bytes for the session's key.
    #[error("the operating system gave no random bytes for the session's key: {0}")]
    Key(getrandom::Error),
    /// The flow's file cannot be opened.
    #[error("{}: {source}; give the path of a CSV file that you may read", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The flow's file cannot be understood.
    #[error("{}: {source}", path.display())]
    Flow {
        /// Which.
        path: PathBuf,
        /// Where, what, and the mend.
        source: FlowError,
    },
    /// The opening auction was not held.
    #[error("line {line}: the opening auction: {source}")]
    Auction {
        /// The row that opens.
        line: u64,
        /// Why not.
        source: ControlError,
    },
    /// Messages of ours did not reach the gateway.
    #[error(
        "the gateway missed {count} messages from number {first}; this is a fault, please report it"
    )]
    NotApplied {
        /// The first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// Nothing came while answers were due.
    #[error(
        "the gateway said nothing for {0:?} while answers were due; this is a fault, please report it"
    )]
    Silence(Duration),
    /// The gateway ended the session.
    #[error("the gateway ended the session: {0:?}")]
    Terminated(Option<TerminateReason>),
}

impl DemoError {
    /// Whether it is what the user gave that is at fault, not the run.
    #[must_use]
    pub const fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Start(_) | Self::Open { .. } | Self::Flow { .. } | Self::Auction { .. }
        )
    }
}
