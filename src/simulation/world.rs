//! What client flows and the node share: what is to be sent, who waits for an
//! answer, and what came of it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use super::dice::Dice;
use crate::steps::{EventLoop, StepError, WaitHandle};
use crate::types::{AccountId, ClientReference, Command, Origin, Report, ReportKind};

/// The clients' credential; contingent orders have another.
pub(super) const CLIENT: Origin = Origin {
    port: 0,
    credential: 1,
    session: 1,
};

/// See the module.
pub(super) struct World {
    pub(super) dice: RefCell<Dice>,
    outbox: RefCell<VecDeque<Command>>,
    waits: RefCell<BTreeMap<ClientReference, WaitHandle>>,
    /// Orders that work, by credential and reference.
    working: RefCell<BTreeMap<(u16, ClientReference), AccountId>>,
    next_reference: Cell<u64>,
    pub(super) tally: RefCell<Tally>,
}

/// What came of client flows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) flows: u64,
    /// Flows that saw a refusal.
    pub(super) refused: u64,
    /// Answers that did not come in time.
    pub(super) timeouts: u64,
    /// Flows that ended with an error that nobody expected.
    pub(super) broken: u64,
    /// Flows that the event loop had no room for.
    pub(super) no_room: u64,
}

impl World {
    pub(super) fn new(dice: Dice) -> Self {
        Self {
            dice: RefCell::new(dice),
            outbox: RefCell::default(),
            waits: RefCell::default(),
            working: RefCell::default(),
            next_reference: Cell::new(1),
            tally: RefCell::default(),
        }
    }

    pub(super) fn reference(&self) -> ClientReference {
        let reference = self.next_reference.get();
        self.next_reference.set(reference + 1);
        ClientReference(reference)
    }

    /// Sends a command; its answer completes the wait with what kind it is.
    pub(super) fn send(&self, reference: ClientReference, command: Command, answer: WaitHandle) {
        self.waits.borrow_mut().insert(reference, answer);
        self.outbox.borrow_mut().push_back(command);
    }

    pub(super) fn next_command(&self) -> Option<Command> {
        self.outbox.borrow_mut().pop_front()
    }

    /// A client hears of its order.
    pub(super) fn heard(&self, report: &Report, event_loop: &EventLoop) {
        let answer = self.waits.borrow_mut().remove(&report.reference);
        if let Some(answer) = answer {
            // Stale where its flow no longer waits.
            let _ = event_loop.complete(answer, (report.kind,));
        }
    }

    /// Follows which orders work.
    pub(super) fn follow(&self, report: &Report) {
        let key = (report.origin.credential, report.order_reference);
        let mut working = self.working.borrow_mut();
        match report.kind {
            ReportKind::Accepted => {
                working.insert(key, report.account);
            }
            ReportKind::Executed if !report.leaves.is_zero() => {}
            ReportKind::Executed | ReportKind::Canceled | ReportKind::Rejected => {
                working.remove(&key);
            }
            ReportKind::Replaced | ReportKind::CancelRejected => {}
        }
    }

    /// Asks for the end of everything that works.
    pub(super) fn cancel_all(&self) {
        for (&(credential, target), &account) in self.working.borrow().iter() {
            let origin = Origin {
                credential,
                ..CLIENT
            };
            self.outbox.borrow_mut().push_back(Command::Cancel {
                origin,
                reference: self.reference(),
                account,
                target,
            });
        }
    }

    pub(super) fn working(&self) -> usize {
        self.working.borrow().len()
    }

    /// Answers that never came.
    pub(super) fn unanswered(&self) -> usize {
        self.waits.borrow().len()
    }

    pub(super) fn discard(&self) {
        self.outbox.borrow_mut().clear();
    }

    /// A flow ended with an error that it does not handle.
    pub(super) fn broke(&self, _: &StepError) {
        self.tally.borrow_mut().broken += 1;
    }
}
