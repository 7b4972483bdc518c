//! Whether handles stay on the thread that made them, or go with their account.
#![allow(unsafe_code)]

/// How a driver keeps requests and reservations: [`AtHome`] or [`Leased`].
pub trait Place: sealed::Sealed + 'static {
    /// A handle, as it is kept.
    type Kept<H: 'static>: 'static;

    #[doc(hidden)]
    fn keep<H: 'static>(handle: H) -> Self::Kept<H>;

    #[doc(hidden)]
    fn take<H: 'static>(kept: Self::Kept<H>) -> H;

    #[doc(hidden)]
    fn get<H: 'static>(kept: &Self::Kept<H>) -> &H;

    #[doc(hidden)]
    fn get_mut<H: 'static>(kept: &mut Self::Kept<H>) -> &mut H;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::AtHome {}
    impl Sealed for super::Leased {}
}

/// Handles stay on the worker that made them, as the crate's types ask for.
#[derive(Clone, Copy, Debug)]
pub struct AtHome;

/// Handles go with their account from worker to worker, one at a time; only
/// [`leased`](super::OpenpitDriver::leased) makes a driver of this kind.
#[derive(Clone, Copy, Debug)]
pub struct Leased;

impl Place for AtHome {
    type Kept<H: 'static> = H;

    fn keep<H: 'static>(handle: H) -> H {
        handle
    }

    fn take<H: 'static>(kept: H) -> H {
        kept
    }

    fn get<H: 'static>(kept: &H) -> &H {
        kept
    }

    fn get_mut<H: 'static>(kept: &mut H) -> &mut H {
        kept
    }
}

/// A handle that may be sent, by the word of whoever leased the driver out.
pub struct Moving<H>(H);

// SAFETY: only a driver made by `leased` keeps handles so, and its caller has
// promised that nothing in them minds on which thread it is used or dropped.
unsafe impl<H> Send for Moving<H> {}

impl<H> core::fmt::Debug for Moving<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Moving")
    }
}

impl Place for Leased {
    type Kept<H: 'static> = Moving<H>;

    fn keep<H: 'static>(handle: H) -> Moving<H> {
        Moving(handle)
    }

    fn take<H: 'static>(kept: Moving<H>) -> H {
        kept.0
    }

    fn get<H: 'static>(kept: &Moving<H>) -> &H {
        &kept.0
    }

    fn get_mut<H: 'static>(kept: &mut Moving<H>) -> &mut H {
        &mut kept.0
    }
}
