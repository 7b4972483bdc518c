//! What wrappers of the crate's handles show without queueing (rule L17).

use ::openpit::AccountAdjustmentOutcome;
use ::openpit::pretrade::{AccountBlock, DropCopyOperation, PreTradeLock, PreTradeReservation};

/// An accepted order's reservation, as it was when it was accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenpitView {
    /// The prices that reports of the order have to name.
    pub lock: PreTradeLock,
    /// What the order did to its account, by policy.
    pub account_adjustments: Vec<AccountAdjustmentOutcome>,
}

impl OpenpitView {
    pub(super) fn of(reservation: &PreTradeReservation) -> Self {
        Self {
            lock: reservation.lock().clone(),
            account_adjustments: reservation.account_adjustments().to_vec(),
        }
    }

    pub(super) fn of_copy(copy: &DropCopyOperation) -> Self {
        Self {
            lock: copy.lock().clone(),
            account_adjustments: copy.account_adjustments().to_vec(),
        }
    }
}

/// An applied drop copy, as it was when it was applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenpitCopyView {
    /// Its lock and adjustments.
    pub view: OpenpitView,
    /// The block that the order itself would have set, if any.
    pub account_block: Option<AccountBlock>,
    /// Whether the account was blocked once the order was applied.
    pub is_account_blocked: bool,
}

impl OpenpitCopyView {
    pub(super) fn of(copy: &DropCopyOperation) -> Self {
        Self {
            view: OpenpitView::of_copy(copy),
            account_block: copy.account_block().cloned(),
            is_account_blocked: copy.is_account_blocked(),
        }
    }
}
