//! Callbacks in one order: what happens in a shard is published, and its
//! components are told of it, one event after the other (rules R1 to R87).
//!
//! ```text
//!  publish ─▶ tap ─▶ direct subscribers        at once, inside the publication
//!      └────▶ a slot per subscribed component  ordered by (publication, admission)
//!                     │
//!  boundary(budget) ──┴─▶ maintenance ▸ author code ▸ charge one to the root
//! ```
//!
//! One [`Dispatcher`] per shard, passed explicitly; it never leaves its thread. A
//! root owns the budget of everything that one incoming event causes, through
//! callbacks, commands and channels. What strategy authors may rely on is told in
//! `docs/dispatch.md`.

mod account;
mod alarms;
mod ancestry;
mod batch;
mod channel;
mod clear;
mod commands;
mod component;
pub mod contingent;
mod dispatcher;
mod drain;
mod error;
mod events;
mod feed;
mod holds;
mod lifecycle;
mod places;
mod release;
mod reservation;
mod retain;
mod roots;
mod routes;
pub mod runtime;
mod slots;
mod stable;
mod startup_buffer;
mod timers;

pub use account::{HeapBytes, Limits};
pub use alarms::Alarm;
pub use batch::{Batch, BatchError};
pub use channel::{
    Envelope, EventReceiver, EventSender, ForeignSender, Message, SendError, channel,
};
pub use commands::{Children, CommandQueue, CommandSender};
pub use component::{Component, ComponentId, Context, MaintenanceRule};
pub use dispatcher::Dispatcher;
pub use error::{AccessError, Conflict, DispatchError, Fatal, LifecycleError, ResourceName};
pub use events::{MARKS, REPORTS, ShardEvent};
pub use feed::{MeteredReports, ReportCounter, ReportFeed, ReportMeter, ReportSink};
pub use holds::{Hold, Needs, Resource};
pub use lifecycle::Loan;
pub use places::{Lifecycle, TooManyComponents};
pub use reservation::Reservation;
pub use retain::Retained;
pub use routes::{DirectSubscriber, Routes, SubscribeError, Tap, Topic};
pub use slots::Position;
pub use startup_buffer::{Arriving, StartupBuffer};
pub use timers::{Firing, TimerLease, Timers, TooManyTimers};
