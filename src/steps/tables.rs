//! What the runtime keeps: frames, flows, instances and what hangs on them, in
//! pools, linked by index.
//!
//! It promises plain data only: nothing here calls a user's code, and nothing
//! of a user's is dropped while the tables are borrowed.

use std::borrow::Cow;
use std::rc::Rc;
use std::task::Waker;

use hashbrown::HashMap;

use super::erased::{
    Block, Body, Callback, Canceller, ErasedValue, Handler, LoopBody, PinnedFuture,
};
use super::error::{ErrorCallback, StepError};
use super::event_loop::LoopLimits;
use super::pool::{NIL, Pool};
use super::ready::{Ready, ReadyQueue, Round};
use super::state::State;
use super::sync::{Entry, LaneState, SyncRef};
use super::values::Passed;
use crate::time::{Nanos, TimerKey, TimerWheel};
use crate::types::AccountId;

/// Where a frame stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Status {
    /// Its work has not begun, or is to be taken up again: an admitted
    /// synchronizer, a woken future.
    #[default]
    Fresh,
    /// Its body runs or ran; its sub-steps, if any, are being run.
    Active,
    /// Nothing happens until something outside does.
    Waiting,
    /// Completed from outside; ends at the flow's next step.
    Completed,
}

/// What a frame does once its body ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Plain,
    Loop,
    Parallel,
}

/// What a frame is there to run, if it is no plain body.
#[derive(Default)]
pub(super) enum Work {
    #[default]
    None,
    Loop(LoopBody),
    Future {
        future: PinnedFuture,
        slot: u32,
    },
    Relinquish,
    Pass(ErasedValue),
}

/// One step: its place in the tree, its body and its error handler.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) flow: u32,
    pub(super) parent: u32,
    /// The next sibling.
    pub(super) next: u32,
    /// Sub-steps that have not begun, first and last.
    pub(super) first: u32,
    pub(super) last: u32,
    /// What few steps have; `NIL` for the others.
    pub(super) extra: u32,
    pub(super) status: Status,
    pub(super) kind: Kind,
    /// Beside the other work, not one of it: it is written in place.
    pub(super) body: Body,
    pub(super) work: Work,
    pub(super) on_error: Option<Handler>,
}

impl Frame {
    /// Makes a place that holds nothing a fresh frame, linked to nothing.
    #[inline]
    fn reset(&mut self, flow: u32, parent: u32) {
        self.flow = flow;
        self.parent = parent;
        self.next = NIL;
        self.first = NIL;
        self.last = NIL;
        self.extra = NIL;
        self.status = Status::Fresh;
        self.kind = Kind::Plain;
    }
}

/// How far a frame got with its synchronizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    Outside,
    Waiting,
    Inside,
}

pub(super) struct SyncUse {
    pub(super) object: SyncRef,
    pub(super) hold: Hold,
    pub(super) entry: Option<Entry>,
}

/// What few steps have.
#[derive(Default)]
pub(super) struct Extra {
    pub(super) timer: Option<TimerKey>,
    /// Names the armed time limit; zero when there is none.
    pub(super) limit_id: u64,
    /// Names the wait that a handle may complete; zero when there is none.
    pub(super) wait_id: u64,
    pub(super) on_cancel: Option<Canceller>,
    /// The latest value allocated for the step.
    pub(super) local: u32,
    pub(super) label: Option<Cow<'static, str>>,
    pub(super) sync: Option<SyncUse>,
    /// A parallel step's children that still run, in order.
    pub(super) first_child: u32,
    pub(super) last_child: u32,
}

/// An error that waits for its flow.
pub(super) struct Pending {
    pub(super) error: StepError,
    /// It was traced where it was caught first.
    pub(super) noted: bool,
}

/// One sequence of control: a root's, or a parallel child's.
#[derive(Default)]
pub(super) struct Flow {
    /// Never reused: names the flow as an owner.
    pub(super) id: u64,
    pub(super) instance: u32,
    /// The innermost frame that has begun; `NIL` once the flow is over.
    pub(super) top: u32,
    pub(super) values: Passed,
    /// An error to raise at the flow's next step; once the flow is over, the
    /// one that it ended with.
    pub(super) pending: Option<Pending>,
    pub(super) ready: u32,
    /// The parallel step that this flow is a child of.
    pub(super) parent_frame: u32,
    pub(super) prev: u32,
    pub(super) next: u32,
}

