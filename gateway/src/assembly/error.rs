//! Why a gateway does not start.

use pitlane::lanes::{BuildError, SubmitterError};
use pitlane::orders::NoEntropy;
use pitlane::orders::decision::KeyError;
use pitlane::orders::venue::sim::SimConfigError;
use pitlane::risk::{self, AdjustError, LookupError, RestoreError};
use pitlane::types::{AccountId, ShardId};

use super::InstallError;
use crate::control::http::HttpError;
use crate::server::ServerError;
use crate::session::CredentialError;

/// Why a gateway does not start; nothing is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The risk settings do not fit one another.
    #[error("risk: {0}")]
    Risk(#[from] risk::ConfigError),
    /// An opening balance does not fit.
    #[error("account {account}: its opening balance is refused: {error}")]
    Balance {
        /// Whose.
        account: AccountId,
        /// Which, and why.
        error: AdjustError,
    },
    /// An instrument's first mark is refused.
    #[error("the reference price of an instrument: {0}")]
    Mark(LookupError),
    /// The simulated venue cannot be made.
    #[error("venue: {0}")]
    Venue(#[from] SimConfigError),
    /// The shards cannot be started.
    #[error("engine: {0}")]
    Engine(#[from] BuildError),
    /// The I/O threads have no way into the engine.
    #[error("engine: {0}")]
    Submitter(#[from] SubmitterError),
    /// A credential cannot be used.
    #[error("{0}")]
    Credential(#[from] CredentialError),
    /// Order ids cannot be made.
    #[error("{0}")]
    Identity(#[from] NoEntropy),
    /// The I/O threads cannot be started.
    #[error("{0}")]
    Server(#[from] ServerError),
    /// The thread of the venue, or of the executor, cannot be started.
    #[error("the system refuses a thread: {0}")]
    Thread(std::io::Error),
    /// A journal cannot be opened.
    #[error("journal {folder}: {reason}")]
    Journal {
        /// Whose folder.
        folder: String,
        /// What is in the way, and what to do.
        reason: String,
    },
    /// History cannot be written.
    #[error("history {file}: {reason}")]
    History {
        /// Which file.
        file: String,
        /// What is in the way, and what to do.
        reason: String,
    },
    /// The journals are of more shards than are to run.
    #[error(
        "the journals in {folder} are of {found} shards, and {asked} are to run; accounts are \
         divided by the number of shards: start with [engine] shards = {found}"
    )]
    JournalShards {
        /// Where they are.
        folder: String,
        /// Shards that have a folder.
        found: u16,
        /// Shards to run.
        asked: u16,
    },
    /// The configuration does not fit what a journal says.
    #[error("shard {}, from its journal: {error}", shard.0)]
    Restore {
        /// Which shard.
        shard: ShardId,
        /// What does not fit.
        error: RestoreError,
    },
    /// A key of the authorizer's cannot be used.
    #[error("[[key]] {key_id:?}: {error}")]
    Key {
        /// Its name.
        key_id: String,
        /// Why.
        error: KeyError,
    },
    /// The authorizer's private key cannot be used.
    #[error("[authorizer] key_file: {0}")]
    Authorizer(String),
    /// The way to an authorizer elsewhere cannot be used.
    #[error("[executor]: {0}")]
    Executor(String),
    /// The HTTP side cannot be started.
    #[error("{0}")]
    Http(#[from] HttpError),
    /// A strategy cannot be installed.
    #[error("strategy, in shard {}: {reason}", shard.0)]
    Strategy {
        /// In which shard.
        shard: ShardId,
        /// In the strategy's words.
        reason: InstallError,
    },
    /// An inline shard has the venue to itself.
    #[error(
        "mode = \"inline\" gives the venue to the only shard, but [http] enabled = true has \
         decisions executed there too; set mode = \"ring\" or \"auto\", or enabled = false"
    )]
    InlineHttp,
    /// Inline mode has one thread for everything.
    #[error(
        "mode = \"inline\" runs one shard on one I/O thread, but the configuration asks for \
         {shards} shards and {io_threads} I/O threads; set both to 1, or mode = \"ring\""
    )]
    Inline {
        /// Shards asked for.
        shards: u16,
        /// I/O threads asked for.
        io_threads: u16,
    },
}
