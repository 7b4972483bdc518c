//! The session as its connection sees it: one value that goes through the
//! phases.

use core::time::Duration;
use std::sync::Arc;

use pitlane::time::Nanos;
use pitlane::types::{Command, Origin, Report};

use super::established::{Established, Full};
use super::logon::{Negotiated, Negotiating};
use super::{At, Counts, CredentialId, Outbound, Rules};
use crate::wire::{
    Block, Cancel, Frame, FrameError, FromClient, NewOrder, Next, Replace, Terminate,
    TerminateReason, next_frame,
};

/// Who ended a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndedBy {
    /// The gateway, with a `Terminate`.
    Gateway,
    /// The client, with a `Terminate`.
    Client,
    /// The connection was lost, or closed without a `Terminate`.
    Loss,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Who ended it.
    pub by: EndedBy,
    /// Why; of a loss, `Finished`.
    pub reason: TerminateReason,
    /// When.
    pub at: Nanos,
    /// Commands that had not been answered.
    pub in_flight: u32,
}

/// A client's session.
#[derive(Debug)]
pub struct Session {
    rules: Arc<Rules>,
    origin: Origin,
    opened: Nanos,
    /// Since when a frame waits for its end.
    partial_since: Option<Nanos>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Negotiating(Negotiating),
    Negotiated(Negotiated),
    Established(Established),
    Terminated(Ending),
    /// Only while one phase becomes another.
    Between,
}

impl Session {
    /// A session on a new connection: sends the `Challenge`.
    ///
    /// `nonce` must be random and never used before; `origin` goes with each
    /// command, with the credential filled in.
    #[must_use]
    pub fn open(
        rules: Arc<Rules>,
        origin: Origin,
        nonce: [u8; 32],
        at: At,
        out: &mut Outbound,
    ) -> Self {
        let phase = Phase::Negotiating(Negotiating::open(nonce, &rules, at.wall, out));
        Self {
            rules,
            origin,
            opened: at.now,
            partial_since: None,
            phase,
        }
    }

