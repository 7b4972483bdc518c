//! Latency recorders and what comes out of them.

mod counts;
mod distribution;

pub use counts::{Counts, VALUE_MAX};
pub use distribution::{Distribution, Unit, write_hlog};
