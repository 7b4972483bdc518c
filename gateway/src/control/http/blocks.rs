//! Accounts that take no new orders, as routes: in the books of risk, which every
//! order meets, and in the executor, which decisions already given meet.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use pitlane::types::{AccountId, RejectCode};
use serde_json::{Value, json};

use super::access::Caller;
use super::orders::{Parameter, admin};
use super::problem::{HttpCode, Problem, json as answer_json};
use super::router::{SharedDesk, answer};

/// `GET /v1/admin/blocks`.
pub(super) async fn list(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    admin(&caller)?;
    let mut rows: Vec<(AccountId, &str)> = Vec::new();
    if let Some(executor) = &desk.executor {
        let report = answer(executor.report(false)).await?;
        rows.extend(report.blocked.iter().map(|own| (*own, "executor")));
    }
    if let Some(authorizer) = &desk.authorizer {
        for shard in authorizer.blocks()? {
            let own = shard.await?;
            rows.extend(own.iter().map(|(account, cause)| (*account, cause.name())));
        }
    }
    rows.sort_unstable();
    let blocks = rows.iter().map(|(account, cause)| {
        let account = account.to_string();
        json!({ "account": account, "cause": cause })
    });
    let body = json!({ "blocks": blocks.collect::<Vec<Value>>() });
    Ok(answer_json(StatusCode::OK, body.to_string()))
}

/// `POST /v1/admin/blocks/{account}`.
pub(super) async fn block(
    desk: State<SharedDesk>,
    caller: Extension<Caller>,
    account: Parameter,
) -> Result<Response, Problem> {
    set(desk, caller, account, true).await
}

/// `DELETE /v1/admin/blocks/{account}`.
pub(super) async fn unblock(
    desk: State<SharedDesk>,
    caller: Extension<Caller>,
    account: Parameter,
) -> Result<Response, Problem> {
    set(desk, caller, account, false).await
}

async fn set(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
    account: Parameter,
    blocked: bool,
) -> Result<Response, Problem> {
    admin(&caller)?;
    let number = account.ok().and_then(|Path(text)| text.parse().ok());
    let Some(account) = number.map(AccountId) else {
        let message = "an account is a whole number of at most 64 bits";
        return Err(Problem::new(HttpCode::BadRequest, message));
    };
    if let Some(authorizer) = &desk.authorizer {
        let cause = blocked.then_some(RejectCode::AccountBlocked);
        let is_known = authorizer.set_blocked(account, cause)?.await?;
        if !is_known {
            let message = format!("there is no account {account}; the configuration has them all");
            return Err(Problem::new(HttpCode::NoAccount, message));
        }
    }
    if let Some(executor) = &desk.executor {
        answer(executor.set_blocked(account, blocked)).await?;
    }
    let body = json!({ "account": account.to_string(), "blocked": blocked });
    Ok(answer_json(StatusCode::OK, body.to_string()))
}
