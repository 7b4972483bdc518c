//! The process: stdin and stdout are the protocol's, one thread serves both.

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio;

use super::super::args::McpArgs;
use super::super::run::Failure;
use super::server::ToolServer;
use crate::remote::Remote;

/// The longest request: a signed decision, and what JSON-RPC puts around it.
const LINE_BYTES_MAX: usize = 64 * 1_024;

/// Calls of the gateway at once; one more is told to come again.
const CALLS_MAX: usize = 16;

pub(in crate::cli) fn run(args: &McpArgs) -> Result<(), Failure> {
    let remote = Remote::new(&args.url, &args.token_file)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        // One reads stdin, one writes stdout.
        .max_blocking_threads(CALLS_MAX + 2)
        .enable_time()
        .build()
        .map_err(|error| Failure::run(format!("the system refuses a thread: {error}")))?;
    let served = runtime.block_on(async {
        let (input, output) = stdio();
        let transport =
            AsyncRwTransport::new_server(input, output).with_max_line_length(LINE_BYTES_MAX);
        let running = match ToolServer::new(remote, CALLS_MAX).serve(transport).await {
            Ok(running) => running,
            // Whoever started it has changed his mind.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        running
            .waiting()
            .await
            .map(|_| ())
            .map_err(|error| error.to_string())
    });
    // Whatever still reads stdin must not keep the process.
    runtime.shutdown_background();
    served.map_err(Failure::run)
}
