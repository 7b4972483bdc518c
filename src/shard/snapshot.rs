//! A shard's state as entries of a snapshot, and back; and how a snapshot is
//! built beside the running shard (rule J7).
//!
//! An entry has the record's kind and body where there is a record of it, and the
//! sequence of the record that counts for its order. What no record says as a
//! whole (numbers of reports, the last fills) has kinds of its own.

use super::authority::Left;
use super::record::{
    AdjustmentKind, AdjustmentRecord, BlockRecord, DecodeError, EFFECT_VERSION, Effect, ToldRecord,
    decode, encode, encode_long,
};
use super::state::{ShardState, StateError};
use crate::journal::storage::Storage;
use crate::journal::{
    EntryView, Follower, Intake, ReadError, RecordKind, RecordView, SnapshotError, SnapshotHead,
    SnapshotWriter, Step, newest_snapshot, read_snapshot,
};
use crate::types::{ClientOrderId, FillId};

/// By credential, the last report's number.
const REPORTS: RecordKind = RecordKind(0x3f00);
/// Fills that were booked, oldest first.
const FILLS: RecordKind = RecordKind(0x3f01);
/// What is counted.
const TOTALS: RecordKind = RecordKind(0x3f02);
/// By executor's log, the last message that was taken.
const STREAM: RecordKind = RecordKind(0x3f03);
/// An execution that was told.
const TOLD_FILL: RecordKind = RecordKind(0x3f04);
/// What was set aside for a person.
const SET_ASIDE: RecordKind = RecordKind(0x3f05);

/// What was left of an order whose hold has ended.
const ENDED: RecordKind = RecordKind(0x3f06);

