//! Spot funds (rule K17): an order must be paid for, or delivered, from what
//! the account has.

use crate::risk::holding::Holding;
use crate::risk::rejects::{PolicyId, Rejects};
use crate::risk::value::Value;
use crate::types::{RejectCode, Side};

/// The most that [`check`] can say.
pub(crate) const REJECTS: usize = 1;

/// What an order needs: of the settlement asset, of the base asset, and what
/// it expects (of the base asset for a buy, else of the settlement asset).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) settlement: i128,
    pub(crate) base: i128,
    pub(crate) incoming: i128,
}

/// What an order of this value needs.
pub(crate) fn need(side: Side, value: &Value) -> Need {
    let units = |quantity: i64| i128::from(quantity) * i128::from(crate::types::PRICE_SCALE);
    match side {
        Side::Buy => Need {
            settlement: value.notional.max(0),
            base: 0,
            incoming: units(value.quantity_down),
        },
        Side::Sell => Need {
            // Who sells below zero pays.
            settlement: (-value.notional).max(0),
            base: units(value.quantity_up),
            incoming: value.notional.max(0),
        },
    }
}

/// An asset's record before the order, and what a replaced order gives back.
#[derive(Clone, Copy)]
pub(crate) struct Purse<'a> {
    pub(crate) holding: Option<&'a Holding>,
    pub(crate) given_back: i128,
}

/// Judges `need` against what there is; `enforce` is the mode.
pub(crate) fn check(
    need: &Need,
    settlement: Purse<'_>,
    base: Purse<'_>,
    side: Side,
    enforce: bool,
    rejects: &mut Rejects,
) {
    let incoming_of = match side {
        Side::Buy => base.holding,
        Side::Sell => settlement.holding,
    };
    let fits = incoming_of
        .map_or(0, |holding| holding.incoming)
        .checked_add(need.incoming)
        .is_some();
    let verdict = covers(settlement, need.settlement, enforce)
        .and_then(|()| covers(base, need.base, enforce));
    let code = match verdict {
        Ok(()) if fits => return,
        Ok(()) => RejectCode::ArithmeticOverflow,
        Err(code) => code,
    };
    rejects.add(PolicyId::FUNDS, code);
}

fn covers(purse: Purse<'_>, need: i128, enforce: bool) -> Result<(), RejectCode> {
    if need == 0 {
        return Ok(());
    }
    let (spendable, available, held) = match purse.holding {
        None => (Some(0), 0, 0),
        Some(holding) => (holding.spendable(), holding.available, holding.held),
    };
    let overflow = RejectCode::ArithmeticOverflow;
    let spendable = spendable
        .and_then(|amount| amount.checked_add(purse.given_back))
        .ok_or(overflow)?;
    if enforce && need > spendable {
        return Err(RejectCode::InsufficientFunds);
    }
    let moved = need.checked_sub(purse.given_back).ok_or(overflow)?;
    available.checked_sub(moved).ok_or(overflow)?;
    held.checked_add(moved).ok_or(overflow)?;
    Ok(())
}
