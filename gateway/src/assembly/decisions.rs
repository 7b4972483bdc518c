//! The executor of decisions, from the configuration: its journal, its way to the
//! venue, its keys.

use std::collections::BTreeMap;

use pitlane::journal::storage::SystemStorage;
use pitlane::orders::decision::{KeyTable, Role, Validity};
use pitlane::orders::executor::{
    Authority, Away, ExecutorSettings, JournalLog, Message, NoHistory, OpenedLog, Receiver, Record,
};
use pitlane::orders::venue::VenueLink;
use pitlane::types::FillId;

use super::journals::{how, number};
use super::{Layout, StartError};
use crate::config::Config;
use crate::control::{ExecutorSetup, ExecutorStart, ExecutorThread};

/// An executor whose journal was read, and that has no venue yet.
pub(super) struct OpenedExecutor {
    start: ExecutorStart,
    opened: OpenedLog,
}

/// Where the executor's journal is, in the folder of the journals.
const FOLDER: &str = "executor";

/// Nobody settles here: messages are for an authorizer elsewhere.
#[derive(Default)]
struct Nobody {
    taken: u64,
}

impl Receiver for Nobody {
    fn offer(&mut self, message: &Message) -> Result<(), Away> {
        self.taken = message.sequence;
        Ok(())
    }

    fn taken(&mut self) -> Result<u64, Away> {
        Ok(self.taken)
    }
}

impl OpenedExecutor {
    /// Opens the journal; none where the HTTP side is off.
    pub(super) fn open(config: &Config, layout: &Layout) -> Result<Option<Self>, StartError> {
        let how = how(&config.journal, layout).filter(|_| config.http.enabled);
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
    ) -> Result<ExecutorThread, StartError> {
        let Self { start, opened } = self;
        let instruments: BTreeMap<_, _> = config
            .instruments
            .iter()
            .map(|entry| (entry.symbol.clone(), entry.id))
            .collect();
        let setup = ExecutorSetup {
            settings: settings(config)?,
            venues: vec![(config.venue.name.clone(), Box::new(venue), instruments)],
            log: opened.log,
            records: opened.records,
            history: Box::new(NoHistory),
            authority: Box::new(|| Authority::Remote(Box::<Nobody>::default())),
            requests_max: config.executor.requests_max,
        };
        start.start(setup).map_err(StartError::Thread)
    }
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

/// The authorizer's keys.
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
        keys.add(&entry.key_id, Role::Authorizer, &entry.public_key, validity)
            .map_err(|error| StartError::Key {
                key_id: entry.key_id.clone(),
                error,
            })?;
    }
    Ok(keys)
}
