//! The machine: which CPUs there are, and pinning to them.

mod pin;

pub use pin::{Cpu, PinOutcome, PinPlan, Target, allowed_cpus, pin_current_thread};
