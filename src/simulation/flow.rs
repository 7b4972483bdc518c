//! One client's order, as steps: sent at the client's rate, awaited, left to work for
//! a while, and then replaced, cancelled or left alone.

use std::rc::Rc;
use std::time::Duration;

use super::arrivals::{Fate, Intent};
use super::world::{CLIENT, World};
use crate::steps::{AsyncSteps, Compose, EventLoop, Step, StepError, StepResult, Throttle, codes};
use crate::types::{ClientReference, Command, ReportKind};

/// How long a client waits for an answer; longer than the line takes there and
/// back, except where the venue is away.
const PATIENCE: Duration = Duration::from_millis(10);

/// How often a change is asked for.
const ATTEMPTS: u64 = 3;

/// The error of a flow whose order or change was refused: its normal end.
const REFUSED: &str = "Refused";

/// Starts the flow of one order.
///
/// # Errors
/// The event loop has no room for it.
pub(super) fn begin(
    world: &Rc<World>,
    event_loop: &EventLoop,
    throttle: &Throttle,
    intent: Intent,
) -> Result<(), StepError> {
    world.tally.borrow_mut().flows += 1;
    let reference = world.reference();
    let mut root = AsyncSteps::new(event_loop)?;
    let broken = Rc::clone(world);
    root.set_unhandled_error(move |error| broken.broke(error));

    let (flow, failed, throttle) = (Rc::clone(world), Rc::clone(world), throttle.clone());
    root.add_or(
        move |step, ()| {
            step.sync(&throttle, |step, ()| step.success(()));
            let world = Rc::clone(&flow);
            step.add(move |step, ()| {
                let command = Command::NewOrder {
                    origin: CLIENT,
                    reference,
                    order: intent.order,
                };
                ask(step, &world, reference, command)
            });
            step.add(|_, (answer,)| accepted(answer));
            pause(step, intent.patience);
            change(step, &flow, intent, reference);
            Ok(())
        },
        move |step, error| {
            let mut tally = failed.tally.borrow_mut();
            if error.is(REFUSED) {
                tally.refused += 1;
            } else if error.is(codes::TIMEOUT) {
                tally.timeouts += 1;
            } else {
                return Ok(());
            }
            step.success(())
        },
    );
    root.execute()?;
    root.detach();
    Ok(())
}

/// Sends a command, and waits for its answer.
fn ask(
    step: &mut Step<'_>,
    world: &World,
    reference: ClientReference,
    command: Command,
) -> StepResult {
    step.set_timeout(PATIENCE)?;
    let answer = step.wait_external()?;
    world.send(reference, command, answer);
    Ok(())
}

fn accepted(answer: ReportKind) -> StepResult {
    match answer {
        ReportKind::Rejected | ReportKind::CancelRejected => Err(REFUSED.into()),
        _ => Ok(()),
    }
}

/// Asks for the change until it is answered.
fn change(step: &mut Step<'_>, world: &Rc<World>, intent: Intent, target: ClientReference) {
    let Some(fate) = intent.fate else { return };
    let (origin, account) = (CLIENT, intent.order.account);
    let world = Rc::clone(world);
    step.repeat(ATTEMPTS, move |step, attempt| {
        let asked = Rc::clone(&world);
        step.add_or(
            move |step, ()| {
                step.add(move |step, ()| {
                    let reference = asked.reference();
                    let command = match fate {
                        Fate::Cancel => Command::Cancel {
                            origin,
                            reference,
                            account,
                            target,
                        },
                        Fate::Replace { price, quantity } => Command::Replace {
                            origin,
                            reference,
                            account,
                            target,
                            price,
                            quantity,
                        },
                    };
                    ask(step, &asked, reference, command)
                });
                step.add(|_, (answer,)| accepted(answer));
                step.add(|step, ()| step.break_loop());
                Ok(())
            },
            move |step, error| {
                if error.is(codes::TIMEOUT) && attempt + 1 < ATTEMPTS {
                    pause(step, PATIENCE * (1 << attempt));
                }
                Ok(())
            },
        );
        Ok(())
    });
}

/// Adds a step that waits.
fn pause(step: &mut Step<'_>, length: Duration) {
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
