//! The way between an I/O thread and the shards: on rings, or inline.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use pitlane::lanes::{HdrObserver, Lane, Progress, Submitter};
use pitlane::limits::{BATCH_MAX, STAGED_COMMANDS_MAX};
use pitlane::shard::{ReportBell, ReportReceiver};
use pitlane::types::{Command, Report};

use super::shard::Shard;
use crate::server::{Full, OrderPath};

/// What carries the commands.
enum Way {
    /// Rings to shards on threads of their own.
    Rings(Box<Submitter<Shard, HdrObserver>>),
    /// The only shard, run by this thread.
    Inline(Box<Lane<Shard, HdrObserver>>),
}

/// One I/O thread's way into the core and back.
pub(super) struct ShardPath {
    way: Way,
    /// One from each shard.
    receivers: Vec<ReportReceiver>,
    bell: ReportBell,
    /// Submitted, and not yet with a shard: in order, so that a cancel does not
    /// overtake its order.
    staged: VecDeque<Command>,
}

impl ShardPath {
    pub(super) fn on_rings(
        submitter: Submitter<Shard, HdrObserver>,
        receivers: Vec<ReportReceiver>,
        bell: ReportBell,
    ) -> Self {
        Self::new(Way::Rings(Box::new(submitter)), receivers, bell)
    }

    pub(super) fn inline(
        lane: Lane<Shard, HdrObserver>,
        receivers: Vec<ReportReceiver>,
        bell: ReportBell,
    ) -> Self {
        Self::new(Way::Inline(Box::new(lane)), receivers, bell)
    }

    fn new(way: Way, receivers: Vec<ReportReceiver>, bell: ReportBell) -> Self {
        let staged = VecDeque::with_capacity(STAGED_COMMANDS_MAX);
        Self {
            way,
            receivers,
            bell,
            staged,
        }
    }

    /// Hands over what is staged, as far as there is room.
    fn hand_over(&mut self) {
        let staged = &mut self.staged;
        match &mut self.way {
            Way::Rings(submitter) => submitter.batch(|batch| {
                while let Some(&command) = staged.front() {
                    // A cancel makes room; only what adds work can be refused.
                    let sent = match command {
                        Command::Cancel { .. } => batch.send_fact(command),
                        Command::NewOrder { .. } | Command::Replace { .. } => batch.send(command),
                    };
                    if sent.is_err() {
                        break;
                    }
                    staged.pop_front();
                }
            }),
            Way::Inline(lane) => {
                // While reports wait for this thread to take them, nothing is
                // added to them. A lane that is stopped keeps what it was given,
                // and the session's end answers for it.
                if lane.driver().is_some_and(|shard| shard.takes_commands()) {
                    let _ = lane.commands(|| staged.pop_front());
                }
            }
        }
    }
}

impl OrderPath for ShardPath {
    fn submit(&mut self, command: &Command) -> Result<(), Full> {
        if self.staged.len() == STAGED_COMMANDS_MAX {
            self.hand_over();
            if self.staged.len() == STAGED_COMMANDS_MAX {
                return Err(Full);
            }
        }
        self.staged.push_back(*command);
        Ok(())
    }

    fn flush(&mut self) {
        self.hand_over();
    }

    fn turn(&mut self) -> bool {
        if !self.staged.is_empty() {
            self.hand_over();
        }
        match &mut self.way {
            Way::Rings(_) => false,
            Way::Inline(lane) => lane.turn(BATCH_MAX) == Progress::Worked,
        }
    }

    fn drain(&mut self, budget: usize, sink: &mut dyn FnMut(&Report)) -> usize {
        let mut given = 0;
        for receiver in &mut self.receivers {
            given += receiver.drain(budget - given, sink);
        }
        given
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // What found a full ring goes when its shard has worked, which it tells
        // by reports: each of them brings the thread here.
        if !self.staged.is_empty() {
            self.hand_over();
        }
        let ready = self.bell.poll_ready(context, &self.receivers);
        // After the registration: the journal rings the same bell when more
        // has become durable.
        if ready.is_pending()
            && let Way::Inline(lane) = &mut self.way
            && lane.driver().is_some_and(|shard| shard.has_due())
        {
            return Poll::Ready(());
        }
        ready
    }
}
