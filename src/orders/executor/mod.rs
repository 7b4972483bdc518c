//! The executor: decisions in, orders out, and what became of them.

mod admission;
mod book;
mod cancelling;
mod core;
mod counts;
mod driver;
mod events;
mod flows;
mod journaled;
mod log;
mod message;
mod question;
mod record;
mod settings;
mod signed;
mod view;

pub use self::counts::ExecutorCounts;
pub use self::driver::{Executor, ExecutorParts, ExecutorProgress, VenueState};
pub use self::journaled::{JournalLog, OpenLogError, OpenedLog};
pub use self::log::{IntentLog, LogFailed, Room, SimLog};
pub use self::message::{
    Authority, Away, Execution, Message, MessageBody, Receiver, Release, Settlement,
};
pub use self::record::{Record, Void};
pub use self::settings::{ExecutorSettings, VenueSetup};
pub use self::signed::{ReportError, SignedReport};
pub use self::view::{Answer, History, NoHistory, OrderView, PastOrder};
