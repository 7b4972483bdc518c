//! The thread that fills the file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use pitlane::journal::storage::SystemStorage;
use pitlane::journal::{Durable, Follower, ReadError, RecordView, Step};

use super::file::{HistoryError, HistoryFile};

/// How often it looks for what has become durable: rows come in batches, and the
/// order path is not asked to wake anybody.
const EVERY: Duration = Duration::from_millis(100);
/// Records of one transaction, about.
const BATCH_RECORDS: u64 = 10_000;

/// A shard's journal, to follow.
pub struct Source {
    /// The shard.
    pub shard: u16,
    /// Its folder.
    pub storage: SystemStorage,
    /// How far it may be read.
    pub durable: Durable,
}

/// See the module. Dropped, it takes what is durable by then, and ends.
pub struct HistoryThread {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    seen: Arc<Seen>,
}

/// What the thread tells of itself.
struct Seen {
    /// By shard, the segment that it reads next: those before it are done with.
    segments: Vec<AtomicU64>,
    fault: Mutex<Option<String>>,
}

impl HistoryThread {
    /// Opens the file, and starts to fill it.
    ///
    /// # Errors
    /// The file cannot be used for these journals.
    pub fn start(path: &Path, sources: Vec<Source>) -> Result<Self, HistoryError> {
        let (file, followed) = begin(path, &sources)?;
        let seen = Arc::new(Seen {
            segments: sources.iter().map(|_| AtomicU64::new(0)).collect(),
            fault: Mutex::new(None),
        });
        let (stop, stopped) = bounded(0);
        let work = Work {
            path: path.to_path_buf(),
            sources,
            file,
            followed,
            seen: Arc::clone(&seen),
        };
        work.tell();
        let thread = Builder::new()
            .name("pitlane-history".into())
            .spawn(move || work.run(&stopped))
            .map_err(HistoryError::Thread)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
            seen,
        })
    }

    /// The segment of a shard's journal before which nothing is needed any more.
    #[must_use]
    pub fn floor(&self, shard: u16) -> u64 {
        let segment = self.seen.segments.get(usize::from(shard));
        segment.map_or(0, |segment| segment.load(Ordering::Acquire))
    }

    /// For those that remove segments.
    pub(crate) fn floors(&self) -> Box<dyn Fn(u16) -> u64 + Send> {
        let seen = Arc::clone(&self.seen);
        Box::new(move |shard| {
            let segment = seen.segments.get(usize::from(shard));
            segment.map_or(0, |segment| segment.load(Ordering::Acquire))
        })
    }

    /// Why nothing is written at present; it is tried again.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        lock(&self.seen.fault).clone()
    }

    /// Takes what is durable, and ends; why not, if not.
    #[must_use]
    pub fn close(mut self) -> Option<String> {
        self.end();
        self.fault()
    }

    fn end(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            *lock(&self.seen.fault) = Some("its thread panicked".into());
        }
    }
}

impl Drop for HistoryThread {
    fn drop(&mut self) {
        self.end();
    }
}

type Followed = Vec<Follower<SystemStorage>>;

struct Work {
    path: PathBuf,
    sources: Vec<Source>,
    file: HistoryFile,
    followed: Followed,
    seen: Arc<Seen>,
}

impl Work {
    fn run(mut self, stopped: &Receiver<()>) {
        loop {
            let is_last = stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Disconnected);
            let fault = self.catch_up(is_last, stopped).err();
            self.tell();
            let failed = fault.is_some();
            *lock(&self.seen.fault) = fault.map(|error| error.to_string());
            if is_last {
                return;
            }
            // From where the file stands, which is where its transactions ended.
            if failed && let Ok((file, followed)) = begin(&self.path, &self.sources) {
                self.file = file;
                self.followed = followed;
            }
        }
    }

    /// Takes what is durable by now.
    fn catch_up(&mut self, is_last: bool, stopped: &Receiver<()>) -> Result<(), HistoryError> {
        for (source, follower) in self.sources.iter().zip(&mut self.followed) {
            let durable = source.durable.sequence();
            while follower.place().sequence <= durable {
                if !is_last && matches!(stopped.try_recv(), Err(e) if e.is_disconnected()) {
                    return Ok(());
                }
                take_batch(&mut self.file, source, follower, durable)?;
            }
        }
        Ok(())
    }

    fn tell(&self) {
        for (follower, segment) in self.followed.iter().zip(&self.seen.segments) {
            segment.store(follower.place().segment, Ordering::Release);
        }
    }
}

/// One transaction.
fn take_batch(
    file: &mut HistoryFile,
    source: &Source,
    follower: &mut Follower<SystemStorage>,
    durable: u64,
) -> Result<(), HistoryError> {
    let is_first = follower.place().segment == 0;
    let mut batch = file.batch(source.shard)?;
    let (mut records, mut since) = (0, Ok(()));
    while records < BATCH_RECORDS {
        let step = follower.step(durable, &mut |record: &RecordView<'_>| {
            if is_first && records == 0 {
                since = batch.since(record);
            }
            records += 1;
            batch.take(record);
        });
        match step {
            Ok(Step::Nothing) => break,
            Ok(Step::Group | Step::Segment) => {}
            // Somebody has removed what was not read: it goes on with what is there.
            Err(ReadError::Gone { .. }) if records == 0 => {
                *follower = Follower::new(source.storage.clone(), None);
                return Ok(());
            }
            Err(error) => {
                return Err(HistoryError::Journal {
                    shard: source.shard,
                    error,
                });
            }
        }
    }
    since?;
    match follower.known() {
        Some((_, journal)) => batch.commit(journal, follower.place()),
        None => Ok(()),
    }
}

/// Opens the file, and finds its places in the journals.
fn begin(path: &Path, sources: &[Source]) -> Result<(HistoryFile, Followed), HistoryError> {
    let file = HistoryFile::open(path)?;
    let mut followed = Vec::new();
    for source in sources {
        let shard = source.shard;
        let cursor = file.cursor(shard)?;
        let mut follower = Follower::new(
            source.storage.clone(),
            cursor.as_ref().map(|(_, place)| *place),
        );
        if let Some((journal, place)) = cursor {
            let found = follower
                .identify()
                .map_err(|error| HistoryError::Journal { shard, error })?;
            let is_same = found.is_some_and(|(_, number)| format!("{number:016x}") == journal);
            if !is_same || place.sequence > source.durable.sequence() + 1 {
                return Err(HistoryError::Other { shard });
            }
        }
        followed.push(follower);
    }
    Ok((file, followed))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
