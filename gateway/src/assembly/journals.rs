//! The journals of a gateway's shards: opened and read before anything starts,
//! and closed after everything has ended.

use std::fs;
use std::io;
use std::path::Path;

use pitlane::journal::storage::SystemStorage;
use pitlane::journal::{
    Durability, Journal, JournalConfig, JournalFault, JournalPort, Owner, Place,
};
use pitlane::shard::{ReportBell, ShardIntake, ShardState};
use pitlane::types::{FillId, ShardId};

use super::keeping::{Followed, Keeping};
use super::{Layout, StartError};
use crate::config::{Config, JournalMode, JournalSettings};

/// What a shard starts with.
pub(super) struct ShardJournal {
    pub(super) port: JournalPort,
    pub(super) state: ShardState,
}

/// The threads of the journals, and what was found; dropped, they are closed.
pub(super) struct Journals {
    keeping: Option<Keeping>,
    threads: Vec<Journal>,
    found: Vec<Found>,
}

/// What a shard's journal had when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Records that its state comes from, in a snapshot or read.
    pub records: u64,
    /// Where the snapshot that it began with ends.
    pub snapshot: Option<Place>,
    /// Orders that were open.
    pub open_orders: usize,
    /// Where a torn tail was cut, if there was one.
    pub cut: Option<Place>,
    /// The highest fill that was booked.
    pub(super) last_fill: FillId,
}

impl Journals {
    /// Opens one for each shard; none where the mode is off. `bell` is rung when
    /// more has become durable.
    pub(super) fn open(
        config: &Config,
        layout: &Layout,
        bell: Option<&ReportBell>,
    ) -> Result<(Self, Vec<Option<ShardJournal>>), StartError> {
        let mut all = Self {
            keeping: None,
            threads: Vec::new(),
            found: Vec::new(),
        };
        let settings = &config.journal;
        let Some(how) = how(settings, layout) else {
            return Ok((all, (0..layout.shards).map(|_| None).collect()));
        };
        refuse_more_shards(&settings.dir, layout.shards)?;
        let mut shards = Vec::new();
        let mut followed = Vec::new();
        for number in 0..layout.shards {
            let (shard, one) =
                all.open_one(settings, &how, ShardId(number), layout.shards, bell)?;
            shards.push(Some(shard));
            followed.push(one);
        }
        all.keeping = Some(Keeping::start(settings, &followed)?);
        Ok((all, shards))
    }

    fn open_one(
        &mut self,
        settings: &JournalSettings,
        how: &JournalConfig,
        shard: ShardId,
        shards: u16,
        bell: Option<&ReportBell>,
    ) -> Result<(ShardJournal, Followed), StartError> {
        let folder = settings.dir.join(folder_name(shard.0));
        let in_folder = |reason: String| StartError::Journal {
            folder: folder.display().to_string(),
            reason,
        };
        let storage =
            SystemStorage::create(&folder).map_err(|error| in_folder(error.to_string()))?;
        let mut intake = ShardIntake::default();
        let bell = bell.cloned();
        let opened = Journal::resume(
            &storage,
            how,
            Owner { shard, shards },
            number()?,
            Box::new(move || {
                if let Some(bell) = &bell {
                    bell.ring();
                }
            }),
            &mut intake,
        )
        .map_err(|error| in_folder(error.to_string()))?;
        let followed = Followed {
            shard: shard.0,
            storage,
            durable: opened.journal.durable(),
        };
        self.threads.push(opened.journal);
        let state = intake
            .finish()
            .map_err(|error| in_folder(error.to_string()))?;
        self.found.push(Found {
            records: state.records(),
            snapshot: opened.recovered.snapshot.map(|head| head.behind),
            open_orders: state.open_orders().len(),
            cut: opened.recovered.cut,
            last_fill: state.last_fill(),
        });
        let shard = ShardJournal {
            port: opened.port,
            state,
        };
        Ok((shard, followed))
    }

    /// What each shard's journal had; nothing where there is none.
    pub(super) fn found(&self) -> &[Found] {
        &self.found
    }

    /// The first fill id that no shard has booked.
    pub(super) fn next_fill(&self) -> FillId {
        let last = self.found.iter().map(|found| found.last_fill.0).max();
        FillId(last.map_or(1, |last| last.saturating_add(1)))
    }

    /// Why journals ended, with their shards.
    pub(super) fn faults(&self) -> Vec<(ShardId, JournalFault)> {
        let shards = (0..).map(ShardId);
        shards
            .zip(&self.threads)
            .filter_map(|(shard, journal)| Some((shard, journal.fault()?)))
            .collect()
    }

    /// Writes what was handed over, and ends.
    pub(super) fn close(mut self) -> Vec<(ShardId, JournalFault)> {
        if let Some(keeping) = &mut self.keeping {
            keeping.end_snapshots();
        }
        let shards = (0..).map(ShardId);
        // History ends behind the journals, and has all of them.
        shards
            .zip(self.threads)
            .filter_map(|(shard, journal)| Some((shard, journal.close().err()?)))
            .collect()
    }

    /// What goes wrong with snapshots and history at present.
    pub(super) fn troubles(&self) -> Vec<String> {
        self.keeping.as_ref().map_or_else(Vec::new, Keeping::faults)
    }
}

pub(super) fn how(settings: &JournalSettings, layout: &Layout) -> Option<JournalConfig> {
    let durability = match settings.mode {
        JournalMode::Off => return None,
        JournalMode::Sync => Durability::Sync,
        JournalMode::Async => Durability::Async {
            every: settings.sync_every,
        },
    };
    Some(JournalConfig {
        durability,
        segment_bytes: settings.segment_mib << 20,
        groups_max: settings.groups_max,
        idle: layout.journal_idle,
    })
}

fn folder_name(shard: u16) -> String {
    format!("shard-{shard}")
}

/// A folder of a shard that would not be started holds accounts that nobody
/// would know of (rule J5).
fn refuse_more_shards(dir: &Path, shards: u16) -> Result<(), StartError> {
    let names = match fs::read_dir(dir) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(StartError::Journal {
                folder: dir.display().to_string(),
                reason: error.to_string(),
            });
        }
    };
    let numbers = names.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix("shard-")?.parse::<u16>().ok()?;
        (number >= shards).then_some(number)
    });
    match numbers.max() {
        None => Ok(()),
        Some(most) => Err(StartError::JournalShards {
            folder: dir.display().to_string(),
            found: most.saturating_add(1),
            asked: shards,
        }),
    }
}

/// A random number: of a new journal, or a seed.
pub(super) fn number() -> Result<u64, StartError> {
    getrandom::u64().map_err(|error| StartError::Journal {
        folder: "a new journal".into(),
        reason: format!("the operating system gave no random number: {error}"),
    })
}
