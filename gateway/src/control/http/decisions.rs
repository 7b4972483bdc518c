//! Decisions, as a route: an order in, a signed decision or the rejects out.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use pitlane::risk::{Reject, Rejects};
use pitlane::shard::authority::{Allowed, Decided, DecisionRequest};
use pitlane::types::RejectScope;
use serde_json::{Value, json};

use super::access::Caller;
use super::orders::{agent, read_body};
use super::problem::{HttpCode, Problem, json as answer_json};
use super::router::SharedDesk;

/// `POST /v1/decisions`.
pub(super) async fn decide(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let agent = agent(caller)?;
    let body = read_body(&desk, &headers, body).await?;
    let request = DecisionRequest::read(&agent.id, &body)
        .map_err(|error| Problem::new(HttpCode::BadRequest, error.to_string()))?;
    if !agent.may_use(request.account) {
        let message = "the account is none of this agent's";
        return Err(Problem::new(HttpCode::Forbidden, message));
    }
    let Some(authorizer) = &desk.authorizer else {
        return Err(Problem::no_authorizer());
    };
    match authorizer.decide(&request)?.await? {
        Decided::Allowed(allowed) => {
            let Allowed { body, .. } = *allowed;
            Ok(answer_json(StatusCode::OK, body))
        }
        Decided::Denied(rejects) => Ok(denied(&rejects)),
    }
}

fn denied(rejects: &Rejects) -> Response {
    let reasons: Vec<Value> = rejects.iter().map(reason).collect();
    let body = json!({
        "code": HttpCode::Denied.name(),
        "message": "risk refuses the order; nothing is held",
        "rejects": reasons,
    });
    let status = StatusCode::from_u16(HttpCode::Denied.status());
    answer_json(status.unwrap_or_default(), body.to_string())
}

fn reason(reject: &Reject) -> Value {
    json!({
        "code": reject.code.name(),
        "number": reject.code.number(),
        "policy": reject.policy.name(),
        "detail": reject.detail,
        "blocks_account": reject.scope == RejectScope::Account,
    })
}
