//! The wire protocol: SBE messages in iLink-style frames, without sockets.
//!
//! `schema/pitlane.xml` is the one source of every layout (rule G1); the
//! structs here are compared with it field by field by `tests/schema.rs`.
//! Nothing here allocates, waits, reads a clock or panics on input.

mod block;
mod convert;
mod enums;
mod frame;
mod message;
mod order;
mod report;
mod session;

pub use block::{Block, Field, TEMPLATES, Template};
pub use convert::{NotOnTheWire, write_report};
pub use enums::{
    EstablishmentRejectReason, KeepAliveLapsed, NegotiationRejectReason, SIDE_NULL, TerminateReason,
};
pub use frame::{
    BLOCK_START, ENCODING_SBE, FRAME_MAX, FRAMING_LENGTH, Frame, FrameError, HEADER_LENGTH, Next,
    SCHEMA_ID, SCHEMA_VERSION, next_frame, write_frame,
};
pub use message::{FromClient, FromGateway};
pub use order::{Cancel, NewOrder, Replace};
pub use report::{Accepted, CancelRejected, Canceled, Executed, Rejected, Replaced, ReportHead};
pub use session::{
    Challenge, Establish, EstablishmentAck, EstablishmentReject, Negotiate, NegotiationReject,
    NegotiationResponse, NotApplied, Sequence, Terminate,
};
