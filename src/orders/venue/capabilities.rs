//! What a venue declares of itself (rule O35): an order that it does not take
//! is refused before it is sent, and never changed into one that it takes.

use crate::types::{OrderType, TimeInForce};
use core::num::NonZeroU32;
use core::time::Duration;

/// What a venue takes, and how it can be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The order types.
    pub order_types: Vec<OrderType>,
    /// The times in force.
    pub times_in_force: Vec<TimeInForce>,
    /// What its order ids look like.
    pub ids: IdRule,
    /// How long after a send an answer "not there" may still be wrong.
    pub settle_time: Duration,
    /// New orders and replaces that it takes in any second; `None`: no limit.
    pub orders_per_second: Option<NonZeroU32>,
    /// Cancels that it takes in any second; `None`: no limit.
    pub cancels_per_second: Option<NonZeroU32>,
    /// Queries that it takes in any second; `None`: no limit.
    pub queries_per_second: Option<NonZeroU32>,
}

/// The ids that a venue takes for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRule {
    /// The most characters.
    pub length_max: usize,
    /// Which characters.
    pub alphabet: IdAlphabet,
}

/// The characters of a venue's order ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdAlphabet {
    /// `0-9`, `a-z` and `_`: our own ids fit.
    LowerWithUnderscore,
    /// `0-9`, `a-z`, `A-Z`.
    Alphanumeric,
    /// `0-9` only.
    Digits,
}

impl Capabilities {
    /// Takes every type and time in force at once, without limits of rate.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            order_types: vec![
                OrderType::Market,
                OrderType::Limit,
                OrderType::Stop,
                OrderType::StopLimit,
                OrderType::PostOnly,
            ],
            times_in_force: vec![
                TimeInForce::Day,
                TimeInForce::GoodTillCancel,
                TimeInForce::ImmediateOrCancel,
                TimeInForce::FillOrKill,
                TimeInForce::GoodTillDate,
            ],
            ids: IdRule {
                length_max: 35,
                alphabet: IdAlphabet::LowerWithUnderscore,
            },
            settle_time: Duration::ZERO,
            orders_per_second: None,
            cancels_per_second: None,
            queries_per_second: None,
        }
    }
}
