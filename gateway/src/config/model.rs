//! The configuration as checked values: what the gateway is started with.
//!
//! Every value is in its range and every reference leads somewhere; what
//! depends on the host (free ports, CPUs, io_uring) is not looked at here.

use core::net::{Ipv4Addr, SocketAddr};
use core::num::NonZeroU16;
use core::time::Duration;
use std::path::PathBuf;

use pitlane::limits;
use pitlane::orders::decision::Role;
use pitlane::orders::executor::ExecutorSettings;
use pitlane::orders::venue::sim::Phase;
use pitlane::risk::{AccountConfig, RiskConfig};
use pitlane::time::UnixNanos;
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
    /// `[http]`: where agents and operators come in.
    pub http: HttpSettings,
    /// `[authorizer]`: who decides here, if anybody does.
    pub authorizer: AuthorizerSection,
    /// `[executor]`: how decisions are executed.
    pub executor: ExecutorSection,
    /// `[[agent]]`, as they stand.
    pub agents: Vec<AgentEntry>,
    /// `[[admin]]`, as they stand.
    pub admins: Vec<AdminEntry>,
    /// `[[peer]]`, as they stand.
    pub peers: Vec<PeerEntry>,
    /// `[[key]]`, as they stand.
    pub keys: Vec<KeyEntry>,
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
    /// Segments to be closed before the next snapshot; zero: there is none.
    pub snapshot_segments: u64,
    /// What becomes of segments that no snapshot and no reader needs.
    pub old_segments: OldSegments,
    /// The SQLite file that history goes to; `None`: there is none.
    pub history: Option<PathBuf>,
}

/// What becomes of a segment that is not needed any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OldSegments {
    /// It stays.
    #[default]
    Keep,
    /// It goes to this folder.
    Archive(PathBuf),
    /// It is removed.
    Delete,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self {
            mode: JournalMode::default(),
            dir: PathBuf::from("journal"),
            sync_every: Duration::from_millis(10),
            segment_mib: limits::JOURNAL_SEGMENT_BYTES_DEFAULT >> 20,
            groups_max: limits::JOURNAL_GROUPS_DEFAULT,
            snapshot_segments: limits::JOURNAL_SNAPSHOT_SEGMENTS_DEFAULT,
            old_segments: OldSegments::Keep,
            history: None,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VenueSettings {
    /// Which.
    pub kind: VenueKind,
    /// What decisions call it.
    pub name: String,
    /// Orders that rest at once, over all instruments.
    pub orders_max: usize,
    /// Events of the venue that wait to be taken.
    pub events_max: usize,
}

impl Default for VenueSettings {
    fn default() -> Self {
        Self {
            kind: VenueKind::default(),
            name: "sim".to_owned(),
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

/// `[http]` (rule O31).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Whether there is an HTTP side, and with it an executor.
    pub enabled: bool,
    /// Where it listens; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Whether `listen` may be an address that other hosts reach.
    pub allow_public: bool,
    /// Connections at once; further ones are closed.
    pub max_connections: u32,
    /// From a connection, or the last answer on it, to a request's whole head; and
    /// again from there to its whole body.
    pub read_timeout: Duration,
    /// From a request's head to its answer, its body included.
    pub request_timeout: Duration,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            listen: super::http::LISTEN,
            allow_public: false,
            max_connections: 256,
            read_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(10),
        }
    }
}

/// `[authorizer]` (rules O1 to O4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizerSection {
    /// Where its private key is; without one it decides nothing.
    pub key_file: Option<PathBuf>,
    /// The name of that key, one of `[[key]]`.
    pub key_id: String,
    /// How far the clocks of authorizer and executor may be apart.
    pub skew: Duration,
}

impl Default for AuthorizerSection {
    fn default() -> Self {
        Self {
            key_file: None,
            key_id: "authorizer-1".to_owned(),
            skew: Duration::from_secs(1),
        }
    }
}

/// An authorizer in another process, and how an executor signs what it tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAuthorizer {
    /// Of its HTTP side.
    pub url: String,
    /// A file with the token of one of its `[[peer]]`s.
    pub token_file: PathBuf,
    /// A file with the executor's private key.
    pub key_file: PathBuf,
    /// The name of that key.
    pub key_id: String,
}

/// `[executor]`: as `pitlane::orders::executor::ExecutorSettings` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorSection {
    /// Whether this process executes decisions.
    pub enabled: bool,
    /// Where the authorizer is that settles what is executed, if it is another
    /// process.
    pub authorizer: Option<RemoteAuthorizer>,
    /// How long an order may stay unacknowledged.
    pub ack_timeout: Duration,
    /// How long the venue's answer may take before it is asked again.
    pub query_timeout: Duration,
    /// The first pause between such questions.
    pub query_pause: Duration,
    /// How long an order may stay unanswered before a person is told.
    pub alarm_after: Duration,
    /// How long a cancel's caller waits for the venue.
    pub cancel_wait: Duration,
    /// How long a working order may be silent before it is asked for.
    pub audit_every: Duration,
    /// How long an identity is kept after its decision's expiry.
    pub retention: Duration,
    /// Orders and void decisions in memory.
    pub orders_max: usize,
    /// Messages that wait for the authorizer.
    pub outbox_max: usize,
    /// Orders that wait for the venue's rate.
    pub waiting_max: u32,
    /// Requests that wait for the executor; one more is refused.
    pub requests_max: usize,
}

impl Default for ExecutorSection {
    fn default() -> Self {
        let own = ExecutorSettings::default();
        Self {
            enabled: true,
            authorizer: None,
            ack_timeout: own.ack_timeout,
            query_timeout: own.query_timeout,
            query_pause: own.query_pause,
            alarm_after: own.alarm_after,
            cancel_wait: own.cancel_wait,
            audit_every: own.audit_every,
            retention: own.retention,
            orders_max: own.orders_max,
            outbox_max: own.outbox_max,
            waiting_max: own.waiting_max,
            requests_max: limits::EXECUTOR_REQUESTS_MAX,
        }
    }
}

/// `[[agent]]`: who brings decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEntry {
    /// Its name in decisions.
    pub id: String,
    /// Of its bearer token.
    pub token_sha256: [u8; 32],
    /// The accounts that it may ask decisions for.
    pub accounts: AccountAccess,
}

/// `[[admin]]`: who may block accounts and see every order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminEntry {
    /// Its name, for people.
    pub id: String,
    /// Of its bearer token.
    pub token_sha256: [u8; 32],
}

/// `[[peer]]`: an executor in another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerEntry {
    /// Its name, for people.
    pub id: String,
    /// Of its bearer token.
    pub token_sha256: [u8; 32],
}

/// `[[key]]`: a key of an authorizer's or an executor's (rules O2, O39).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// What it signs.
    pub role: Role,
    /// Its name in decisions.
    pub key_id: String,
    /// The Ed25519 key, compressed.
    pub public_key: [u8; 32],
    /// From when on it holds.
    pub not_before: Option<UnixNanos>,
    /// Until when it holds.
    pub not_after: Option<UnixNanos>,
    /// It holds no more.
    pub revoked: bool,
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
        self.accounts_in(&credential.accounts)
    }

    /// The accounts that somebody may use, by number.
    #[must_use]
    pub fn accounts_in(&self, access: &AccountAccess) -> Vec<AccountId> {
        match access {
            AccountAccess::All => self.account_ids().collect(),
            AccountAccess::List(accounts) => accounts.clone(),
        }
    }
}
