//! The journal against a plain model: a list of groups, of which a crash may
//! take the last ones that nobody was promised, and nothing else.

use proptest::prelude::*;

use super::reader::{Place, ReadError, Summary, Tail, read, read_from, segments_of};
use super::recovery::{Opened, recover};
use super::repair::repair;
use super::segment::{Owner, segment_name};
use super::storage::{DiskFault, DiskOperation, SimFile, SimStorage, Storage};
use super::supply::Supply;
use super::unit::{Header, RecordKind, Unit, body_mut, units_for};
use super::writer::{AppendError, GroupBuffer, Writer};
use crate::journal::JournalFault;
use crate::limits::JOURNAL_WINDOW_UNITS;
use crate::time::UnixNanos;
use crate::types::ShardId;

const OWNER: Owner = Owner {
    shard: ShardId(2),
    shards: 3,
};
const SEGMENT_UNITS: u64 = 18;
const NUMBER: u64 = 0x5eed;

/// A group: the bodies of its records.
type Bodies = Vec<Vec<u8>>;

/// A journal that is written, what it had, and where it was cut.
type Opening = (Desk, Vec<Bodies>, Option<Place>);

struct Desk {
    writer: Writer<SimStorage>,
    next: u64,
}

impl Desk {
    fn open(storage: &SimStorage) -> Result<Opening, super::OpenError> {
        Self::open_with(storage, SEGMENT_UNITS)
    }

    fn open_with(storage: &SimStorage, segment_units: u64) -> Result<Opening, super::OpenError> {
        let mut shown = Shown::default();
        let opened: Opened<SimFile> =
            recover(storage, OWNER, NUMBER, None, &mut |r| shown.take(r))?;
        let supply = Supply::Inline {
            storage: storage.clone(),
            bytes: segment_units * 64,
            next: opened.position.segment + 1,
        };
        let next = opened.position.next;
        let writer = Writer::new(OWNER, segment_units, supply, opened.position, opened.file);
        Ok((Self { writer, next }, shown.groups, opened.recovered.cut))
    }

    fn append(&mut self, bodies: &[Vec<u8>]) -> Result<u64, AppendError> {
        self.append_as(bodies, true)
    }

    fn append_as(&mut self, bodies: &[Vec<u8>], sync: bool) -> Result<u64, AppendError> {
        let mut group = GroupBuffer::with_capacity(8);
        for (index, content) in bodies.iter().enumerate() {
            group.extend(&record(self.next + index as u64, content));
        }
        let last = self.writer.append(&mut group, UnixNanos(9), sync)?;
        self.next = last + 1;
        Ok(last)
    }
}

fn record(sequence: u64, content: &[u8]) -> Vec<Unit> {
    let mut units = vec![Unit::ZERO; units_for(content.len())];
    Header {
        crc: 0,
        kind: RecordKind(1),
        version: 1,
        units: u8::try_from(units.len()).unwrap(),
        sequence,
    }
    .write(&mut units[0]);
    body_mut(&mut units)[..content.len()].copy_from_slice(content);
    units
}

/// What a reader saw: groups of bodies without the zeros behind them.
#[derive(Default)]
struct Shown {
    groups: Vec<Bodies>,
    group: u64,
    next: Option<u64>,
}

impl Shown {
    fn take(&mut self, record: &super::RecordView<'_>) {
        if let Some(next) = self.next {
            assert_eq!(record.sequence, next, "a gap");
        }
        self.next = Some(record.sequence + 1);
        if self.group != record.group || self.groups.is_empty() {
            self.group = record.group;
            self.groups.push(Vec::new());
        }
        let used = record
            .body
            .iter()
            .rposition(|&b| b != 0)
            .map_or(0, |at| at + 1);
        let group = self.groups.last_mut().unwrap();
        group.push(record.body[..used].to_vec());
    }
}

fn read_all(storage: &SimStorage) -> Result<(Summary, Vec<Bodies>), ReadError> {
    let mut shown = Shown::default();
    let summary = read(storage, &mut |r| shown.take(r))?;
    Ok((summary, shown.groups))
}