/// The kind of a told record, whose body the last two have.
const TOLD: RecordKind = RecordKind(7);
/// Fills of one entry.
const FILLS_PER_ENTRY: usize = 500;

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildSnapshotError {
    /// A snapshot cannot be written or read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A closed segment cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record is none of a shard's.
    #[error(transparent)]
    State(#[from] StateError),
    /// A snapshot's entry is none of a shard's.
    #[error("snapshot of segment {segment}: {error}")]
    Entry {
        /// Up to whose end the snapshot is.
        segment: u64,
        /// What is wrong.
        error: DecodeError,
    },
}

impl ShardState {
    /// Takes the next entry of a snapshot.
    ///
    /// # Errors
    /// It is none of a shard's, or of a newer program; the state is as it was.
    pub fn take_entry(&mut self, entry: &EntryView<'_>) -> Result<(), DecodeError> {
        let malformed = DecodeError::Malformed { kind: entry.kind };
        let mut body = entry.body;
        let mut next = || -> Result<u64, DecodeError> {
            let (first, rest) = body.split_first_chunk().ok_or(malformed)?;
            body = rest;
            Ok(u64::from_le_bytes(*first))
        };
        match entry.kind {
            REPORTS => {
                let credential = u16::try_from(next()?).map_err(|_| malformed)?;
                self.reports.insert(credential, next()?);
            }
            FILLS => {
                for _ in 0..next()? {
                    self.fills.push_back(FillId(next()?));
                }
            }
            TOTALS => {
                self.records = next()?;
                self.last_fill = next()?;
                self.authority.set_last_number(next()?);
            }
            STREAM => self.authority.set_stream(next()?, next()?),
            TOLD_FILL => self.authority.push_fill(told(entry)?),
            ENDED => {
                let (high, low) = (next()?, next()?);
                let is_volume = next()? == 1;
                let amount = i128::from(next()?) | i128::from(next()?.cast_signed()) << 64;
                let left = if is_volume {
                    Left::Volume(amount)
                } else {
                    Left::Quantity(amount)
                };
                self.authority.push_ended(ClientOrderId { high, low }, left);
            }
            SET_ASIDE => self.authority.push_set_aside(told(entry)?),
            _ => {
                let records = self.records;
                let effect = decode(entry.kind, entry.version, entry.body)?;
                self.apply(entry.sequence, &effect);
                self.records = records;
            }
        }
        Ok(())
    }

    /// Puts all of it into a snapshot.
    fn put(&self, out: &mut SnapshotWriter<impl Storage>) -> Result<(), SnapshotError> {
        let mut numbers = |kind, values: &[u64]| {
            let body: Vec<u8> = values.iter().flat_map(|one| one.to_le_bytes()).collect();
            out.put(0, kind, EFFECT_VERSION, &body)
        };
        for (&credential, &last) in &self.reports {
            numbers(REPORTS, &[u64::from(credential), last])?;
        }
        let fills: Vec<u64> = self.fills.iter().map(|fill| fill.0).collect();
        for part in fills.chunks(FILLS_PER_ENTRY) {
            let values: Vec<u64> = std::iter::once(part.len() as u64)
                .chain(part.iter().copied())
                .collect();
            numbers(FILLS, &values)?;
        }
        for (stream, last) in self.authority.streams() {
            numbers(STREAM, &[stream, last])?;
        }
        for (id, left) in self.authority.ended().all() {
            let (is_volume, amount) = match left {
                Left::Volume(amount) => (1, amount),
                Left::Quantity(amount) => (0, amount),
            };
            let bytes = amount.to_le_bytes();
            let half = |at: usize| u64_at(&bytes, at);
            numbers(ENDED, &[id.high, id.low, is_volume, half(0), half(8)])?;
        }
        numbers(
            TOTALS,
            &[self.records, self.last_fill, self.authority.last_number()],
        )?;
        let mut effect = |sequence, effect: &Effect| {
            let encoded = encode(effect);
            out.put(sequence, encoded.kind(), EFFECT_VERSION, encoded.body())
        };
        for (sequence, order) in self.orders.values() {
            effect(*sequence, &Effect::Order(*order))?;
        }
        for (sequence, account) in self.accounts.values() {
            effect(*sequence, &Effect::Account(*account))?;
        }
        for (account, cause) in self.blocks() {
            let account = Some(account);
            effect(0, &Effect::Block(BlockRecord { account, cause }))?;
        }
        if let Some(config) = self.config {
            effect(0, &Effect::Config(config))?;
        }
        for (&(account, asset), &amount) in &self.openings {
            let kind = AdjustmentKind::Opening;
            let one = AdjustmentRecord {
                account,
                asset,
                kind,
                amount,
            };
            effect(0, &Effect::Adjustment(one))?;
        }
        if let Some(cause) = self.halt() {
            let (account, cause) = (None, Some(cause));
            effect(0, &Effect::Block(BlockRecord { account, cause }))?;
        }
        for (decision, hold) in self.authority.all_holds() {
            let encoded = encode_long(&Effect::Decision(Box::new(decision.clone())));
            out.put(0, encoded.kind(), EFFECT_VERSION, encoded.body())?;
            if let Some(hold) = hold {
                let encoded = encode(&Effect::Hold(*hold));
                out.put(0, encoded.kind(), EFFECT_VERSION, encoded.body())?;
            }
        }
        let mut put_told = |kind, told: &ToldRecord| {
            let encoded = encode(&Effect::Told(*told));
            out.put(0, kind, EFFECT_VERSION, encoded.body())
        };
        for told in self.authority.fills() {
            put_told(TOLD_FILL, told)?;
        }
        for told in self.authority.set_aside() {
            put_told(SET_ASIDE, told)?;
        }
        Ok(())
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// It cannot be read, or has entries that are none of a shard's.
    pub fn from_snapshot<S: Storage>(
        storage: &S,
        head: &SnapshotHead,
    ) -> Result<Self, BuildSnapshotError> {
        let mut state = Self::default();
        let mut wrong = None;
        read_snapshot(storage, head, &mut |entry| {
            if wrong.is_none() {
                wrong = state.take_entry(entry).err();
            }
        })?;
        match wrong {
            None => Ok(state),
            Some(error) => Err(BuildSnapshotError::Entry {
                segment: head.behind.segment - 1,
                error,
            }),
        }
    }
}

/// Takes over a shard's journal: a snapshot, if there is one, and records.
#[derive(Debug, Default)]
pub struct ShardIntake {
    state: ShardState,
    wrong: Option<IntakeError>,
}

/// What a shard's journal has is none of a shard's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntakeError {
    /// A record.
    #[error(transparent)]
    Record(#[from] StateError),
    /// An entry of the snapshot.
    #[error("the snapshot: {0}")]
    Entry(#[from] DecodeError),
}

impl ShardIntake {
    /// The state that was taken over.
    ///
    /// # Errors
    /// The first thing that was none of a shard's.
    pub fn finish(self) -> Result<ShardState, IntakeError> {
        self.wrong.map_or(Ok(self.state), Err)
    }
}

impl Intake for ShardIntake {
    fn entry(&mut self, entry: &EntryView<'_>) {
        if self.wrong.is_none() {
            self.wrong = self.state.take_entry(entry).err().map(Into::into);
        }
    }

    #[inline]
    fn record(&mut self, record: &RecordView<'_>) {
        if self.wrong.is_none() {
            self.wrong = self.state.take(record).err().map(Into::into);
        }
    }
}

fn u64_at(bytes: &[u8; 16], at: usize) -> u64 {
    let mut half = [0; 8];
    half.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(half)
}

fn told(entry: &EntryView<'_>) -> Result<ToldRecord, DecodeError> {
    match decode(TOLD, entry.version, entry.body)? {
        Effect::Told(told) => Ok(told),
        _ => Err(DecodeError::Malformed { kind: entry.kind }),
    }
}

/// Builds the snapshots of one journal; its shard runs on meanwhile, and is not
/// asked.
pub struct SnapshotBuilder<S: Storage> {
    storage: S,
    /// Segments to be closed before the next one.
    every: u64,
    /// The newest that is whole, once it was looked for.
    newest: Option<Option<SnapshotHead>>,
}

impl<S: Storage> SnapshotBuilder<S> {
    /// A snapshot for every so many closed segments, at least for each.
    #[must_use]
    pub fn new(storage: S, every: u64) -> Self {
        Self {
            storage,
            every: every.max(1),
            newest: None,
        }
    }

    /// Builds the next snapshot from the newest whole one and the segments that
    /// were closed since; `None` where they are too few. A segment is closed when
    /// a record of the next one is synced: up to `durable`.
    ///
    /// # Errors
    /// There is none then, and nothing else has changed; it can be called again.
    pub fn build(&mut self, durable: u64) -> Result<Option<SnapshotHead>, BuildSnapshotError> {
        let newest = match self.newest {
            Some(newest) => newest,
            None => newest_snapshot(&self.storage)?,
        };
        self.newest = Some(newest);
        let behind = newest.map(|head| head.behind);
        let mut follower = Follower::new(self.storage.clone(), behind);
        let Some(closed) = follower.closed(durable)? else {
            return Ok(None);
        };
        if newest.is_none() && closed.sequence != 1 {
            let sequence = closed.sequence;
            // What was before it is nowhere.
            return Err(ReadError::Missing { sequence }.into());
        }
        let begin = behind.map_or(closed.first, |place| place.segment);
        if closed.behind < begin + self.every {
            return Ok(None);
        }
        let made = self.go_on(newest.as_ref(), &mut follower, closed.behind, durable);
        // What was wrong with the newest is looked at again.
        self.newest = made.as_ref().ok().map(|head| Some(*head));
        made.map(Some)
    }

    /// Takes everything before a segment into a new snapshot.
    fn go_on(
        &self,
        newest: Option<&SnapshotHead>,
        follower: &mut Follower<S>,
        end: u64,
        durable: u64,
    ) -> Result<SnapshotHead, BuildSnapshotError> {
        let mut state = match newest {
            Some(head) => ShardState::from_snapshot(&self.storage, head)?,
            None => ShardState::default(),
        };
        let mut wrong = None;
        while follower.place().segment < end {
            let step = follower.step(durable, &mut |record| {
                if wrong.is_none() {
                    wrong = state.take(record).err();
                }
            })?;
            if let Some(error) = wrong {
                return Err(error.into());
            }
            if step == Step::Nothing {
                break;
            }
        }
        let behind = follower.place();
        let known = follower.known().filter(|_| behind.segment == end);
        let (owner, journal) = known.ok_or(ReadError::Gone { segment: end })?;
        let mut out = SnapshotWriter::create(&self.storage, owner, journal, behind)?;
        state.put(&mut out)?;
        Ok(out.finish()?)
    }
}
