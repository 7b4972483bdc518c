//! An order's life: its states, its fills, where it stands.

mod average;
mod fill;
mod order;
mod state;

pub use fill::{Booking, Fill, Standing};
pub use order::{OrderTerms, TrackedOrder};
pub use state::{Mover, OrderState};
