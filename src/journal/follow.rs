//! Follows a journal from a place, group by group, while it is written.
//!
//! Memory is one window and the longest group. What is behind the last whole
//! group is not judged: it may be under way.

use std::io;

use super::reader::{Place, ReadError, RecordView, Records, segments_of};
use super::scan::is_whole;
use super::segment::{FORMAT, GroupHeader, Owner, SegmentHeader, segment_name};
use super::storage::{Storage, read_full_at};
use super::unit::{Header, Seed, UNIT_BYTES, Unit, body};
use super::window::Window;

/// What a follower found at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A group, which was shown.
    Group,
    /// The end of a segment: it goes on in the next.
    Segment,
    /// Nothing yet.
    Nothing,
}

/// Segments that will not be written any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The oldest that is there.
    pub first: u64,
    /// The first record in it.
    pub sequence: u64,
    /// The one behind the last of them.
    pub behind: u64,
}

/// See the module.
pub struct Follower<S: Storage> {
    storage: S,
    window: Window<S::File>,
    /// The segment that the window looks at.
    open: Option<u64>,
    place: Place,
    /// Its owner and number, from the first segment that was seen.
    known: Option<(Owner, u64)>,
}

impl<S: Storage> Follower<S> {
    /// Begins at a place, or with the oldest record that is there.
    #[must_use]
    pub fn new(storage: S, from: Option<Place>) -> Self {
        Self {
            storage,
            window: Window::default(),
            open: None,
            place: from.unwrap_or(Place {
                segment: 0,
                offset: 0,
                sequence: 0,
            }),
            known: None,
        }
    }

    /// Whose journal, and its number, from the oldest segment that is in use.
    ///
    /// # Errors
    /// The system's; foreign segments.
    pub fn identify(&mut self) -> Result<Option<(Owner, u64)>, ReadError> {
        for number in segments_of(&self.storage)? {
            if self.header_of(number)?.is_some() {
                break;
            }
        }
        Ok(self.known)
    }

    /// Where the next group is due; segment zero: nothing was found yet.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Whose journal, and its number; `None` where nothing was found yet.
    #[must_use]
    pub const fn known(&self) -> Option<(Owner, u64)> {
        self.known
    }