/// Groups of one, two and more records, short and long, over three segments.
fn sample() -> Vec<Bodies> {
    (1..=14_u8)
        .map(|group| {
            (0..=group % 3)
                .map(|index| vec![group * 16 + index + 1; 20 + 40 * usize::from(index)])
                .collect()
        })
        .collect()
}

fn written(groups: &[Bodies]) -> SimStorage {
    let storage = SimStorage::new();
    let (mut desk, ..) = Desk::open(&storage).unwrap();
    for group in groups {
        desk.append(group).unwrap();
    }
    storage
}

#[test]
fn j01_sequences_have_no_gap_over_segments_and_restarts() {
    let groups = sample();
    let storage = written(&groups[..6]);
    let (mut desk, shown, cut) = Desk::open(&storage).unwrap();
    assert_eq!((&shown[..], cut), (&groups[..6], None));
    for group in &groups[6..] {
        desk.append(group).unwrap();
    }
    let (summary, shown) = read_all(&storage).unwrap();
    assert_eq!(shown, groups);
    let records: usize = groups.iter().map(Vec::len).sum();
    assert_eq!(summary.records, records as u64);
    assert_eq!(summary.end.sequence, records as u64 + 1);
    assert!(summary.segments >= 3, "{summary:?}");
    assert_eq!((summary.owner, summary.journal), (Some(OWNER), NUMBER));
}

/// A reader that follows a journal must see each record once, wherever it stood
/// and however much was written meanwhile.
#[test]
fn j11_a_reader_goes_on_from_where_it_stood() {
    let groups = sample();
    let storage = SimStorage::new();
    let (mut desk, ..) = Desk::open(&storage).unwrap();
    let mut places = vec![None];
    for group in &groups {
        desk.append(group).unwrap();
        places.push(Some(read_all(&storage).unwrap().0.end));
    }
    for (seen, &place) in places.iter().enumerate() {
        let mut shown = Shown::default();
        let summary = read_from(&storage, place, &mut |r| shown.take(r)).unwrap();
        assert_eq!(shown.groups, groups[seen..], "after {seen} groups");
        assert_eq!(Some(summary.end), *places.last().unwrap());
        let again = read_from(&storage, Some(summary.end), &mut |_| panic!("twice"));
        assert_eq!(again.unwrap().end, summary.end);
    }
    storage.remove(&segment_name(1)).unwrap();
    let gone = read_from(&storage, places[1], &mut |_| {});
    assert!(matches!(gone, Err(ReadError::Gone { segment: 1 })));
    let last = *places.last().unwrap();
    read_from(&storage, last, &mut |_| panic!("nothing is new")).unwrap();
}

/// Groups longer than what is read at once, and many short ones in it.
#[test]
fn j06_groups_of_any_length_are_read_through_a_bounded_window() {
    let long = vec![vec![7; 16_000]; JOURNAL_WINDOW_UNITS / 250 + 9];
    let groups = [vec![vec![1]; 3], long.clone(), vec![vec![2]; 5_000], long];
    let storage = SimStorage::new();
    let mut desk = Desk::open_with(&storage, 1 << 16).unwrap().0;
    for group in &groups {
        desk.append(group).unwrap();
    }
    for _ in 0..2_000 {
        desk.append(&[vec![3; 100]]).unwrap();
    }
    let (summary, shown) = read_all(&storage).unwrap();
    assert_eq!(shown[..4], groups);
    assert_eq!(shown.len(), 2_004);
    assert_eq!(summary.tail, Tail::Clean);
    assert_eq!(summary.groups, 2_004);
}

/// The last write's number, and its bytes, in a run that writes all groups.
fn last_write(groups: &[Bodies]) -> u64 {
    let operations = written(groups).operations();
    let last = operations.iter().rposition(|o| *o == DiskOperation::Write);
    last.unwrap() as u64 + 1
}

