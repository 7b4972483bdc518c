//! P&L kill switch (rule K18): a realized profit or loss out of its bounds
//! stops the account; the broker's sum out of its bounds stops everything.

use crate::risk::rejects::{PolicyId, Reject, Rejects};
use crate::types::{RejectCode, RejectScope};

/// The most that the policy says to one order: the account's, the broker's.
pub(crate) const REJECTS: usize = 2;

/// Bounds in one asset; a value on a bound passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) lower: Option<i128>,
    pub(crate) upper: Option<i128>,
}

impl Bounds {
    pub(crate) fn broken_by(&self, pnl: i128) -> bool {
        self.broken_between(pnl, pnl)
    }

    /// Whether a value that is known to lie between `low` and `high` may be out
    /// of bounds.
    pub(crate) fn broken_between(&self, low: i128, high: i128) -> bool {
        self.lower.is_some_and(|bound| low < bound) || self.upper.is_some_and(|bound| high > bound)
    }
}

/// Whose bounds are broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) account: bool,
    pub(crate) broker: bool,
}

/// Tells the broker's breach from the account's in a reject.
const BROKER_WIDE: u16 = 1;

pub(crate) fn say(broken: Broken, rejects: &mut Rejects) {
    for (is_broken, detail) in [(broken.account, 0), (broken.broker, BROKER_WIDE)] {
        if is_broken {
            rejects.push(Reject {
                code: RejectCode::PnlKillSwitchTriggered,
                detail,
                policy: PolicyId::PNL,
                scope: RejectScope::Account,
            });
        }
    }
}

pub(crate) fn is_broker_wide(reject: &Reject) -> bool {
    reject.policy == PolicyId::PNL && reject.detail == BROKER_WIDE
}
