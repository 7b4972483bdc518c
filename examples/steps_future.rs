//! A standard future awaited by a step, and a flow awaited by an executor.
//!
//! `cargo run --example steps_future`
//!
//! Another thread makes the future ready; its waker ends the sleep of this one,
//! which runs the event loop.

use std::error::Error;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;

use pitlane::steps::{AsyncSteps, Compose, EventLoop, LoopLimits, StepError};
use pitlane::time::SystemClock;

/// A number that some thread will know.
#[derive(Clone, Default)]
struct Quote(Arc<Mutex<(Option<u64>, Option<Waker>)>>);

impl Quote {
    fn publish(&self, price: u64) {
        let waker = {
            let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            inner.0 = Some(price);
            inner.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for Quote {
    type Output = Result<(u64,), StepError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(price) = inner.0 {
            return Poll::Ready(Ok((price,)));
        }
        inner.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (unpark, parked) = mpsc::sync_channel(1);
    let event_loop = EventLoop::with_unpark(SystemClock::new(), LoopLimits::default(), move || {
        // Full means that a wake is on its way already.
        let _ = unpark.try_send(());
    });
    let quote = Quote::default();
    let mut root = AsyncSteps::new(&event_loop)?;
    root.await_future(quote.clone())
        .add(|step, (price,): (u64,)| {
            println!("quoted {price}");
            step.success((price + 1,))
        });

    // The flow as a future itself; a shard would keep it, not poll it by hand.
    let mut flow = Box::pin(root.into_future_of::<(u64,)>());
    let publisher = thread::spawn(move || quote.publish(100));
    let mut context = Context::from_waker(Waker::noop());
    let (bid,) = loop {
        let more = event_loop.turn(1_000).more;
        if let Poll::Ready(bid) = flow.as_mut().poll(&mut context) {
            break bid?;
        }
        if !more {
            // Nothing is ready: sleep until the waker says otherwise.
            parked.recv()?;
        }
    };
    publisher.join().map_err(|_| "the publisher panicked")?;
    println!("we bid {bid}");
    assert_eq!(bid, 101);

    // For no values, a root is `IntoFuture`, so `root.await` does as well.
    let empty = AsyncSteps::new(&event_loop)?;
    let mut empty = Box::pin(empty.into_future());
    assert!(empty.as_mut().poll(&mut context).is_ready());
    Ok(())
}
