//! The phases of a turn: what came from outside, what is due, what is ready.

use super::event_loop::EventLoop;
use super::pool::NIL;
use super::ready::{Ready, Round};
use super::tables::{Due, Status, Work};

impl EventLoop {
    /// Delivers completions of other threads, then marks woken futures.
    pub(super) fn drain_remote(&self, budget: usize) -> usize {
        let shared = &self.core().shared;
        if !shared.wakes.take_signal() {
            return 0;
        }
        let mut work = 0;
        while work < budget
            && let Some(message) = shared.inbox.pop()
        {
            work += 1;
            // A late completion changes nothing, and its sender is elsewhere.
            let _ = match message.outcome {
                Ok(values) => self.complete_with(message.handle, values.into_passed()),
                Err(error) => self.fail(message.handle, error),
            };
        }
        if !shared.inbox.is_empty() {
            shared.wakes.signal(); // To go on with them in the next turn.
        }
        let mut tables = self.tables();
        shared.wakes.drain(|slot| {
            if slot >= tables.futures.len() {
                return;
            }
            let (flow, frame) = (tables.futures[slot].flow, tables.futures[slot].frame);
            // The slot may be free, or its future not polled yet.
            if frame != NIL
                && tables.frames[frame].status == Status::Waiting
                && matches!(tables.frames[frame].work, Work::Future { slot: s, .. } if s == slot)
            {
                tables.frames[frame].status = Status::Fresh;
                tables.schedule(flow);
            }
        });
        work
    }

    /// Fires what is due: at most as many as were set when this began, so that
    /// a callback that defers itself again does not hold the turn, and at most
    /// half of the budget.
    pub(super) fn fire_timers(&self, budget: usize) -> usize {
        let (now, set) = {
            let tables = self.tables();
            (tables.now, tables.wheel.len())
        };
        if set == 0 {
            return 0;
        }
        let most = set.min(budget.div_ceil(2));
        for work in 0..most {
            let due = self.tables().wheel.pop_due(now);
            match due {
                Some(Due::Task(task)) => self.run_task(task),
                Some(Due::Limit { flow, frame, id }) => self.time_out(flow, frame, id),
                None => return work,
            }
        }
        most
    }

    /// Runs the round that was begun, or begins the next.
    pub(super) fn run_round(&self, budget: usize) -> usize {
        {
            let mut tables = self.tables();
            if tables.ready.is_empty(Round::This) {
                tables.ready.turn_over();
                tables.round += 1;
            }
        }
        let mut work = 0;
        while work < budget {
            let mut tables = self.tables();
            let Some(ready) = tables.ready.pop_front(Round::This) else {
                break;
            };
            match ready {
                Ready::Flow(flow) => {
                    tables.flows[flow].ready = NIL;
                    drop(tables);
                    work += self.run_flow(flow, budget - work).max(1);
                }
                Ready::Task(task) => {
                    tables.tasks[task].ready = NIL;
                    drop(tables);
                    self.run_task(task);
                    work += 1;
                }
                Ready::Head => unreachable!("the head of a list is never taken"),
            }
        }
        work
    }

    fn run_task(&self, task: u32) {
        let callback = {
            let mut tables = self.tables();
            tables.tasks[task].timer = None;
            Self::end_task(&mut tables, task)
        };
        if let Some(callback) = callback {
            self.guard(|| callback.call());
        }
    }
}
