//! The gateway's configuration: TOML in, checked values or every problem out.

mod duration;
mod example;
mod load;
mod model;
mod parties;
mod problem;
mod reader;
mod risk;
mod section;

pub use model::{
    AccountAccess, AccountRange, Asset, CallbackHalt, Config, CredentialEntry, EngineSettings,
    GatewaySettings, Idle, InstrumentEntry, Io, JournalMode, JournalSettings, Mode, PermissionSet,
    SessionSettings, Shards, VenueKind, VenueSettings,
};
pub use problem::{ConfigError, Problem};
