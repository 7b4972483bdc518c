//! What is done with the journals beside the shards: history is filled, snapshots
//! are built, and what nobody needs any more goes (rules J7, J12).

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use pitlane::journal::storage::SystemStorage;
use pitlane::journal::{self, Durable};
use pitlane::shard::SnapshotBuilder;

use super::StartError;
use crate::config::{JournalSettings, OldSegments};
use crate::history::{HistoryThread, Source};

/// How often closed segments are looked for.
const EVERY: Duration = Duration::from_secs(1);
/// How long a failure is left alone, and how often what has gone on is looked at.
const PAUSE: Duration = Duration::from_secs(30);

/// One shard's journal, for those that follow it.
#[derive(Clone)]
pub(super) struct Followed {
    pub(super) shard: u16,
    pub(super) storage: SystemStorage,
    pub(super) durable: Durable,
}

/// The threads; dropped, they end.
pub(super) struct Keeping {
    snapshots: Option<SnapshotThread>,
    history: Option<HistoryThread>,
}

impl Keeping {
    pub(super) fn start(
        settings: &JournalSettings,
        followed: &[Followed],
    ) -> Result<Self, StartError> {
        let history = match &settings.history {
            None => None,
            Some(file) => {
                let sources = followed.iter().map(|one| Source {
                    shard: one.shard,
                    storage: one.storage.clone(),
                    durable: one.durable.clone(),
                });
                let started = HistoryThread::start(file, sources.collect());
                Some(started.map_err(|error| StartError::History {
                    file: file.display().to_string(),
                    reason: error.to_string(),
                })?)
            }
        };
        let mut keeping = Self {
            snapshots: None,
            history,
        };
        if settings.snapshot_segments > 0 {
            keeping.snapshots = Some(keeping.start_snapshots(settings, followed)?);
        }
        Ok(keeping)
    }

    fn start_snapshots(
        &self,
        settings: &JournalSettings,
        followed: &[Followed],
    ) -> Result<SnapshotThread, StartError> {
        // Without history nobody reads behind the snapshots.
        let floor = match &self.history {
            None => Box::new(|_| u64::MAX),
            Some(history) => history.floors(),
        };
        let mut kept = Vec::new();
        for one in followed {
            let old = match &settings.old_segments {
                OldSegments::Keep => journal::OldSegments::Keep,
                OldSegments::Delete => journal::OldSegments::Delete,
                OldSegments::Archive(to) => {
                    let folder = to.join(format!("shard-{}", one.shard));
                    let archive = SystemStorage::create(&folder);
                    journal::OldSegments::Archive(archive.map_err(|error| StartError::Journal {
                        folder: folder.display().to_string(),
                        reason: error.to_string(),
                    })?)
                }
            };
            kept.push(Kept {
                builder: SnapshotBuilder::new(one.storage.clone(), settings.snapshot_segments),
                followed: one.clone(),
                old,
                next_tidy: Instant::now(),
                not_before: Instant::now(),
            });
        }
        SnapshotThread::start(kept, floor).map_err(StartError::Thread)
    }

    /// What goes wrong at present, if anything does.
    pub(super) fn faults(&self) -> Vec<String> {
        let snapshots = self.snapshots.as_ref().and_then(SnapshotThread::fault);
        let history = self.history.as_ref().and_then(HistoryThread::fault);
        [
            snapshots.map(|why| format!("snapshots: {why}")),
            history.map(|why| format!("history: {why}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Before the journals are closed: no snapshot is begun any more.
    pub(super) fn end_snapshots(&mut self) {
        self.snapshots = None;
    }
}

/// What is done for one journal.
struct Kept {
    builder: SnapshotBuilder<SystemStorage>,
    followed: Followed,
    old: journal::OldSegments<SystemStorage>,
    next_tidy: Instant,
    not_before: Instant,
}

/// Builds snapshots.
struct SnapshotThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    fault: Arc<Mutex<Option<String>>>,
}

type Floor = Box<dyn Fn(u16) -> u64 + Send>;

impl SnapshotThread {
    fn start(mut kept: Vec<Kept>, floor: Floor) -> std::io::Result<Self> {
        let (stop, stopped) = bounded(0);
        let fault = Arc::new(Mutex::new(None));
        let told = Arc::clone(&fault);
        let thread = Builder::new()
            .name("pitlane-snapshot".into())
            .spawn(move || run(&mut kept, &floor, &told, &stopped))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
            fault,
        })
    }

    fn fault(&self) -> Option<String> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.clone()
    }
}

impl Drop for SnapshotThread {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has left no snapshot; the next start builds it.
            let _ = thread.join();
        }
    }
}

fn run(kept: &mut [Kept], floor: &Floor, told: &Mutex<Option<String>>, stopped: &Receiver<()>) {
    loop {
        for one in &mut *kept {
            let now = Instant::now();
            if now < one.not_before {
                continue;
            }
            let outcome = one.look(now, floor(one.followed.shard));
            let failed = outcome.is_err();
            let shard = one.followed.shard;
            *told.lock().unwrap_or_else(PoisonError::into_inner) =
                outcome.err().map(|why| format!("shard {shard}: {why}"));
            if failed {
                one.not_before = now + PAUSE;
            }
        }
        if stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

impl Kept {
    fn look(&mut self, now: Instant, floor: u64) -> Result<(), String> {
        let built = self
            .builder
            .build(self.followed.durable.sequence())
            .map_err(|error| error.to_string())?;
        if built.is_some() || now >= self.next_tidy {
            self.next_tidy = now + PAUSE;
            journal::tidy(&self.followed.storage, &self.old, floor)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}
