//! How steps enter their synchronizers (rule S13): a frame asks, is let in, is
//! queued and admitted later, or is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::StepError;
use super::event_loop::{EventLoop, WaitHandle};
use super::pool::NIL;
use super::run::{Pace, Running};
use super::sync::{Admission, Entry, OwnerId, SyncRef};
use super::tables::{Hold, Pending, Status};

impl EventLoop {
    /// Asks the synchronizer of a frame to let it in.
    pub(super) fn enter(&self, running: &Running<'_>, top: u32) -> Pace {
        let Some((object, entry)) = self.ask(running.flow, top) else {
            return Pace::Moved;
        };
        let answer = catch_unwind(AssertUnwindSafe(|| object.enter(self, entry)))
            .unwrap_or_else(|panic| Err(StepError::panicked(&*panic)));
        if let Err(error) = self.answer(top, answer) {
            self.raise(running.flow, error, false);
        }
        Pace::Moved
    }

    /// Notes that a frame asks its synchronizer, and returns both.
    pub(super) fn ask(&self, flow: u32, frame: u32) -> Option<(SyncRef, Entry)> {
        let mut tables = self.tables();
        let id = tables.mint();
        let root = tables.instances[tables.flows[flow].instance].flow;
        let owner = |flow: u32| OwnerId {
            flow,
            id: tables.flows[flow].id,
        };
        let entry = Entry {
            handle: WaitHandle {
                event_loop: self.core().id,
                frame,
                id,
            },
            owner: owner(flow),
            root: owner(root),
        };
        tables.frames[frame].status = Status::Waiting;
        let extra = tables.extra_of(frame);
        extra.wait_id = id;
        let sync = extra.sync.as_mut()?;
        sync.hold = Hold::Waiting;
        sync.entry = Some(entry);
        Some((sync.object.clone(), entry))
    }

    /// Notes what a synchronizer answered.
    pub(super) fn answer(
        &self,
        frame: u32,
        answer: Result<Admission, StepError>,
    ) -> Result<(), StepError> {
        let mut tables = self.tables();
        let (hold, status) = match answer {
            Ok(Admission::Queued) => return Ok(()),
            Ok(Admission::Entered) => (Hold::Inside, Status::Fresh),
            Err(_) => (Hold::Outside, Status::Active),
        };
        tables.frames[frame].status = status;
        let extra = tables.extra_of(frame);
        extra.wait_id = 0;
        if let Some(sync) = &mut extra.sync {
            sync.hold = hold;
        }
        answer.map(|_| ())
    }

    /// Lets a queued step in; for synchronizers. Nothing happens if its step
    /// is over: it has left, or leaves.
    pub fn admit(&self, entry: Entry) {
        self.resolve(entry, Ok(Admission::Entered));
    }

    /// Fails a queued step; for synchronizers. The entry does not leave any more.
    pub fn reject(&self, entry: Entry, error: StepError) {
        self.resolve(entry, Err(error));
    }

    fn resolve(&self, entry: Entry, answer: Result<Admission, StepError>) {
        let frame = entry.handle.frame;
        {
            let tables = self.tables();
            let waits = entry.handle.event_loop == self.core().id
                && frame < tables.frames.len()
                && tables
                    .extra(frame)
                    .is_some_and(|extra| extra.wait_id == entry.handle.id && extra.sync.is_some());
            if !waits {
                return;
            }
        }
        let answered = self.answer(frame, answer);
        let mut tables = self.tables();
        let flow = tables.frames[frame].flow;
        if let Err(error) = answered {
            tables.flows[flow].pending = Some(Pending {
                error,
                noted: false,
            });
        }
        tables.schedule(flow);
    }

    /// The flows that wait for this one to end, from its parent outwards; for
    /// synchronizers.
    pub fn ancestors(&self, owner: OwnerId) -> impl Iterator<Item = OwnerId> + '_ {
        let parent = move |of: OwnerId| {
            let tables = self.tables();
            let known = of.flow < tables.flows.len() && tables.flows[of.flow].id == of.id;
            let frame = if known {
                tables.flows[of.flow].parent_frame
            } else {
                NIL
            };
            (frame != NIL).then(|| {
                let flow = tables.frames[frame].flow;
                let id = tables.flows[flow].id;
                OwnerId { flow, id }
            })
        };
        std::iter::successors(parent(owner), move |&owner| parent(owner))
    }
}
