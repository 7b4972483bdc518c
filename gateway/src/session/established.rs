//! The phase in which orders go through: sequence numbers, permission,
//! references, the in-flight cap, and the reports back.

use core::time::Duration;

use pitlane::time::Nanos;
use pitlane::types::{
    AccountId, ClientOrderId, ClientReference, Command, Origin, RejectCode, RejectScope, Report,
    ReportKind,
};

use super::credentials::Lease;
use super::{Counts, CredentialId, Outbound};
use crate::wire::{
    Cancel, CancelRejected, KeepAliveLapsed, NewOrder, NotApplied, Rejected, Replace, ReportHead,
    Sequence, TerminateReason, write_report,
};

/// The core has no room for a command now; nothing was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ring of the account's shard is full; nothing was taken")]
pub struct Full;

/// Intervals of silence before a client is warned.
const WARN_INTERVALS: u32 = 2;
/// Intervals of silence before its session ends (rule G10).
const END_INTERVALS: u32 = 3;

/// An established session.
#[derive(Debug)]
pub(super) struct Established {
    session_id: u64,
    lease: Lease,
    /// The number that the client's next message should have.
    next_in: u64,
    /// The number that the next report gets.
    next_out: u64,
    /// Commands that no report has answered.
    in_flight: u32,
    /// Whether new work is refused, because the gateway stops.
    is_refusing: bool,
    keep_alive: Duration,
    heard: Nanos,
    is_warned: bool,
    spoke: Nanos,
    /// [`Outbound::total`] when `spoke` was last looked at.
    spoken: u64,
}

impl Established {
    pub(super) const fn new(
        session_id: u64,
        lease: Lease,
        next_in: u64,
        next_out: u64,
        keep_alive: Duration,
        now: Nanos,
    ) -> Self {
        Self {
            session_id,
            lease,
            next_in,
            next_out,
            in_flight: 0,
            is_refusing: false,
            keep_alive,
            heard: now,
            is_warned: false,
            spoke: now,
            spoken: 0,
        }
    }

    pub(super) const fn session_id(&self) -> u64 {
        self.session_id
    }

    pub(super) fn credential(&self) -> CredentialId {
        self.lease.entry.id
    }

    pub(super) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(super) const fn refuse_new_work(&mut self) {
        self.is_refusing = true;
    }

    /// Something came.
    pub(super) const fn hear(&mut self, now: Nanos) {
        self.heard = now;
        self.is_warned = false;
    }

