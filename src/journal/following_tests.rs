//! What follows a journal, and what keeps it short: followers, snapshots, and the
//! removal of what nobody needs.

use super::OpenError;
use super::follow::{Follower, Step};
use super::reader::{Place, ReadError, RecordView, read};
use super::recovery::Intake;
use super::retention::{OldSegments, tidy};
use super::segment::{segment_name, snapshot_name, unfinished_snapshot_name};
use super::small::{Content, OWNER, SmallJournal};
use super::snapshot::{
    EntryView, SnapshotHead, SnapshotWriter, check_snapshot, newest_snapshot, snapshots,
};
use super::storage::{SimStorage, Storage, StorageFile};
use super::unit::RecordKind;

const UNITS: u64 = 12;
const KIND: RecordKind = RecordKind(1);

/// The first byte of each record's body, from a snapshot or not.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bytes(Vec<u8>);

impl Intake for Bytes {
    fn entry(&mut self, entry: &EntryView<'_>) {
        self.0.push(entry.body[0]);
    }

    fn record(&mut self, record: &RecordView<'_>) {
        self.0.push(record.body[0]);
    }
}

fn group(of: u8) -> Vec<Content> {
    (0..=of % 3)
        .map(|_| (KIND, vec![of + 1; 30 + usize::from(of % 5) * 20]))
        .collect()
}

fn all(groups: u8) -> Vec<u8> {
    (0..groups)
        .flat_map(|of| group(of).into_iter().map(move |_| of + 1))
        .collect()
}

fn written(groups: u8) -> (SimStorage, SmallJournal) {
    let storage = SimStorage::new();
    let mut journal = SmallJournal::open(&storage, UNITS, &mut Bytes::default()).unwrap();
    for of in 0..groups {
        journal.append(&group(of)).unwrap();
    }
    (storage, journal)
}

/// Everything up to `durable`.
fn follow(follower: &mut Follower<SimStorage>, durable: u64) -> Result<Vec<u8>, ReadError> {
    let mut seen = Vec::new();
    while follower.step(durable, &mut |record| seen.push(record.body[0]))? != Step::Nothing {}
    Ok(seen)
}

#[test]
fn j12_a_follower_sees_each_durable_record_once_and_none_that_is_not() {
    let storage = SimStorage::new();
    let mut journal = SmallJournal::open(&storage, UNITS, &mut Bytes::default()).unwrap();
    let mut eager = Follower::new(storage.clone(), None);
    let mut behind = Follower::new(storage.clone(), None);
    assert!(follow(&mut eager, u64::MAX).unwrap().is_empty());
    let (mut seen, mut late, mut durable) = (Vec::new(), Vec::new(), 0);
    for of in 0..20 {
        let last = journal.append(&group(of)).unwrap();
        // One is told of a group when the next is written, though it is there.
        late.extend(follow(&mut behind, durable).unwrap());
        assert_eq!(late, all(of));
        assert_eq!(behind.place().sequence, durable + 1);
        durable = last;
        seen.extend(follow(&mut eager, u64::MAX).unwrap());
        assert_eq!(seen, all(of + 1));
        assert_eq!(eager.place().sequence, last + 1);
        let mut again = Follower::new(storage.clone(), Some(eager.place()));
        assert!(follow(&mut again, last).unwrap().is_empty());
    }
    assert!(eager.place().segment >= 4);
    assert_eq!(eager.known().unwrap().0, OWNER);
}

#[test]
fn j12_a_follower_tells_of_damage_and_of_what_is_gone() {
    let (storage, journal) = written(20);
    let bad = storage.after_kill();
    bad.flip(&segment_name(2), 80, 1);
    let error = follow(&mut Follower::new(bad, None), journal.last()).unwrap_err();
    assert!(matches!(error, ReadError::Damaged { place, .. } if place.segment == 2));
    let place = Place {
        segment: 1,
        offset: 64,
        sequence: 1,
    };
    storage.remove(&segment_name(1)).unwrap();
    let mut gone = Follower::new(storage, Some(place));
    let error = follow(&mut gone, journal.last()).unwrap_err();
    assert!(matches!(error, ReadError::Gone { segment: 1 }));
}

/// A snapshot of what is before a segment: an entry for each record.
fn snapshot(storage: &SimStorage, segment: u64) -> SnapshotHead {
    let (mut entries, mut behind, mut journal) = (Vec::new(), None, 0);
    let summary = read(storage, &mut |record| {
        if record.segment < segment {
            entries.push((record.sequence, record.body.to_vec()));
        } else if behind.is_none() {
            behind = Some(record.sequence);
        }
    });
    journal += summary.unwrap().journal;
    let behind = Place {
        segment,
        offset: 64,
        sequence: behind.unwrap(),
    };
    let mut out = SnapshotWriter::create(storage, OWNER, journal, behind).unwrap();
    for (sequence, body) in entries {
        out.put(sequence, KIND, 1, &body).unwrap();
    }
    out.finish().unwrap()
}

fn resumed(storage: &SimStorage) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Bytes::default();
    SmallJournal::open(storage, UNITS, &mut bytes).map(|_| bytes.0)
}

