//! The rules S1 to S20 and the behaviours of steps, each by its number.

#[path = "steps/chains.rs"]
mod chains;
#[path = "steps/errors.rs"]
mod errors;
#[path = "steps/futures.rs"]
mod futures;
#[path = "steps/iteration.rs"]
mod iteration;
#[path = "support/steps_lab.rs"]
mod lab;
#[path = "steps/mutexes.rs"]
mod mutexes;
#[path = "steps/parallels.rs"]
mod parallels;
#[path = "steps/rates.rs"]
mod rates;
#[path = "steps/rules.rs"]
mod rules;
#[path = "steps/scheduling.rs"]
mod scheduling;
#[path = "steps/violations.rs"]
mod violations;
#[path = "steps/waits.rs"]
mod waits;
