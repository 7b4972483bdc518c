//! Order validation (rule K13): an order must be whole before anything can
//! judge it.

use crate::risk::instruments::Instrument;
use crate::risk::rejects::{PolicyId, Rejects};
use crate::types::{Order, OrderType, RejectCode, TimeInForce};

/// The most that [`check`] can say.
pub(crate) const REJECTS: usize = 4;

pub(crate) fn check(order: &Order, instrument: Option<&Instrument>, rejects: &mut Rejects) {
    let mut say = |code| rejects.add(PolicyId::VALIDATION, code);
    if instrument.is_none() {
        say(RejectCode::UnknownInstrument);
    }
    match (order.quantity, order.volume) {
        (Some(quantity), None) if quantity.is_positive() => {}
        (None, Some(volume)) if volume.is_positive() => {}
        (None, None) => say(RejectCode::MissingRequiredField),
        _ => say(RejectCode::InvalidFieldValue),
    }
    // A stop's price is its trigger, which it is valued at.
    let priced = order.order_type != OrderType::Market;
    match (priced, order.price) {
        (false, None) => {}
        (true, Some(price))
            if price.is_positive()
                || instrument.is_some_and(|instrument| instrument.allow_non_positive_price) => {}
        (true, None) => say(RejectCode::MissingRequiredField),
        (_, Some(_)) => say(RejectCode::InvalidFieldValue),
    }
    // An order has no field for its date yet.
    if order.time_in_force == TimeInForce::GoodTillDate {
        say(RejectCode::UnsupportedTimeInForce);
    }
}