#[test]
fn j07_a_start_takes_the_newest_whole_snapshot_and_the_records_behind_it() {
    let (storage, _) = written(20);
    let first = snapshot(&storage, 3);
    let second = snapshot(&storage, 5);
    assert_eq!(snapshots(&storage).unwrap(), [4, 2]);
    assert_eq!(newest_snapshot(&storage).unwrap(), Some(second));
    for segment in 1..=4 {
        storage.remove(&segment_name(segment)).unwrap();
    }
    assert_eq!(
        resumed(&storage).unwrap(),
        all(20),
        "segments 1 to 4 are gone"
    );
    // It rots, wherever: the one before it would do, if its segments were there.
    let size = storage
        .open(&snapshot_name(4), false)
        .unwrap()
        .size()
        .unwrap();
    for byte in 0..usize::try_from(size).unwrap() {
        let rotten = storage.after_kill();
        rotten.flip(&snapshot_name(4), byte, 1);
        match check_snapshot(&rotten, 4) {
            Ok(None) => {}
            other => panic!("byte {byte}: {other:?}"),
        }
        assert_eq!(newest_snapshot(&rotten).unwrap(), Some(first));
    }
    let rotten = storage.after_kill();
    rotten.flip(&snapshot_name(4), 70, 1);
    let refused = resumed(&rotten).err().unwrap();
    let is_gone = |error: &OpenError| matches!(error, OpenError::Read(ReadError::Gone { .. }));
    assert!(is_gone(&refused), "{refused}");
}

#[test]
fn j07_without_a_snapshot_the_first_record_must_be_there() {
    let (storage, _) = written(20);
    storage.remove(&segment_name(1)).unwrap();
    let refused = resumed(&storage).err().unwrap();
    assert!(
        matches!(refused, OpenError::Read(ReadError::Missing { sequence }) if sequence > 1),
        "{refused}"
    );
}

#[test]
fn j07_a_snapshot_of_another_journal_is_refused() {
    let (storage, _) = written(20);
    let head = snapshot(&storage, 3);
    let mut out = SnapshotWriter::create(&storage, OWNER, head.journal + 1, head.behind).unwrap();
    out.put(1, KIND, 1, &[1]).unwrap();
    out.finish().unwrap();
    let refused = resumed(&storage).err().unwrap();
    assert!(
        matches!(refused, OpenError::Read(ReadError::Foreign { .. })),
        "{refused}"
    );
}

#[test]
fn j07_what_was_not_finished_is_no_snapshot_and_goes() {
    let (storage, _) = written(20);
    let head = snapshot(&storage, 3);
    let behind = Place {
        segment: 4,
        ..head.behind
    };
    let mut out = SnapshotWriter::create(&storage, OWNER, head.journal, behind).unwrap();
    out.put(1, KIND, 1, &[1]).unwrap();
    drop(out);
    assert_eq!(newest_snapshot(&storage).unwrap(), Some(head));
    let again = SnapshotWriter::create(&storage, OWNER, head.journal, behind);
    assert!(again.is_ok(), "what a process left is in nobody's way");
    let unfinished = unfinished_snapshot_name(3);
    assert!(storage.list().unwrap().contains(&unfinished));
    assert_eq!(resumed(&storage).unwrap(), all(20));
    assert!(!storage.list().unwrap().contains(&unfinished));
}

fn segments(storage: &SimStorage) -> Vec<u64> {
    super::reader::segments_of(storage).unwrap()
}

#[test]
fn j07_segments_go_only_below_both_snapshots_and_below_who_has_not_read_them() {
    let (storage, _) = written(24);
    let before = segments(&storage);
    assert!(before.len() >= 7);
    let delete = OldSegments::Delete;
    snapshot(&storage, 4);
    assert_eq!(tidy(&storage, &delete, u64::MAX).unwrap(), 0, "only one");
    snapshot(&storage, 6);
    assert_eq!(tidy(&storage, &OldSegments::Keep, u64::MAX).unwrap(), 0);
    assert_eq!(segments(&storage), before);
    assert_eq!(tidy(&storage, &delete, 3).unwrap(), 2, "somebody reads 3");
    assert_eq!(segments(&storage), before[2..]);
    assert_eq!(
        tidy(&storage, &delete, u64::MAX).unwrap(),
        1,
        "3 is in both"
    );
    assert_eq!(segments(&storage), before[3..]);
    assert_eq!(resumed(&storage).unwrap(), all(24));
    // The older of the two serves as well.
    let rotten = storage.after_kill();
    rotten.flip(&snapshot_name(5), 70, 1);
    assert_eq!(resumed(&rotten).unwrap(), all(24));
}

#[test]
fn j07_archived_segments_are_whole_in_the_other_folder() {
    let (storage, _) = written(24);
    let content = |storage: &SimStorage, name: &str| {
        let file = storage.open(name, false).unwrap();
        let mut bytes = vec![0; usize::try_from(file.size().unwrap()).unwrap()];
        super::storage::read_full_at(&file, &mut bytes, 0).unwrap();
        bytes
    };
    let first = content(&storage, &segment_name(1));
    let archive = SimStorage::new();
    snapshot(&storage, 4);
    snapshot(&storage, 6);
    let old = OldSegments::Archive(archive.clone());
    assert_eq!(tidy(&storage, &old, u64::MAX).unwrap(), 3);
    assert_eq!(segments(&archive), [1, 2, 3]);
    assert_eq!(content(&archive, &segment_name(1)), first);
    // Brought back, they are read as if they had never gone.
    for segment in 1..=3 {
        let name = segment_name(segment);
        let bytes = content(&archive, &name);
        let mut file = storage.create(&name).unwrap();
        super::storage::write_all_at(&mut file, &bytes, 0).unwrap();
    }
    let mut seen = Bytes::default();
    read(&storage, &mut |record| seen.record(record)).unwrap();
    assert_eq!(seen.0, all(24));
}
