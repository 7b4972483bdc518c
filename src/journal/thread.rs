//! A journal that runs: its thread takes groups from the shard's ring, and while
//! one sync runs the next group gathers (rule J4).

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_utils::sync::{Parker, Unparker};
use rtrb::{Consumer, RingBuffer};

use super::config::{Durability, JournalConfig};
use super::fault::{JournalFault, OpenError};
use super::port::JournalPort;
use super::reader::RecordView;
use super::recovery::{Intake, Opened, Recovered, recover, resume};
use super::segment::Owner;
use super::storage::Storage;
use super::supply::{SpareThread, Supply};
use super::unit::{UNIT_BYTES, Unit};
use super::watermark::Watermark;
use super::writer::{AppendError, GroupBuffer, Writer};
use crate::limits::JOURNAL_RING_UNITS;
use crate::time::{Clock, IdleStrategy, SystemClock};

/// The longest that the thread sleeps when nobody wakes it.
const SLEEP: Duration = Duration::from_millis(100);
/// How long it leaves a full disk alone.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// What is called, on the journal's thread, after more has become durable or
/// the condition has changed; it must not block.
pub type Bell = Box<dyn Fn() + Send>;

/// A journal's thread; dropped, it is closed.
pub struct Journal {
    stop: Arc<AtomicBool>,
    unparker: Unparker,
    fault: Arc<Mutex<Option<JournalFault>>>,
    synced: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// How far a journal is synced, whatever its mode promises: for those that follow
/// it, and must not be ahead of what a restart will find.
#[derive(Clone)]
pub struct Durable(Arc<AtomicU64>);

impl Durable {
    /// Everything up to this sequence is on the disk.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        // Pairs with the store behind each sync: the file has what it promises.
        self.0.load(Ordering::Acquire)
    }
}

/// A journal that was opened.
pub struct OpenedJournal {
    /// Its thread.
    pub journal: Journal,
    /// The shard's end.
    pub port: JournalPort,
    /// What it had.
    pub recovered: Recovered,
}

impl Journal {
    /// Opens a journal, or makes it: shows every record that it has, cuts a torn
    /// tail, and starts to write behind it. `number` names a new journal and is
    /// drawn at random.
    ///
    /// # Errors
    /// What is in the way, and what to do; nothing is changed then but for a
    /// torn tail.
    pub fn open<S: Storage>(
        storage: &S,
        config: &JournalConfig,
        owner: Owner,
        number: u64,
        bell: Bell,
        show: &mut dyn FnMut(&RecordView<'_>),
    ) -> Result<OpenedJournal, OpenError> {
        config.check()?;
        let lock = storage.lock()?;
        let opened = recover(storage, owner, number, None, show)?;
        Self::start(storage, config, owner, bell, opened, lock)
    }

    /// Like [`open`](Self::open), from the newest whole snapshot, if there is one,
    /// and with the records behind it (rule J7).
    ///
    /// # Errors
    /// Also what keeps a snapshot from being read.
    pub fn resume<S: Storage>(
        storage: &S,
        config: &JournalConfig,
        owner: Owner,
        number: u64,
        bell: Bell,
        intake: &mut impl Intake,
    ) -> Result<OpenedJournal, OpenError> {
        config.check()?;
        let lock = storage.lock()?;
        let opened = resume(storage, owner, number, intake)?;
        Self::start(storage, config, owner, bell, opened, lock)
    }

    fn start<S: Storage>(
        storage: &S,
        config: &JournalConfig,
        owner: Owner,
        bell: Bell,
        opened: Opened<S::File>,
        lock: S::Lock,
    ) -> Result<OpenedJournal, OpenError> {
        let watermark = Arc::new(Watermark::new(opened.position.next - 1));
        let spares = SpareThread::start(
            storage.clone(),
            opened.position.segment + 1,
            config.segment_bytes,
            Arc::clone(&watermark),
        )
        .map_err(OpenError::Thread)?;
        let units = config.segment_bytes / UNIT_BYTES as u64;
        let writer = Writer::new(
            owner,
            units,
            Supply::Ahead(spares),
            opened.position,
            opened.file,
        );
        let (producer, ring) = RingBuffer::new(JOURNAL_RING_UNITS);
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        let port = JournalPort::new(
            producer,
            opened.position.next,
            config.groups_max,
            Arc::clone(&watermark),
            unparker.clone(),
        );
        let synced = Arc::new(AtomicU64::new(opened.position.next - 1));
        let stop = Arc::new(AtomicBool::new(false));
        let fault = Arc::new(Mutex::new(None));
        let work = Work::<S> {
            writer,
            ring,
            group: GroupBuffer::with_capacity(JOURNAL_RING_UNITS),
            watermark,
            synced: Arc::clone(&synced),
            parker,
            idle: config.idle,
            bell,
            stop: Arc::clone(&stop),
            fault: Arc::clone(&fault),
            every: match config.durability {
                Durability::Sync => None,
                Durability::Async { every } => Some(every),
            },
            unsynced: None,
            _lock: lock,
        };
        let thread = Builder::new()
            .name(format!("journal-{}", owner.shard))
            .spawn(move || work.run())
            .map_err(OpenError::Thread)?;
        Ok(OpenedJournal {
            journal: Self {
                stop,
                unparker,
                fault,
                synced,
                thread: Some(thread),
            },
            port,
            recovered: opened.recovered,
        })
    }

    /// Why it ended, if it did by a failure.
    #[must_use]
    pub fn fault(&self) -> Option<JournalFault> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.clone()
    }

