//! Orders and venues, as routes.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use pitlane::limits::{HTTP_BODY_BYTES_MAX, HTTP_ORDERS_LISTED_MAX};
use pitlane::orders::decision::{order_type_name, time_in_force_name};
use pitlane::orders::executor::OrderView;
use pitlane::orders::lifecycle::OrderState;
use pitlane::types::ClientOrderId;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::access::{AgentAccess, Caller};
use super::problem::{HttpCode, Problem, json as answer_json};
use super::router::{Desk, SharedDesk, answer};

pub(super) type Parameter = Result<Path<String>, PathRejection>;

/// `POST /v1/orders`: the body as it came, for the executor to judge.
pub(super) async fn submit(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let agent = agent(caller)?;
    let body = read_body(&desk, &headers, body).await?;
    let view = answer(desk.executor()?.submit(&agent.id, body)).await??;
    Ok(order(&view))
}

/// `GET /v1/agent/orders/{id}`.
pub(super) async fn read(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
    id: Parameter,
) -> Result<Response, Problem> {
    let agent = agent(caller)?;
    let view = answer(desk.executor()?.read(&agent.id, order_id(id)?)).await??;
    Ok(order(&view))
}

/// `POST /v1/orders/{id}/cancel`.
pub(super) async fn cancel(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
    id: Parameter,
) -> Result<Response, Problem> {
    let agent = agent(caller)?;
    let view = answer(desk.executor()?.cancel(&agent.id, order_id(id)?)).await??;
    Ok(order(&view))
}

/// `GET /v1/venues`.
pub(super) async fn venues(State(desk): State<SharedDesk>) -> Result<Response, Problem> {
    let report = answer(desk.executor()?.report(false)).await?;
    let venues: Vec<Value> = report
        .venues
        .iter()
        .map(|venue| {
            let takes = venue.capabilities.as_ref();
            let types = takes.map(|own| own.order_types.iter().map(|one| order_type_name(*one)));
            let times = takes.map(|own| own.times_in_force.iter());
            let times = times.map(|all| all.map(|one| time_in_force_name(*one)));
            json!({
                "name": venue.name,
                "up": venue.up,
                "instruments": venue.instruments,
                "order_types": types.map(Iterator::collect::<Vec<_>>),
                "times_in_force": times.map(Iterator::collect::<Vec<_>>),
            })
        })
        .collect();
    Ok(answer_json(
        StatusCode::OK,
        json!({ "venues": venues }).to_string(),
    ))
}

/// `GET /v1/admin/orders?state=unknown&limit=100`.
pub(super) async fn list(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    admin(&caller)?;
    let (state, limit) = filter(query.as_deref().unwrap_or_default())?;
    // One more than is shown tells that there are more.
    let mut orders = answer(desk.executor()?.orders(state, limit + 1)).await?;
    let more = orders.len() > limit;
    orders.truncate(limit);
    Ok(answer_json(
        StatusCode::OK,
        json!({ "orders": orders, "more": more }).to_string(),
    ))
}

pub(super) fn agent(caller: Caller) -> Result<AgentAccess, Problem> {
    match caller {
        Caller::Agent(agent) => Ok(agent),
        Caller::Admin(_) | Caller::Peer(_) => Err(Problem::new(
            HttpCode::Forbidden,
            "not an agent's token: this route is for agents",
        )),
    }
}

pub(super) fn admin(caller: &Caller) -> Result<&Arc<str>, Problem> {
    match caller {
        Caller::Admin(name) => Ok(name),
        Caller::Agent(_) | Caller::Peer(_) => Err(Problem::new(
            HttpCode::Forbidden,
            "not an admin's token: this route is for admins",
        )),
    }
}

/// What is no id is the id of no order.
fn order_id(id: Parameter) -> Result<ClientOrderId, Problem> {
    let id = id
        .ok()
        .and_then(|Path(text)| ClientOrderId::from_text(&text));
    id.ok_or_else(Problem::no_order)
}

fn order(view: &OrderView) -> Response {
    // A view is texts, numbers and names: it can always be written.
    answer_json(
        StatusCode::OK,
        serde_json::to_string(view).unwrap_or_default(),
    )
}

/// The whole body, within the bound and in time.
pub(super) async fn read_body(
    desk: &Desk,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<u8>, Problem> {
    read_body_of(desk, headers, body, HTTP_BODY_BYTES_MAX).await
}

/// The same, with a bound of its own.
pub(super) async fn read_body_of(
    desk: &Desk,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<Vec<u8>, Problem> {
    let too_large = || {
        let message = format!("a body has {most} bytes at most");
        Problem::new(HttpCode::TooLarge, message)
    };
    let told = headers.get(header::CONTENT_LENGTH);
    let told = told.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    match timeout(desk.read_timeout, to_bytes(body, most)).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        // Or the connection broke: then nobody reads this.
        Ok(Err(_)) => Err(too_large()),
        Err(_) => {
            let message = "the body did not come in time; nothing was done";
            Err(Problem::new(HttpCode::Slow, message))
        }
    }
}

fn filter(query: &str) -> Result<(Option<OrderState>, usize), Problem> {
    let mut state = None;
    let mut limit = HTTP_ORDERS_LISTED_MAX;
    let wrong = |message: String| Problem::new(HttpCode::BadRequest, message);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("state", name)) => {
                let found = OrderState::ALL.into_iter().find(|own| own.name() == name);
                let names = || OrderState::ALL.map(OrderState::name).join(", ");
                state = Some(found.ok_or_else(|| wrong(format!("a state is one of {}", names())))?);
            }
            Some(("limit", text)) => {
                let found = text.parse().ok();
                let found = found.filter(|limit| (1..=HTTP_ORDERS_LISTED_MAX).contains(limit));
                let most = HTTP_ORDERS_LISTED_MAX;
                limit = found.ok_or_else(|| wrong(format!("a limit is from 1 to {most}")))?;
            }
            _ => return Err(wrong("the query takes state and limit alone".to_owned())),
        }
    }
    Ok((state, limit))
}
