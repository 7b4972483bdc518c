//! A simulated venue at the far end of a line that fails (rule O36).
//!
//! Promises: the same seed, calls and times give the same events; every bound
//! has an answer; what the venue did is in its record, and a query tells it,
//! whatever the line lost.
//!
//! Does not: change, forge or invent a message by itself. What a venue says
//! wrongly is put on the line by [`DistantVenue::tell`].

mod faults;
mod line;
mod record;
mod venue;

pub use faults::{Chance, Faults, Outage, OutageKind};
pub use venue::{DistantConfig, DistantVenue};
