//! A journal in memory, durable as far as it is told: for simulations, in which a
//! thread would make two runs of one seed differ.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crossbeam_utils::sync::Parker;
use rtrb::{Consumer, RingBuffer};

use super::port::JournalPort;
use super::reader::RecordView;
use super::unit::{Header, Unit, body};
use super::watermark::Watermark;
use crate::limits::{JOURNAL_GROUPS_DEFAULT, JOURNAL_RING_UNITS};
use crate::time::UnixNanos;

/// See the module. Clones are the same journal, which outlives the shards that
/// write to it; it stays on its thread.
#[derive(Clone, Default)]
pub struct MemoryJournal(Rc<RefCell<Memory>>);

#[derive(Default)]
struct Memory {
    groups: Vec<Vec<Unit>>,
    durable: usize,
    open: Option<Open>,
}

struct Open {
    ring: Consumer<Unit>,
    watermark: Arc<Watermark>,
}

impl MemoryJournal {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The end of a shard that goes on where the journal ends. An earlier shard's
    /// is cut off.
    #[must_use]
    pub fn open(&self) -> JournalPort {
        let mut memory = self.0.borrow_mut();
        memory.open = None;
        let last = memory.last();
        let (producer, ring) = RingBuffer::new(JOURNAL_RING_UNITS);
        let watermark = Arc::new(Watermark::new(last));
        memory.open = Some(Open {
            ring,
            watermark: Arc::clone(&watermark),
        });
        // Nobody sleeps.
        let parker = Parker::new();
        let unparker = parker.unparker().clone();
        JournalPort::new(
            producer,
            last + 1,
            JOURNAL_GROUPS_DEFAULT,
            watermark,
            unparker,
        )
    }

    /// Takes what was handed over, as one group that is not durable.
    pub fn write(&self) {
        self.0.borrow_mut().write();
    }

    /// Makes everything durable that was handed over.
    pub fn sync(&self) {
        let mut memory = self.0.borrow_mut();
        memory.write();
        memory.durable = memory.groups.len();
        let last = memory.last();
        if let Some(open) = &memory.open {
            open.watermark.advance(last);
        }
    }

    /// The process ends: what was handed over and not written is lost, and of what
    /// is not durable all but the `kept` oldest groups.
    pub fn crash(&self, kept: usize) {
        let mut memory = self.0.borrow_mut();
        if let Some(open) = memory.open.take() {
            open.watermark.fail();
        }
        let kept = (memory.durable + kept).min(memory.groups.len());
        memory.groups.truncate(kept);
        memory.durable = kept;
    }

    /// Sequence of the last durable record.
    #[must_use]
    pub fn durable(&self) -> u64 {
        let memory = self.0.borrow();
        last_of(&memory.groups[..memory.durable])
    }

    /// Shows every record that is there, durable or not.
    pub fn read(&self, show: &mut dyn FnMut(&RecordView<'_>)) {
        self.read_from(0, show);
    }

    /// The same without the oldest `skipped` groups; how many groups there are.
    pub fn read_from(&self, skipped: usize, show: &mut dyn FnMut(&RecordView<'_>)) -> usize {
        let memory = self.0.borrow();
        for group in memory.groups.iter().skip(skipped) {
            let first = Header::read(&group[0]).sequence;
            let mut rest = group.as_slice();
            while let Some(unit) = rest.first() {
                let header = Header::read(unit);
                let (record, behind) = rest.split_at(usize::from(header.units));
                rest = behind;
                show(&RecordView {
                    sequence: header.sequence,
                    kind: header.kind,
                    version: header.version,
                    body: body(record),
                    wall: UnixNanos(0),
                    segment: 0,
                    offset: 0,
                    group: first,
                });
            }
        }
        memory.groups.len()
    }
}

impl Memory {
    fn write(&mut self) {
        let Some(open) = &mut self.open else { return };
        let Ok(chunk) = open.ring.read_chunk(open.ring.slots()) else {
            return;
        };
        let (first, second) = chunk.as_slices();
        let group = [first, second].concat();
        chunk.commit_all();
        if !group.is_empty() {
            self.groups.push(group);
        }
    }

    /// Sequence of the last record.
    fn last(&self) -> u64 {
        last_of(&self.groups)
    }
}

fn last_of(groups: &[Vec<Unit>]) -> u64 {
    groups.last().map_or(0, |group| {
        let mut at = 0;
        let mut last = 0;
        while let Some(unit) = group.get(at) {
            let header = Header::read(unit);
            last = header.sequence;
            at += usize::from(header.units);
        }
        last
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Condition, RecordKind};

    fn write(port: &mut JournalPort, bodies: &[&[u8]]) -> u64 {
        for body in bodies {
            port.append(RecordKind(1), 1, body).unwrap();
        }
        port.commit()
    }

    fn bodies(journal: &MemoryJournal) -> Vec<(u64, u8)> {
        let mut all = Vec::new();
        journal.read(&mut |record| all.push((record.sequence, record.body[0])));
        all
    }

    #[test]
    fn j13_a_crash_keeps_what_was_synced_and_as_many_groups_as_it_is_told() {
        let journal = MemoryJournal::new();
        let mut port = journal.open();
        assert_eq!(write(&mut port, &[&[1; 100], &[2]]), 2);
        journal.sync();
        assert_eq!(port.durable(), 2);
        write(&mut port, &[&[3]]);
        journal.write();
        write(&mut port, &[&[4]]);
        journal.write();
        write(&mut port, &[&[5]]);
        assert_eq!(port.durable(), 2, "written is not durable");
        journal.crash(1);
        assert_eq!(port.condition(), Condition::Failed);
        assert_eq!(bodies(&journal), [(1, 1), (2, 2), (3, 3)]);
        let mut port = journal.open();
        assert_eq!(port.durable(), 3);
        assert_eq!(write(&mut port, &[&[6]]), 4);
        journal.sync();
        assert_eq!(bodies(&journal), [(1, 1), (2, 2), (3, 3), (4, 6)]);
        assert_eq!(journal.durable(), 4);
        let mut behind = Vec::new();
        let groups = journal.read_from(2, &mut |record| behind.push(record.sequence));
        assert_eq!((behind.as_slice(), groups), (&[4][..], 3));
    }
}
