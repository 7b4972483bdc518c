//! The seeded flow, sent as fast as the gateway takes it.

use pitlane::orders::venue::sim::Phase;

use super::DemoError;
use super::outcome::{Outcome, grouped};
use super::setup::{Demo, DemoSettings, INSTRUMENT, Limits};
use super::traffic::Traffic;
use super::workload::{Action, Workload};
use crate::progress::Progress;

/// Messages between two looks at the clock for progress.
const LOOK_EVERY: u64 = 4_096;

/// Sends `orders` new orders, with cancels between them, then cancels what
/// rests: every order resolves.
///
/// # Errors
/// The gateway does not start, or the session fails.
pub fn run_workload(settings: &DemoSettings, orders: u64, seed: u64) -> Result<Outcome, DemoError> {
    let demo = Demo::start(settings, Limits::Some, Phase::Continuous)?;
    let messages = usize::try_from(orders * 2).unwrap_or(0);
    let mut traffic = Traffic::new(demo.client, u64::from(settings.window), messages, false);
    let mut workload = Workload::new(seed, u64::from(settings.accounts), INSTRUMENT);
    let mut progress = Progress::new(settings.progress);
    let mut sent = 0u64;
    while traffic.ledger().counts().submitted < orders {
        match workload.next_action(traffic.ledger().open().len()) {
            Action::New(order) => drop(traffic.submit(&order)?),
            Action::Cancel(index) => {
                if let Some(&order) = traffic.ledger().open().get(index) {
                    traffic.cancel(order)?;
                }
            }
        }
        sent += 1;
        if sent.is_multiple_of(LOOK_EVERY) {
            let done = traffic.ledger().counts().submitted;
            progress.tick(|| format!("{} of {} orders sent", grouped(done), grouped(orders)));
        }
    }
    traffic.finish()?;
    Outcome::of(demo.gateway, traffic, settings, None)
}
