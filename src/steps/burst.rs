//! How a flow's burst runs: step after step, until the flow waits, ends, gives
//! way, or has had its burst (rule S17).
//!
//! Plain steps are the common case, and are run here; [`EventLoop::advance`]
//! knows every other move. No table is borrowed while code of the user runs.

use std::cell::RefMut;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::erased::Body;
use super::error::StepResult;
use super::event_loop::EventLoop;
use super::pool::NIL;
use super::ready::{Ready, Round};
use super::run::{Pace, Running, pop};
use super::step::{Call, Step};
use super::tables::{Status, Tables};
use super::values::Passed;
use crate::limits::{STEP_BURST, STEP_BURST_NANOS, STEP_CLOCK_EVERY};

/// Where a run of plain steps stopped.
enum Sweep {
    /// The next move is another than a plain step.
    Other,
    /// The stretch is over.
    Look,
    /// The latest body returned this, and its step is not simply done.
    Ended(StepResult),
}

/// The steps until the burst's limits are looked at next.
struct Stretch {
    whole: u32,
    left: u32,
}

impl Stretch {
    /// To the next reading of the clock, to the end of the burst, or as far as
    /// the budget goes: whichever is first.
    #[inline]
    fn new(steps: u32, budget: usize) -> Self {
        let whole = (STEP_CLOCK_EVERY - steps % STEP_CLOCK_EVERY)
            .min(STEP_BURST - steps)
            .min(u32::try_from(budget).unwrap_or(u32::MAX));
        Self { whole, left: whole }
    }

    #[inline]
    const fn ran(&self) -> u32 {
        self.whole - self.left
    }
}

impl EventLoop {
    /// Runs a flow's burst, and returns how many steps it took.
    pub(super) fn run_flow(&self, flow: u32, budget: usize) -> usize {
        let mut tables = self.tables();
        let (round, now) = (tables.round, tables.now);
        let index = tables.flows[flow].instance;
        let instance = &mut tables.instances[index];
        if instance.round != round {
            instance.round = round;
            instance.steps = 0;
            instance.burst_began = now;
        }
        if instance.steps >= STEP_BURST {
            // Another flow of the instance had its burst: this one is first
            // in the next round, before the one that was cut.
            tables.enqueue(flow, Round::Next);
            return 0;
        }
        instance.running = true;
        let mut stretch = Stretch::new(instance.steps, budget);
        let state = Rc::clone(&instance.state);
        tables.current = flow;
        drop(tables);
        let running = Running {
            flow,
            instance: index,
            state: &state,
        };
        let mut taken = 0usize;
        loop {
            let pace = self.run_plain(&running, &mut stretch);
            let pace = pace.unwrap_or_else(|| self.advance(&running));
            match pace {
                Pace::Moved => continue,
                Pace::Ran => stretch.left -= 1,
                Pace::Swept => {}
                Pace::Yielded | Pace::Stopped => {
                    let mut tables = self.tables();
                    tables.instances[index].steps += stretch.ran();
                    taken += stretch.ran() as usize;
                    if matches!(pace, Pace::Yielded) {
                        taken += 1;
                        tables.enqueue(flow, Round::Next);
                    }
                    break;
                }
            }
            if stretch.left == 0 {
                let mut tables = self.tables();
                tables.instances[index].steps += stretch.ran();
                taken += stretch.ran() as usize;
                let left = budget - taken;
                if self.burst_is_over(&mut tables, &running, left == 0) {
                    break;
                }
                stretch = Stretch::new(tables.instances[index].steps, left);
            }
        }
        let mut tables = self.tables();
        tables.current = NIL;
        let place = &mut tables.instances[index];
        if place.cancel_requested || place.handle_gone {
            drop(tables);
            drop(state);
            self.leave_instance(index);
        } else {
            place.running = false;
        }
        taken
    }

