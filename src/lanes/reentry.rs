//! Which lanes the current thread is inside of (rule L36).
//!
//! Told by the thread, not by what was passed in: each turn puts a frame on the
//! thread's own stack of them, and nested engines stack up. Looking costs a
//! thread-local load.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::types::ShardId;

use super::key::LaneKey;

/// Tells engines of one process apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineId(u64);

impl EngineId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A lane of an engine, by what its strategy makes a lane of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneId {
    /// A shard (sharded strategy).
    Shard(ShardId),
    /// A key's queue (dynamic strategy).
    Key(LaneKey),
}

impl From<ShardId> for LaneId {
    fn from(shard: ShardId) -> Self {
        Self::Shard(shard)
    }
}

struct Frame {
    engine: EngineId,
    lane: LaneId,
    outer: *const Frame,
}

thread_local! {
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// Runs `body` as the given lane.
#[inline]
pub(crate) fn inside<R>(engine: EngineId, lane: impl Into<LaneId>, body: impl FnOnce() -> R) -> R {
    struct Leave(*const Frame);
    impl Drop for Leave {
        fn drop(&mut self) {
            INNERMOST.set(self.0);
        }
    }

    let outer = INNERMOST.get();
    let frame = Frame {
        engine,
        lane: lane.into(),
        outer,
    };
    let _leave = Leave(outer);
    INNERMOST.set(&raw const frame);
    body()
}

/// Whether this thread runs a lane of `engine`.
pub(crate) fn in_engine(engine: EngineId) -> bool {
    any(|frame| frame.engine == engine)
}

/// Whether this thread runs that very lane.
#[inline]
pub(crate) fn in_lane(engine: EngineId, lane: impl Into<LaneId>) -> bool {
    let lane = lane.into();
    any(|frame| frame.engine == engine && frame.lane == lane)
}

#[inline]
fn any(matches: impl Fn(&Frame) -> bool) -> bool {
    let mut next = INNERMOST.get();
    while !next.is_null() {
        // SAFETY: a frame lives on this thread's stack until `inside` returns,
        // and `inside` unlinks it before that, on unwinding too.
        let frame = unsafe { &*next };
        if matches(frame) {
            return true;
        }
        next = frame.outer;
    }
    false
}
