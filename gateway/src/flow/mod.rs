//! Recorded order flow: read from a file, turned into what a client sends, and
//! compared with what the venue then traded.
//!
//! ```text
//!  CSV ──▶ FlowReader ──▶ FlowPlan ──▶ steps: new, replace, cancel, aggress, open
//!            rows            │                        │ sent, at full speed or paced
//!                            ▼                        ▼
//!                     ExpectedFills ──▶ FlowComparison ◀── fills of our venue
//! ```
//!
//! Nothing here waits for an answer: the steps depend on the file alone, so that
//! a client can send them without looking back.

mod comparison;
mod error;
mod expected;
mod plan;
mod reader;
mod replay;
mod row;

pub use comparison::{FlowCause, FlowComparison, FlowDifference, FlowReport};
pub use error::{FlowError, FlowProblem};
pub use expected::ExpectedFills;
pub use plan::{FlowAction, FlowPlan, FlowStep};
pub use reader::FlowReader;
pub use replay::{FlowReplay, ReplayError, replay};
pub use row::{FlowEvent, FlowOrderId, FlowRow};
