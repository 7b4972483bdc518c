//! What is answered where something is not done: one form for every refusal.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use pitlane::orders::{Code, Refusal};
use pitlane::shard::authority::Undecided;

use crate::control::Unavailable;

macro_rules! http_codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)*) => {
        /// Refusals of the HTTP side itself; an order's are
        /// [`pitlane::orders::Code`]. Names and their status are stable; new ones
        /// may be added.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum HttpCode {
            $($(#[$doc])* $name,)*
        }

        impl HttpCode {
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

http_codes! {
    /// No bearer token, or one that nobody has.
    Unauthenticated = "A2M_UNAUTHENTICATED", 401;
    /// The token is of the wrong kind: an agent's for an admin's route, or the
    /// other way round; or the account is none of the agent's.
    Forbidden = "A2M_FORBIDDEN", 403;
    /// The body or the query cannot be read.
    BadRequest = "A2M_BAD_REQUEST", 400;
    /// No such route.
    NoRoute = "A2M_NO_SUCH_ROUTE", 404;
    /// The route has no such method.
    Method = "A2M_METHOD", 405;
    /// The body did not come in time.
    Slow = "A2M_SLOW_REQUEST", 408;
    /// The body is longer than any that is taken.
    TooLarge = "A2M_BODY_TOO_LARGE", 413;
    /// The executor has not answered in time; what was asked may be done.
    NoAnswer = "A2M_NO_ANSWER", 503;
    /// The process is stopping.
    Stopping = "A2M_STOPPING", 503;
    /// Risk refuses the order that a decision was asked for.
    Denied = "A2M_DENIED", 422;
    /// No such account.
    NoAccount = "A2M_NO_SUCH_ACCOUNT", 404;
    /// As many requests wait for the account's shard as may.
    Busy = "A2M_BUSY", 503;
    /// The account's shard does not answer.
    NoShard = "A2M_SHARD_DOWN", 503;
    /// What an executor tells cannot be read, or is not signed by a key that may.
    BadReport = "A2M_BAD_REPORT", 422;
    /// This process executes nothing.
    NoExecutor = "A2M_NO_EXECUTOR", 503;
    /// This process makes no decisions.
    NoAuthorizer = "A2M_NO_AUTHORIZER", 503;
}

/// A refusal as it is answered: `{"code": …, "message": …}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    status: u16,
    code: &'static str,
    message: String,
}

impl Problem {
    pub(super) fn new(code: HttpCode, message: impl Into<String>) -> Self {
        Self {
            status: code.status(),
            code: code.name(),
            message: message.into(),
        }
    }

    /// An order that is not there, or not the caller's: always the same (O32).
    pub(super) fn no_order() -> Self {
        Self {
            status: Code::NotFound.status(),
            code: Code::NotFound.name(),
            message: "no order of that id; look at the id and the token".to_owned(),
        }
    }

    pub(super) fn no_authorizer() -> Self {
        let message = "this process makes no decisions; bring one that an authorizer has signed";
        Self::new(HttpCode::NoAuthorizer, message)
    }

    pub(super) fn stopped() -> Self {
        Self::new(HttpCode::Stopping, "the executor has stopped")
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self {
            status: refusal.code.status(),
            code: refusal.code.name(),
            message: refusal.detail,
        }
    }
}

impl From<Unavailable> for Problem {
    fn from(unavailable: Unavailable) -> Self {
        match unavailable {
            Unavailable::Full => Self {
                status: Code::Capacity.status(),
                code: Code::Capacity.name(),
                message: unavailable.to_string(),
            },
            Unavailable::Stopped => Self::stopped(),
        }
    }
}

impl From<Undecided> for Problem {
    fn from(undecided: Undecided) -> Self {
        let code = match undecided {
            Undecided::NoKey => return Self::no_authorizer(),
            Undecided::Invalid(_) => HttpCode::BadRequest,
            Undecided::Busy => HttpCode::Busy,
            Undecided::Late => HttpCode::NoAnswer,
            // Also what a later version may say: nothing is known to be held.
            _ => HttpCode::NoShard,
        };
        Self::new(code, undecided.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "code": self.code, "message": self.message });
        let status = StatusCode::from_u16(self.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, body.to_string());
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// An answer that may be another in a second.
pub(super) fn unavailable(body: String) -> Response {
    let mut response = json(StatusCode::SERVICE_UNAVAILABLE, body);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A JSON answer; no proxy keeps it.
pub(super) fn json(status: StatusCode, body: String) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, body).into_response()
}
