//! What waits, written as steps: sends and cancels for their venue's rate, and
//! the questions of reconciliation (rules O21, O37).

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::core::{Core, Flow};
use crate::steps::{AsyncSteps, Compose, EventLoop, Step, StepError, StepResult, codes};
use crate::types::ClientOrderId;

pub(super) type SharedCore = Rc<RefCell<Core>>;

/// Starts a flow; it runs to its end by itself.
///
/// # Errors
/// The event loop is full: try again later.
pub(super) fn start(
    core: &SharedCore,
    event_loop: &EventLoop,
    flow: Flow,
) -> Result<(), StepError> {
    let mut root = AsyncSteps::new(event_loop)?;
    match flow {
        Flow::Send(id) => {
            if let Some(throttle) = throttle(core, id, Rate::Orders) {
                let core = Rc::clone(core);
                root.sync(&throttle, move |_, ()| {
                    core.borrow_mut().depart(id);
                    Ok(())
                });
            }
        }
        Flow::Cancel(id) => {
            if let Some(throttle) = throttle(core, id, Rate::Cancels) {
                let core = Rc::clone(core);
                root.sync(&throttle, move |_, ()| {
                    core.borrow_mut().depart_cancel(id);
                    Ok(())
                });
            }
        }
        Flow::Question(id) => {
            if let Some(throttle) = throttle(core, id, Rate::Queries) {
                let core = Rc::clone(core);
                root.loop_until_break(move |step| ask_once(step, &core, &throttle, id));
            }
        }
    }
    root.execute()?;
    root.detach();
    Ok(())
}

#[derive(Clone, Copy)]
enum Rate {
    Orders,
    Cancels,
    Queries,
}

fn throttle(core: &SharedCore, id: ClientOrderId, rate: Rate) -> Option<crate::steps::Throttle> {
    let core = core.borrow();
    let venue = core.entry(id)?.order.terms.venue;
    let seat = &core.seats[usize::from(venue)];
    match rate {
        Rate::Orders => seat.orders.clone(),
        Rate::Cancels => seat.cancels.clone(),
        Rate::Queries => Some(seat.queries.clone()),
    }
}

/// A pause, then a question at the venue's rate, then the wait for its answer.
fn ask_once(
    step: &mut Step<'_>,
    core: &SharedCore,
    throttle: &crate::steps::Throttle,
    id: ClientOrderId,
) -> StepResult {
    let pause_length = core.borrow_mut().pause_before(id);
    pause(step, pause_length);
    let (leaves, asks) = (Rc::clone(core), Rc::clone(core));
    step.add(move |step, ()| leave_if_settled(step, &leaves, id));
    step.sync_or(
        throttle,
        move |step, ()| {
            let timeout = asks.borrow().settings.query_timeout;
            if !asks.borrow_mut().query(id) {
                return Ok(());
            }
            step.set_timeout(timeout)?;
            let handle = step.wait_external()?;
            asks.borrow_mut().await_answer(id, handle);
            Ok(())
        },
        |step, error| {
            if error.is(codes::TIMEOUT) {
                return step.success(());
            }
            Ok(())
        },
    );
    let leaves = Rc::clone(core);
    step.add(move |step, ()| leave_if_settled(step, &leaves, id));
    Ok(())
}

fn leave_if_settled(step: &mut Step<'_>, core: &SharedCore, id: ClientOrderId) -> StepResult {
    if core.borrow().is_asked(id) {
        Ok(())
    } else {
        step.break_loop()
    }
}

/// An empty step with a time limit, whose passing is no error.
fn pause(step: &mut Step<'_>, length: Duration) {
    if length.is_zero() {
        return;
    }
    step.add_or(
        move |step, ()| step.set_timeout(length),
        |step, error| {
            if error.is(codes::TIMEOUT) {
                return step.success(());
            }
            Ok(())
        },
    );
}
