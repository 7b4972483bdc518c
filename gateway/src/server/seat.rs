//! A connection's place on its thread: the session, its queue, and who to wake.

use core::task::Waker;

use super::caps::Place;
use crate::session::{CredentialId, EndedBy, Outbound, Session};

/// Names a seat, and tells it from the ones before it in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeatId {
    pub(super) index: u16,
    pub(super) generation: u16,
}

impl SeatId {
    /// As commands carry it.
    pub(super) fn to_session(self) -> u32 {
        u32::from(self.generation) << 16 | u32::from(self.index)
    }

    /// From what a report carries.
    pub(super) fn from_session(session: u32) -> Self {
        let [low0, low1, high0, high1] = session.to_le_bytes();
        Self {
            index: u16::from_le_bytes([low0, low1]),
            generation: u16::from_le_bytes([high0, high1]),
        }
    }
}

/// What a connection's task should do about its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Read and write.
    Open,
    /// The session ended: write what is left, read on and throw away.
    Finishing,
    /// All is written: tell the client so, and wait for its end.
    Finished,
    /// Its time is over: shut down.
    Abort,
}

#[derive(Debug)]
pub(super) struct Seat {
    pub(super) generation: u16,
    pub(super) session: Session,
    pub(super) out: Outbound,
    /// The buffer that is not in use, to fill next.
    pub(super) spare: Vec<u8>,
    pub(super) waker: Option<Waker>,
    /// Whether it is in the list of those to wake.
    pub(super) is_dirty: bool,
    pub(super) is_aborted: bool,
    pub(super) is_end_counted: bool,
    /// Once established.
    pub(super) credential: Option<CredentialId>,
    /// Until it has logged on.
    pub(super) logon_place: Option<Place>,
    /// Held for as long as the connection is there.
    pub(super) _place: Place,
}

impl Seat {
    pub(super) fn stage(&self) -> Stage {
        match self.session.ending() {
            _ if self.is_aborted => Stage::Abort,
            None => Stage::Open,
            Some(_) if self.out.queued() > 0 => Stage::Finishing,
            Some(ending) if ending.by == EndedBy::Loss => Stage::Abort,
            Some(_) => Stage::Finished,
        }
    }
}
