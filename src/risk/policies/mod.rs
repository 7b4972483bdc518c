//! One file for each policy: what it refuses, and why.

pub(crate) mod order_size;
pub(crate) mod rate_limit;
pub(crate) mod room;
pub(crate) mod validation;
