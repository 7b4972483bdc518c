//! The names of order types and times in force, in decisions and capabilities.

use crate::types::{OrderType, TimeInForce};

const ORDER_TYPES: [(&str, OrderType); 5] = [
    ("market", OrderType::Market),
    ("limit", OrderType::Limit),
    ("stop", OrderType::Stop),
    ("stop_limit", OrderType::StopLimit),
    ("post_only", OrderType::PostOnly),
];

const TIMES_IN_FORCE: [(&str, TimeInForce); 5] = [
    ("day", TimeInForce::Day),
    ("gtc", TimeInForce::GoodTillCancel),
    ("ioc", TimeInForce::ImmediateOrCancel),
    ("fok", TimeInForce::FillOrKill),
    ("gtd", TimeInForce::GoodTillDate),
];

fn of_name<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let found = table.iter().find(|(own, _)| *own == name);
    found.map(|(_, value)| *value)
}

fn name_of<T: PartialEq>(table: &[(&'static str, T)], value: &T) -> &'static str {
    let found = table.iter().find(|(_, own)| own == value);
    found.map_or("other", |(name, _)| name)
}

/// The order type of a name; `None` where there is none.
#[must_use]
pub fn order_type(name: &str) -> Option<OrderType> {
    of_name(&ORDER_TYPES, name)
}

/// The name of an order type.
#[must_use]
pub fn order_type_name(order_type: OrderType) -> &'static str {
    name_of(&ORDER_TYPES, &order_type)
}

/// The time in force of a name; `None` where there is none.
#[must_use]
pub fn time_in_force(name: &str) -> Option<TimeInForce> {
    of_name(&TIMES_IN_FORCE, name)
}

/// The name of a time in force.
#[must_use]
pub fn time_in_force_name(time_in_force: TimeInForce) -> &'static str {
    name_of(&TIMES_IN_FORCE, &time_in_force)
}
