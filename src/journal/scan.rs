//! Goes through a journal's segments, finds the whole groups, and judges what is
//! not whole: a torn tail, or damage (rule J6).
//!
//! Where a group is not whole, the rest is searched for a later group that was
//! written when the broken one was durable already: if there is one, the damage
//! is no torn tail.

use super::reader::{Place, ReadError, Records, Summary, Tail, segments_of};
use super::segment::{FORMAT, GroupHeader, SegmentHeader};
use super::storage::Storage;
use super::unit::{Header, RecordKind, Seed, UNIT_BYTES, Unit};
use super::window::Window;

/// Whole groups of one segment, in the units that they were read into.
pub(super) struct Batch {
    units: Vec<Unit>,
    /// Each group's place in `units`, and its header.
    groups: Vec<(usize, GroupHeader)>,
    segment: u64,
    /// The unit of the segment that `units` begins with.
    base: usize,
}

impl Batch {
    pub(super) const fn segment(&self) -> u64 {
        self.segment
    }

    /// The unit of each group's first record, its header and its records.
    pub(super) fn groups(&self) -> impl Iterator<Item = (usize, &GroupHeader, &[Unit])> {
        self.groups.iter().map(|(at, header)| {
            let first = at + 1;
            let records = &self.units[first..first + header.units as usize];
            (self.base + first, header, records)
        })
    }

    /// To read into again.
    pub(super) fn into_units(self) -> Vec<Unit> {
        self.units
    }
}

/// Why a segment's reading stopped.
enum Stop {
    /// Nothing is behind it in this segment.
    End,
    /// Something is, and it is no whole group.
    Broken,
}

/// See the module.
pub(super) struct Scan<'s, S: Storage> {
    storage: &'s S,
    numbers: Vec<u64>,
    /// Where it begins, if not with the oldest segment.
    from: Option<Place>,
    window: Window<S::File>,
    summary: Summary,
    /// Known from the first whole segment header.
    known: bool,
}

impl<'s, S: Storage> Scan<'s, S> {
    pub(super) fn new(storage: &'s S, from: Option<Place>) -> Result<Self, ReadError> {
        let from = from.filter(|place| place.segment > 0);
        let end = from.unwrap_or(Place {
            segment: 0,
            offset: 0,
            sequence: 1,
        });
        let mut scan = Self {
            storage,
            numbers: Vec::new(),
            from,
            window: Window::default(),
            known: false,
            summary: Summary {
                owner: None,
                journal: 0,
                first: end.sequence,
                segments: 0,
                groups: 0,
                records: 0,
                end,
                tail: Tail::Clean,
            },
        };
        scan.list()?;
        Ok(scan)
    }

    fn list(&mut self) -> Result<(), ReadError> {
        self.numbers = segments_of(self.storage)?;
        if let Some(place) = self.from {
            self.numbers.retain(|&number| number >= place.segment);
            if self.numbers.first() != Some(&place.segment) {
                return Err(ReadError::Gone {
                    segment: place.segment,
                });
            }
        }
        Ok(())
    }

    /// Goes on where the last run has ended, with what was written since.
    pub(super) fn again(&mut self) -> Result<(), ReadError> {
        if self.summary.end.segment > 0 {
            self.from = Some(self.summary.end);
            // It is counted again.
            self.summary.segments = self.summary.segments.saturating_sub(1);
        }
        self.list()
    }

    /// Gives every batch away for units to read into; the end of it all.
    pub(super) fn run(
        &mut self,
        exchange: &mut dyn FnMut(Batch) -> Vec<Unit>,
    ) -> Result<Summary, ReadError> {
        let mut index = 0;
        while index < self.numbers.len() {
            let number = self.numbers[index];
            if index > 0 && number != self.numbers[index - 1] + 1 {
                // A segment is missing in between.
                let place = self.summary.end;
                return self.judge(index, 0, place);
            }
            self.load(number)?;
            let begins = self.window.at(0, 2)?;
            if begins.iter().all(Unit::is_zero) {
                break;
            }
            let header = begins.first().and_then(SegmentHeader::read);
            let first_unit = match (header, self.from) {
                (Some(header), Some(place)) if place.segment == number => {
                    self.take_header(&header, number)?;
                    self.summary.end.sequence = place.sequence;
                    Some(unit_of(place.offset)).filter(|_| header.first <= place.sequence)
                }
                (Some(header), _) => self.take_header(&header, number)?.then_some(1),
                (None, _) => None,
            };
            let Some(first_unit) = first_unit else {
                let place = match header {
                    // It is whole, and follows on records that are lost.
                    Some(_) => self.summary.end,
                    None => self.place(number, 0),
                };
                return self.judge(index, 1, place);
            };
            self.summary.segments += 1;
            let (at, stop) = self.groups(number, first_unit.max(1), exchange)?;
            self.summary.end = self.place(number, at);
            if matches!(stop, Stop::Broken) {
                let place = self.summary.end;
                return self.judge(index, at + 1, place);
            }
            index += 1;
        }
        // Behind the end there are only segments that were made ahead; if one is
        // in use, what lies before it was lost.
        self.judge_rest(index)
    }

    /// Checks a segment's header; whether its records follow on those before.
    fn take_header(&mut self, header: &SegmentHeader, number: u64) -> Result<bool, ReadError> {
        if header.format != FORMAT {
            return Err(ReadError::Format {
                segment: number,
                found: header.format,
            });
        }
        if !self.known {
            self.known = true;
            self.summary.owner = Some(header.owner);
            self.summary.journal = header.journal;
            // Older segments may have been archived.
            self.summary.end.sequence = header.first;
            self.summary.first = header.first;
        }
        self.check_own(header, number)?;
        Ok(header.first == self.summary.end.sequence)
    }