#[test]
fn j02_f02_a_group_cut_at_any_byte_is_gone_as_a_whole_and_the_rest_is_there() {
    let groups = sample();
    // One that goes on in its segment, and one that begins the next.
    for count in [5, 6, 7, 8] {
        let groups = &groups[..count];
        let write = last_write(groups);
        let bytes = 64
            * (2 + groups[count - 1]
                .iter()
                .map(|b| units_for(b.len()))
                .sum::<usize>());
        for cut in 0..=bytes {
            let storage = SimStorage::new();
            storage.plan(write, DiskFault::CrashAfter(cut));
            let (mut desk, ..) = Desk::open(&storage).unwrap();
            let done = groups.iter().take_while(|group| desk.append(group).is_ok());
            assert_eq!(done.count(), count - 1);
            let found = storage.after_kill();
            let (mut desk, shown, torn) = Desk::open(&found).unwrap();
            if shown.len() == count {
                // All but the zeros at its end.
                assert!(cut + 128 >= bytes && torn.is_none(), "{cut} of {bytes}");
                assert_eq!(shown, groups);
                continue;
            }
            assert_eq!(shown, groups[..count - 1], "cut at {cut}");
            // It goes on where the whole groups end.
            desk.append(&groups[count - 1]).unwrap();
            assert_eq!(read_all(&found).unwrap().1, groups);
        }
    }
}

#[test]
fn j06_f09_damage_before_the_last_group_is_refused_by_place_and_changes_nothing() {
    let groups = sample();
    let storage = written(&groups);
    let mut places = Vec::new();
    read(&storage, &mut |r| {
        places.push((r.group, r.segment, r.offset, r.sequence));
    })
    .unwrap();
    let last_group = places.last().unwrap().0;
    for &(group, segment, offset, _) in places.iter().filter(|p| p.0 < last_group) {
        for byte in [0, 5, 9, 17, 63] {
            let bad = storage.after_kill();
            let at = usize::try_from(offset).unwrap() + byte;
            bad.flip(&segment_name(segment), at, 4);
            let operations = bad.operations().len();
            match Desk::open(&bad) {
                Err(super::OpenError::Read(ReadError::Damaged { place, later })) => {
                    assert_eq!((place.segment, place.sequence), (segment, group));
                    assert!(place.offset < offset && later > group);
                }
                Err(other) => panic!("{other}"),
                Ok(_) => panic!("damage at byte {at} of segment {segment} was not seen"),
            }
            assert_eq!(bad.operations().len(), operations, "nothing is changed");
        }
    }
    // Headers of segments and of groups.
    for (segment, byte) in [(1, 3), (2, 20), (1, 70), (2, 80)] {
        let bad = storage.after_kill();
        bad.flip(&segment_name(segment), byte, 1);
        assert!(
            matches!(read_all(&bad), Err(ReadError::Damaged { .. })),
            "{segment} {byte}"
        );
    }
}

#[test]
fn j06_damage_in_the_last_group_is_a_torn_tail_cut_and_reported() {
    let groups = sample();
    let storage = written(&groups);
    let mut last = Vec::new();
    read(&storage, &mut |r| last.push((r.group, r.segment, r.offset))).unwrap();
    let &(group, segment, offset) = last.last().unwrap();
    for back in 0..=64 {
        let bad = storage.after_kill();
        let at = usize::try_from(offset).unwrap() + 63 - back;
        bad.flip(&segment_name(segment), at, 4);
        let (mut desk, shown, cut) = Desk::open(&bad).unwrap();
        assert_eq!(shown, groups[..groups.len() - 1]);
        assert_eq!(cut.map(|place| place.sequence), Some(group));
        desk.append(&groups[0]).unwrap();
        let (summary, shown) = read_all(&bad).unwrap();
        assert_eq!(
            (summary.tail, shown.last()),
            (Tail::Clean, Some(&groups[0]))
        );
    }
}

#[test]
fn j06_a_missing_segment_and_a_foreign_one_are_refused() {
    let storage = written(&sample());
    assert!(segments_of(&storage).unwrap().len() >= 3);
    let gap = storage.after_kill();
    gap.remove(&segment_name(2)).unwrap();
    assert!(matches!(read_all(&gap), Err(ReadError::Damaged { .. })));
    let wrong = storage.after_kill();
    wrong.rename(&segment_name(1), &segment_name(9)).unwrap();
    assert!(read_all(&wrong).is_err());
}

#[test]
fn j05_a_journal_of_another_shard_count_is_refused_with_what_to_do() {
    let storage = written(&sample());
    let other = Owner { shards: 4, ..OWNER };
    let refused = recover(&storage, other, 1, None, &mut |_| {})
        .err()
        .unwrap();
    let text = refused.to_string();
    assert!(
        text.contains("shard 2 of 3") && text.contains("old number"),
        "{text}"
    );
}

