//! What an order is told when it is refused: a bounded list, in policy order,
//! without allocation (rule K2).

use core::fmt;

use crate::limits::REJECTS_MAX;
use crate::types::{RejectCode, RejectScope};

/// Which policy spoke; stable numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PolicyId(pub u8);

impl PolicyId {
    /// The engine itself: blocks, unknown accounts, full tables.
    pub const ENGINE: Self = Self(0);
    /// Order validation (K13).
    pub const VALIDATION: Self = Self(1);
    /// Rate limit (K14).
    pub const RATE: Self = Self(2);
    /// Order size (K15).
    pub const SIZE: Self = Self(3);
    /// P&L kill switch (K18).
    pub const PNL: Self = Self(4);
    /// Price collar (K16).
    pub const COLLAR: Self = Self(5);
    /// Spot funds (K17).
    pub const FUNDS: Self = Self(6);
    /// Position limit (K19).
    pub const POSITION: Self = Self(7);
    /// Gross credit (K20).
    pub const CREDIT: Self = Self(8);
    /// Duplicate order (K21).
    pub const DUPLICATE: Self = Self(9);
    /// Restricted list (K22).
    pub const RESTRICTED: Self = Self(10);
    /// Open orders (K23).
    pub const OPEN_ORDERS: Self = Self(11);
    /// Repeated execution (K24).
    pub const REPEATED: Self = Self(12);
    /// Self-match (K39).
    pub const SELF_MATCH: Self = Self(13);
    /// The first custom policy (K25); the next ones follow.
    pub const FIRST_CUSTOM: Self = Self(64);

    /// The name, as the documentation has it; `custom` for custom policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ENGINE => "engine",
            Self::VALIDATION => "validation",
            Self::RATE => "rate_limit",
            Self::SIZE => "order_size",
            Self::PNL => "pnl",
            Self::COLLAR => "collar",
            Self::FUNDS => "spot_funds",
            Self::POSITION => "position",
            Self::CREDIT => "gross_credit",
            Self::DUPLICATE => "duplicate",
            Self::RESTRICTED => "restricted",
            Self::OPEN_ORDERS => "open_orders",
            Self::REPEATED => "repeated_execution",
            Self::SELF_MATCH => "self_match",
            _ => "custom",
        }
    }
}

/// One reason of one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Why.
    pub code: RejectCode,
    /// A custom policy's own number; of the P&L policy, 1 for the broker's sum;
    /// else zero.
    pub detail: u16,
    /// Who says so.
    pub policy: PolicyId,
    /// Whether the account is blocked from now on.
    pub scope: RejectScope,
}

/// Every reason for which an order was refused, in policy order; never empty
/// when a call returns it.
///
/// `Copy` and of fixed size: [`REJECTS_MAX`] reasons, which is checked against
/// what the configured policies can say when the engine is built.
#[derive(Clone, Copy)]
pub struct Rejects {
    /// `None` until there is a reason: most orders have none, and pay for none.
    items: Option<[Reject; REJECTS_MAX]>,
    len: u8,
}

const _: () = assert!(REJECTS_MAX < 256, "the length is a byte");

impl Rejects {
    const NONE: Reject = Reject {
        code: RejectCode::Other,
        detail: 0,
        policy: PolicyId::ENGINE,
        scope: RejectScope::Order,
    };

    pub(crate) const fn new() -> Self {
        Self {
            items: None,
            len: 0,
        }
    }

    /// A list of one, from the engine itself.
    #[must_use]
    pub const fn one(code: RejectCode, scope: RejectScope) -> Self {
        let mut items = [Self::NONE; REJECTS_MAX];
        items[0] = Reject {
            code,
            detail: 0,
            policy: PolicyId::ENGINE,
            scope,
        };
        Self {
            items: Some(items),
            len: 1,
        }
    }

    /// Adds a reason. What does not fit is dropped: the order stays refused,
    /// and the check at build time keeps it from happening.
    #[cold]
    pub(crate) fn add(&mut self, policy: PolicyId, code: RejectCode) {
        self.push(Reject {
            code,
            detail: 0,
            policy,
            scope: RejectScope::Order,
        });
    }

    #[cold]
    pub(crate) fn push(&mut self, reject: Reject) {
        let items = self.items.get_or_insert([Self::NONE; REJECTS_MAX]);
        if let Some(place) = items.get_mut(usize::from(self.len)) {
            *place = reject;
            self.len += 1;
        }
    }

    /// The reasons, in policy order.
    #[must_use]
    pub fn as_slice(&self) -> &[Reject] {
        match &self.items {
            Some(items) => &items[..usize::from(self.len)],
            None => &[],
        }
    }

    /// The first reason's code; `Other` of an empty list.
    #[must_use]
    pub fn code(&self) -> RejectCode {
        self.as_slice()
            .first()
            .map_or(RejectCode::Other, |reject| reject.code)
    }

    /// The widest scope among the reasons.
    #[must_use]
    pub fn scope(&self) -> RejectScope {
        if self
            .iter()
            .any(|reject| reject.scope == RejectScope::Account)
        {
            RejectScope::Account
        } else {
            RejectScope::Order
        }
    }

    /// The reasons, in policy order.
    pub fn iter(&self) -> core::slice::Iter<'_, Reject> {
        self.as_slice().iter()
    }

    /// How many reasons there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no reason to refuse.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<'a> IntoIterator for &'a Rejects {
    type Item = &'a Reject;
    type IntoIter = core::slice::Iter<'a, Reject>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Rejects {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Rejects {}

impl fmt::Debug for Rejects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Display for Rejects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, reject) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} ({})", reject.code, reject.policy.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for Rejects {}