    #[inline]
    pub(super) fn new_order(
        &mut self,
        message: &NewOrder,
        origin: Origin,
        submit: impl FnOnce(&Command) -> Result<(), Full>,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<(), TerminateReason> {
        if !self.is_next(message.seq_num, out, counts)? {
            return Ok(());
        }
        let origin = self.origin(origin);
        let judged = self.pass(
            true,
            message.account,
            message.reference,
            || {
                Ok(submit(&Command::NewOrder {
                    origin,
                    reference: ClientReference(message.reference),
                    order: message.order()?,
                }))
            },
            counts,
        );
        match judged {
            Ok(()) => Ok(()),
            Err(code) => {
                let head = self.own_head(message.account, message.reference, message.reference)?;
                let head = ReportHead {
                    instrument: message.instrument,
                    ..head
                };
                out.frame(&Rejected::new(head, code, RejectScope::Order));
                Self::refused(out, counts)
            }
        }
    }

    #[inline]
    pub(super) fn replace(
        &mut self,
        message: &Replace,
        origin: Origin,
        submit: impl FnOnce(&Command) -> Result<(), Full>,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<(), TerminateReason> {
        if !self.is_next(message.seq_num, out, counts)? {
            return Ok(());
        }
        let origin = self.origin(origin);
        let judged = self.pass(
            true,
            message.account,
            message.reference,
            || Ok(submit(&message.command(origin))),
            counts,
        );
        self.answer_change(
            judged,
            message.account,
            message.reference,
            message.target,
            out,
            counts,
        )
    }

    /// Cancels are not held back by the in-flight cap (rule G13), nor by a
    /// gateway that stops: only a full ring refuses them.
    #[inline]
    pub(super) fn cancel(
        &mut self,
        message: &Cancel,
        origin: Origin,
        submit: impl FnOnce(&Command) -> Result<(), Full>,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<(), TerminateReason> {
        if !self.is_next(message.seq_num, out, counts)? {
            return Ok(());
        }
        let origin = self.origin(origin);
        let judged = self.pass(
            false,
            message.account,
            message.reference,
            || Ok(submit(&message.command(origin))),
            counts,
        );
        self.answer_change(
            judged,
            message.account,
            message.reference,
            message.target,
            out,
            counts,
        )
    }

    /// The client's keep-alive, which also tells of messages that never came.
    pub(super) fn sequence(
        &mut self,
        message: &Sequence,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<(), TerminateReason> {
        if message.next_seq_num > self.next_in {
            self.not_applied(message.next_seq_num, out, counts);
            self.next_in = message.next_seq_num;
        }
        if message.lapsed == KeepAliveLapsed::Lapsed.number() {
            self.keep_alive(KeepAliveLapsed::NotLapsed, out);
        }
        if out.has_room() {
            Ok(())
        } else {
            Err(TerminateReason::SlowReader)
        }
    }

    /// Passes a report on; `is_own` if this session sent the command that it
    /// is about.
    #[inline]
    pub(super) fn report(
        &mut self,
        report: &Report,
        is_own: bool,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<(), TerminateReason> {
        if is_own && is_answer(report) {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        if !out.has_room() {
            return Err(TerminateReason::SlowReader);
        }
        let seq_num = self.number()?;
        out.append(|bytes| write_report(bytes, seq_num, report));
        counts.reports += 1;
        Ok(())
    }

    pub(super) fn takes_copies(&self) -> bool {
        self.lease.entry.permissions.drop_copy
    }

    /// Whether a report of the account is to be copied to this session.
    pub(super) fn is_copied(&self, account: AccountId) -> bool {
        self.takes_copies() && self.lease.has(account)
    }

    /// Says that it is there, asks whether the client is, or gives it up.
    pub(super) fn tick(&mut self, now: Nanos, out: &mut Outbound) -> Result<(), TerminateReason> {
        let silence = Duration::from_nanos(now.since(self.heard));
        if silence >= self.keep_alive * END_INTERVALS {
            return Err(TerminateReason::KeepAliveTimeout);
        }
        if out.total() != self.spoken {
            self.spoken = out.total();
            self.spoke = now;
        }
        let should_warn = !self.is_warned && silence >= self.keep_alive * WARN_INTERVALS;
        let is_due = Duration::from_nanos(now.since(self.spoke)) >= self.keep_alive;
        if should_warn || is_due {
            if !out.has_room() {
                return Err(TerminateReason::SlowReader);
            }
            self.is_warned |= should_warn;
            let lapsed = if self.is_warned {
                KeepAliveLapsed::Lapsed
            } else {
                KeepAliveLapsed::NotLapsed
            };
            self.keep_alive(lapsed, out);
            self.spoken = out.total();
            self.spoke = now;
        }
        Ok(())
    }

    /// Whether a message is the next one; older ones have been dealt with, and
    /// a newer one tells of a gap and counts (rule G9).
    #[inline]
    fn is_next(
        &mut self,
        seq_num: u64,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<bool, TerminateReason> {
        if seq_num < self.next_in {
            counts.duplicates += 1;
            return Ok(false);
        }
        if seq_num > self.next_in {
            self.not_applied(seq_num, out, counts);
        }
        self.next_in = seq_num
            .checked_add(1)
            .ok_or(TerminateReason::SequenceExhausted)?;
        Ok(true)
    }

    #[cold]
    fn not_applied(&self, seq_num: u64, out: &mut Outbound, counts: &mut Counts) {
        out.frame(&NotApplied {
            from_seq_num: self.next_in,
            count: seq_num - self.next_in,
        });
        counts.gaps += 1;
    }

    /// Judges a command and hands it over; only then is its reference used.
    ///
    /// An account that the credential may not use is answered like one that
    /// does not exist.
    #[inline]
    fn pass(
        &mut self,
        is_entry: bool,
        account: u64,
        reference: u64,
        submit: impl FnOnce() -> Result<Result<(), Full>, RejectCode>,
        counts: &mut Counts,
    ) -> Result<(), RejectCode> {
        let permissions = self.lease.entry.permissions;
        let max_in_flight = self.lease.entry.max_in_flight;
        let may = if is_entry {
            permissions.enter
        } else {
            permissions.cancel
        };
        if self.is_refusing && is_entry {
            return Err(RejectCode::SystemUnavailable);
        }
        let last = match self.lease.last(AccountId(account)) {
            Some(last) if may => last,
            _ => return Err(RejectCode::AccountNotAuthorized),
        };
        if reference <= last.0 {
            return Err(if reference == 0 {
                RejectCode::InvalidFieldValue
            } else {
                RejectCode::DuplicateClientOrderId
            });
        }
        if is_entry && self.in_flight >= max_in_flight {
            return Err(RejectCode::RateLimitExceeded);
        }
        submit()?.map_err(|Full| RejectCode::CapacityExceeded)?;
        *last = ClientReference(reference);
        self.in_flight = self.in_flight.saturating_add(1);
        counts.commands += 1;
        Ok(())
    }

    #[inline]
    fn answer_change(
        &mut self,
        judged: Result<(), RejectCode>,
        account: u64,
        reference: u64,
        target: u64,
        out: &mut Outbound,
        counts: &mut Counts,
    ) -> Result<(), TerminateReason> {
        match judged {
            Ok(()) => Ok(()),
            Err(code) => {
                let head = self.own_head(account, reference, target)?;
                out.frame(&CancelRejected::new(head, code, RejectScope::Order));
                Self::refused(out, counts)
            }
        }
    }

    #[cold]
    fn own_head(
        &mut self,
        account: u64,
        reference: u64,
        order_reference: u64,
    ) -> Result<ReportHead, TerminateReason> {
        Ok(ReportHead::own(
            self.number()?,
            account,
            reference,
            order_reference,
        ))
    }

    #[cold]
    fn refused(out: &Outbound, counts: &mut Counts) -> Result<(), TerminateReason> {
        counts.refused += 1;
        if out.has_room() {
            Ok(())
        } else {
            Err(TerminateReason::SlowReader)
        }
    }

    fn keep_alive(&self, lapsed: KeepAliveLapsed, out: &mut Outbound) {
        out.frame(&Sequence {
            next_seq_num: self.next_out,
            lapsed: lapsed.number(),
            pad1: 0,
            pad2: 0,
            pad3: 0,
        });
    }

    fn number(&mut self) -> Result<u64, TerminateReason> {
        let number = self.next_out;
        self.next_out = number
            .checked_add(1)
            .ok_or(TerminateReason::SequenceExhausted)?;
        Ok(number)
    }

    fn origin(&self, origin: Origin) -> Origin {
        Origin {
            credential: self.lease.entry.id.0,
            ..origin
        }
    }
}

/// Whether a report is the direct answer to a command; each has exactly one. A
/// reject of an order that has an identity came after its `Accepted`, and a
/// cancel that was not asked for names the order itself.
#[inline]
fn is_answer(report: &Report) -> bool {
    match report.kind {
        ReportKind::Accepted | ReportKind::Replaced | ReportKind::CancelRejected => true,
        ReportKind::Rejected => report.client_order_id == ClientOrderId::default(),
        ReportKind::Canceled => report.reference != report.order_reference,
        ReportKind::Executed => false,
    }
}