#[test]
fn j06_f07_recovery_killed_at_any_point_can_be_run_again() {
    let groups = sample();
    let write = last_write(&groups);
    let mut kills = 0;
    for cut in [1, 64, 70, 130] {
        let storage = SimStorage::new();
        storage.plan(write, DiskFault::CrashAfter(cut));
        let (mut desk, ..) = Desk::open(&storage).unwrap();
        for group in &groups {
            let _ = desk.append(group);
        }
        let torn = storage.after_kill();
        for step in 1.. {
            let mut killed = false;
            for part in [0, 1, 30, 1_000] {
                let found = torn.after_kill();
                found.plan(step, DiskFault::CrashAfter(part));
                killed |= Desk::open(&found).is_err();
                let (_, shown, _) = Desk::open(&found.after_kill()).unwrap();
                assert_eq!(shown, groups[..groups.len() - 1], "step {step}");
            }
            if !killed {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills >= 4, "recovery did nothing that could be killed");
}

#[test]
fn j06_repair_copies_what_is_whole_and_never_edits_in_place() {
    let groups = sample();
    let storage = written(&groups);
    let mut starts = Vec::new();
    read(&storage, &mut |r| starts.push((r.segment, r.offset))).unwrap();
    let (segment, offset) = starts[starts.len() / 2];
    storage.flip(
        &segment_name(segment),
        usize::try_from(offset).unwrap() + 20,
        1,
    );
    let before = storage.operations().len();
    let copy = SimStorage::new();
    let repaired = repair(&storage, &copy, OWNER, 77, SEGMENT_UNITS * 64).unwrap();
    let (summary, shown) = read_all(&copy).unwrap();
    assert_eq!(shown, groups[..shown.len()]);
    assert!(!shown.is_empty() && shown.len() < groups.len());
    assert_eq!((repaired.records, summary.journal), (summary.records, 77));
    assert_eq!(repaired.stopped.unwrap().sequence, summary.end.sequence);
    assert_eq!(
        storage.operations().len(),
        before,
        "the old one is only read"
    );
    let again = repair(&storage, &copy, OWNER, 78, SEGMENT_UNITS * 64);
    assert!(again.is_err(), "a folder with files is refused");
}

#[test]
fn j08_f11_a_failed_sync_or_write_poisons_and_is_never_tried_again() {
    let groups = sample();
    let write = last_write(&groups[..4]);
    for operation in [write, write + 1] {
        let storage = SimStorage::new();
        storage.plan(operation, DiskFault::Fail);
        let (mut desk, ..) = Desk::open(&storage).unwrap();
        for group in &groups[..3] {
            desk.append(group).unwrap();
        }
        let first = match desk.append(&groups[3]) {
            Err(AppendError::Failed(fault)) => fault,
            other => panic!("{other:?}"),
        };
        let is_sync = matches!(first, JournalFault::Sync { .. });
        assert_eq!(is_sync, operation == write + 1, "{first}");
        let operations = storage.operations().len();
        for _ in 0..3 {
            match desk.append(&groups[3]) {
                Err(AppendError::Failed(fault)) => assert_eq!(fault, first),
                other => panic!("{other:?}"),
            }
            assert!(desk.writer.sync().is_err());
        }
        assert_eq!(
            storage.operations().len(),
            operations,
            "the disk is left alone"
        );
    }
}

#[test]
fn f12_a_short_write_goes_on_and_leaves_no_gap() {
    let groups = sample();
    let write = last_write(&groups[..4]);
    for taken in [1, 63, 64, 100] {
        let storage = SimStorage::new();
        storage.plan(write, DiskFault::Short(taken));
        let (mut desk, ..) = Desk::open(&storage).unwrap();
        for group in &groups[..5] {
            desk.append(group).unwrap();
        }
        assert_eq!(read_all(&storage).unwrap().1, groups[..5]);
    }
}

#[test]
fn f13_a_write_that_lied_is_found_when_it_is_read() {
    let groups = sample();
    let write = last_write(&groups[..4]);
    let storage = SimStorage::new();
    storage.plan(write, DiskFault::Lie);
    let (mut desk, ..) = Desk::open(&storage).unwrap();
    for group in &groups[..6] {
        desk.append(group).unwrap();
    }
    let due: usize = groups[..3].iter().map(Vec::len).sum();
    match read_all(&storage) {
        Err(ReadError::Damaged { place, .. }) => assert_eq!(place.sequence, due as u64 + 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn j09_a_full_disk_is_no_failure_and_the_group_goes_when_there_is_room() {
    let groups = sample();
    let storage = SimStorage::new();
    storage.set_room(Some(SEGMENT_UNITS * 64 + 100));
    let (mut desk, ..) = Desk::open(&storage).unwrap();
    let done = groups
        .iter()
        .take_while(|group| desk.append(group).is_ok())
        .count();
    assert!(done > 1 && done < groups.len());
    assert!(matches!(desk.append(&groups[done]), Err(AppendError::Full)));
    assert_eq!(read_all(&storage).unwrap().1, groups[..done]);
    storage.set_room(None);
    for group in &groups[done..] {
        desk.append(group).unwrap();
    }
    assert_eq!(read_all(&storage).unwrap().1, groups);
}

/// Runs groups until the planned crash; what was promised.
fn run_to_crash(storage: &SimStorage, groups: &[Bodies], sync: bool) -> usize {
    let Ok((mut desk, ..)) = Desk::open(storage) else {
        return 0;
    };
    groups
        .iter()
        .take_while(|group| desk.append_as(group, sync).is_ok())
        .count()
}

#[test]
fn j14_f01_f03_f06_killed_at_every_write_sync_and_rename_it_loses_nothing_promised() {
    let groups = sample();
    let operations = written(&groups).operations().len() as u64;
    for operation in 1..=operations {
        for fault in [
            DiskFault::CrashBefore,
            DiskFault::CrashAfter(64),
            DiskFault::CrashAfter(999),
        ] {
            let storage = SimStorage::new();
            storage.plan(operation, fault);
            let promised = run_to_crash(&storage, &groups, true);
            let (mut desk, shown, _) = Desk::open(&storage.after_kill()).unwrap();
            assert!(shown.len() >= promised && shown.len() <= promised + 1);
            assert_eq!(shown, groups[..shown.len()], "{operation} {fault:?}");
            desk.append(&groups[0]).unwrap();
        }
    }
}

fn any_groups() -> impl Strategy<Value = Vec<Bodies>> {
    let body = (1..=255_u8, 1..150_usize).prop_map(|(byte, length)| vec![byte; length]);
    let group = prop::collection::vec(body, 1..4);
    prop::collection::vec(group, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn j02_j13_f08_power_loss_at_any_operation_keeps_every_promised_group(
        groups in any_groups(), operation in 1..200_u64, part in 0..700_usize, seed: u64
    ) {
        let storage = SimStorage::new();
        storage.plan(operation, DiskFault::CrashAfter(part));
        let promised = run_to_crash(&storage, &groups, true);
        let found = storage.after_power_loss(seed);
        let (mut desk, shown, _) = Desk::open(&found).unwrap();
        prop_assert!(shown.len() >= promised && shown.len() <= promised + 1);
        prop_assert_eq!(&shown, &groups[..shown.len()]);
        desk.append(&groups[0]).unwrap();
        prop_assert_eq!(read_all(&found).unwrap().1.len(), shown.len() + 1);
    }

    #[test]
    fn j03_async_loses_only_what_was_not_synced_and_never_a_part_of_a_group(
        groups in any_groups(), synced in 0..20_usize, seed: u64
    ) {
        let storage = SimStorage::new();
        let (mut desk, ..) = Desk::open(&storage).unwrap();
        let synced = synced.min(groups.len());
        for group in &groups[..synced] {
            desk.append_as(group, false).unwrap();
        }
        desk.writer.sync().unwrap();
        for group in &groups[synced..] {
            desk.append_as(group, false).unwrap();
        }
        let found = storage.after_power_loss(seed);
        let (_, shown, _) = Desk::open(&found).unwrap();
        prop_assert!(shown.len() >= synced);
        prop_assert_eq!(&shown, &groups[..shown.len()]);
        let (_, again, cut) = Desk::open(&found).unwrap();
        prop_assert_eq!((again, cut), (shown, None));
    }
}
