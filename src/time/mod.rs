//! Time as a trait, so that a shard runs the same on a wall and in a simulator.

mod clock;
mod idle;
mod wheel;

pub use clock::{Clock, Nanos, SimClock, SystemClock, UnixNanos};
pub use idle::IdleStrategy;
pub use wheel::{TimerKey, TimerWheel, WheelFull};
