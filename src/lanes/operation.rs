//! Operations: what a task does, and how it is run, aborted and fenced.
//!
//! The type of an operation is known to the submit and to the future; between
//! them travels one function pointer that knows it too.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::time::Nanos;

use super::driver::LocalDriver;
use super::error::{Failure, LaneError};
use super::future::Outcome;
use super::looks::Looks;
use super::slab::Slot;
use super::waits::Waits;

/// Where an operation runs.
pub(crate) struct Site<'a, D: LocalDriver> {
    pub(crate) driver: &'a mut D,
    pub(crate) now: Nanos,
    /// The chains of the lane that wait; none in the dynamic strategy.
    pub(crate) waits: Option<&'a mut Waits<D>>,
}

/// One call on a driver, with what it needs.
pub(crate) trait Operation<D: LocalDriver>: Send + 'static {
    type Value: Send + 'static;
    type Error: Send + 'static;
    type Payload: Send + 'static;

    /// Runs in the lane; `slot` is where its outcome will stand.
    fn run(
        self,
        driver: &mut D,
        now: Nanos,
        slot: Slot,
    ) -> Outcome<Self::Value, Self::Error, Self::Payload>;

    /// Runs; `None` where it keeps the slot, to publish its outcome later.
    #[inline]
    fn start(
        self,
        site: Site<'_, D>,
        slot: Slot,
    ) -> Option<Outcome<Self::Value, Self::Error, Self::Payload>>
    where
        Self: Sized,
    {
        Some(self.run(site.driver, site.now, slot))
    }

    /// It will not run: what was submitted, to give back.
    fn abort(self) -> Option<Self::Payload>;
}

/// Caller's work (rule L9).
pub(crate) struct Work<F>(pub(crate) F);

impl<D, F, T> Operation<D> for Work<F>
where
    D: LocalDriver,
    F: FnOnce(&mut D) -> T + Send + 'static,
    T: Send + 'static,
{
    type Value = T;
    type Error = core::convert::Infallible;
    type Payload = ();

    #[inline]
    fn run(self, driver: &mut D, _now: Nanos, _slot: Slot) -> Outcome<T> {
        Ok((self.0)(driver))
    }

    fn abort(self) -> Option<()> {
        None
    }
}

/// How a task is to be ended.
pub(crate) enum Call<'a, D: LocalDriver> {
    Run(Site<'a, D>),
    Abort(LaneError),
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Ran,
    Aborted,
    Panicked,
    /// It will publish its outcome later.
    Waits,
}

/// Ends the task in a slot and publishes its outcome.
///
/// # Safety
/// The slot holds the operation that the pointer was made for, and the caller
/// is the worker that it was sent to.
pub(crate) type RunTask<D> = unsafe fn(Slot, Call<'_, D>, Option<&mut Looks>) -> Ended;

/// The entry point for one type of operation; see [`RunTask`].
///
/// # Safety
/// As for [`RunTask`].
pub(crate) unsafe fn run_task<D: LocalDriver, O: Operation<D>>(
    slot: Slot,
    call: Call<'_, D>,
    looks: Option<&mut Looks>,
) -> Ended {
    // SAFETY: by the caller's promise.
    let operation = unsafe { slot.read::<O>() };
    let (outcome, ended) = match call {
        Call::Run(site) => match catch_unwind(AssertUnwindSafe(|| operation.start(site, slot))) {
            Ok(Some(outcome)) => (outcome, Ended::Ran),
            Ok(None) => return Ended::Waits,
            Err(panic) => {
                fenced(|| drop(panic));
                (task_failed(), Ended::Panicked)
            }
        },
        Call::Abort(error) => {
            let error = error.widen();
            match catch_unwind(AssertUnwindSafe(|| operation.abort())) {
                Ok(payload) => (Err(Failure { error, payload }), Ended::Aborted),
                Err(panic) => {
                    fenced(|| drop(panic));
                    (Err(Failure::without_payload(error)), Ended::Aborted)
                }
            }
        }
    };
    // SAFETY: the operation was moved out, and the worker owns the slot.
    unsafe { publish(slot, outcome, looks) };
    ended
}

/// Writes an outcome, completes the slot, and drops what nobody wants.
///
/// # Safety
/// The slot is pending, empty, and the caller is the worker that it was sent
/// to; with `looks`, it has a share of the slab until those are done.
#[inline]
pub(crate) unsafe fn publish<T: Send, E: Send, P: Send>(
    slot: Slot,
    outcome: Outcome<T, E, P>,
    looks: Option<&mut Looks>,
) {
    // SAFETY: by the caller's promise.
    unsafe { slot.write(outcome) };
    match looks {
        Some(looks) => looks.publish(slot, drop_unwanted::<T, E, P>),
        None => {
            // SAFETY: the outcome is written.
            if unsafe { slot.complete() } {
                // SAFETY: nobody else will read it.
                unsafe { drop_unwanted::<T, E, P>(slot) };
            }
        }
    }
}

/// Drops an outcome that nobody wants, and recycles its slot.
///
/// # Safety
/// It stands in the slot, and both are the caller's.
#[cold]
unsafe fn drop_unwanted<T: Send, E: Send, P: Send>(slot: Slot) {
    // SAFETY: by the caller's promise.
    let unwanted = unsafe { slot.read::<Outcome<T, E, P>>() };
    // A wrapper among it has the slot, and sends it to be closed.
    let kept = slot.word().is_kept();
    fenced(|| drop(unwanted));
    if !kept {
        slot.recycle();
    }
}

pub(crate) fn task_failed<T, E, P>() -> Outcome<T, E, P> {
    Err(Failure::without_payload(LaneError::TaskFailed))
}

/// Runs what must not take the worker down; whether it came to its end.
#[inline]
pub(crate) fn fenced(body: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(()) => true,
        Err(panic) => {
            // A panic's payload may panic when it is dropped; once is enough.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                core::mem::forget(again);
            }
            false
        }
    }
}
