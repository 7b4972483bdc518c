//! The configuration as checked values: what the gateway is started with.
//!
//! Every value is in its range and every reference leads somewhere; what
//! depends on the host (free ports, CPUs, io_uring) is not looked at here.

use core::net::{Ipv4Addr, SocketAddr};
use core::num::NonZeroU16;
use core::time::Duration;
use std::path::PathBuf;

use pitlane::limits;
use pitlane::orders::venue::sim::Phase;
use pitlane::risk::{AccountConfig, RiskConfig};
use pitlane::types::{AccountId, Amount, AssetId, GroupId, InstrumentId, Price, Quantity};

/// Everything that a gateway is started with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// `[gateway]`: where clients come in, and on which threads.
    pub gateway: GatewaySettings,
    /// `[session]`: deadlines and intervals of a client's session.
    pub session: SessionSettings,
    /// `[engine]`: the shards.
    pub engine: EngineSettings,
    /// `[journal]`: what survives a restart.
    pub journal: JournalSettings,
    /// `[venue]`: where orders go.
    pub venue: VenueSettings,
    /// `[[asset]]`, by id.
    pub assets: Vec<Asset>,
    /// `[[instrument]]`, by id.
    pub instruments: Vec<InstrumentEntry>,
    /// `[[account]]`, by first id; no account is in two of them.
    pub accounts: Vec<AccountRange>,
    /// `[[credential]]`, by id.
    pub credentials: Vec<CredentialEntry>,
    /// `[risk]`, with the assets and instruments, but without the accounts: see
    /// [`Config::risk_config`].
    pub risk: RiskConfig,
}

/// Which reactor the I/O threads run on (rule G15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// io_uring, or epoll where the host refuses it.
    #[default]
    Auto,
    /// io_uring, or no start.
    Uring,
    /// epoll.
    Epoll,
}

/// Where the shards run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Inline where the host has fewer CPUs than there would be threads.
    #[default]
    Auto,
    /// On the I/O thread itself, without a ring between.
    Inline,
    /// On threads of their own, behind rings.
    Ring,
}

/// What a thread does while it has nothing to do (rule G16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// Looks again at once: the shortest wait, and a whole CPU.
    Spin,
    /// Looks again after others had the CPU.
    Yield,
    /// Looks for a while, then sleeps until it is woken.
    #[default]
    Park,
}

/// `[gateway]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewaySettings {
    /// Which gateway this is; clients sign it at logon.
    pub id: u64,
    /// Where clients connect; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Whether `listen` may be an address that other hosts reach.
    pub allow_public: bool,
    /// The reactor.
    pub io: Io,
    /// I/O threads.
    pub io_threads: NonZeroU16,
    /// CPUs of the I/O threads, one each; empty: not pinned.
    pub cpus: Vec<u16>,
    /// Where the shards run.
    pub mode: Mode,
    /// What an idle thread does.
    pub idle: Idle,
    /// Connections at once, over all I/O threads; further ones are closed.
    pub max_connections: u32,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            id: 1,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7_400)),
            allow_public: false,
            io: Io::default(),
            io_threads: NonZeroU16::MIN,
            cpus: Vec::new(),
            mode: Mode::default(),
            idle: Idle::default(),
            max_connections: 1_024,
        }
    }
}

/// `[session]`: deadlines and intervals (rule G10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionSettings {
    /// From the connection to the session established.
    pub negotiation: Duration,
    /// From a frame's first byte to its last.
    pub partial_frame: Duration,
    /// How far a client's clock may be off at logon.
    pub clock_skew: Duration,
    /// The shortest keep-alive interval that a client may ask for.
    pub keep_alive_min: Duration,
    /// The longest keep-alive interval that a client may ask for.
    pub keep_alive_max: Duration,
    /// How long a session that ended may take to read what is left for it.
    pub close_grace: Duration,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            negotiation: Duration::from_secs(5),
            partial_frame: Duration::from_secs(1),
            clock_skew: Duration::from_secs(5),
            keep_alive_min: Duration::from_millis(100),
            keep_alive_max: Duration::from_secs(60),
            close_grace: Duration::from_secs(1),
        }
    }
}

/// How many shards there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shards {
    /// As many as `engine.cpus` names, else as the host has CPUs to spare.
    #[default]
    Auto,
    /// So many.
    Count(NonZeroU16),
}

/// `[engine]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineSettings {
    /// How many shards.
    pub shards: Shards,
    /// CPUs of the shards, one each; empty: not pinned.
    pub cpus: Vec<u16>,
    /// Whose new orders are refused when a shard's callbacks have ended.
    pub callback_halt: CallbackHalt,
}

/// Whose new orders are refused when a shard's callbacks have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallbackHalt {
    /// That shard's.
    #[default]
    Shard,
    /// Every shard's: what one strategy may no longer see, none acts on.
    All,
}