    /// Runs plain steps, the common case, one after the other: without giving
    /// the tables back but for a body, and behind one fence for them all. None
    /// when the next move is another, which [`Self::advance`] knows.
    #[inline]
    fn run_plain(&self, running: &Running<'_>, stretch: &mut Stretch) -> Option<Pace> {
        // Outside of the fence: a panic does not lose what its step noted.
        let mut step = Step::new(self, running.state, running.flow, NIL, Call::Body);
        let sweep = || self.sweep(running, &mut step, stretch);
        let result = match catch_unwind(AssertUnwindSafe(sweep)) {
            Ok(Sweep::Other) => return None,
            Ok(Sweep::Look) => return Some(Pace::Swept),
            Ok(Sweep::Ended(result)) => Ok(result),
            Err(panic) => Err(panic),
        };
        let frame = step.frame();
        Some(self.settle(running, frame, step.verdict(result)))
    }

    #[inline]
    fn sweep(&self, running: &Running<'_>, step: &mut Step<'_>, stretch: &mut Stretch) -> Sweep {
        let mut passed = None;
        let mut done = NIL;
        loop {
            let mut handled = false;
            let next = RefMut::filter_map(self.tables(), |tables| {
                let frame = next_plain(tables, running, done, stretch.left, &mut passed)?;
                step.take_up(frame);
                let place = &mut tables.frames[frame];
                handled = place.on_error.is_some();
                Some(&mut place.body)
            });
            let Ok(body) = next else {
                return if stretch.left == 0 {
                    Sweep::Look
                } else {
                    Sweep::Other
                };
            };
            let result = Body::call(body, step, &mut passed);
            if result.is_err() || !step.is_plainly_done() {
                return Sweep::Ended(result);
            }
            stretch.left -= 1;
            done = step.frame();
            if handled || step.is_touched() {
                let ended = pop(&mut self.tables(), running.flow, done);
                if !ended {
                    self.end_top(running.flow, done);
                }
                done = NIL;
            }
        }
    }

    /// Puts the flow back into the queue if it must stop after this step.
    fn burst_is_over(
        &self,
        tables: &mut Tables,
        running: &Running<'_>,
        out_of_budget: bool,
    ) -> bool {
        let instance = &mut tables.instances[running.instance];
        if instance.steps.is_multiple_of(STEP_CLOCK_EVERY) {
            let began = instance.burst_began;
            let now = self.now();
            tables.now = now;
            if now.since(began) >= STEP_BURST_NANOS {
                // Its other flows have had their time, too.
                tables.instances[running.instance].steps = STEP_BURST;
            }
        }
        if tables.instances[running.instance].steps >= STEP_BURST {
            tables.enqueue(running.flow, Round::Cut);
            return true;
        }
        if out_of_budget && tables.flows[running.flow].ready == NIL {
            // The round goes on with it in the next turn.
            let node = tables
                .ready
                .push_front(Round::This, Ready::Flow(running.flow));
            tables.flows[running.flow].ready = node;
        }
        out_of_budget
    }
}

/// Ends the step before, which has nothing to drop, if there is one; then begins
/// the next of the innermost frame, if it is a plain step and nothing else is
/// to be done first. One pass, because this is most of what a step costs.
#[inline]
fn next_plain(
    tables: &mut Tables,
    running: &Running<'_>,
    done: u32,
    left: u32,
    passed: &mut Passed,
) -> Option<u32> {
    let flow = &mut tables.flows[running.flow];
    if done != NIL {
        let over = &tables.frames[done];
        debug_assert!(over.extra == NIL && over.on_error.is_none() && over.first == NIL);
        flow.top = over.parent;
        tables.frames.give(done);
    }
    let top = flow.top;
    if left == 0
        || top == NIL
        || flow.pending.is_some()
        || tables.instances[running.instance].cancel_requested
    {
        return None;
    }
    let parent = &mut tables.frames[top];
    let child = parent.first;
    if parent.status != Status::Active || child == NIL {
        return None;
    }
    let frame = &mut tables.frames[child];
    if frame.extra != NIL || frame.body.is_empty() {
        return None;
    }
    let next = frame.next;
    frame.flow = running.flow;
    frame.status = Status::Active;
    let parent = &mut tables.frames[top];
    parent.first = next;
    if next == NIL {
        parent.last = NIL;
    }
    flow.top = child;
    if flow.values.is_some() {
        *passed = flow.values.take();
    }
    Some(child)
}
