//! The two loops that own draining: one for a live shard, one for a simulation
//! (rules R73 to R81).
//!
//! Each is a small loop around [`Dispatcher::boundary`](super::Dispatcher::boundary)
//! and a trait that the shard implements. They share no scheduler: what they have
//! in common is the bounded pass, and the watch on the clock.

mod clock_watch;
mod live;
mod simulated;

pub use live::{LiveLoop, LiveNode, LoopError, Pause, Startup, Turn};
pub use simulated::{SimError, SimLoop, SimNode};
