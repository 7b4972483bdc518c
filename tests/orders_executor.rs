//! The executor over simulated time, log and venue (rules O4 to O37).

#[path = "orders_executor/admission.rs"]
mod admission;
#[path = "orders_executor/faults.rs"]
mod faults;
#[path = "orders_executor/hard_inputs.rs"]
mod hard_inputs;
#[path = "orders_executor/journaled.rs"]
mod journaled;
#[path = "orders_executor/restarts.rs"]
mod restarts;
#[path = "orders_executor/rig.rs"]
mod rig;
#[path = "orders_executor/simulation.rs"]
mod simulation;
