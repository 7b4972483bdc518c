//! Segments made ahead: filled with zeros, synced, named, the name synced, so
//! that filling one later changes neither its size nor its blocks.
//!
//! A full disk is waited out (rule J9); any other failure is final.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::fault::JournalFault;
use super::segment::{preparing_name, segment_name};
use super::storage::{Storage, StorageFile, is_full, write_all_at};
use super::watermark::{Condition, Watermark};

/// How long a full disk is left alone before room is looked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
static ZEROS: [u8; 64 * 1_024] = [0; 64 * 1_024];

/// Why there is no next segment.
#[derive(Debug)]
pub(super) enum NoSegment {
    /// There is no room now.
    Full,
    /// There will be none.
    Failed(JournalFault),
}

/// A prepared segment.
pub(super) struct Spare<F> {
    pub(super) number: u64,
    pub(super) file: F,
}

/// Where the writer takes its next segment from.
pub(super) enum Supply<S: Storage> {
    /// Made when it is wanted: by one who can wait.
    Inline { storage: S, bytes: u64, next: u64 },
    /// Made ahead, by a thread of its own.
    Ahead(SpareThread<S::File>),
}

impl<S: Storage> Supply<S> {
    /// The next segment; waits for it where it is made ahead.
    pub(super) fn take(&mut self) -> Result<Spare<S::File>, NoSegment> {
        match self {
            Self::Inline {
                storage,
                bytes,
                next,
            } => {
                let spare = prepare(storage, *next, *bytes)?;
                *next += 1;
                Ok(spare)
            }
            Self::Ahead(thread) => thread.take(),
        }
    }
}

/// Makes segments ahead: one lies ready and one is in the making, or ready too.
pub(super) struct SpareThread<F> {
    spares: Receiver<Result<Spare<F>, JournalFault>>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Where it says that the disk is full.
    watermark: Arc<Watermark>,
}

impl<F: StorageFile> SpareThread<F> {
    pub(super) fn start<S: Storage<File = F>>(
        storage: S,
        first: u64,
        bytes: u64,
        watermark: Arc<Watermark>,
    ) -> io::Result<Self> {
        let (sender, spares) = bounded(1);
        let (stop, stopped) = bounded(0);
        let told = Arc::clone(&watermark);
        let make = move || make_ahead(&storage, first, bytes, &told, &sender, &stopped);
        let thread = Builder::new().name("journal-spare".into()).spawn(make)?;
        Ok(Self {
            spares,
            stop: Some(stop),
            thread: Some(thread),
            watermark,
        })
    }

    fn take(&self) -> Result<Spare<F>, NoSegment> {
        loop {
            return match self.spares.recv_timeout(LOOK_AGAIN) {
                Ok(Ok(spare)) => Ok(spare),
                Ok(Err(fault)) => Err(NoSegment::Failed(fault)),
                Err(RecvTimeoutError::Timeout) => match self.watermark.condition() {
                    Condition::SpaceLow => Err(NoSegment::Full),
                    // A slow disk is not a full one.
                    Condition::Running | Condition::Failed => continue,
                },
                // It has told its fault, or panicked.
                Err(RecvTimeoutError::Disconnected) => {
                    Err(NoSegment::Failed(JournalFault::Panicked))
                }
            };
        }
    }
}

impl<F> Drop for SpareThread<F> {
    fn drop(&mut self) {
        self.stop = None;
        // What lies ready is taken, so that its maker does not wait for room.
        while self.spares.try_recv().is_ok() {}
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn make_ahead<S: Storage>(
    storage: &S,
    first: u64,
    bytes: u64,
    watermark: &Watermark,
    spares: &Sender<Result<Spare<S::File>, JournalFault>>,
    stopped: &Receiver<()>,
) {
    let ended = |wait| stopped.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected);
    let mut number = first;
    loop {
        let made = match prepare(storage, number, bytes) {
            Err(NoSegment::Full) => {
                watermark.set_space_low(true);
                if ended(LOOK_AGAIN) {
                    return;
                }
                continue;
            }
            Ok(spare) => Ok(spare),
            Err(NoSegment::Failed(fault)) => Err(fault),
        };
        watermark.set_space_low(false);
        let failed = made.is_err();
        crossbeam_channel::select! {
            send(spares, made) -> sent => if sent.is_err() || failed { return },
            recv(stopped) -> _ => return,
        }
        number += 1;
    }
}

/// Makes a segment: whole and durable, or not there.
pub(super) fn prepare<S: Storage>(
    storage: &S,
    number: u64,
    bytes: u64,
) -> Result<Spare<S::File>, NoSegment> {
    let preparing = preparing_name(number);
    let failed = |error: io::Error| {
        NoSegment::Failed(JournalFault::Prepare {
            segment: number,
            error: error.to_string(),
        })
    };
    let full_or_failed = |error: io::Error| {
        if is_full(&error) {
            // Half a segment would keep others from what room there is; it is
            // removed at the next attempt, or by recovery, if not now.
            let _ = storage.remove(&preparing);
            NoSegment::Full
        } else {
            failed(error)
        }
    };
    let mut file = match storage.create(&preparing) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            storage.remove(&preparing).map_err(failed)?;
            storage.create(&preparing).map_err(full_or_failed)?
        }
        made => made.map_err(full_or_failed)?,
    };
    let mut offset = 0;
    while offset < bytes {
        let rest = usize::try_from(bytes - offset).unwrap_or(usize::MAX);
        let part = &ZEROS[..ZEROS.len().min(rest)];
        write_all_at(&mut file, part, offset).map_err(full_or_failed)?;
        offset += part.len() as u64;
    }
    file.sync().map_err(failed)?;
    storage
        .rename(&preparing, &segment_name(number))
        .map_err(full_or_failed)?;
    storage.sync_folder().map_err(failed)?;
    Ok(Spare { number, file })
}
