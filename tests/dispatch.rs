//! The contract of callback dispatch, rule by rule and trace by trace, through
//! real components: exact sequences, because counts prove no order (rule R86).

#[path = "dispatch/rig.rs"]
mod rig;

#[path = "dispatch/access.rs"]
mod access;
#[path = "dispatch/admission.rs"]
mod admission;
#[path = "dispatch/batches.rs"]
mod batches;
#[path = "dispatch/channels.rs"]
mod channels;
#[path = "dispatch/commands.rs"]
mod commands;
#[path = "dispatch/draining.rs"]
mod draining;
#[path = "dispatch/order.rs"]
mod order;
#[path = "dispatch/panics.rs"]
mod panics;
#[path = "dispatch/roots.rs"]
mod roots;
#[path = "dispatch/runtime_live.rs"]
mod runtime_live;
#[path = "dispatch/runtime_simulated.rs"]
mod runtime_simulated;
#[path = "dispatch/storage.rs"]
mod storage;
#[path = "dispatch/teardown.rs"]
mod teardown;
#[path = "dispatch/timers.rs"]
mod timers;
