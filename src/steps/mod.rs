//! Asynchronous steps on a shard: flows that wait, without threads and without
//! colouring everything that they call.
//!
//! An [`AsyncSteps`] is a tree of closures that is built while it runs: each
//! step may complete, fail, wait for something outside, or add sub-steps.
//! Errors unwind through the handlers of the steps that they leave, time limits
//! and cancels are part of the tree, and an [`EventLoop`] runs all of it in
//! bounded turns, in an order that follows from its inputs alone.
//!
//! It promises: no thread, no lock, and no atomic but those of the inbox and of
//! wakers; no allocation in steady state while closures and values keep to
//! [`STEP_INLINE_BYTES`](crate::limits::STEP_INLINE_BYTES); no panic of a body
//! that ends more than its own flow. It does not promise that a body returns: a
//! body that blocks, blocks its shard.
//!
//! ```
//! use pitlane::steps::{AsyncSteps, Compose, EventLoop, LoopLimits};
//! use pitlane::time::SystemClock;
//!
//! let event_loop = EventLoop::new(SystemClock::new(), LoopLimits::default());
//! let mut root = AsyncSteps::with_state(&event_loop, 0u32).unwrap();
//! root.add(|step, ()| step.success((40u32, 2u32)))
//!     .add(|step, (a, b): (u32, u32)| {
//!         *step.state().root::<u32>()? = a + b;
//!         Ok(())
//!     });
//! root.execute().unwrap();
//! event_loop.turn(1_000);
//! assert_eq!(*root.state().root::<u32>().unwrap(), 42);
//! ```

mod atomic;
mod burst;
mod compose;
mod ending;
mod entering;
mod erased;
mod error;
mod event_loop;
mod future;
mod inbox;
mod model;
mod pool;
mod ready;
mod root;
mod run;
mod state;
mod step;
mod sync;
mod tables;
mod turn;
mod unwind;
mod values;
mod wake_set;

pub use compose::{Compose, Level};
pub use error::{ErrorCallback, Refusal, StepError, StepResult, codes};
pub use event_loop::{EventLoop, LoopFull, LoopLimits, Progress, TaskHandle, Usage, WaitHandle};
pub use future::StepsFuture;
pub use inbox::{PostError, RemoteHandle};
pub use model::Model;
pub use root::AsyncSteps;
pub use state::State;
pub use step::{Local, Step};
pub use sync::{
    AccountLane, Admission, Entry, Limiter, LimiterOptions, Mutex, OwnerId, StepSync, SyncRef,
    Throttle,
};
pub use values::Values;
pub use wake_set::WakeSet;
