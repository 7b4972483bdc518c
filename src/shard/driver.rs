//! The shard as a lane drives it.

use std::time::Duration;

use super::Admission;
use crate::lanes::{LaneKey, LocalDriver, Rest};
use crate::orders::IdentitySource;
use crate::orders::venue::Venue;
use crate::time::Nanos;
use crate::types::Command;

/// How late a venue's event may be seen when nothing else happens.
const VENUE_LOOK: Duration = Duration::from_micros(100);

impl<V: Venue + 'static, I: IdentitySource + 'static> LocalDriver for Admission<V, I> {
    type Command = Command;

    fn key(command: &Command) -> LaneKey {
        LaneKey::Account(command.account())
    }

    fn command(&mut self, command: &Command, now: Nanos) {
        Admission::command(self, command, now);
    }

    fn aborted(&mut self, command: &Command, _now: Nanos) {
        self.refuse_unrun(command);
    }

    fn turn(&mut self, now: Nanos, budget: usize) -> bool {
        Admission::turn(self, now, budget)
    }

    fn takes_work(&self) -> bool {
        self.takes_commands()
    }

    fn rest(&self, _now: Nanos) -> Rest {
        if self.holds_back() {
            // The disk is quicker than a sleep; its journal's thread gets the core.
            return Rest::Never;
        }
        // A venue on another thread cannot wake this one, and neither can an
        // I/O thread that makes room for reports.
        Rest::AtMost(VENUE_LOOK)
    }
}
