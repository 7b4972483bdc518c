//! `pitlane demo`: a first look.

use core::num::NonZeroU16;

use super::args::{DemoArgs, Io, Journal, Mode};
use super::run::{FAILED, Failure, print};
use super::scratch::Scratch;
use crate::config::{JournalMode, JournalSettings};
use crate::demo::{DemoError, DemoSettings, FlowSettings, Outcome, run_flow, run_workload};

pub(super) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let mut journal = JournalSettings {
        mode: args.journal.into(),
        ..JournalSettings::default()
    };
    // Removed when the run is over, and the journal closed.
    let mut scratch = None;
    journal.dir = match &args.journal_dir {
        Some(dir) => dir.clone(),
        None if args.journal == Journal::Off => journal.dir,
        None => scratch.insert(Scratch::new()?).path().to_path_buf(),
    };
    let settings = DemoSettings {
        accounts: args.accounts,
        window: args.window,
        shards: NonZeroU16::new(args.shards).unwrap_or(NonZeroU16::MIN),
        mode: args.mode.into(),
        io: args.io.into(),
        journal,
        progress: true,
    };
    let outcome = match &args.flow {
        None => run_workload(&settings, args.orders, args.seed),
        Some(path) => {
            let flow = FlowSettings {
                path: path.clone(),
                speed: args.speed,
            };
            run_flow(&settings, &flow)
        }
    };
    let outcome = outcome.map_err(|error: DemoError| {
        if error.is_input() {
            Failure::input(error)
        } else {
            Failure::run(error)
        }
    })?;
    show(&outcome, args.json)?;
    if outcome.is_whole() {
        return Ok(());
    }
    Err(Failure {
        code: FAILED,
        message: format!(
            "{} lost, {} unexpected, {} of {} resolved: this is a fault, please report it",
            outcome.lost, outcome.unexpected, outcome.resolved, outcome.submitted
        ),
    })
}

fn show(outcome: &Outcome, json: bool) -> Result<(), Failure> {
    if json {
        let object = serde_json::to_string(outcome).map_err(Failure::run)?;
        print(&format!("{object}\n"));
    } else {
        print(&outcome.to_string());
    }
    Ok(())
}

impl From<Journal> for JournalMode {
    fn from(mode: Journal) -> Self {
        match mode {
            Journal::Sync => Self::Sync,
            Journal::Async => Self::Async,
            Journal::Off => Self::Off,
        }
    }
}

impl From<Io> for crate::config::Io {
    fn from(io: Io) -> Self {
        match io {
            Io::Auto => Self::Auto,
            Io::Uring => Self::Uring,
            Io::Epoll => Self::Epoll,
        }
    }
}

impl From<Mode> for crate::config::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Auto => Self::Auto,
            Mode::Inline => Self::Inline,
            Mode::Ring => Self::Ring,
        }
    }
}
