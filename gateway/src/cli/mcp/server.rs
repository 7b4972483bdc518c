//! The protocol's server: which tools there are, and what a call comes to.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::tools::{self, Call};
use crate::remote::{Answered, Remote};

pub(super) struct ToolServer {
    remote: Arc<Remote>,
    calls: Arc<Semaphore>,
}

impl ToolServer {
    pub(super) fn new(remote: Remote, calls_max: usize) -> Self {
        Self {
            remote: Arc::new(remote),
            calls: Arc::new(Semaphore::new(calls_max)),
        }
    }

    async fn ask(&self, call: Call) -> CallToolResult {
        let Ok(place) = Arc::clone(&self.calls).try_acquire_owned() else {
            return refused(
                "A2M_BUSY",
                "as many calls are on their way as may be; try again",
            );
        };
        let remote = Arc::clone(&self.remote);
        let asked = tokio::task::spawn_blocking(move || {
            let _place = place;
            match call {
                Call::Get(route) => remote.get(&route),
                Call::Post(route, body) => remote.post(&route, &body),
            }
        });
        match asked.await {
            Ok(Ok(answered)) => result(&answered),
            Ok(Err(failure)) => refused("A2M_NO_ANSWER", &failure.to_string()),
            Err(_) => refused("A2M_NO_ANSWER", "the call has ended without an answer"),
        }
    }
}

/// As the route answered; a refusal is a result too, which a model can act on.
fn result(answered: &Answered) -> CallToolResult {
    let value = serde_json::from_str::<Value>(&answered.body);
    match value {
        Ok(value) if answered.status == 200 => CallToolResult::structured(value),
        Ok(value) => CallToolResult::structured_error(value),
        Err(_) => refused(
            "A2M_NO_ANSWER",
            &format!("an answer of status {} that is no JSON", answered.status),
        ),
    }
}

fn refused(code: &str, message: &str) -> CallToolResult {
    CallToolResult::structured_error(json!({ "code": code, "message": message }))
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("pitlane", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Orders of one agent: ask for a decision, submit it, read the order's status, \
                 cancel it. Amounts are texts. Decide on `code` where a call is refused.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let result = match tools::call(&request.name, arguments) {
            None => {
                let message = format!("there is no tool {:?}", request.name);
                return Err(rmcp::ErrorData::invalid_params(message, None));
            }
            Some(Err(wrong)) => CallToolResult::error(vec![ContentBlock::text(wrong)]),
            Some(Ok(call)) => self.ask(call).await,
        };
        Ok(result.into())
    }
}
