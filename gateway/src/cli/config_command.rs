//! `pitlane config`: look at a configuration without running it.

use super::args::ConfigCommand;
use super::run::{Failure, print};
use crate::config::Config;

pub(super) fn run(command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Example => {
            print(Config::example());
            Ok(())
        }
        ConfigCommand::Check { file } => {
            let config = Config::load(file).map_err(Failure::input)?;
            crate::assembly::check(&config).map_err(Failure::input)?;
            print(&format!(
                "{}: good: {} instruments, {} accounts, {} credentials\n",
                file.display(),
                config.instruments.len(),
                config.account_ids().count(),
                config.credentials.len()
            ));
            Ok(())
        }
    }
}
