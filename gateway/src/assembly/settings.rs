//! The configuration file's values as each part takes them.

use arrayvec::ArrayString;
use pitlane::lanes::LaneKey;
use pitlane::orders::venue::sim::{SimConfig, SimInstrument};
use pitlane::risk::{Adjustment, Change, Quote, QuoteTarget, RiskConfig, RiskEngine};
use pitlane::shard::record::{AdjustmentKind, AdjustmentRecord, ConfigRecord};
use pitlane::time::Nanos;
use pitlane::types::{AccountId, Amount, AssetId, ShardId};
use sha2::{Digest, Sha256};

use super::StartError;
use crate::config::{AccountRange, Config, CredentialEntry, Io};
use crate::server::{IoChoice, ServerConfig};
use crate::session::{Credential, CredentialError, CredentialId, Credentials, Permissions, Timing};

/// The shard of an account: as lanes route it.
pub(super) fn shard_of(account: AccountId, shards: u16) -> ShardId {
    LaneKey::Account(account).shard(shards)
}

/// The risk settings, with room for a shard's part of the open orders.
pub(super) fn risk(config: &Config, shards: u16) -> RiskConfig {
    RiskConfig {
        expected_open_orders: config.venue.orders_max / usize::from(shards),
        ..config.risk_config()
    }
}

/// Opens a shard's books: what its accounts have at the start, and a mark for
/// every instrument whose reference price is known.
///
/// # Errors
/// A balance that does not fit, or more of them than one batch takes.
pub(super) fn open_books(
    engine: &mut RiskEngine,
    config: &Config,
    mine: impl Fn(AccountId) -> bool,
) -> Result<(), StartError> {
    for range in &config.accounts {
        let batch: Vec<_> = range
            .balances
            .iter()
            .map(|&(asset, amount)| Adjustment::available(asset, Change::Absolute(amount)))
            .collect();
        for account in range.ids().filter(|&account| mine(account)) {
            engine
                .adjust(account, &batch)
                .map_err(|error| StartError::Balance { account, error })?;
        }
    }
    for instrument in &config.instruments {
        if let Some(mark) = instrument.reference {
            let quote = Quote {
                mark: Some(mark),
                ..Quote::default()
            };
            engine
                .set_quote(QuoteTarget::All, instrument.id, quote, Nanos(0))
                .map_err(StartError::Mark)?;
        }
    }
    Ok(())
}

/// What accounts have before they trade, as it is written down.
pub(super) fn openings(
    config: &Config,
    mine: impl Fn(AccountId) -> bool,
) -> impl Iterator<Item = AdjustmentRecord> {
    let of_range = |range: &AccountRange| {
        let balances = range.balances.clone();
        range.ids().flat_map(move |account| {
            let one = move |&(asset, amount): &(AssetId, Amount)| AdjustmentRecord {
                account,
                asset,
                kind: AdjustmentKind::Opening,
                amount,
            };
            balances.iter().map(one).collect::<Vec<_>>()
        })
    };
    let ranges = config.accounts.iter();
    ranges
        .flat_map(of_range)
        .filter(move |one| mine(one.account))
}

/// Which settings these are, as it is written down.
pub(super) fn record(config: &Config) -> ConfigRecord {
    let digest = Sha256::digest(format!("{config:?}"));
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    ConfigRecord {
        digest: half,
        program: ArrayString::from(env!("CARGO_PKG_VERSION")).unwrap_or_default(),
    }
}

pub(super) fn venue(config: &Config) -> SimConfig {
    let instruments = config.instruments.iter().map(|entry| SimInstrument {
        tick: entry.tick,
        lot: entry.lot,
        phase: entry.phase,
        reference: entry.reference,
        ..SimInstrument::new(entry.id)
    });
    SimConfig {
        orders_max: config.venue.orders_max,
        events_max: config.venue.events_max,
        ..SimConfig::new(instruments.collect())
    }
}

pub(super) fn credentials(config: &Config) -> Result<Credentials, CredentialError> {
    let credential = |entry: &CredentialEntry| Credential {
        id: CredentialId(entry.id),
        public_key: entry.public_key,
        accounts: config.accounts_of(entry),
        permissions: Permissions {
            enter: entry.permissions.enter,
            cancel: entry.permissions.cancel,
            drop_copy: entry.permissions.drop_copy,
        },
        max_in_flight: entry.max_in_flight,
    };
    let list: Vec<_> = config.credentials.iter().map(credential).collect();
    Credentials::new(&list)
}

pub(super) fn server(config: &Config) -> ServerConfig {
    let (gateway, session) = (&config.gateway, &config.session);
    ServerConfig {
        listen: gateway.listen,
        allow_public: gateway.allow_public,
        threads: gateway.io_threads.get(),
        io: match gateway.io {
            Io::Auto => IoChoice::Auto,
            Io::Uring => IoChoice::Uring,
            Io::Epoll => IoChoice::Epoll,
        },
        gateway_id: gateway.id,
        timing: Timing {
            negotiation: session.negotiation,
            partial_frame: session.partial_frame,
            clock_skew: session.clock_skew,
            keep_alive_min: session.keep_alive_min,
            keep_alive_max: session.keep_alive_max,
            close_grace: session.close_grace,
        },
        connections_max: usize::try_from(gateway.max_connections).unwrap_or(usize::MAX),
        ..ServerConfig::default()
    }
}
