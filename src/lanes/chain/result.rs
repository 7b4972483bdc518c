//! What hooks see, and what they answer (rules L32 and L33).
//!
//! A result lends what the operation came to, for the time of its hook. What
//! must be kept is cloned out of it, as a value; the result itself cannot be.

use core::fmt;

use super::super::pre_trade::PreTradeDriver;

/// A caller's own error.
pub type HookError = Box<dyn core::error::Error + Send + Sync>;

/// What hooks answer.
pub type HookResult<T = ()> = Result<T, HookError>;

/// What becomes of an operation that the engine accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is kept, and the chain goes on.
    Commit,
    /// It is undone, and the chain ends [`Rejected`](super::ChainEnd::Rejected).
    Rollback,
}

/// What a check found; a value that may be kept.
pub type CheckVerdict<D> = Result<(), <D as PreTradeDriver>::Rejects>;

macro_rules! lent {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        pub struct $name<'hook, D: PreTradeDriver> {
            $(pub(super) $field: &'hook $type,)+
        }

        impl<'hook, D: PreTradeDriver> $name<'hook, D> {
            $($(#[$field_doc])*
            #[must_use]
            pub const fn $field(&self) -> &'hook $type {
                self.$field
            })+
        }

        impl<D: PreTradeDriver> fmt::Debug for $name<'_, D> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    };
}

lent! {
    /// An accepted order, of which the hook decides.
    ///
    /// It cannot be kept beyond the hook (rule L33):
    ///
    /// ```compile_fail,E0521
    /// use pitlane::lanes::{Decision, FromOrder, Reserved, chain};
    /// use pitlane::risk::RiskEngine;
    /// # fn of(order: pitlane::types::Order) {
    /// let begin = || Ok(None::<Reserved<'static, RiskEngine>>);
    /// let kept = chain::<RiskEngine, _, _>(FromOrder(order), begin).execute_pre_trade(
    ///     |kept, result| {
    ///         *kept = Some(result);
    ///         Ok(Decision::Commit)
    ///     },
    ///     |_, _| Ok(()),
    /// );
    /// # }
    /// ```
    ///
    /// A copy of what it shows can:
    ///
    /// ```
    /// use pitlane::lanes::{Decision, FromOrder, chain};
    /// use pitlane::risk::{ReservationToken, RiskEngine};
    /// # fn of(order: pitlane::types::Order) {
    /// let begin = || Ok(None::<ReservationToken>);
    /// let kept = chain::<RiskEngine, _, _>(FromOrder(order), begin).execute_pre_trade(
    ///     |kept, result| {
    ///         *kept = Some(*result.view());
    ///         Ok(Decision::Commit)
    ///     },
    ///     |_, _| Ok(()),
    /// );
    /// # }
    /// ```
    Reserved {
        /// The order.
        order: D::Order,
        /// Its lock and the account's adjustments.
        view: D::View,
    }
}

lent! {
    /// An order placed elsewhere, as it was followed.
    Followed {
        /// The order.
        order: D::Order,
        /// Its lock, the adjustments, and the account's block at that time.
        view: D::DropCopyView,
    }
}

lent! {
    /// A booked report.
    Settled {
        /// The report.
        report: D::Report,
        /// What it did.
        settled: D::Settled,
    }
}

lent! {
    /// Adjustments that were made.
    Adjusted {
        /// The batch.
        adjustments: D::Adjustments,
        /// What it did.
        adjusted: D::Adjusted,
    }
}

/// A checked order. The order is lent; the verdict is the hook's to keep.
pub struct Checked<'hook, D: PreTradeDriver> {
    pub(super) order: &'hook D::Order,
    pub(super) verdict: CheckVerdict<D>,
}

impl<'hook, D: PreTradeDriver> Checked<'hook, D> {
    /// The order.
    #[must_use]
    pub const fn order(&self) -> &'hook D::Order {
        self.order
    }

    /// Whether the order would be accepted now.
    #[must_use]
    pub const fn passed(&self) -> bool {
        self.verdict.is_ok()
    }

    /// The verdict, to keep.
    ///
    /// # Errors
    /// Why the order would be refused.
    pub fn into_verdict(self) -> CheckVerdict<D> {
        self.verdict
    }
}

impl<D: PreTradeDriver> fmt::Debug for Checked<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked")
            .field("passed", &self.passed())
            .finish_non_exhaustive()
    }
}
