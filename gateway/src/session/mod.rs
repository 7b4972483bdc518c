//! A client's session, without sockets and without clocks: bytes and times go
//! in, bytes and commands come out (rules G3, G7 to G13).
//!
//! ```text
//!               Negotiate        Establish         Terminate, faults
//!  Negotiating ──────────▶ Negotiated ──────▶ Established ──────▶ Terminated
//!       └──────────────────────┴── deadlines, faults ────────────────▲
//! ```
//!
//! One type per phase: a message that has no place in a phase has no handler
//! there, and ends the session. Nothing here blocks. The only lock is taken at
//! logon and at the end, for the credential's state.

mod counts;
mod credential;
mod credentials;
mod established;
mod logon;
mod machine;
mod outbound;
mod rules;
mod signature;

pub use counts::Counts;
pub use credential::{Credential, CredentialId, Permissions};
pub use credentials::{CredentialError, Credentials};
pub use established::Full;
pub use machine::{EndedBy, Ending, Session};
pub use outbound::Outbound;
pub use rules::{At, Rules, RulesError, Timing};
pub use signature::{SIGNED_LENGTH, signed_bytes};
