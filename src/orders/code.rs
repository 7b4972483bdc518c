//! Why an order, a cancel or a question is refused: codes with stable names.

use core::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)*) => {
        /// A refusal's code (rules O5 to O12, O16, O19, O20, O30, O33).
        ///
        /// Names and their HTTP status are stable; new ones may be added.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The HTTP status that it is answered with.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$name => $status,)*
                }
            }
        }
    };
}

codes! {
    /// The text cannot be read as JSON, its key is unknown, expired or revoked,
    /// or the signature is of something else (O5).
    BadSignature = "A2M_BAD_SIGNATURE", 422;
    /// Signed, but not a decision as its schema describes it (O6).
    BadDecision = "A2M_BAD_DECISION", 422;
    /// The caller is not the agent that the decision was signed for (O7).
    AgentUnknown = "A2M_AGENT_UNKNOWN", 401;
    /// The verdict does not let anything be executed (O8).
    NotAuthorized = "A2M_NOT_AUTHORIZED", 422;
    /// The enforcement mode is none that is implemented (O9).
    Enforcement = "A2M_ENFORCEMENT", 422;
    /// The decision came after its expiry (O10).
    DecisionExpired = "A2M_DECISION_EXPIRED", 422;
    /// No way to the venue, or to the instrument there (O11).
    NoRoute = "A2M_NO_ROUTE", 422;
    /// The venue cannot be reached now (O11).
    VenueDown = "A2M_VENUE_DOWN", 503;
    /// The venue does not declare the order type, or declares nothing (O12).
    OrderType = "A2M_ORDER_TYPE", 422;
    /// The venue does not declare the time in force (O12).
    TimeInForce = "A2M_TIME_IN_FORCE", 422;
    /// The identity is taken by something else (O16).
    Idempotency = "A2M_IDEMPOTENCY", 409;
    /// The order's state has no such move (O19).
    OrderState = "A2M_ORDER_STATE", 409;
    /// The order may be at the venue already; it is not sent again (O20).
    BlindResend = "A2M_BLIND_RESEND", 409;
    /// Nobody knows yet whether the venue has the order (O33).
    Unknown = "A2M_UNKNOWN", 409;
    /// The cancel was sent, and the venue has not confirmed it (O33).
    CancelPending = "A2M_CANCEL_PENDING", 409;
    /// Too much waits for the authorizer; new orders are refused (O30).
    OutboxFull = "A2M_OUTBOX_FULL", 503;
    /// More orders wait for the venue than may (O37).
    VenueBusy = "A2M_VENUE_BUSY", 503;
    /// A table of the executor is full.
    Capacity = "A2M_CAPACITY", 503;
    /// The account is blocked: a person must look at it first (O24).
    AccountBlocked = "A2M_ACCOUNT_BLOCKED", 422;
    /// The journal's disk is full; new orders are refused, cancels are not.
    DiskFull = "A2M_DISK_FULL", 503;
    /// The journal takes nothing any more; nothing is acknowledged.
    JournalFailed = "A2M_JOURNAL_FAILED", 503;
    /// No such order, or none of the caller's (O32).
    NotFound = "A2M_NOT_FOUND", 404;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A refusal: its code, and a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Refusal {
    /// What a program decides on.
    pub code: Code,
    /// What is wrong, where, and what to do.
    pub detail: String,
}

impl Refusal {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { code, detail }
    }
}
