//! What travels in a ring: one or two cache lines, plain bytes.
//!
//! ```text
//!  word 0   ticket (0: sent while there was one submitter)
//!  word 1   bits 0..3 kind · 3 a fact · 4..20 completion slot · 24..64 stamp
//!  rest     the command, or the task's entry point and key
//! ```
//!
//! The stamp is the low 40 bits of the submit's nanoseconds, zero where the
//! submit was not sampled: waits up to 18 minutes are told apart.
#![allow(unsafe_code)]

use core::mem::{align_of, size_of};

use crate::time::Nanos;

use super::driver::LocalDriver;
use super::key::LaneKey;
use super::merge::UNTICKETED;
use super::operation::RunTask;
use super::slab::Slot;
use super::submitter::Class;

const KIND_TASK: u64 = 1;
const KIND_MASK: u64 = 0x7;
/// Not held back by a chain that waits (rule L35).
const FACT: u64 = 0x8;
const SLOT_SHIFT: u32 = 4;
const STAMP_SHIFT: u32 = 24;
const STAMP_MASK: u64 = (1 << 40) - 1;

/// One ring slot.
#[repr(C, align(64))]
pub(crate) struct Message<D: LocalDriver> {
    pub(crate) ticket: u64,
    tag: u64,
    body: Body<D>,
}

/// Which of the two it is, is told by the kind in `tag`.
#[repr(C)]
union Body<D: LocalDriver> {
    command: D::Command,
    task: Task<D>,
}

/// Where to enter a task whose operation waits in a completion slot.
struct Task<D: LocalDriver> {
    run: RunTask<D>,
    key: LaneKey,
}

impl<D: LocalDriver> Clone for Task<D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: LocalDriver> Copy for Task<D> {}

impl<D: LocalDriver> Clone for Message<D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: LocalDriver> Copy for Message<D> {}
impl<D: LocalDriver> Clone for Body<D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: LocalDriver> Copy for Body<D> {}

// SAFETY: a command is `Send` by its bound; a task is a function pointer and a
// key, and the operation that it names is `Send` by the bound of `Operation`.
unsafe impl<D: LocalDriver> Send for Message<D> {}

/// What a message asks for.
pub(crate) enum Content<'a, D: LocalDriver> {
    Command(&'a D::Command),
    Task {
        run: RunTask<D>,
        key: LaneKey,
        slot: u16,
    },
}

impl<D: LocalDriver> Message<D> {
    const FITS: () = assert!(
        size_of::<D::Command>() <= 112
            && align_of::<D::Command>() <= 16
            && size_of::<Self>() <= 128,
        "a command is at most 112 bytes and aligned to at most 16; send what is larger with submit"
    );

    #[inline]
    pub(crate) fn command(command: D::Command, stamp: Option<Nanos>) -> Self {
        let () = Self::FITS;
        Self {
            ticket: UNTICKETED,
            tag: stamp_bits(stamp),
            body: Body { command },
        }
    }

    #[inline]
    pub(crate) fn task(
        run: RunTask<D>,
        key: LaneKey,
        slot: Slot,
        class: Class,
        stamp: Option<Nanos>,
    ) -> Self {
        let () = Self::FITS;
        let kind = match class {
            Class::Order => KIND_TASK,
            Class::Fact => KIND_TASK | FACT,
        };
        Self {
            ticket: UNTICKETED,
            tag: kind | (u64::from(slot.index()) << SLOT_SHIFT) | stamp_bits(stamp),
            body: Body {
                task: Task { run, key },
            },
        }
    }

    #[inline]
    pub(crate) fn content(&self) -> Content<'_, D> {
        if self.tag & KIND_MASK == KIND_TASK {
            // SAFETY: the kind says that `task` was written.
            let task = unsafe { self.body.task };
            Content::Task {
                run: task.run,
                key: task.key,
                slot: slot_of(self.tag),
            }
        } else {
            // SAFETY: any other kind is a command's.
            Content::Command(unsafe { &self.body.command })
        }
    }

    /// The completion slot of a task.
    #[inline]
    pub(crate) fn slot(&self) -> Option<u16> {
        let is_task = self.tag & KIND_MASK == KIND_TASK;
        is_task.then(|| slot_of(self.tag))
    }

    /// Whether it is a task that a chain of its account holds back, if one
    /// waits.
    #[inline]
    pub(crate) fn is_order(&self) -> bool {
        self.tag & (KIND_MASK | FACT) == KIND_TASK
    }

    /// When it was submitted.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp(self.tag >> STAMP_SHIFT)
    }
}

/// The constructor put 16 bits there.
#[inline]
fn slot_of(tag: u64) -> u16 {
    u16::try_from((tag >> SLOT_SHIFT) & 0xFFFF).unwrap_or(u16::MAX)
}

/// When an operation was submitted, in 40 bits; zero where that was not sampled.
#[derive(Clone, Copy)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// Of what was sent without a stamp.
    pub(crate) const NONE: Self = Self(0);

    /// Nanoseconds from the submit to `now`; `None` where the submit was not
    /// sampled.
    #[inline]
    pub(crate) fn waited(self, now: Nanos) -> Option<u64> {
        if self.0 == 0 {
            return None;
        }
        let waited = now.0.wrapping_sub(self.0) & STAMP_MASK;
        // A batch's clock may be read before a submit that it then finds; the
        // difference wraps to the upper half.
        Some(if waited > STAMP_MASK / 2 { 0 } else { waited })
    }
}

#[inline]
fn stamp_bits(stamp: Option<Nanos>) -> u64 {
    stamp.map_or(0, |now| (now.0 & STAMP_MASK).max(1) << STAMP_SHIFT)
}
