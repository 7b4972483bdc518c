//! One file for each policy: what it refuses, and why.

pub(crate) mod collar;
pub(crate) mod duplicate;
pub(crate) mod gross_credit;
pub(crate) mod open_orders;
pub(crate) mod order_size;
pub(crate) mod pnl;
pub(crate) mod position_limit;
pub(crate) mod rate_limit;
pub(crate) mod restricted;
pub(crate) mod room;
pub(crate) mod self_match;
pub(crate) mod spot_funds;
pub(crate) mod validation;
