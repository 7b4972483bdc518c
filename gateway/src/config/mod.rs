//! The gateway's configuration: TOML in, checked values or every problem out.

mod duration;
mod example;
mod http;
mod load;
mod model;
mod parties;
mod problem;
mod reader;
mod risk;
mod section;

pub use model::{
    AccountAccess, AccountRange, AdminEntry, AgentEntry, Asset, AuthorizerSection, CallbackHalt,
    Config, CredentialEntry, EngineSettings, ExecutorSection, GatewaySettings, HttpSettings, Idle,
    InstrumentEntry, Io, JournalMode, JournalSettings, KeyEntry, Mode, OldSegments, PeerEntry,
    PermissionSet, RemoteAuthorizer, SessionSettings, Shards, VenueKind, VenueSettings,
};
pub use problem::{ConfigError, Problem};