    /// Reads what has come; returns how many bytes it is done with. The rest is
    /// the beginning of a frame, and must lead the next call's bytes.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        at: At,
        out: &mut Outbound,
        counts: &mut Counts,
        mut submit: impl FnMut(&Command) -> Result<(), Full>,
    ) -> usize {
        if let Phase::Established(established) = &mut self.phase {
            established.hear(at.now);
        }
        let mut done = 0;
        let mut is_partial = false;
        while !self.is_ended() && done < bytes.len() {
            let step = match next_frame(&bytes[done..]) {
                Ok(Next::Frame(frame)) => {
                    done += frame.length;
                    self.frame(&frame, at, out, counts, &mut submit)
                }
                Ok(Next::Partial) => {
                    is_partial = true;
                    break;
                }
                Err(error) => Err(reason_of(&error)),
            };
            if let Err(reason) = step {
                self.end(EndedBy::Gateway, reason, at.now, out);
            }
        }
        if self.is_ended() {
            self.partial_since = None;
            return bytes.len();
        }
        // A frame that was begun after others were completed has its own time.
        self.partial_since = match self.partial_since {
            _ if !is_partial => None,
            Some(since) if done == 0 => Some(since),
            _ => Some(at.now),
        };
        done
    }

    /// Passes a report to the client; `is_own` if this session sent the command
    /// that it is about, and not an earlier one of the credential.
    #[inline]
    pub fn report(
        &mut self,
        report: &Report,
        is_own: bool,
        now: Nanos,
        out: &mut Outbound,
        counts: &mut Counts,
    ) {
        if let Phase::Established(established) = &mut self.phase
            && let Err(reason) = established.report(report, is_own, out, counts)
        {
            self.end(EndedBy::Gateway, reason, now, out);
        }
    }

    /// Whether the session is established to have copies of reports.
    #[must_use]
    pub fn takes_copies(&self) -> bool {
        match &self.phase {
            Phase::Established(established) => established.takes_copies(),
            _ => false,
        }
    }

    /// Passes on a copy of a report, if it is of an account that the session is to
    /// have copies of; whether it is.
    pub fn copy(
        &mut self,
        report: &Report,
        now: Nanos,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> bool {
        let Phase::Established(established) = &self.phase else {
            return false;
        };
        let is_its = established.is_copied(report.account);
        if is_its {
            self.report(report, false, now, out, counts);
        }
        is_its
    }

    /// Looks at the deadlines.
    pub fn tick(&mut self, now: Nanos, out: &mut Outbound) {
        let timing = &self.rules.timing;
        let has_passed = |since: Nanos, limit: Duration| now >= since.after(limit);
        let judged = match &mut self.phase {
            Phase::Terminated(_) | Phase::Between => return,
            _ if self
                .partial_since
                .is_some_and(|since| has_passed(since, timing.partial_frame)) =>
            {
                Err(TerminateReason::FrameTimeout)
            }
            Phase::Established(established) => established.tick(now, out),
            Phase::Negotiating(_) | Phase::Negotiated(_) => {
                if has_passed(self.opened, timing.negotiation) {
                    Err(TerminateReason::NegotiationTimeout)
                } else {
                    Ok(())
                }
            }
        };
        if let Err(reason) = judged {
            self.end(EndedBy::Gateway, reason, now, out);
        }
    }

    /// Refuses new work from now on; reports still come.
    pub const fn refuse_new_work(&mut self) {
        if let Phase::Established(established) = &mut self.phase {
            established.refuse_new_work();
        }
    }

    /// Ends the session, with a `Terminate` for the client.
    pub fn terminate(&mut self, reason: TerminateReason, now: Nanos, out: &mut Outbound) {
        if !self.is_ended() {
            self.end(EndedBy::Gateway, reason, now, out);
        }
    }

    /// The connection is gone.
    pub fn lose(&mut self, now: Nanos, out: &mut Outbound) {
        if !self.is_ended() {
            self.end(EndedBy::Loss, TerminateReason::Finished, now, out);
        }
    }

    /// How it ended, if it has.
    #[must_use]
    pub const fn ending(&self) -> Option<Ending> {
        match self.phase {
            Phase::Terminated(ending) => Some(ending),
            _ => None,
        }
    }

    /// The credential of an established session.
    #[must_use]
    pub fn established(&self) -> Option<CredentialId> {
        match &self.phase {
            Phase::Established(established) => Some(established.credential()),
            _ => None,
        }
    }

    /// Commands that no report has answered.
    #[must_use]
    pub const fn in_flight(&self) -> u32 {
        match &self.phase {
            Phase::Established(established) => established.in_flight(),
            Phase::Terminated(ending) => ending.in_flight,
            _ => 0,
        }
    }

    /// What its commands carry.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    const fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Terminated(_))
    }

    /// Orders are read straight from their frames; all else is rare.
    #[inline]
    fn frame(
        &mut self,
        frame: &Frame<'_>,
        at: At,
        out: &mut Outbound,
        counts: &mut Counts,
        submit: &mut impl FnMut(&Command) -> Result<(), Full>,
    ) -> Result<(), TerminateReason> {
        let origin = self.origin;
        let refuse = |error: FrameError| reason_of(&error);
        match (&mut self.phase, frame.template) {
            (Phase::Established(phase), NewOrder::TEMPLATE) => {
                let message = frame.read().map_err(refuse)?;
                phase.new_order(&message, origin, submit, out, counts)
            }
            (Phase::Established(phase), Cancel::TEMPLATE) => {
                let message = frame.read().map_err(refuse)?;
                phase.cancel(&message, origin, submit, out, counts)
            }
            (Phase::Established(phase), Replace::TEMPLATE) => {
                let message = frame.read().map_err(refuse)?;
                phase.replace(&message, origin, submit, out, counts)
            }
            _ => {
                let message = FromClient::decode(frame).map_err(refuse)?;
                self.message(&message, at, out, counts)
            }
        }
    }

    /// Any message but an order of an established session.
    #[cold]
    fn message(
        &mut self,
        message: &FromClient,
        at: At,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<(), TerminateReason> {
        match (&mut self.phase, message) {
            (_, FromClient::Unknown { .. }) => {
                counts.skipped += 1;
                Ok(())
            }
            (_, FromClient::Terminate(_)) => {
                self.end(EndedBy::Client, TerminateReason::Finished, at.now, out);
                Ok(())
            }
            (Phase::Established(phase), FromClient::Sequence(sequence)) => {
                phase.sequence(sequence, out, counts)
            }
            (Phase::Established(_), _) => Err(TerminateReason::UnexpectedMessage),
            _ => self.logon(message, at, out, counts),
        }
    }

    #[cold]
    fn logon(
        &mut self,
        message: &FromClient,
        at: At,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<(), TerminateReason> {
        let rules = &self.rules;
        let next = match (core::mem::replace(&mut self.phase, Phase::Between), message) {
            (Phase::Negotiating(phase), FromClient::Negotiate(message)) => phase
                .negotiate(message, rules, at.wall, out)
                .map(Phase::Negotiated)
                .inspect_err(|_| counts.logons_refused += 1),
            (Phase::Negotiated(phase), FromClient::Establish(message)) => phase
                .establish(message, rules, at, out)
                .map(Phase::Established)
                .inspect(|_| counts.established += 1),
            _ => Err(TerminateReason::UnexpectedMessage),
        };
        self.phase = next?;
        Ok(())
    }

    /// Drops the phase, and with it the hold on the credential.
    #[cold]
    fn end(&mut self, by: EndedBy, reason: TerminateReason, at: Nanos, out: &mut Outbound) {
        let session_id = match &self.phase {
            Phase::Negotiated(phase) => phase.session_id(),
            Phase::Established(phase) => phase.session_id(),
            _ => 0,
        };
        if by != EndedBy::Loss {
            out.frame(&Terminate {
                session_id,
                reason: reason.number(),
                pad1: 0,
                pad2: 0,
                pad3: 0,
            });
        }
        self.phase = Phase::Terminated(Ending {
            by,
            reason,
            at,
            in_flight: self.in_flight(),
        });
    }
}

const fn reason_of(error: &FrameError) -> TerminateReason {
    match error {
        FrameError::Encoding { .. } | FrameError::TooShort { .. } => TerminateReason::BadFraming,
        FrameError::TooLong { .. } => TerminateReason::FrameTooLong,
        FrameError::Schema { .. } => TerminateReason::UnknownSchema,
        FrameError::BlockBeyondFrame { .. }
        | FrameError::Trailing { .. }
        | FrameError::BlockTooShort { .. } => TerminateReason::MalformedMessage,
        FrameError::Direction { .. } => TerminateReason::UnexpectedMessage,
    }
}