    /// How far it is durable; it may outlive the journal.
    #[must_use]
    pub fn durable(&self) -> Durable {
        Durable(Arc::clone(&self.synced))
    }

    /// Writes and syncs what was handed over, and ends.
    ///
    /// # Errors
    /// What ended it before.
    pub fn close(mut self) -> Result<(), JournalFault> {
        self.end();
        self.fault().map_or(Ok(()), Err)
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.unparker.unpark();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(JournalFault::Panicked);
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread owns.
struct Work<S: Storage> {
    writer: Writer<S>,
    ring: Consumer<Unit>,
    group: GroupBuffer,
    watermark: Arc<Watermark>,
    synced: Arc<AtomicU64>,
    parker: Parker,
    idle: IdleStrategy,
    bell: Bell,
    stop: Arc<AtomicBool>,
    fault: Arc<Mutex<Option<JournalFault>>>,
    /// The time between two syncs, where the writes do not wait for them.
    every: Option<Duration>,
    /// When the first write that is not synced was made.
    unsynced: Option<Instant>,
    _lock: S::Lock,
}

impl<S: Storage> Work<S> {
    fn run(mut self) {
        // However it ends, nothing is acknowledged by a thread that is gone.
        let watermark = Arc::clone(&self.watermark);
        let ended = FailOnDrop(watermark);
        let clock = SystemClock::new();
        while let ControlFlow::Continue(()) = self.step(&clock) {}
        drop(ended);
        (self.bell)();
    }

    fn step(&mut self, clock: &SystemClock) -> ControlFlow<()> {
        // Before the look at the ring: what was handed over before the stop is
        // seen after it.
        let stopping = self.stop.load(Ordering::Acquire) || self.ring.is_abandoned();
        if self.gather() {
            self.idle.reset();
            return self.write(clock, stopping);
        }
        if stopping {
            let _ = self.sync_due(true);
            return ControlFlow::Break(());
        }
        self.sync_due(false)?;
        if !self.idle.pause() {
            self.parker.park_timeout(self.unsynced.map_or(SLEEP, |_| {
                self.every.map_or(SLEEP, |every| every.min(SLEEP))
            }));
            self.idle.reset();
        }
        ControlFlow::Continue(())
    }

    /// Takes everything that was handed over: whole groups, because each is
    /// handed over at once.
    fn gather(&mut self) -> bool {
        let Ok(chunk) = self.ring.read_chunk(self.ring.slots()) else {
            return false;
        };
        let (first, second) = chunk.as_slices();
        if first.is_empty() {
            return false;
        }
        self.group.clear();
        self.group.extend(first);
        self.group.extend(second);
        chunk.commit_all();
        true
    }

    fn write(&mut self, clock: &SystemClock, stopping: bool) -> ControlFlow<()> {
        let sync = self.every.is_none();
        loop {
            match self.writer.append(&mut self.group, clock.wall(), sync) {
                Ok(last) => {
                    self.tell_synced();
                    self.watermark.advance(last);
                    (self.bell)();
                    break;
                }
                Err(AppendError::Failed(fault)) => return self.fail(fault),
                Err(AppendError::Full) if stopping || self.stop.load(Ordering::Acquire) => {
                    let records = self.group.len_units() as u64;
                    return self.fail(JournalFault::Full { records });
                }
                Err(AppendError::Full) => {
                    self.watermark.set_space_low(true);
                    (self.bell)();
                    self.parker.park_timeout(FULL_PAUSE);
                }
            }
        }
        if !sync {
            self.unsynced.get_or_insert_with(Instant::now);
        }
        self.sync_due(false)
    }

    /// Syncs where writes do not wait for it, when it is time or `now`.
    fn sync_due(&mut self, now: bool) -> ControlFlow<()> {
        let (Some(every), Some(since)) = (self.every, self.unsynced) else {
            return ControlFlow::Continue(());
        };
        if !now && since.elapsed() < every {
            return ControlFlow::Continue(());
        }
        self.unsynced = None;
        match self.writer.sync() {
            Ok(()) => {
                self.tell_synced();
                ControlFlow::Continue(())
            }
            Err(AppendError::Full) => ControlFlow::Continue(()),
            Err(AppendError::Failed(fault)) => self.fail(fault),
        }
    }

    fn tell_synced(&self) {
        // Pairs with the load of who follows.
        self.synced.store(self.writer.durable(), Ordering::Release);
    }

    fn fail(&mut self, fault: JournalFault) -> ControlFlow<()> {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        ControlFlow::Break(())
    }
}

struct FailOnDrop(Arc<Watermark>);

impl Drop for FailOnDrop {
    fn drop(&mut self) {
        self.0.fail();
    }
}
