//! Synchronizers between the flows of one shard: mutex, throttle, limiter, and
//! the account lane. None of them spans shards: a limit that several shards
//! share is not a matter of these.

mod contract;
mod lane;
mod limiter;
mod mutex;
mod throttle;
mod wait_queue;

pub use contract::{Admission, Entry, OwnerId, StepSync, SyncRef};
pub use lane::AccountLane;
pub(super) use lane::LaneState;
pub use limiter::{Limiter, LimiterOptions};
pub use mutex::Mutex;
pub use throttle::Throttle;
