//! What an order is worth before it trades: its lock price, its quantity, its
//! notional (rules K11, K17).
//!
//! What must be rounded is rounded against the account: a market price moves
//! up for a buy and down for a sell, a volume's quantity is taken from both
//! sides.

use super::market::Quote;
use super::settings::Pricing;
use crate::types::{Order, OrderType, Price, RejectCode, Rounding, Side};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    /// The limit price, or the worst price of a market order.
    pub(crate) lock_price: Price,
    /// The quantity at the lock price, rounded up: what is delivered, and what a
    /// position may grow by.
    pub(crate) quantity_up: i64,
    /// Rounded down: what is surely received.
    pub(crate) quantity_down: i64,
    /// Lock price × quantity, or the volume with the price's sign.
    pub(crate) notional: i128,
}

/// How a market order is priced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarketPricing {
    pub(crate) pricing: Pricing,
    pub(crate) slippage_bps: u32,
}

pub(crate) fn value(
    order: &Order,
    how: MarketPricing,
    quote: impl FnOnce() -> Option<Quote>,
) -> Result<Value, RejectCode> {
    // Validation may be off; what is below zero would give in place of take.
    if order
        .quantity
        .is_some_and(|quantity| quantity.is_negative())
        || order.volume.is_some_and(|volume| volume.is_negative())
    {
        return Err(RejectCode::InvalidFieldValue);
    }
    let lock_price = match (order.price, order.order_type) {
        // A stop trades at the market once its trigger is reached, so it may
        // trade beyond it.
        (Some(trigger), OrderType::Stop) => {
            let (mark, bid, ask) = (Some(trigger), Some(trigger), Some(trigger));
            worst_price(order.side, how, Some(Quote { mark, bid, ask }))?
        }
        (Some(price), _) => price,
        (None, OrderType::Market) => worst_price(order.side, how, quote())?,
        (None, _) => return Err(RejectCode::MissingRequiredField),
    };
    if let Some(quantity) = order.quantity {
        return Ok(Value {
            lock_price,
            quantity_up: quantity.raw(),
            quantity_down: quantity.raw(),
            notional: lock_price.notional(quantity).raw(),
        });
    }
    let volume = order.volume.ok_or(RejectCode::MissingRequiredField)?;
    let failed = RejectCode::OrderValueCalculationFailed;
    let magnitude = lock_price.checked_abs().ok_or(failed)?;
    let rounded = |rounding| {
        volume
            .quantity_at(magnitude, rounding)
            .map(|division| division.quotient.raw())
            .map_err(|_| failed)
    };
    Ok(Value {
        lock_price,
        quantity_up: rounded(Rounding::Up)?,
        quantity_down: rounded(Rounding::Down)?,
        notional: if lock_price.is_negative() {
            volume.checked_neg().ok_or(failed)?.raw()
        } else {
            volume.raw()
        },
    })
}

fn worst_price(side: Side, how: MarketPricing, quote: Option<Quote>) -> Result<Price, RejectCode> {
    let quoted = quote.and_then(|quote| match (how.pricing, side) {
        (Pricing::Mark, _) => quote.mark,
        (Pricing::BookTop, Side::Buy) => quote.ask,
        (Pricing::BookTop, Side::Sell) => quote.bid,
    });
    let quoted = quoted.ok_or(RejectCode::MarkPriceUnavailable)?;
    let failed = RejectCode::OrderValueCalculationFailed;
    let slippage = i32::try_from(how.slippage_bps).map_err(|_| failed)?;
    let (basis_points, rounding) = match side {
        Side::Buy => (slippage, Rounding::Up),
        Side::Sell => (-slippage, Rounding::Down),
    };
    let worst = quoted.moved_by(basis_points, rounding).ok_or(failed)?;
    // A quote is above zero even where limit prices need not be.
    if worst.is_positive() && quoted.is_positive() {
        Ok(worst)
    } else {
        Err(failed)
    }
}
