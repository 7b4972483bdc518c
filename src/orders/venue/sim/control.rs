//! Phase changes from another thread, in order with the orders.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use super::{Auction, Phase, PhaseError};
use crate::limits;
use crate::types::{InstrumentId, Price};

/// Asks a running [`SimVenue`](super::SimVenue) to change a market phase.
///
/// The venue looks at requests when it is polled and has no event left to give.
/// When an answer is back, the change is made: an order that reaches the venue later meets the new phase,
/// and one that it has answered earlier met the old one.
#[derive(Clone, Debug)]
pub struct VenueControl {
    requests: Sender<Request>,
}

impl VenueControl {
    /// As [`SimVenue::set_phase`](super::SimVenue::set_phase), waiting at most
    /// `wait`.
    ///
    /// # Errors
    /// The venue refused, is gone, or did not answer in time; in the last case
    /// the change may still be made.
    pub fn set_phase(
        &self,
        instrument: InstrumentId,
        phase: Phase,
        wait: Duration,
    ) -> Result<(), ControlError> {
        self.ask(instrument, Change::Phase(phase), wait).map(drop)
    }

    /// As [`SimVenue::uncross`](super::SimVenue::uncross), waiting at most
    /// `wait`.
    ///
    /// # Errors
    /// As for [`VenueControl::set_phase`].
    pub fn uncross(
        &self,
        instrument: InstrumentId,
        price: Option<Price>,
        wait: Duration,
    ) -> Result<Option<Auction>, ControlError> {
        self.ask(instrument, Change::Uncross(price), wait)
    }

    /// As [`SimVenue::end_day`](super::SimVenue::end_day), waiting at most
    /// `wait`.
    ///
    /// # Errors
    /// As for [`VenueControl::set_phase`].
    pub fn end_day(&self, instrument: InstrumentId, wait: Duration) -> Result<(), ControlError> {
        self.ask(instrument, Change::EndDay, wait).map(drop)
    }

    fn ask(
        &self,
        instrument: InstrumentId,
        change: Change,
        wait: Duration,
    ) -> Result<Option<Auction>, ControlError> {
        let deadline = Instant::now() + wait;
        let (answer, answers) = crossbeam_channel::bounded(1);
        let request = Request {
            instrument,
            change,
            answer,
        };
        self.requests
            .send_deadline(request, deadline)
            .map_err(|failed| gone_or_late(failed.is_disconnected()))?;
        answers
            .recv_deadline(deadline)
            .map_err(|failed| gone_or_late(failed.is_disconnected()))?
            .map_err(ControlError::Refused)
    }
}

const fn gone_or_late(gone: bool) -> ControlError {
    if gone {
        ControlError::Gone
    } else {
        ControlError::TimedOut
    }
}

/// Why a change of phase was not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The venue said no; nothing has changed.
    #[error(transparent)]
    Refused(PhaseError),
    /// The venue no longer runs.
    #[error("the venue is gone: nothing will answer")]
    Gone,
    /// No answer in time; the change may still be made.
    #[error("the venue did not answer in time: see that its shard runs, then look at the phase")]
    TimedOut,
}

#[derive(Clone, Copy)]
pub(super) enum Change {
    Phase(Phase),
    Uncross(Option<Price>),
    EndDay,
}

pub(super) struct Request {
    pub(super) instrument: InstrumentId,
    pub(super) change: Change,
    /// Room for the one answer.
    pub(super) answer: Sender<Result<Option<Auction>, PhaseError>>,
}

/// The venue's end.
pub(super) struct Requests {
    queue: Receiver<Request>,
    /// Cloned for each control.
    sender: Sender<Request>,
}

impl Requests {
    pub(super) fn new() -> Self {
        let (sender, queue) = crossbeam_channel::bounded(limits::SIM_VENUE_REQUESTS_MAX);
        Self { queue, sender }
    }

    pub(super) fn control(&self) -> VenueControl {
        VenueControl {
            requests: self.sender.clone(),
        }
    }

    /// The oldest request; two plain loads where there is none.
    pub(super) fn take(&self) -> Option<Request> {
        if self.queue.is_empty() {
            return None;
        }
        self.queue.try_recv().ok()
    }
}