/// Where an instance stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Building,
    Running,
    Ended,
}

pub(super) type OnCancel = Rc<dyn Fn()>;

/// One `AsyncSteps`.
#[derive(Default)]
pub(super) struct Instance {
    pub(super) flow: u32,
    pub(super) phase: Phase,
    pub(super) state: Rc<State>,
    /// Its code is on the stack: a cancel waits until it returns.
    pub(super) running: bool,
    pub(super) cancel_requested: bool,
    pub(super) handle_gone: bool,
    /// A future takes the outcome.
    pub(super) awaited: bool,
    pub(super) outcome: Option<Result<Passed, StepError>>,
    pub(super) waker: Option<Waker>,
    pub(super) account: Option<AccountId>,
    pub(super) catch_trace: Option<ErrorCallback>,
    pub(super) unhandled_error: Option<ErrorCallback>,
    pub(super) cancel_handler: Option<OnCancel>,
    pub(super) last_error: Option<StepError>,
    pub(super) error_info: Cow<'static, str>,
    /// The round that `steps` counts for.
    pub(super) round: u64,
    pub(super) steps: u32,
    pub(super) burst_began: Nanos,
}

/// A callback of the event loop.
#[derive(Default)]
pub(super) struct Task {
    /// Zero once it ran or was cancelled.
    pub(super) id: u64,
    pub(super) callback: Option<Callback>,
    pub(super) ready: u32,
    pub(super) timer: Option<TimerKey>,
}

/// A value that lives as long as a step.
#[derive(Default)]
pub(super) struct Local {
    pub(super) id: u64,
    pub(super) value: Option<ErasedValue>,
    /// The one allocated before it.
    pub(super) next: u32,
}

/// Memory and waker for one future at a time.
#[derive(Default)]
pub(super) struct FutureSlot {
    pub(super) block: Option<Block>,
    pub(super) waker: Option<Waker>,
    pub(super) flow: u32,
    pub(super) frame: u32,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Limit { flow: u32, frame: u32, id: u64 },
    Task(u32),
}

pub(super) struct Tables {
    pub(super) frames: Pool<Frame>,
    pub(super) extras: Pool<Extra>,
    pub(super) flows: Pool<Flow>,
    pub(super) instances: Pool<Instance>,
    pub(super) tasks: Pool<Task>,
    pub(super) locals: Pool<Local>,
    pub(super) futures: Pool<FutureSlot>,
    pub(super) ready: ReadyQueue,
    pub(super) wheel: TimerWheel<Due>,
    pub(super) lanes: HashMap<AccountId, LaneState, foldhash::fast::RandomState>,
    pub(super) spare_lanes: Vec<LaneState>,
    last_id: u64,
    /// The latest reading of the clock.
    pub(super) now: Nanos,
    pub(super) round: u64,
    /// The flow whose code is on the stack.
    pub(super) current: u32,
}

impl Tables {
    pub(super) fn new(limits: &LoopLimits) -> Self {
        Self {
            frames: Pool::new(limits.frames),
            extras: Pool::new(limits.frames),
            flows: Pool::new(limits.flows),
            instances: Pool::new(limits.roots),
            tasks: Pool::new(limits.tasks),
            locals: Pool::new(limits.locals),
            futures: Pool::new(limits.futures),
            ready: ReadyQueue::new(),
            wheel: TimerWheel::new(limits.timers),
            lanes: HashMap::default(),
            spare_lanes: Vec::new(),
            last_id: 0,
            now: Nanos(0),
            round: 0,
            current: NIL,
        }
    }

