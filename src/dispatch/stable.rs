//! Storage that grows and never moves, so that an entry is reached by its index
//! while anybody else looks at another one: what changes in it are cells.
//!
//! The first chunk is reached like a slice. Later ones are chained, each as large
//! as all before it; a queue that long has other sorrows.

use std::cell::OnceCell;

#[derive(Debug)]
struct Chunk<T> {
    entries: Box<[T]>,
    next: OnceCell<Box<Self>>,
}

#[derive(Debug)]
pub(super) struct Stable<T> {
    first: Chunk<T>,
}

impl<T: Default> Chunk<T> {
    fn new(count: usize) -> Self {
        Self {
            entries: (0..count).map(|_| T::default()).collect(),
            next: OnceCell::new(),
        }
    }
}

impl<T: Default> Stable<T> {
    /// With so many entries at first.
    pub(super) fn new(count: usize) -> Self {
        Self {
            first: Chunk::new(count),
        }
    }

    /// So many more entries, behind all others.
    pub(super) fn grow(&self, more: usize) {
        let mut last = &self.first;
        while let Some(next) = last.next.get() {
            last = next;
        }
        last.next.get_or_init(|| Box::new(Chunk::new(more)));
    }
}

impl<T> Stable<T> {
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        match self.first.entries.get(index as usize) {
            Some(entry) => Some(entry),
            None => self.far(index),
        }
    }

    #[cold]
    fn far(&self, index: u32) -> Option<&T> {
        let (mut chunk, mut index) = (&self.first, index as usize);
        while index >= chunk.entries.len() {
            index -= chunk.entries.len();
            chunk = chunk.next.get()?;
        }
        chunk.entries.get(index)
    }

    /// How many entries there are.
    pub(super) fn capacity(&self) -> usize {
        self.chunks().map(|chunk| chunk.entries.len()).sum()
    }

    /// All entries, in the order of their indices.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks().flat_map(|chunk| &*chunk.entries)
    }

    fn chunks(&self) -> impl Iterator<Item = &Chunk<T>> {
        std::iter::successors(Some(&self.first), |chunk| {
            chunk.next.get().map(|next| &**next)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::Stable;

    #[test]
    fn entries_keep_their_index_while_the_storage_grows() {
        for first in [0, 1, 5] {
            let stable: Stable<Cell<usize>> = Stable::new(first);
            let mut count = first;
            for more in [1, 2, 7] {
                for (index, entry) in stable.iter().enumerate() {
                    entry.set(index + 1);
                }
                let kept = stable.get(0);
                stable.grow(more);
                count += more;
                assert_eq!(stable.capacity(), count);
                assert!(kept.is_none_or(|entry| entry.get() == 1));
            }
            for index in 0..count {
                let entry = u32::try_from(index).ok().and_then(|at| stable.get(at));
                let told = if index < count - 7 { index + 1 } else { 0 };
                assert_eq!(entry.map(Cell::get), Some(told));
            }
            assert!(stable.get(u32::try_from(count).expect("few")).is_none());
            assert!(stable.get(u32::MAX).is_none());
        }
    }
}