    /// Whether a segment is this journal's, and under its own number.
    fn check_own(&self, header: &SegmentHeader, number: u64) -> Result<(), ReadError> {
        let other =
            header.journal != self.summary.journal || Some(header.owner) != self.summary.owner;
        if header.number != number || (self.known && other) {
            return Err(ReadError::Foreign { segment: number });
        }
        Ok(())
    }

    /// Gives the whole groups of the loaded segment away; the first unit behind
    /// them.
    fn groups(
        &mut self,
        segment: u64,
        first_unit: usize,
        exchange: &mut dyn FnMut(Batch) -> Vec<Unit>,
    ) -> Result<(usize, Stop), ReadError> {
        let journal = self.summary.journal;
        let seed = Seed::of(journal);
        let mut at = first_unit;
        let mut groups: Vec<(usize, GroupHeader)> = Vec::new();
        // Units that must be there to say more.
        let mut least = 1;
        loop {
            if !self.window.holds(at, least) {
                if !groups.is_empty() {
                    let batch = self.batch(segment, &mut groups);
                    let units = exchange(batch);
                    self.window.recycle(units);
                }
                self.window.at(at, least)?;
            }
            let base = self.window.base();
            let rest = self.window.at(at, least)?;
            let Some(first) = rest.first() else {
                break;
            };
            if first.is_zero() {
                break;
            }
            let Some(header) = GroupHeader::read(first, Some(journal)) else {
                break;
            };
            let length = header.units as usize;
            if least <= length && !self.window.holds(at, 1 + length) {
                least = 1 + length;
                continue;
            }
            let rest = self.window.at(at, 1 + length)?;
            let next = self.summary.end.sequence;
            if !is_whole(rest, &header, seed, next) {
                break;
            }
            groups.push((at - base, header));
            self.summary.groups += 1;
            self.summary.records += u64::from(header.records);
            self.summary.end.sequence += u64::from(header.records);
            at += 1 + length;
            least = 1;
        }
        if !groups.is_empty() {
            let batch = self.batch(segment, &mut groups);
            let units = exchange(batch);
            self.window.recycle(units);
        }
        let stop = if self.window.is_zero_from(at)? {
            Stop::End
        } else {
            Stop::Broken
        };
        Ok((at, stop))
    }

    fn batch(&mut self, segment: u64, groups: &mut Vec<(usize, GroupHeader)>) -> Batch {
        let (base, units) = self.window.take();
        Batch {
            units,
            groups: std::mem::take(groups),
            segment,
            base,
        }
    }

    /// Judges what is not whole at `place`: `index` is its segment, and behind
    /// unit `from` of that it may be disproved.
    fn judge(&mut self, index: usize, mut from: usize, place: Place) -> Result<Summary, ReadError> {
        for at in index..self.numbers.len() {
            self.load(self.numbers[at])?;
            if let Some(header) = self.window.at(0, 1)?.first().and_then(SegmentHeader::read) {
                self.check_own(&header, self.numbers[at])?;
            }
            if let Some(later) = self.later_group(from, place.sequence)? {
                return Err(ReadError::Damaged { place, later });
            }
            from = 0;
        }
        let mut summary = self.summary;
        summary.tail = Tail::Torn(place);
        Ok(summary)
    }

    /// Judges segments behind the end: only what is in use there is of interest.
    fn judge_rest(&mut self, index: usize) -> Result<Summary, ReadError> {
        for at in index..self.numbers.len() {
            self.load(self.numbers[at])?;
            if !self.window.is_zero_from(0)? {
                let place = self.summary.end;
                return self.judge(at, 0, place);
            }
        }
        Ok(self.summary)
    }

    /// A group behind unit `from` that was written when `sequence` was durable.
    fn later_group(&mut self, from: usize, sequence: u64) -> Result<Option<u64>, ReadError> {
        let journal = self.known.then_some(self.summary.journal);
        // Where no header is known, neither is the sequence: any durable record
        // proves that this is no new journal.
        let sequence = if self.known { sequence } else { 1 };
        self.window.find(from, |unit| {
            if Header::read(unit).kind != RecordKind::GROUP {
                return None;
            }
            let group = GroupHeader::read(unit, journal)?;
            (group.durable >= sequence).then_some(group.first)
        })
    }

    fn load(&mut self, number: u64) -> Result<(), ReadError> {
        self.window.open(self.storage, number)
    }

    const fn place(&self, segment: u64, unit: usize) -> Place {
        Place {
            segment,
            offset: (unit * UNIT_BYTES) as u64,
            sequence: self.summary.end.sequence,
        }
    }
}

fn unit_of(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX) / UNIT_BYTES
}

/// Whether the group at the beginning of `units` is right in all of it.
pub(super) fn is_whole(units: &[Unit], header: &GroupHeader, seed: Seed, next: u64) -> bool {
    let length = header.units as usize;
    let Some(records) = units.get(1..1 + length) else {
        return false;
    };
    if header.first != next || header.records == 0 {
        return false;
    }
    let mut due = next;
    for record in Records(records) {
        let head = Header::read(&record[0]);
        let whole = usize::from(head.units) == record.len() && seed.holds(record);
        if !whole || head.sequence != due {
            return false;
        }
        due += 1;
    }
    due - next == u64::from(header.records)
}
