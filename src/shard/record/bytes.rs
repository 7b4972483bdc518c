//! Fixed little-endian fields, one after the other.

/// The longest body of an effect that orders have.
pub(super) const BODY_MAX: usize = 304;

/// The longest body of a decision: ten names and what is of fixed length.
pub(super) const DECISION_BODY_MAX: usize = 768;

/// The longest text of a body: its length is a byte, and a name is shorter.
const TEXT_MAX: usize = 64;

/// Writes a body.
pub(crate) struct Put<const MAX: usize = BODY_MAX> {
    bytes: [u8; MAX],
    len: usize,
}

impl<const MAX: usize> Put<MAX> {
    pub(super) const fn new() -> Self {
        Self {
            bytes: [0; MAX],
            len: 0,
        }
    }

    /// Bodies are of bounded length, so that none is longer than `MAX`; every
    /// kind's test writes one.
    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(&bytes);
        self.len += N;
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.put([value]);
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.put(value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.put(value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.put(value.to_le_bytes());
    }

    pub(super) fn i64(&mut self, value: i64) {
        self.put(value.to_le_bytes());
    }

    pub(super) fn i128(&mut self, value: i128) {
        self.put(value.to_le_bytes());
    }

    /// A text of at most [`TEXT_MAX`] bytes; a longer one is cut, between two
    /// characters.
    pub(super) fn text(&mut self, text: &str) {
        let text = &text[..text.floor_char_boundary(TEXT_MAX)];
        self.u8(u8::try_from(text.len()).unwrap_or(0));
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text.as_bytes());
        self.len += text.len();
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reads a body; `None` where it ends too early.
pub(super) struct Take<'a>(pub(super) &'a [u8]);

impl<'a> Take<'a> {
    /// The next `N` bytes on their own: one look at the length for all of them.
    #[inline]
    pub(super) fn part<const N: usize>(&mut self) -> Option<Take<'a>> {
        let (part, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(Take(part))
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    #[inline]
    pub(super) fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    #[inline]
    pub(super) fn i128(&mut self) -> Option<i128> {
        self.take().map(i128::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let len = usize::from(self.u8()?);
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        str::from_utf8(text).ok()
    }

    /// `Some` where nothing but the last unit's zeros follows.
    pub(super) fn end(&self) -> Option<()> {
        self.0.iter().all(|&byte| byte == 0).then_some(())
    }
}
