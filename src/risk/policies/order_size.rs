//! Order size (rule K15): the largest quantity and the largest notional, of any
//! order and of an asset's.
//!
//! Quotes are not consulted: a market order's notional, and a market volume's
//! quantity, cannot be judged, and so are refused where there is a limit.

use crate::risk::instruments::Instrument;
use crate::risk::profile::{Profile, Rules, SizeLimit, of_asset};
use crate::risk::rejects::{PolicyId, Rejects};
use crate::types::{Amount, Order, RejectCode, Rounding};

/// The most that [`check`] can say.
pub(crate) const REJECTS: usize = 1;

pub(crate) fn check(
    order: &Order,
    instrument: &Instrument,
    rules: &Rules,
    profile: &Profile,
    rejects: &mut Rejects,
) {
    let narrow = |asset| -> (SizeLimit, SizeLimit) {
        (
            of_asset(&profile.size, asset).unwrap_or_default(),
            of_asset(&rules.asset_size, asset).unwrap_or_default(),
        )
    };
    let (own, general) = narrow(instrument.base);
    let asset_quantity = own.quantity.or(general.quantity);
    let (own, general) = narrow(instrument.settlement);
    let asset_notional = own.notional.or(general.notional);
    let broker = rules.broker_size;

    let quantity = |max: Option<i64>| max.map(|max| quantity_exceeds(order, max));
    let notional = |max: Option<i128>| max.map(|max| notional_exceeds(order, max));
    let by_asset = (quantity(asset_quantity), notional(asset_notional));
    let by_broker = (quantity(broker.quantity), notional(broker.notional));
    let failed = [by_asset, by_broker]
        .iter()
        .any(|pair| matches!(pair, (Some(None), _) | (_, Some(None))));
    let code = if failed {
        Some(RejectCode::OrderValueCalculationFailed)
    } else {
        // The asset's verdict goes before the broker's.
        broken(by_asset).or_else(|| broken(by_broker))
    };
    if let Some(code) = code {
        rejects.add(PolicyId::SIZE, code);
    }
}

type Exceeds = Option<Option<bool>>;

fn broken((quantity, notional): (Exceeds, Exceeds)) -> Option<RejectCode> {
    match (quantity.flatten(), notional.flatten()) {
        (Some(true), Some(true)) => Some(RejectCode::OrderExceedsLimit),
        (Some(true), _) => Some(RejectCode::OrderQtyExceedsLimit),
        (_, Some(true)) => Some(RejectCode::OrderNotionalExceedsLimit),
        _ => None,
    }
}

/// `None` where it cannot be judged.
fn quantity_exceeds(order: &Order, max: i64) -> Option<bool> {
    match (order.quantity, order.volume, order.price) {
        (Some(quantity), _, _) => Some(quantity.raw() > max),
        (None, Some(volume), Some(price)) if volume.is_zero() || price.is_zero() => {
            // A volume at price zero is nothing of the base asset.
            let _ = volume;
            Some(false)
        }
        (None, Some(volume), Some(price)) => {
            let magnitude = price.checked_abs()?;
            // Rounded up: what is over by the residue is over.
            let exact = volume.quantity_at(magnitude, Rounding::Up).ok()?;
            Some(exact.quotient.raw() > max)
        }
        _ => None,
    }
}

/// `None` where it cannot be judged.
fn notional_exceeds(order: &Order, max: i128) -> Option<bool> {
    let value: Amount = match (order.volume, order.quantity, order.price) {
        (Some(volume), _, _) => volume,
        (None, Some(quantity), Some(price)) => price.notional(quantity).checked_abs()?,
        _ => return None,
    };
    Some(value.raw() > max)
}
