//! The phases before orders: proof of who it is, then the agreed start.

use core::time::Duration;

use ed25519_dalek::Signature;
use pitlane::time::{Nanos, UnixNanos};

use super::credentials::Lease;
use super::established::Established;
use super::{At, Outbound, Rules, signed_bytes};
use crate::wire::{
    Challenge, Establish, EstablishmentAck, EstablishmentReject, EstablishmentRejectReason,
    Negotiate, NegotiationReject, NegotiationRejectReason, NegotiationResponse, TerminateReason,
};

/// The number of the gateway's first report in a session.
const FIRST_SEQ_NUM: u64 = 1;

/// Waits for proof of who it is.
#[derive(Debug)]
pub(super) struct Negotiating {
    nonce: [u8; 32],
}

/// Waits for the client to begin.
#[derive(Debug)]
pub(super) struct Negotiated {
    session_id: u64,
    lease: Lease,
}

impl Negotiating {
    pub(super) fn open(
        nonce: [u8; 32],
        rules: &Rules,
        wall: UnixNanos,
        out: &mut Outbound,
    ) -> Self {
        out.frame(&Challenge {
            gateway_id: rules.gateway_id,
            time: wall.0,
            nonce,
        });
        Self { nonce }
    }

    /// Judges the proof. Every check is made before any answer is given, and
    /// the answers are the same (rule G7).
    pub(super) fn negotiate(
        self,
        message: &Negotiate,
        rules: &Rules,
        wall: UnixNanos,
        out: &mut Outbound,
    ) -> Result<Negotiated, TerminateReason> {
        let (entry, key) = rules.credentials.find(message.credential_id);
        let signed = signed_bytes(rules.gateway_id, &self.nonce, message);
        let signature = Signature::from_bytes(&message.signature);
        let is_genuine = key.verify_strict(&signed, &signature).is_ok();
        let is_fresh =
            Duration::from_nanos(wall.0.abs_diff(message.time)) <= rules.timing.clock_skew;
        let proved = match entry {
            Some(entry) if is_genuine && is_fresh => Ok(entry),
            _ => Err(NegotiationRejectReason::Refused),
        };
        // Only who has proved its credential learns that it is in use.
        let leased = proved
            .and_then(|entry| Lease::take(entry).ok_or(NegotiationRejectReason::SessionInUse));
        match leased {
            Ok(lease) => {
                out.frame(&NegotiationResponse {
                    session_id: message.session_id,
                    credential_id: message.credential_id,
                    time: message.time,
                    max_in_flight: lease.entry.max_in_flight,
                    pad1: 0,
                });
                Ok(Negotiated {
                    session_id: message.session_id,
                    lease,
                })
            }
            Err(reason) => {
                out.frame(&NegotiationReject {
                    session_id: message.session_id,
                    time: message.time,
                    reason: reason.number(),
                    pad1: 0,
                    pad2: 0,
                    pad3: 0,
                });
                Err(TerminateReason::NegotiationRefused)
            }
        }
    }
}

impl Negotiated {
    pub(super) const fn session_id(&self) -> u64 {
        self.session_id
    }

    /// Agrees on the interval and the first number, or not.
    pub(super) fn establish(
        self,
        message: &Establish,
        rules: &Rules,
        at: At,
        out: &mut Outbound,
    ) -> Result<Established, TerminateReason> {
        match self.judge(message, rules) {
            Ok(interval) => {
                out.frame(&EstablishmentAck {
                    session_id: self.session_id,
                    next_seq_num: FIRST_SEQ_NUM,
                    keep_alive_ms: message.keep_alive_ms,
                    pad1: 0,
                });
                Ok(self.begin(message.next_seq_num, interval, at.now))
            }
            Err(reason) => {
                out.frame(&EstablishmentReject {
                    session_id: self.session_id,
                    reason: reason.number(),
                    pad1: 0,
                    pad2: 0,
                    pad3: 0,
                });
                Err(TerminateReason::EstablishmentRefused)
            }
        }
    }

    fn judge(
        &self,
        message: &Establish,
        rules: &Rules,
    ) -> Result<Duration, EstablishmentRejectReason> {
        if message.session_id != self.session_id {
            return Err(EstablishmentRejectReason::UnknownSession);
        }
        let interval = Duration::from_millis(u64::from(message.keep_alive_ms));
        if interval < rules.timing.keep_alive_min || interval > rules.timing.keep_alive_max {
            return Err(EstablishmentRejectReason::KeepAliveInterval);
        }
        if message.next_seq_num == 0 || message.next_seq_num == u64::MAX {
            return Err(EstablishmentRejectReason::SequenceNumber);
        }
        Ok(interval)
    }

    fn begin(self, next_in: u64, interval: Duration, now: Nanos) -> Established {
        Established::new(
            self.session_id,
            self.lease,
            next_in,
            FIRST_SEQ_NUM,
            interval,
            now,
        )
    }
}
