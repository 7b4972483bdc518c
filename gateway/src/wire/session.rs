//! Blocks of the session messages (rule G3).

use super::block::blocks;

blocks! {
    /// First of all, from the gateway: what to sign (rule G7).
    Challenge = 1 {
        /// Which gateway this is; part of what is signed.
        gateway_id: u64 as uInt64,
        /// The gateway's wall clock, nanoseconds since the Unix epoch.
        time: u64 as uInt64,
        /// Random, for this connection alone.
        nonce: [u8; 32] as Nonce,
    }

    /// From the client: who it is, with proof (rule G7).
    Negotiate = 2 {
        /// The client's number for this session; any.
        session_id: u64 as uInt64,
        /// Which credential.
        credential_id: u64 as uInt64,
        /// The client's wall clock, nanoseconds since the Unix epoch.
        time: u64 as uInt64,
        /// Ed25519 over [`crate::session::signed_bytes`].
        signature: [u8; 64] as Signature,
    }

    /// The credential is taken.
    NegotiationResponse = 3 {
        /// As in `Negotiate`.
        session_id: u64 as uInt64,
        /// As in `Negotiate`.
        credential_id: u64 as uInt64,
        /// As in `Negotiate`.
        time: u64 as uInt64,
        /// Messages that may be unanswered at once.
        max_in_flight: u32 as uInt32,
        /// Zero.
        pad1: u32 as Pad32,
    }

    /// The credential is not taken; the connection ends.
    NegotiationReject = 4 {
        /// As in `Negotiate`.
        session_id: u64 as uInt64,
        /// As in `Negotiate`.
        time: u64 as uInt64,
        /// A [`super::NegotiationRejectReason`].
        reason: u8 as NegotiationRejectReason,
        /// Zero.
        pad1: u8 as Pad8,
        /// Zero.
        pad2: u16 as Pad16,
        /// Zero.
        pad3: u32 as Pad32,
    }

    /// From the client: begin.
    Establish = 5 {
        /// As in `Negotiate`.
        session_id: u64 as uInt64,
        /// The number of the client's next message, from 1.
        next_seq_num: u64 as uInt64,
        /// How often either side shows that it is there, in milliseconds.
        keep_alive_ms: u32 as uInt32,
        /// Zero.
        pad1: u32 as Pad32,
    }

    /// Begun: orders may come.
    EstablishmentAck = 6 {
        /// As in `Negotiate`.
        session_id: u64 as uInt64,
        /// The number of the gateway's next report.
        next_seq_num: u64 as uInt64,
        /// As in `Establish`.
        keep_alive_ms: u32 as uInt32,
        /// Zero.
        pad1: u32 as Pad32,
    }

    /// Not begun; the connection ends.
    EstablishmentReject = 7 {
        /// As in `Negotiate`.
        session_id: u64 as uInt64,
        /// An [`super::EstablishmentRejectReason`].
        reason: u8 as EstablishmentRejectReason,
        /// Zero.
        pad1: u8 as Pad8,
        /// Zero.
        pad2: u16 as Pad16,
        /// Zero.
        pad3: u32 as Pad32,
    }

    /// Still here (rule G10).
    Sequence = 8 {
        /// The number of the sender's next message.
        next_seq_num: u64 as uInt64,
        /// 1: nothing was heard of the receiver for too long.
        lapsed: u8 as KeepAliveLapsed,
        /// Zero.
        pad1: u8 as Pad8,
        /// Zero.
        pad2: u16 as Pad16,
        /// Zero.
        pad3: u32 as Pad32,
    }

    /// The last message of a session.
    Terminate = 9 {
        /// As in `Negotiate`; zero before that.
        session_id: u64 as uInt64,
        /// A [`super::TerminateReason`].
        reason: u8 as TerminateReason,
        /// Zero.
        pad1: u8 as Pad8,
        /// Zero.
        pad2: u16 as Pad16,
        /// Zero.
        pad3: u32 as Pad32,
    }

    /// These numbers never came, and had no effect (rule G9).
    NotApplied = 10 {
        /// The first that is missing.
        from_seq_num: u64 as uInt64,
        /// How many are missing.
        count: u64 as uInt64,
    }
}
