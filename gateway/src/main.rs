//! The `pitlane` command; see [`pitlane_gateway::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    pitlane_gateway::cli::main()
}
