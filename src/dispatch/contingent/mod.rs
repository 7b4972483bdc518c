//! Contingent orders: orders whose size and life hang on the fills of others, kept
//! exact under partial fills.
//!
//! [`Oco`] works two orders of which only one size may trade; [`Bracket`] enters a
//! position and takes it off at a target or at a stop. Both are components that act
//! in maintenance, so that they run before any author code of theirs would, and go
//! on while a component is stopped (rules R15, R16). [`OcoPair`] and [`BracketOrder`]
//! are the same without a component, for strategies that embed them.

mod bracket;
mod leg;
mod oco;
mod port;

pub use bracket::{Bracket, BracketOrder, BracketTerms};
pub use leg::LegState;
pub use oco::{Oco, OcoPair};
pub use port::OrderPort;
