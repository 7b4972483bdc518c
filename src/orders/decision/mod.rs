//! Decisions: read strictly, in one canonical form, signed for one purpose.

mod document;
mod instant;
mod json;
mod keys;
mod names;
mod signed;

pub use document::{DECISION_SCHEMA, Decision, DecisionError, Grant, Size, Verdict};
pub use instant::{read_instant, write_instant};
pub use json::{Json, JsonError};
pub use keys::{KeyError, KeyTable, Role, SignatureError, Signer, Validity};
pub use names::{order_type, order_type_name, time_in_force, time_in_force_name};
pub use signed::SignedDecision;

pub(crate) use document::{Fields, decimal, fault};
pub(crate) use signed::parts;
