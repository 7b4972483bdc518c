//! Restricted list (rule K22): instruments that an account may not trade, or
//! only reduce.

use crate::risk::position::Position;
use crate::risk::rejects::{PolicyId, Rejects};
use crate::risk::settings::Restriction;
use crate::types::{RejectCode, Side};

/// The most that [`check`] can say.
pub(crate) const REJECTS: usize = 1;

pub(crate) fn check(
    restriction: Restriction,
    position: &Position,
    side: Side,
    quantity: Result<i64, RejectCode>,
    given_back: i128,
    rejects: &mut Rejects,
) {
    let code = match (restriction, quantity) {
        (Restriction::Allow, _) => return,
        (Restriction::Forbid, _) => RejectCode::InstrumentRestricted,
        (Restriction::ReduceOnly, Err(code)) => code,
        (Restriction::ReduceOnly, Ok(quantity))
            if position.reduces(side, i128::from(quantity) - given_back) =>
        {
            return;
        }
        (Restriction::ReduceOnly, Ok(_)) => RejectCode::InstrumentRestricted,
    };
    rejects.add(PolicyId::RESTRICTED, code);
}