    /// Shows the next group if all of it is durable: if its last record is not
    /// behind `durable`. With `u64::MAX` any whole group is shown, durable or
    /// not.
    ///
    /// # Errors
    /// The system's; a segment that is gone; damage: a durable group that is
    /// not whole.
    pub fn step(
        &mut self,
        durable: u64,
        show: &mut dyn FnMut(&RecordView<'_>),
    ) -> Result<Step, ReadError> {
        if self.place.segment == 0 && !self.find_oldest()? {
            return Ok(Step::Nothing);
        }
        if self.place.sequence > durable {
            return Ok(Step::Nothing);
        }
        // A second look: the writer may have gone on between the first look at
        // this segment and that at the next.
        for _ in 0..2 {
            if self.open_here()? {
                match self.group(durable, show)? {
                    Some(step) => return Ok(step),
                    None => self.window.forget(),
                }
            }
            if self.go_on()? {
                return Ok(Step::Segment);
            }
        }
        if durable == u64::MAX {
            return Ok(Step::Nothing);
        }
        Err(ReadError::Damaged {
            place: self.place,
            later: durable,
        })
    }

    /// Which segments are closed: those before the last that has a durable record.
    ///
    /// # Errors
    /// The system's; foreign segments.
    pub fn closed(&mut self, durable: u64) -> Result<Option<Closed>, ReadError> {
        let numbers = segments_of(&self.storage)?;
        let Some(&first) = numbers.first() else {
            return Ok(None);
        };
        let Some(sequence) = self.header_of(first)?.map(|header| header.first) else {
            return Ok(None);
        };
        for &behind in numbers.iter().rev() {
            if self
                .header_of(behind)?
                .is_some_and(|one| one.first <= durable)
            {
                return Ok(Some(Closed {
                    first,
                    sequence,
                    behind,
                }));
            }
        }
        Ok(None)
    }

    /// The oldest segment, if one is in use.
    fn find_oldest(&mut self) -> Result<bool, ReadError> {
        let Some(&segment) = segments_of(&self.storage)?.first() else {
            return Ok(false);
        };
        let Some(header) = self.header_of(segment)? else {
            return Ok(false);
        };
        self.place = Place {
            segment,
            offset: UNIT_BYTES as u64,
            sequence: header.first,
        };
        Ok(true)
    }

    /// Looks at the place's segment; whether it is in use.
    fn open_here(&mut self) -> Result<bool, ReadError> {
        let segment = self.place.segment;
        if self.open == Some(segment) {
            return Ok(true);
        }
        match self.window.open(&self.storage, segment) {
            Err(ReadError::System { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReadError::Gone { segment });
            }
            opened => opened?,
        }
        let Some(header) = self.header_of(segment)? else {
            return Ok(false);
        };
        if header.first > self.place.sequence {
            return Err(ReadError::Gone { segment });
        }
        self.open = Some(segment);
        Ok(true)
    }

    /// A segment's header, checked; `None` where the segment is not there or not
    /// in use.
    fn header_of(&mut self, segment: u64) -> Result<Option<SegmentHeader>, ReadError> {
        let name = segment_name(segment);
        let failed = |error| ReadError::System {
            file: name.clone(),
            error,
        };
        let file = match self.storage.open(&name, false) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut unit = Unit::ZERO;
        let read = read_full_at(&file, &mut unit.0, 0).map_err(failed)?;
        let header = SegmentHeader::read(&unit).filter(|_| read == UNIT_BYTES);
        let Some(header) = header else {
            return Ok(None);
        };
        if header.format != FORMAT {
            return Err(ReadError::Format {
                segment,
                found: header.format,
            });
        }
        let own = *self.known.get_or_insert((header.owner, header.journal));
        if header.number != segment || own != (header.owner, header.journal) {
            return Err(ReadError::Foreign { segment });
        }
        Ok(Some(header))
    }

    /// Shows the group at the place; `None` where there is no whole one.
    fn group(
        &mut self,
        durable: u64,
        show: &mut dyn FnMut(&RecordView<'_>),
    ) -> Result<Option<Step>, ReadError> {
        let Some((_, journal)) = self.known else {
            return Ok(None);
        };
        let at = usize::try_from(self.place.offset).unwrap_or(usize::MAX) / UNIT_BYTES;
        let first = self.window.at(at, 1)?.first();
        let Some(header) = first.and_then(|unit| GroupHeader::read(unit, Some(journal))) else {
            return Ok(None);
        };
        let length = header.units as usize;
        let units = self.window.at(at, 1 + length)?;
        let next = self.place.sequence;
        if !is_whole(units, &header, Seed::of(journal), next) {
            return Ok(None);
        }
        if next + u64::from(header.records) - 1 > durable {
            return Ok(Some(Step::Nothing));
        }
        let mut unit = at + 1;
        for record in Records(&units[1..=length]) {
            let head = Header::read(&record[0]);
            show(&RecordView {
                sequence: head.sequence,
                kind: head.kind,
                version: head.version,
                body: body(record),
                wall: header.wall,
                segment: self.place.segment,
                offset: (unit * UNIT_BYTES) as u64,
                group: header.first,
            });
            unit += record.len();
        }
        self.place.offset = (unit * UNIT_BYTES) as u64;
        self.place.sequence = next + u64::from(header.records);
        Ok(Some(Step::Group))
    }

    /// Goes to the next segment, if it begins with the record that is due.
    fn go_on(&mut self) -> Result<bool, ReadError> {
        let segment = self.place.segment + 1;
        let due = self.place.sequence;
        let header = self.header_of(segment)?;
        let follows = header.is_some_and(|header| header.first == due);
        if follows {
            self.place.segment = segment;
            self.place.offset = UNIT_BYTES as u64;
            self.open = None;
        }
        Ok(follows)
    }
}
