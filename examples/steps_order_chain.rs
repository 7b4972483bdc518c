//! An order as a chain of steps: check, reserve, send, report, persist, finally.
//!
//! `cargo run --example steps_order_chain`
//!
//! Each stage is a closure of this example's own. The venue answers from outside
//! of the flow, once too late. Whatever happens, the reservation is given back
//! or used, and the last stage runs.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use pitlane::steps::{AsyncSteps, Compose, EventLoop, LoopLimits, StepError, WaitHandle, codes};
use pitlane::time::SimClock;
use pitlane::types::AccountId;

/// What the flow of one order knows.
struct Order {
    id: u32,
    quantity: u64,
    reserved: u64,
}

/// The books that the stages work on.
#[derive(Default)]
struct Desk {
    available: u64,
    journal: Vec<String>,
    /// Orders at the venue, with what completes their step.
    sent: VecDeque<(u32, WaitHandle)>,
}

fn submit(
    event_loop: &EventLoop,
    desk: &Rc<RefCell<Desk>>,
    id: u32,
    quantity: u64,
) -> Result<AsyncSteps, StepError> {
    let order = Order {
        id,
        quantity,
        reserved: 0,
    };
    let mut root = AsyncSteps::with_state(event_loop, order)?;
    root.on_account(AccountId(7)); // One order of the account at a time.
    root.set_unhandled_error(|error| println!("  bug: nobody handled {error}"));

    let (stages, failed) = (desk.clone(), desk.clone());
    root.add_or(
        move |step, ()| {
            // Check and reserve.
            let desk = stages.clone();
            step.add(move |step, ()| {
                let mut order = step.state().root::<Order>()?;
                let mut desk = desk.borrow_mut();
                if order.quantity > desk.available {
                    let info = format!("{} of {} available", order.quantity, desk.available);
                    return Err(StepError::new("InsufficientFunds").with_info(info));
                }
                desk.available -= order.quantity;
                order.reserved = order.quantity;
                Ok(())
            });
            // Send, and wait for the venue: 5 ms at most.
            let desk = stages.clone();
            step.add(move |step, ()| {
                step.set_timeout(Duration::from_millis(5))?;
                let handle = step.wait_external()?;
                let id = step.state().root::<Order>()?.id;
                desk.borrow_mut().sent.push_back((id, handle));
                Ok(())
            });
            // Report.
            step.add(|step, (price,): (u64,)| {
                let mut order = step.state().root::<Order>()?;
                println!("  order {} filled at {price}", order.id);
                order.reserved = 0; // Used, not to be given back.
                step.success((price,))
            });
            Ok(())
        },
        move |step, error| {
            let mut order = step.state().root::<Order>()?;
            println!("  order {} failed: {error}", order.id);
            failed.borrow_mut().available += std::mem::take(&mut order.reserved);
            step.success((0u64,))
        },
    );
    // Persist: what came of it, well or not.
    let books = desk.clone();
    root.add(move |step, (price,): (u64,)| {
        let id = step.state().root::<Order>()?.id;
        let line = format!("order {id} price {price}");
        books.borrow_mut().journal.push(line);
        Ok(())
    });
    // Finally.
    let books = desk.clone();
    root.add(move |step, ()| {
        let id = step.state().root::<Order>()?.id;
        println!("  order {id} done, {} available", books.borrow().available);
        Ok(())
    });
    root.execute()?;
    Ok(root)
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = SimClock::default();
    let event_loop = EventLoop::new(clock.clone(), LoopLimits::default());
    let desk = Rc::new(RefCell::new(Desk {
        available: 100,
        ..Desk::default()
    }));
    // Kept: dropping a root cancels it.
    let mut orders = Vec::new();
    for (id, quantity) in [(1, 60), (2, 50), (3, 30)] {
        orders.push(submit(&event_loop, &desk, id, quantity)?);
    }

    for millisecond in 0..20 {
        println!("{millisecond} ms");
        while event_loop.turn(1_000).more {}
        // The venue fills the first at once, and answers the third too late.
        let answer = desk.borrow().sent.front().copied();
        if let Some((id, handle)) = answer
            && (id == 1 || millisecond > 8)
        {
            desk.borrow_mut().sent.pop_front();
            match event_loop.complete(handle, (101u64,)) {
                Ok(()) => println!("  venue fills {id}"),
                Err(refusal) => println!("  venue fills {id}: {refusal}"),
            }
        }
        if desk.borrow().journal.len() == 3 && desk.borrow().sent.is_empty() {
            break;
        }
        clock.advance(Duration::from_millis(1));
    }

    let last = orders[2].last_error().ok_or("the third order timed out")?;
    assert!(last.is(codes::TIMEOUT));
    assert_eq!(
        desk.borrow().journal,
        ["order 1 price 101", "order 2 price 0", "order 3 price 0"]
    );
    assert_eq!(desk.borrow().available, 40, "only the first order used any");
    Ok(())
}
