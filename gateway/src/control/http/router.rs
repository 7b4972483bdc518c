//! The routes (rule O31), and what stands in front of them: the token, and the
//! time within which a request must be answered.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use pitlane::orders::decision::DECISION_SCHEMA;
use pitlane::shard::authority::Authorizer;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::access::{Access, Caller};
use super::problem::{HttpCode, Problem, json, unavailable};
use super::server::SessionsReader;
use super::settlements::Settlements;
use super::{blocks, decisions, metrics, orders, settlements};
use crate::control::{ExecutorHandle, Unavailable};

/// What every route has.
pub(super) struct Desk {
    pub(super) access: Access,
    pub(super) executor: Option<ExecutorHandle>,
    pub(super) authorizer: Option<Authorizer>,
    pub(super) settlements: Settlements,
    pub(super) sessions: Option<SessionsReader>,
    pub(super) read_timeout: Duration,
    pub(super) request_timeout: Duration,
    pub(super) turned_away: Arc<std::sync::atomic::AtomicU64>,
}

impl Desk {
    pub(super) fn executor(&self) -> Result<&ExecutorHandle, Problem> {
        self.executor.as_ref().ok_or_else(|| {
            let message = "this process executes nothing; ask the executor's";
            Problem::new(HttpCode::NoExecutor, message)
        })
    }
}

pub(super) type SharedDesk = Arc<Desk>;

pub(super) fn router(desk: SharedDesk) -> Router {
    let guarded = Router::new()
        .route("/v1/orders", post(orders::submit))
        .route("/v1/orders/{id}/cancel", post(orders::cancel))
        .route("/v1/agent/orders/{id}", get(orders::read))
        .route("/v1/decisions", post(decisions::decide))
        .route("/v1/venues", get(orders::venues))
        .route("/v1/schema/decision", get(schema))
        .route("/metrics", get(metrics::metrics))
        .route("/v1/admin/orders", get(orders::list))
        .route("/v1/admin/blocks", get(blocks::list))
        .route(
            "/v1/admin/blocks/{account}",
            post(blocks::block).delete(blocks::unblock),
        )
        .route("/v1/executor/messages", post(settlements::settle))
        .route("/v1/executor/due", get(settlements::due))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&desk), guard));
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .merge(guarded)
        .layer(middleware::from_fn_with_state(Arc::clone(&desk), in_time))
        .with_state(desk)
}

/// Lets in who has a token, and says who it is.
async fn guard(State(desk): State<SharedDesk>, mut request: Request, next: Next) -> Response {
    let Some(caller) = desk.access.caller(request.headers()).cloned() else {
        let message =
            "send the header Authorization: Bearer TOKEN, with a token that is known here";
        return Problem::new(HttpCode::Unauthenticated, message).into_response();
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

async fn in_time(State(desk): State<SharedDesk>, request: Request, next: Next) -> Response {
    match timeout(desk.request_timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = "no answer in time; what was asked may be done: bring the same decision \
                           again, or read the order";
            Problem::new(HttpCode::NoAnswer, message).into_response()
        }
    }
}

async fn no_route() -> Problem {
    Problem::new(
        HttpCode::NoRoute,
        "no such route; docs/http.md has them all",
    )
}

async fn no_method() -> Problem {
    Problem::new(
        HttpCode::Method,
        "the route has no such method; docs/http.md has them all",
    )
}

async fn schema(Extension(_): Extension<Caller>) -> Response {
    json(StatusCode::OK, DECISION_SCHEMA.to_owned())
}

/// The process answers.
async fn healthz() -> Response {
    json(StatusCode::OK, "{\"healthy\":true}".to_owned())
}

/// Orders are taken: the executor answers, its journal works, a venue is up.
async fn readyz(State(desk): State<SharedDesk>) -> Response {
    let report = match desk.executor.as_ref().map(|handle| handle.report(false)) {
        None => return json(StatusCode::OK, "{\"ready\":true}".to_owned()),
        Some(Ok(receiver)) => receiver.await.ok(),
        Some(Err(_)) => None,
    };
    let why = match report {
        None => Some("the executor does not answer"),
        Some(report) if report.failed => Some("the executor's journal has failed"),
        Some(report) if !report.venues.iter().any(|venue| venue.up) => Some("no venue is up"),
        Some(_) => None,
    };
    match why {
        None => json(StatusCode::OK, "{\"ready\":true}".to_owned()),
        Some(why) => {
            let body = serde_json::json!({ "ready": false, "why": why });
            unavailable(body.to_string())
        }
    }
}

/// Waits for the executor's answer.
pub(super) async fn answer<T>(
    asked: Result<oneshot::Receiver<T>, Unavailable>,
) -> Result<T, Problem> {
    asked?.await.map_err(|_| Problem::stopped())
}
