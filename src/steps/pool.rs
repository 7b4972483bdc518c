//! A bounded pool of places named by index, reused in place.
//!
//! It promises that taking and giving cost no allocation below the highest
//! number used so far, and that the latest place given is the next taken: it
//! is warm. It does not clear a place: its owner does, before giving it back.
//! That is why this is not the `slab` crate, which moves whole values in and out.

/// No place.
pub(super) const NIL: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Pool<T> {
    places: Vec<T>,
    free: Vec<u32>,
    max: u32,
}

impl<T: Default> Pool<T> {
    pub(super) fn new(max: u32) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            max: max.min(NIL - 1),
        }
    }

    /// A free place; `None` when all that may be are in use.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u32> {
        if let Some(index) = self.free.pop() {
            return Some(index);
        }
        self.grow()
    }

    #[cold]
    fn grow(&mut self) -> Option<u32> {
        let index = u32::try_from(self.places.len()).ok()?;
        if index >= self.max {
            return None;
        }
        self.places.push(T::default());
        // Room for every place to be free at once: giving never allocates.
        self.free.reserve(self.places.len());
        Some(index)
    }

    #[inline]
    pub(super) fn give(&mut self, index: u32) {
        self.free.push(index);
    }

    pub(super) fn in_use(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn max(&self) -> u32 {
        self.max
    }

    /// Places ever used.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(self.max)
    }
}

impl<T> std::ops::Index<u32> for Pool<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize]
    }
}
