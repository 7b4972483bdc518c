//! How many rejects the built-in policies can give one order (rule K2).

use super::{
    collar, duplicate, gross_credit, open_orders, order_size, pnl, position_limit, rate_limit,
    restricted, self_match, spot_funds, validation,
};

/// The most of the start stage.
pub(crate) const START: usize =
    validation::REJECTS + rate_limit::REJECTS + order_size::REJECTS + pnl::REJECTS;

/// The most of the main stage.
pub(crate) const MAIN: usize = collar::REJECTS
    + spot_funds::REJECTS
    + position_limit::REJECTS
    + gross_credit::REJECTS
    + duplicate::REJECTS
    + restricted::REJECTS
    + open_orders::REJECTS
    + self_match::REJECTS;

/// The most of either stage: the second runs only when the first said nothing.
pub(crate) const STAGE: usize = if START > MAIN { START } else { MAIN };
