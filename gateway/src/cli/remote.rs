//! A running gateway's HTTP side, as commands ask it.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use zeroize::Zeroizing;

use super::run::Failure;
use crate::secrets;

/// Longer than a gateway takes for any answer, unless it is configured otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A gateway and the token for it.
pub(super) struct Remote {
    agent: Agent,
    url: String,
    header: Zeroizing<String>,
}

/// What it answered.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Remote {
    /// For the gateway at `url`, such as `http://127.0.0.1:7401`.
    pub(super) fn new(url: &str, token_file: &Path) -> Result<Self, Failure> {
        if !url.starts_with("http://") {
            return Err(Failure::input(format!(
                "--url {url}: write http:// and the address that [http] listen names"
            )));
        }
        let token = secrets::read(token_file).map_err(|error| {
            Failure::input(format!(
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
    pub(super) fn get(&self, route: &str) -> Result<Answered, Failure> {
        let url = format!("{}{route}", self.url);
        let request = self.agent.get(&url);
        let response = request.header("Authorization", self.header.as_str()).call();
        answered(&url, response)
    }
}

fn answered(
    url: &str,
    response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<Answered, Failure> {
    let failed = |error: ureq::Error| {
        Failure::run(format!(
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
    /// The answer as JSON, or its refusal.
    pub(super) fn json(&self) -> Result<Value, Failure> {
        let value = serde_json::from_str::<Value>(&self.body).unwrap_or_default();
        if self.status == 200 {
            return Ok(value);
        }
        let text = |name: &str| value[name].as_str().unwrap_or("no reason given").to_owned();
        Err(Failure::run(format!(
            "the gateway refuses, {}: {}: {}",
            self.status,
            text("code"),
            text("message")
        )))
    }
}