/// What is written down before it is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalMode {
    /// Everything, and synced to the disk before anything of it leaves.
    #[default]
    Sync,
    /// Everything, written before anything of it leaves, and synced so often:
    /// what a machine that stops can lose.
    Async,
    /// Nothing: a restart forgets accounts, orders and blocks.
    Off,
}

/// `[journal]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalSettings {
    /// What is written down.
    pub mode: JournalMode,
    /// The folder; each shard has one of its own in it.
    pub dir: PathBuf,
    /// The loss window of [`JournalMode::Async`].
    pub sync_every: Duration,
    /// The size of a segment, in MiB.
    pub segment_mib: u64,
    /// Groups of one shard that may wait for the disk.
    pub groups_max: usize,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self {
            mode: JournalMode::default(),
            dir: PathBuf::from("journal"),
            sync_every: Duration::from_millis(10),
            segment_mib: limits::JOURNAL_SEGMENT_BYTES_DEFAULT >> 20,
            groups_max: limits::JOURNAL_GROUPS_DEFAULT,
        }
    }
}

/// Which venue orders go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum VenueKind {
    /// The simulated one; several shards share it, on a thread of its own.
    #[default]
    Sim,
}

/// `[venue]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VenueSettings {
    /// Which.
    pub kind: VenueKind,
    /// Orders that rest at once, over all instruments.
    pub orders_max: usize,
    /// Events of the venue that wait to be taken.
    pub events_max: usize,
}

impl Default for VenueSettings {
    fn default() -> Self {
        Self {
            kind: VenueKind::default(),
            orders_max: limits::SIM_VENUE_ORDERS_DEFAULT,
            events_max: limits::SIM_VENUE_EVENTS_DEFAULT,
        }
    }
}

/// `[[asset]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Its number.
    pub id: AssetId,
    /// Its name, by which the file speaks of it.
    pub name: String,
}

/// `[[instrument]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstrumentEntry {
    /// Its number in orders.
    pub id: InstrumentId,
    /// Its name; `BASE/SETTLEMENT` where it is left out.
    pub symbol: String,
    /// What a buyer receives.
    pub base: AssetId,
    /// What a buyer pays.
    pub settlement: AssetId,
    /// Whether limit prices of zero and below are taken (rule K13).
    pub allow_non_positive_price: bool,
    /// The simulated venue's price step.
    pub tick: Price,
    /// The simulated venue's quantity step.
    pub lot: Quantity,
    /// The simulated venue's phase at the start.
    pub phase: Phase,
    /// The first mark; and it breaks an auction's ties until there is a last
    /// trade.
    pub reference: Option<Price>,
}

/// `[[account]]`: one account, or so many with consecutive numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRange {
    /// The first account.
    pub first: AccountId,
    /// How many, from 1.
    pub count: u32,
    /// The group of each, if any.
    pub group: Option<GroupId>,
    /// What each has available at the start.
    pub balances: Vec<(AssetId, Amount)>,
}

impl AccountRange {
    /// The number of the last account.
    #[must_use]
    pub const fn last(&self) -> u64 {
        // The count is from 1, and the reader held the last id to 64 bits.
        self.first.0 + (self.count as u64 - 1)
    }

    /// The accounts, by number.
    pub fn ids(&self) -> impl Iterator<Item = AccountId> + use<> {
        (self.first.0..=self.last()).map(AccountId)
    }
}

/// Which accounts a credential may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountAccess {
    /// All that the file names.
    All,
    /// These.
    List(Vec<AccountId>),
}

/// What a credential may do (rule G8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PermissionSet {
    /// New orders and replaces.
    pub enter: bool,
    /// Cancels.
    pub cancel: bool,
    /// A copy of every report of its accounts, whoever sent the command.
    pub drop_copy: bool,
}

/// `[[credential]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialEntry {
    /// Its number.
    pub id: u16,
    /// The Ed25519 key that proves it, compressed.
    pub public_key: [u8; 32],
    /// The accounts that it may use.
    pub accounts: AccountAccess,
    /// What it may do.
    pub permissions: PermissionSet,
    /// New orders and replaces that may be unanswered at once, from 1.
    pub max_in_flight: u32,
}

impl Config {
    /// Every account that the file names, by number.
    pub fn account_ids(&self) -> impl Iterator<Item = AccountId> {
        self.accounts.iter().flat_map(AccountRange::ids)
    }

    /// What the risk engine is built from: `[risk]`, and every account.
    #[must_use]
    pub fn risk_config(&self) -> RiskConfig {
        let with_group = |range: &AccountRange| {
            let group = range.group;
            range.ids().map(move |id| AccountConfig { id, group })
        };
        RiskConfig {
            accounts: self.accounts.iter().flat_map(with_group).collect(),
            ..self.risk.clone()
        }
    }

    /// The accounts of a credential, by number.
    #[must_use]
    pub fn accounts_of(&self, credential: &CredentialEntry) -> Vec<AccountId> {
        match &credential.accounts {
            AccountAccess::All => self.account_ids().collect(),
            AccountAccess::List(accounts) => accounts.clone(),
        }
    }
}
