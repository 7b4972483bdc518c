//! An executor elsewhere, as routes: what it tells is settled in the accounts' books,
//! and it is told which decisions were never brought (rules O4, O23, O30, O39).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use pitlane::limits::{AUTHORITY_DUE_MAX, OUTBOX_POST_BYTES_MAX, OUTBOX_STREAMS_MAX};
use pitlane::orders::decision::KeyTable;
use pitlane::orders::executor::{Away, Receiver as _, SignedReport};
use pitlane::shard::authority::{Authorizer, ShardReceiver};
use pitlane::time::{Clock as _, SystemClock};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, timeout_at};

use super::access::Caller;
use super::orders::read_body_of;
use super::problem::{HttpCode, Problem, json as answer_json};
use super::router::SharedDesk;

/// How long an answer waits for the disk; what is not taken then comes again.
const DISK_WAIT: Duration = Duration::from_secs(2);

/// What executors elsewhere have told, by their logs.
pub(super) struct Settlements {
    authorizer: Option<Authorizer>,
    keys: KeyTable,
    streams: Mutex<BTreeMap<u64, ShardReceiver>>,
    bell: Arc<Notify>,
    clock: SystemClock,
}

impl Settlements {
    pub(super) fn new(authorizer: Option<Authorizer>, keys: KeyTable) -> Self {
        Self {
            authorizer,
            keys,
            streams: Mutex::default(),
            bell: Arc::default(),
            clock: SystemClock::new(),
        }
    }

    /// Every line of a body, each a report that is signed by an executor's key.
    fn read(&self, body: &[u8]) -> Result<Vec<SignedReport>, Problem> {
        let now = self.clock.wall();
        let lines = body.split(|byte| *byte == b'\n');
        let reports = lines.filter(|line| !line.is_empty()).map(|line| {
            SignedReport::read(line, &self.keys, now)
                .map_err(|error| Problem::new(HttpCode::BadReport, error.to_string()))
        });
        reports.collect()
    }

    /// Up to which message everything was taken for good.
    async fn settle(
        &self,
        authorizer: &Authorizer,
        reports: &[SignedReport],
    ) -> Result<u64, Problem> {
        let (Some(first), Some(last)) = (reports.first(), reports.last()) else {
            return Err(Problem::new(HttpCode::BadReport, "no report in the body"));
        };
        if reports.iter().any(|report| report.log != first.log) {
            let message = "the reports are of more than one log; send each log's alone";
            return Err(Problem::new(HttpCode::BadReport, message));
        }
        let mut streams = self.streams.lock().await;
        if !streams.contains_key(&first.log) && streams.len() == OUTBOX_STREAMS_MAX {
            let message = format!("more than {OUTBOX_STREAMS_MAX} executors' logs");
            return Err(Problem::new(HttpCode::Busy, message));
        }
        let receiver = streams.entry(first.log).or_insert_with(|| {
            let bell = Arc::clone(&self.bell);
            authorizer.receiver(first.log, Box::new(move || bell.notify_one()))
        });
        for report in reports {
            receiver.offer(&report.message)?;
        }
        let until = Instant::now() + DISK_WAIT;
        loop {
            let taken = receiver.taken()?;
            if taken >= last.message.sequence
                || timeout_at(until, self.bell.notified()).await.is_err()
            {
                return Ok(taken);
            }
        }
    }
}

impl From<Away> for Problem {
    fn from(_: Away) -> Self {
        Self::new(
            HttpCode::NoShard,
            "a shard takes nothing now; tell it again",
        )
    }
}

fn peer(caller: &Caller) -> Result<(), Problem> {
    match caller {
        Caller::Peer(_) => Ok(()),
        Caller::Agent(_) | Caller::Admin(_) => Err(Problem::new(
            HttpCode::Forbidden,
            "not a peer's token: this route is for executors",
        )),
    }
}

/// `POST /v1/executor/messages`: a signed report a line; up to which of them it is
/// settled for good.
pub(super) async fn settle(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    peer(&caller)?;
    let settlements = &desk.settlements;
    let authorizer = settlements.authorizer.as_ref();
    let authorizer = authorizer.ok_or_else(Problem::no_authorizer)?;
    let body = read_body_of(&desk, &headers, body, OUTBOX_POST_BYTES_MAX).await?;
    let reports = settlements.read(&body)?;
    let taken = settlements.settle(authorizer, &reports).await?;
    let body = json!({ "taken": taken.to_string() });
    Ok(answer_json(StatusCode::OK, body.to_string()))
}

/// `GET /v1/executor/due`: decisions that should have been brought by now.
pub(super) async fn due(
    State(desk): State<SharedDesk>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    peer(&caller)?;
    let authorizer = desk.settlements.authorizer.as_ref();
    let authorizer = authorizer.ok_or_else(Problem::no_authorizer)?;
    let mut decisions = Vec::new();
    for shard in authorizer.due_answers() {
        // A shard that is not there has none.
        decisions.extend(shard.await.unwrap_or_default());
    }
    decisions.truncate(AUTHORITY_DUE_MAX);
    let texts = decisions.iter().map(|decision| {
        let text = decision.to_json().canonical();
        serde_json::from_slice::<Value>(&text).unwrap_or_default()
    });
    let body = json!({ "decisions": texts.collect::<Vec<_>>() });
    Ok(answer_json(StatusCode::OK, body.to_string()))
}
