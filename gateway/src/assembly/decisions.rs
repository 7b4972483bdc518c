//! Authorizer and executor of decisions, from the configuration: keys, the journal,
//! the ways to the venue and to the accounts' shards.

use std::collections::BTreeMap;

use pitlane::journal::storage::SystemStorage;
use pitlane::orders::decision::{KeyTable, Role, Signer, Validity};
use pitlane::orders::executor::{
    Authority, ExecutorSettings, JournalLog, NoHistory, OpenedLog, Receiver, Record,
};
use pitlane::orders::venue::VenueLink;
use pitlane::shard::authority::{AuthorityEnd, Authorizer, AuthorizerSettings};
use pitlane::time::SystemClock;
use pitlane::types::{FillId, InstrumentId};

use super::journals::{how, number};
use super::{Layout, StartError};
use crate::config::{Config, RemoteAuthorizer};
use crate::control::outbox::{self, OutboxThread};
use crate::control::{Due, ExecutorSetup, ExecutorStart, ExecutorThread, VenueWay};
use crate::remote::Remote;
use crate::secrets;

/// An executor whose journal was read, and that has no venue yet.
pub(super) struct OpenedExecutor {
    start: ExecutorStart,
    opened: OpenedLog,
}

/// An executor that runs; dropped, it ends, and then its outbox.
pub(super) struct RunningExecutor {
    pub(super) thread: ExecutorThread,
    pub(super) outbox: Option<OutboxThread>,
}

/// Where the executor's journal is, in the folder of the journals.
const FOLDER: &str = "executor";

/// Whether this process executes decisions.
const fn executes(config: &Config) -> bool {
    config.http.enabled && config.executor.enabled
}

impl OpenedExecutor {
    /// Opens the journal; none where the HTTP side is off.
    pub(super) fn open(config: &Config, layout: &Layout) -> Result<Option<Self>, StartError> {
        let how = how(&config.journal, layout).filter(|_| executes(config));
        let Some(how) = how else { return Ok(None) };
        let folder = config.journal.dir.join(FOLDER);
        let in_folder = |reason: String| StartError::Journal {
            folder: folder.display().to_string(),
            reason,
        };
        let storage =
            SystemStorage::create(&folder).map_err(|error| in_folder(error.to_string()))?;
        let start = ExecutorStart::default();
        let opened = JournalLog::open(&storage, &how, number()?, start.waker())
            .map_err(|error| in_folder(error.to_string()))?;
        Ok(Some(Self { start, opened }))
    }

    /// The first fill id that it has not booked.
    pub(super) fn next_fill(&self) -> FillId {
        let last = self.opened.records.iter().filter_map(Record::fill_id);
        FillId(last.max().map_or(1, |last| last.0.saturating_add(1)))
    }

    /// To wake it when its venue has something to say.
    pub(super) fn waker(&self) -> Box<dyn Fn() + Send> {
        self.start.waker()
    }

    pub(super) fn start(
        self,
        config: &Config,
        venue: VenueLink,
        authorizer: &Authorizer,
    ) -> Result<RunningExecutor, StartError> {
        let Self { start, opened } = self;
        let bell = start.bell();
        let log = opened.recovered.number;
        let (receiver, due, outbox): (Box<dyn Receiver + Send>, _, _) =
            match &config.executor.authorizer {
                None => {
                    let receiver = authorizer.receiver(log, bell);
                    (Box::new(receiver), Due::Here(authorizer.clone()), None)
                }
                Some(remote) => {
                    let (signer, way) = reach(remote)?;
                    let (outbox, thread, due) =
                        outbox::start(log, signer, way, bell).map_err(StartError::Thread)?;
                    (Box::new(outbox), Due::Elsewhere(due), Some(thread))
                }
            };
        let setup = ExecutorSetup {
            settings: settings(config)?,
            venues: vec![VenueWay {
                name: config.venue.name.clone(),
                venue: Box::new(venue),
                instruments: instruments(config),
            }],
            log: opened.log,
            records: opened.records,
            history: Box::new(NoHistory),
            authority: Box::new(|| Authority::Remote(receiver)),
            due,
            requests_max: config.executor.requests_max,
        };
        let thread = start.start(setup).map_err(StartError::Thread)?;
        Ok(RunningExecutor { thread, outbox })
    }
}

/// The executor's key, and the way to an authorizer elsewhere.
fn reach(remote: &RemoteAuthorizer) -> Result<(Signer, Remote), StartError> {
    let key = secrets::signing_key(&remote.key_file).map_err(StartError::Executor)?;
    let signer = Signer::new(&remote.key_id, Role::Executor, &key.to_bytes())
        .map_err(|error| StartError::Executor(error.to_string()))?;
    let way = Remote::new(&remote.url, &remote.token_file)
        .map_err(|error| StartError::Executor(error.to_string()))?;
    Ok((signer, way))
}

fn instruments(config: &Config) -> BTreeMap<String, InstrumentId> {
    let entries = config.instruments.iter();
    entries
        .map(|entry| (entry.symbol.clone(), entry.id))
        .collect()
}

/// The authorizer, and each shard's end of it.
///
/// # Errors
/// Its key cannot be read, or is none of those that the executor takes.
pub(super) fn authorizer(
    config: &Config,
    shards: u16,
) -> Result<(Authorizer, Vec<AuthorityEnd>), StartError> {
    let settings = AuthorizerSettings {
        signer: signer(config)?,
        instruments: BTreeMap::from([(config.venue.name.clone(), instruments(config))]),
        skew: config.authorizer.skew,
        clock: Box::new(SystemClock::new()),
    };
    // With HTTP no shard is inline: each looks by itself.
    let bells = (0..shards).map(|_| None).collect();
    Ok(Authorizer::new(settings, bells))
}

/// The key that decisions are signed with, if they are made here.
///
/// # Errors
/// As [`authorizer`].
pub(super) fn signer(config: &Config) -> Result<Option<Signer>, StartError> {
    let Some(file) = &config.authorizer.key_file else {
        return Ok(None);
    };
    let key_id = &config.authorizer.key_id;
    let key = secrets::signing_key(file).map_err(StartError::Authorizer)?;
    let mut keys = config.keys.iter();
    let own = keys.find(|entry| entry.key_id == *key_id && entry.role == Role::Authorizer);
    let public = key.verifying_key().to_bytes();
    if own.is_none_or(|entry| entry.public_key != public) {
        return Err(StartError::Authorizer(format!(
            "{}: its public key is not that of the [[key]] {key_id:?}, so that no decision of \
             it would be taken; write public_key = \"{}\" there",
            file.display(),
            data_encoding::HEXLOWER.encode(&public)
        )));
    }
    Signer::new(key_id, Role::Authorizer, &key.to_bytes())
        .map(Some)
        .map_err(|error| StartError::Authorizer(error.to_string()))
}

fn settings(config: &Config) -> Result<ExecutorSettings, StartError> {
    let own = &config.executor;
    Ok(ExecutorSettings {
        keys: keys(config)?,
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
        seed: number()?,
    })
}

/// The keys of `[[key]]`.
///
/// # Errors
/// One that the table refuses.
pub(super) fn keys(config: &Config) -> Result<KeyTable, StartError> {
    let mut keys = KeyTable::default();
    for entry in &config.keys {
        let validity = Validity {
            not_before: entry.not_before,
            not_after: entry.not_after,
            revoked: entry.revoked,
        };
        keys.add(&entry.key_id, entry.role, &entry.public_key, validity)
            .map_err(|error| StartError::Key {
                key_id: entry.key_id.clone(),
                error,
            })?;
    }
    Ok(keys)
}
