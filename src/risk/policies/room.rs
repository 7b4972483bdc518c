//! How many rejects the built-in policies can give one order (rule K2).

use super::{order_size, rate_limit, validation};

/// The most of the start stage.
pub(crate) const START: usize = validation::REJECTS + rate_limit::REJECTS + order_size::REJECTS;