    /// A number never given before by this loop.
    #[inline]
    pub(super) fn mint(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// A frame with nothing in it, linked to nothing.
    #[inline]
    pub(super) fn new_frame(&mut self, flow: u32, parent: u32) -> Option<u32> {
        let index = self.frames.take()?;
        self.frames[index].reset(flow, parent);
        Some(index)
    }

    /// A frame at the end of `parent`'s sub-steps.
    #[inline]
    pub(super) fn append_frame(&mut self, parent: u32) -> Option<(u32, &mut Frame)> {
        let index = self.frames.take()?;
        let above = &mut self.frames[parent];
        let flow = above.flow;
        let last = std::mem::replace(&mut above.last, index);
        if last == NIL {
            above.first = index;
        } else {
            self.frames[last].next = index;
        }
        let frame = &mut self.frames[index];
        frame.reset(flow, parent);
        Some((index, frame))
    }

    /// Takes the first sub-step that has not begun.
    #[inline]
    pub(super) fn detach_first(&mut self, parent: u32) -> Option<u32> {
        let first = self.frames[parent].first;
        if first == NIL {
            return None;
        }
        let next = self.frames[first].next;
        self.frames[parent].first = next;
        if next == NIL {
            self.frames[parent].last = NIL;
        }
        Some(first)
    }

    /// The frame's extra; made when it has none. Never fails: there are as many
    /// as frames.
    pub(super) fn extra_of(&mut self, frame: u32) -> &mut Extra {
        let mut index = self.frames[frame].extra;
        if index == NIL {
            index = self.extras.take().unwrap_or(NIL);
            debug_assert_ne!(index, NIL, "as many extras as frames");
            self.frames[frame].extra = index;
            let extra = &mut self.extras[index];
            extra.local = NIL;
            extra.first_child = NIL;
            extra.last_child = NIL;
        }
        &mut self.extras[index]
    }

    pub(super) fn extra(&self, frame: u32) -> Option<&Extra> {
        let index = self.frames[frame].extra;
        (index != NIL).then(|| &self.extras[index])
    }

    pub(super) fn extra_mut(&mut self, frame: u32) -> Option<&mut Extra> {
        let index = self.frames[frame].extra;
        (index != NIL).then(|| &mut self.extras[index])
    }

    /// A flow of `instance` that begins with `top`.
    pub(super) fn new_flow(&mut self, instance: u32, top: u32, parent_frame: u32) -> Option<u32> {
        let index = self.flows.take()?;
        let id = self.mint();
        let flow = &mut self.flows[index];
        flow.id = id;
        flow.instance = instance;
        flow.top = top;
        flow.ready = NIL;
        flow.parent_frame = parent_frame;
        flow.prev = NIL;
        flow.next = NIL;
        Some(index)
    }

    /// Puts a flow into the next round, unless it is there or runs now.
    pub(super) fn schedule(&mut self, flow: u32) {
        if flow != self.current {
            self.enqueue(flow, Round::Next);
        }
    }

    pub(super) fn enqueue(&mut self, flow: u32, round: Round) {
        if self.flows[flow].ready == NIL {
            self.flows[flow].ready = self.ready.push_back(round, Ready::Flow(flow));
        }
    }

    pub(super) fn unschedule(&mut self, flow: u32) {
        let node = std::mem::replace(&mut self.flows[flow].ready, NIL);
        if node != NIL {
            self.ready.remove(node);
        }
    }

    /// Disarms the frame's time limit.
    pub(super) fn disarm(&mut self, frame: u32) {
        if let Some(extra) = self.extra_mut(frame) {
            extra.limit_id = 0;
            if let Some(timer) = extra.timer.take() {
                self.wheel.cancel(timer);
            }
        }
    }

    /// Makes the frame's wait handles stale.
    pub(super) fn forget_wait(&mut self, frame: u32) {
        if let Some(extra) = self.extra_mut(frame) {
            extra.wait_id = 0;
        }
    }

    /// Links a flow as the last child of a parallel frame.
    pub(super) fn link_child(&mut self, frame: u32, child: u32) {
        let last = std::mem::replace(&mut self.extra_of(frame).last_child, child);
        self.flows[child].prev = last;
        if last == NIL {
            self.extra_of(frame).first_child = child;
        } else {
            self.flows[last].next = child;
        }
    }

    pub(super) fn unlink_child(&mut self, frame: u32, child: u32) {
        let (prev, next) = (self.flows[child].prev, self.flows[child].next);
        if prev == NIL {
            self.extra_of(frame).first_child = next;
        } else {
            self.flows[prev].next = next;
        }
        if next == NIL {
            self.extra_of(frame).last_child = prev;
        } else {
            self.flows[next].prev = prev;
        }
    }

    /// The first child flow of a parallel frame that still runs.
    pub(super) fn first_child(&self, frame: u32) -> u32 {
        self.extra(frame).map_or(NIL, |extra| extra.first_child)
    }
}
