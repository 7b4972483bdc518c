//! Account adjustments: deposits, withdrawals, corrections (rule K29).

use super::custom::RiskEvent;
use super::engine::RiskEngine;
use super::holding::Holding;
use crate::limits::ADJUSTMENTS_MAX;
use crate::types::{AccountId, Amount, AssetId, RejectCode};

/// Which figure of a balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceField {
    /// What may be spent.
    Available,
    /// What is reserved.
    Held,
    /// What is expected.
    Incoming,
}

/// How a figure changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// By this much.
    Delta(Amount),
    /// To this.
    Absolute(Amount),
}

/// One change of one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// Of which asset.
    pub asset: AssetId,
    /// Which figure.
    pub field: BalanceField,
    /// How.
    pub change: Change,
    /// The figure may not end below this.
    pub lower: Option<Amount>,
    /// The figure may not end above this.
    pub upper: Option<Amount>,
}

impl Adjustment {
    /// A change of what is available, without bounds.
    #[must_use]
    pub const fn available(asset: AssetId, change: Change) -> Self {
        Self {
            asset,
            field: BalanceField::Available,
            change,
            lower: None,
            upper: None,
        }
    }
}

/// A batch was refused; nothing of it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("adjustment {index}: {code}")]
pub struct AdjustError {
    /// Which one of the batch failed, from 0.
    pub index: usize,
    /// `AccountAdjustmentBoundsExceeded`, `ArithmeticOverflow`,
    /// `UnknownAccount` or `CapacityExceeded`.
    pub code: RejectCode,
}

impl RiskEngine {
    /// Does every adjustment of the batch in turn, or none. An empty batch is
    /// fine. Blocked accounts may be adjusted.
    ///
    /// # Errors
    /// Which adjustment failed, and why; nothing was done.
    pub fn adjust(&mut self, account: AccountId, batch: &[Adjustment]) -> Result<(), AdjustError> {
        self.settle_dropped();
        let fault = |index, code| AdjustError { index, code };
        if batch.len() > ADJUSTMENTS_MAX {
            return Err(fault(ADJUSTMENTS_MAX, RejectCode::CapacityExceeded));
        }
        let number = self
            .accounts
            .find(account.0)
            .ok_or_else(|| fault(0, RejectCode::UnknownAccount))?;
        let mut undo: Vec<(AssetId, BalanceField, i128)> = Vec::with_capacity(batch.len());
        for (index, adjustment) in batch.iter().enumerate() {
            let holding = self.holdings.of(number, adjustment.asset);
            let figure = figure(holding, adjustment.field);
            match adjusted(*figure, adjustment) {
                Ok(after) => {
                    undo.push((adjustment.asset, adjustment.field, *figure));
                    *figure = after;
                    self.assets.insert(adjustment.asset);
                }
                Err(code) => {
                    for (asset, field, before) in undo.into_iter().rev() {
                        *self::figure(self.holdings.of(number, asset), field) = before;
                    }
                    return Err(fault(index, code));
                }
            }
        }
        if !self.custom.is_empty() {
            self.tell_custom(Some(account), &RiskEvent::Adjusted(account, batch));
        }
        Ok(())
    }
}

const fn figure(holding: &mut Holding, field: BalanceField) -> &mut i128 {
    match field {
        BalanceField::Available => &mut holding.available,
        BalanceField::Held => &mut holding.held,
        BalanceField::Incoming => &mut holding.incoming,
    }
}

fn adjusted(before: i128, adjustment: &Adjustment) -> Result<i128, RejectCode> {
    let after = match adjustment.change {
        Change::Absolute(amount) => amount.raw(),
        Change::Delta(amount) => before
            .checked_add(amount.raw())
            .ok_or(RejectCode::ArithmeticOverflow)?,
    };
    if adjustment.lower.is_some_and(|bound| after < bound.raw())
        || adjustment.upper.is_some_and(|bound| after > bound.raw())
    {
        return Err(RejectCode::AccountAdjustmentBoundsExceeded);
    }
    Ok(after)
}
