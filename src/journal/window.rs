//! A segment's file through a window that moves towards its end, small enough
//! for a processor's cache.

use super::reader::ReadError;
use super::segment::segment_name;
use super::storage::{Storage, StorageFile, read_full_at};
use super::unit::{UNIT_BYTES, Unit};
use crate::limits::{JOURNAL_SEGMENT_BYTES_MAX, JOURNAL_WINDOW_UNITS};

/// See the module.
pub(super) struct Window<F> {
    file: Option<F>,
    name: String,
    /// Units in the file: whole ones, but for a file that somebody has cut.
    total: usize,
    base: usize,
    units: Vec<Unit>,
    spare: Vec<Unit>,
}

impl<F> Default for Window<F> {
    fn default() -> Self {
        Self {
            file: None,
            name: String::new(),
            total: 0,
            base: 0,
            units: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl<F: StorageFile> Window<F> {
    /// Looks at another segment.
    pub(super) fn open<S: Storage<File = F>>(
        &mut self,
        storage: &S,
        number: u64,
    ) -> Result<(), ReadError> {
        self.name = segment_name(number);
        // What it holds is another segment's.
        self.base = usize::MAX;
        let file = storage.open(&self.name, false);
        let file = file.map_err(|error| self.failed(error))?;
        let size = file.size().map_err(|error| self.failed(error))?;
        if size > JOURNAL_SEGMENT_BYTES_MAX {
            return Err(ReadError::TooLarge {
                segment: number,
                bytes: size,
            });
        }
        self.total = usize::try_from(size).unwrap_or(0) / UNIT_BYTES;
        self.file = Some(file);
        Ok(())
    }

    /// What it holds is read again: the file may have changed.
    pub(super) const fn forget(&mut self) {
        self.base = usize::MAX;
    }

    /// The unit of the segment that the window begins with.
    pub(super) const fn base(&self) -> usize {
        self.base
    }

    /// Whether so many units from `at`, or all to the segment's end, need no
    /// reading.
    pub(super) fn holds(&self, at: usize, least: usize) -> bool {
        let end = at.saturating_add(least).min(self.total);
        at >= self.base && end <= self.base + self.units.len()
    }

    /// The units from `at`: at least so many, unless the segment ends.
    pub(super) fn at(&mut self, at: usize, least: usize) -> Result<&[Unit], ReadError> {
        if !self.holds(at, least) {
            self.move_to(at, least)?;
        }
        // It stands at `at` or before, or at the segment's end.
        let from = at - self.base;
        Ok(self.units.get(from..).unwrap_or_default())
    }

    /// Gives the units away that it holds; it goes on in others.
    pub(super) fn take(&mut self) -> (usize, Vec<Unit>) {
        // What lies behind the last whole group is read once more.
        let base = self.base;
        self.base += self.units.len();
        (base, std::mem::take(&mut self.units))
    }

    /// Takes units to read into.
    pub(super) fn recycle(&mut self, units: Vec<Unit>) {
        if units.capacity() > self.spare.capacity() {
            self.spare = units;
        }
    }

    /// Whether nothing was ever written from `at` on.
    pub(super) fn is_zero_from(&mut self, mut at: usize) -> Result<bool, ReadError> {
        while at < self.total {
            let part = self.at(at, 1)?;
            let words: &[u64] = bytemuck::cast_slice(part);
            // By parts, so that a used one is seen early and each is quick.
            for part in words.chunks(1_024) {
                if part.iter().fold(0, |all, word| all | word) != 0 {
                    return Ok(false);
                }
            }
            at += part.len();
        }
        Ok(true)
    }

    /// The first that is found from unit `at` on.
    pub(super) fn find<T>(
        &mut self,
        mut at: usize,
        look: impl Fn(&Unit) -> Option<T>,
    ) -> Result<Option<T>, ReadError> {
        while at < self.total {
            let part = self.at(at, 1)?;
            if let Some(found) = part.iter().find_map(&look) {
                return Ok(Some(found));
            }
            at += part.len();
        }
        Ok(None)
    }

    fn move_to(&mut self, at: usize, least: usize) -> Result<(), ReadError> {
        let wanted = JOURNAL_WINDOW_UNITS.max(least);
        let count = wanted.min(self.total.saturating_sub(at));
        if self.units.capacity() == 0 {
            self.units = std::mem::take(&mut self.spare);
        }
        self.units.resize(count, Unit::ZERO);
        self.base = at;
        let Some(file) = &self.file else {
            return Ok(());
        };
        let target: &mut [u8] = bytemuck::cast_slice_mut(&mut self.units);
        let offset = (at * UNIT_BYTES) as u64;
        match read_full_at(file, target, offset) {
            Ok(filled) => {
                // It was cut while it was read: what is not there is not whole.
                target[filled..].fill(0);
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn failed(&self, error: std::io::Error) -> ReadError {
        ReadError::System {
            file: self.name.clone(),
            error,
        }
    }
}
