//! From the command line to an exit code.

use std::process::ExitCode;

use clap::Parser;

use super::args::{Cli, Command};
use super::{
    config_command, demo_command, journal_command, keygen, mcp, orders_command, reports,
    scenario_command, serve, sign, sim_command, token,
};
use crate::remote::RemoteError;

/// The run did not do what it should.
pub(super) const FAILED: u8 = 1;
/// The input is at fault.
pub(super) const BAD_INPUT: u8 = 2;

/// Why a command ends badly.
pub(super) struct Failure {
    pub(super) code: u8,
    pub(super) message: String,
}

impl Failure {
    #[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
    pub(super) fn input(error: impl ToString) -> Self {
        Self {
            code: BAD_INPUT,
            message: error.to_string(),
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
    pub(super) fn run(error: impl ToString) -> Self {
        Self {
            code: FAILED,
            message: error.to_string(),
        }
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Input(_) => Self::input(error),
            RemoteError::Run(_) => Self::run(error),
        }
    }
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    // Usage errors exit with 2 in there, with what is allowed.
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Config(command) => config_command::run(&command),
        Command::Demo(args) => demo_command::run(&args),
        Command::Scenario(args) => scenario_command::run(&args),
        Command::Sim(args) => sim_command::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Token(args) => token::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Orders(args) => orders_command::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Journal(command) => journal_command::run(&command),
        Command::Reports(args) => reports::reports(&args),
        Command::Verify(args) => reports::verify(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, message }) => {
            if !message.is_empty() {
                eprintln!("pitlane: {message}");
            }
            ExitCode::from(code)
        }
    }
}

/// Prints to stdout; a reader that went away is no fault of ours.
pub(super) fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
