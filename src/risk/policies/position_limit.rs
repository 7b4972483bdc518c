//! Position limit (rule K19): how long or short a position becomes when
//! everything that works on the order's side fills.

use crate::risk::position::Position;
use crate::risk::profile::PositionLimit;
use crate::risk::rejects::{PolicyId, Rejects};
use crate::types::{RejectCode, Side};

/// The most that [`check`] can say.
pub(crate) const REJECTS: usize = 1;

/// `given_back` is what a replaced order counted on the same side.
pub(crate) fn check(
    limit: PositionLimit,
    position: &Position,
    side: Side,
    quantity: Result<i64, RejectCode>,
    given_back: i128,
    rejects: &mut Rejects,
) {
    let quantity = match quantity {
        Ok(quantity) => i128::from(quantity) - given_back,
        Err(code) => return rejects.add(PolicyId::POSITION, code),
    };
    let bound = match side {
        Side::Buy => limit.long,
        Side::Sell => limit.short,
    };
    let Some(bound) = bound else { return };
    let worst = match side {
        Side::Buy => position.net.checked_add(position.buying),
        Side::Sell => position.selling.checked_sub(position.net),
    }
    .and_then(|worst| worst.checked_add(quantity));
    let inside = worst.is_some_and(|worst| worst <= i128::from(bound));
    if !inside && !position.reduces(side, quantity) {
        rejects.add(PolicyId::POSITION, RejectCode::PositionLimitExceeded);
    }
}
