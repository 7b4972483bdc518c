//! Order validation (rule K13): an order must be whole before anything can
//! judge it.

use crate::risk::instruments::Instrument;
use crate::risk::rejects::{PolicyId, Rejects};
use crate::types::{Order, OrderType, RejectCode};

/// The most that [`check`] can say.
pub(crate) const REJECTS: usize = 3;

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
    match (order.order_type, order.price) {
        (OrderType::Market, None) => {}
        (OrderType::Limit, Some(price))
            if price.is_positive()
                || instrument.is_some_and(|instrument| instrument.allow_non_positive_price) => {}
        (OrderType::Limit, None) => say(RejectCode::MissingRequiredField),
        (OrderType::Market, Some(_)) | (OrderType::Limit, Some(_)) => {
            say(RejectCode::InvalidFieldValue);
        }
    }
}
