//! Price collar (rule K16): an order may be no further from the reference
//! price than its side allows; without a reference price it is refused. A
//! market order is judged by its worst price.

use crate::risk::profile::Collar;
use crate::risk::rejects::{PolicyId, Rejects};
use crate::types::{Price, RejectCode};

/// The most that [`check`] can say.
pub(crate) const REJECTS: usize = 1;

pub(crate) fn check(
    collar: &Collar,
    price: Result<Price, RejectCode>,
    reference: Option<Price>,
    rejects: &mut Rejects,
) {
    let code = match (price, reference.filter(|price| price.is_positive())) {
        (Err(code), _) => code,
        (_, None) => RejectCode::MarkPriceUnavailable,
        (Ok(price), Some(reference)) if inside(collar, price, reference) => return,
        _ => RejectCode::PriceOutsideCollar,
    };
    rejects.add(PolicyId::COLLAR, code);
}

fn inside(collar: &Collar, price: Price, reference: Price) -> bool {
    // At most 2^64 × 2^32, which an i128 holds; nothing is divided.
    let distance = i128::from(price.raw()) - i128::from(reference.raw());
    let scaled = i128::from(reference.raw());
    let within = |away: i128, bps: Option<u32>, absolute: Option<i64>| {
        bps.is_none_or(|bps| away * 10_000 <= scaled * i128::from(bps))
            && absolute.is_none_or(|most| away <= i128::from(most))
    };
    within(distance, collar.above_bps, collar.above)
        && within(-distance, collar.below_bps, collar.below)
}
