//! A running gateway's HTTP side, as commands and other gateways ask it. It blocks,
//! for a bounded time.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use zeroize::Zeroizing;

use crate::secrets;

/// Longer than a gateway takes for any answer, unless it is configured otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A gateway and the token for it.
pub(crate) struct Remote {
    agent: Agent,
    url: String,
    header: Zeroizing<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// What was given cannot be used.
    #[error("{0}")]
    Input(String),
    /// The other end is not there, or refuses.
    #[error("{0}")]
    Run(String),
}

/// What it answered.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Remote {
    /// For the gateway at `url`, such as `http://127.0.0.1:7401`.
    pub(crate) fn new(url: &str, token_file: &Path) -> Result<Self, RemoteError> {
        if !url.starts_with("http://") {
            return Err(RemoteError::Input(format!(
                "--url {url}: write http:// and the address that [http] listen names"
            )));
        }
        let token = secrets::read(token_file).map_err(|error| {
            RemoteError::Input(format!(
                "{}: {error}; name a file with a token, as pitlane token writes it",
                token_file.display()
            ))
        })?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .user_agent(concat!("pitlane/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            agent: config.into(),
            url: url.trim_end_matches('/').to_owned(),
            header: Zeroizing::new(format!("Bearer {}", token.trim())),
        })
    }

    /// `GET` of a route.
    pub(crate) fn get(&self, route: &str) -> Result<Answered, RemoteError> {
        let url = format!("{}{route}", self.url);
        let request = self.agent.get(&url);
        let response = request.header("Authorization", self.header.as_str()).call();
        answered(&url, response)
    }

    /// `POST` of a body.
    pub(crate) fn post(&self, route: &str, body: &str) -> Result<Answered, RemoteError> {
        let url = format!("{}{route}", self.url);
        let request = self.agent.post(&url);
        let request = request.header("Authorization", self.header.as_str());
        answered(&url, request.send(body))
    }
}

fn answered(
    url: &str,
    response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<Answered, RemoteError> {
    let failed = |error: ureq::Error| {
        RemoteError::Run(format!(
            "{url}: {error}; is the gateway running, with [http] enabled = true?"
        ))
    };
    let mut response = response.map_err(failed)?;
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
    Ok(Answered {
        body: body.read_to_string().map_err(failed)?,
        status: response.status().as_u16(),
    })
}

impl Answered {
    /// The body of an answer that is no refusal.
    pub(crate) fn ok(self) -> Result<String, RemoteError> {
        self.json()?;
        Ok(self.body)
    }

    /// The answer as JSON, or its refusal.
    pub(crate) fn json(&self) -> Result<Value, RemoteError> {
        let value = serde_json::from_str::<Value>(&self.body).unwrap_or_default();
        if self.status == 200 {
            return Ok(value);
        }
        let text = |name: &str| value[name].as_str().unwrap_or("no reason given").to_owned();
        Err(RemoteError::Run(format!(
            "the gateway refuses, {}: {}: {}",
            self.status,
            text("code"),
            text("message")
        )))
    }
}
