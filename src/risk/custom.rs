//! Policies of your own (rule K25).

use arrayvec::ArrayVec;

use super::adjust::Adjustment;
use super::market::{Quote, QuoteTarget};
use super::rejects::{PolicyId, Reject, Rejects};
use super::report::ExecutionReport;
use crate::limits::MUTATIONS_MAX;
use crate::time::Nanos;
use crate::types::{AccountId, GroupId, InstrumentId, Order, RejectCode, RejectScope, ShardId};

/// What a policy remembers of an accepted order: two numbers of its own choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mutation {
    /// Of the policy's own choice.
    pub key: u64,
    /// Of the policy's own choice.
    pub amount: i128,
}

/// A mutation could not be finished. Entry stops for every account until
/// `unblock_all` (K7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("a mutation could not be finished")]
pub struct FinalizeFailed;

/// An order as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct OrderContext<'a> {
    /// The order.
    pub order: &'a Order,
    /// The account's group, if any.
    pub group: Option<GroupId>,
    /// When it is judged.
    pub now: Nanos,
}

/// What a policy answers.
#[derive(Debug)]
pub struct Verdict<'a> {
    rejects: &'a mut Rejects,
    mutations: &'a mut ArrayVec<(u8, Mutation), MUTATIONS_MAX>,
    policy: u8,
    rejects_left: usize,
    overflowed: bool,
}

impl<'a> Verdict<'a> {
    pub(super) const fn new(
        rejects: &'a mut Rejects,
        mutations: &'a mut ArrayVec<(u8, Mutation), MUTATIONS_MAX>,
        policy: u8,
        rejects_left: usize,
    ) -> Self {
        Self {
            rejects,
            mutations,
            policy,
            rejects_left,
            overflowed: false,
        }
    }

    /// Refuses the order, with a number of the policy's own beside the code.
    /// More than the policy's [`rejects_max`](Policy::rejects_max) are dropped;
    /// the order stays refused.
    pub fn reject(&mut self, code: RejectCode, detail: u16) {
        self.say(code, detail, RejectScope::Order);
    }

    /// Refuses the order and blocks its account.
    pub fn reject_account(&mut self, code: RejectCode, detail: u16) {
        self.say(code, detail, RejectScope::Account);
    }

    fn say(&mut self, code: RejectCode, detail: u16, scope: RejectScope) {
        if self.rejects_left == 0 {
            return;
        }
        self.rejects_left -= 1;
        self.rejects.push(Reject {
            code,
            detail,
            policy: PolicyId(PolicyId::FIRST_CUSTOM.0 + self.policy),
            scope,
        });
    }

    /// Registers what is to be applied when every policy accepts. Beyond
    /// [`MUTATIONS_MAX`] of one order, the order is refused with
    /// `CapacityExceeded`.
    pub fn register(&mut self, mutation: Mutation) {
        if self.mutations.try_push((self.policy, mutation)).is_err() && !self.overflowed {
            self.overflowed = true;
            // A policy that has used its rejects up has refused already.
            self.say(RejectCode::CapacityExceeded, 0, RejectScope::Order);
        }
    }
}

/// What happens beside orders; the same that the built-in policies see.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RiskEvent<'a> {
    /// A report was booked.
    Report(&'a ExecutionReport),
    /// An account's balances were adjusted.
    Adjusted(AccountId, &'a [Adjustment]),
    /// An account was blocked.
    Blocked(AccountId, RejectCode),
    /// An account was unblocked.
    Unblocked(AccountId),
    /// A quote was set.
    Quote(QuoteTarget, InstrumentId, Quote),
    /// An account was retired: forget it.
    Retired(AccountId),
}

/// A policy of your own.
///
/// Judging is separate from counting, so that a dry run can ask without a
/// trace: [`start`](Self::start) and [`main`](Self::main) see the policy as it
/// is and change nothing; [`seen`](Self::seen) counts every order that reached
/// the start stage, refused ones too; a mutation that `main` registered is
/// [`apply`](Self::apply)-ed when every policy has accepted, and later
/// committed or rolled back, newest first.
///
/// One instance per shard, never shared. A panic in a judgement refuses the
/// order and blocks its account; one in a finalizer, or an error from it, stops
/// entry for everyone until `unblock_all` (K7).
///
/// # Example
/// A cap on the quantity that one account may have reserved at once:
/// ```
/// use std::collections::HashMap;
/// use std::sync::Arc;
/// use pitlane::risk::{
///     AccountConfig, FinalizeFailed, InstrumentConfig, Mutation, OrderContext, Policy,
///     RiskConfig, RiskEngine, SharedLimits, Verdict,
/// };
/// use pitlane::time::Nanos;
/// use pitlane::types::{
///     AccountId, AssetId, InstrumentId, Order, OrderType, RejectCode, ShardId, Side, TimeInForce,
/// };
///
/// #[derive(Default)]
/// struct ReservedCap {
///     most: i128,
///     reserved: HashMap<u64, i128>,
/// }
///
/// impl Policy for ReservedCap {
///     fn name(&self) -> &str {
///         "reserved cap"
///     }
///
///     fn main(&self, context: &OrderContext<'_>, verdict: &mut Verdict<'_>) {
///         let account = context.order.account.0;
///         let wanted = context.order.quantity.map_or(0, |q| i128::from(q.raw()));
///         let reserved = self.reserved.get(&account).copied().unwrap_or(0);
///         if reserved + wanted > self.most {
///             verdict.reject(RejectCode::Custom, 1);
///         } else {
///             verdict.register(Mutation { key: account, amount: wanted });
///         }
///     }
///
///     fn apply(&mut self, mutation: Mutation) {
///         *self.reserved.entry(mutation.key).or_default() += mutation.amount;
///     }
///
///     fn commit(&mut self, mutation: Mutation) -> Result<(), FinalizeFailed> {
///         self.rollback(mutation)
///     }
///
///     fn rollback(&mut self, mutation: Mutation) -> Result<(), FinalizeFailed> {
///         let reserved = self.reserved.get_mut(&mutation.key).ok_or(FinalizeFailed)?;
///         *reserved -= mutation.amount;
///         Ok(())
///     }
/// }
///
/// let mut config = RiskConfig {
///     instruments: vec![InstrumentConfig {
///         id: InstrumentId(1),
///         name: None,
///         base: AssetId(1).into(),
///         settlement: AssetId(2).into(),
///         allow_non_positive_price: false,
///     }],
///     accounts: vec![AccountConfig { id: AccountId(7), group: None }],
///     ..RiskConfig::default()
/// };
/// config.spot_funds.enabled = false;
/// let shared = Arc::new(SharedLimits::new(&config)?);
/// let mut engine = RiskEngine::new(&config, ShardId(0), shared)?;
/// engine.add_policy(Box::new(ReservedCap { most: 15_000_000_000, ..Default::default() }))?;
///
/// let order = Order {
///     account: AccountId(7),
///     instrument: InstrumentId(1),
///     side: Side::Buy,
///     order_type: OrderType::Limit,
///     time_in_force: TimeInForce::Day,
///     quantity: Some("10".parse()?),
///     volume: None,
///     price: Some("3".parse()?),
/// };
/// let first = engine.execute_pre_trade(&order, Nanos(0))?;
/// let refused = engine.execute_pre_trade(&order, Nanos(0)).unwrap_err();
/// assert_eq!(refused.code(), RejectCode::Custom);
/// engine.commit(first)?;
/// assert!(engine.execute_pre_trade(&order, Nanos(0)).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Policy {
    /// For logs and for people.
    fn name(&self) -> &str;

    /// The most rejects that one stage says of one order; checked when the
    /// policy is added.
    fn rejects_max(&self) -> usize {
        1
    }

    /// Judges in the start stage.
    fn start(&self, context: &OrderContext<'_>, verdict: &mut Verdict<'_>) {
        let _ = (context, verdict);
    }

    /// Counts an order that reached the start stage, whatever became of it.
    fn seen(&mut self, context: &OrderContext<'_>) {
        let _ = context;
    }

    /// Judges in the main stage, and registers what accepting it means.
    fn main(&self, context: &OrderContext<'_>, verdict: &mut Verdict<'_>) {
        let _ = (context, verdict);
    }

    /// Does what was registered, for an order that every policy accepted.
    fn apply(&mut self, mutation: Mutation) {
        let _ = mutation;
    }

    /// The reservation is kept.
    ///
    /// # Errors
    /// It could not be; entry stops for everyone.
    fn commit(&mut self, mutation: Mutation) -> Result<(), FinalizeFailed> {
        let _ = mutation;
        Ok(())
    }

    /// The reservation is undone.
    ///
    /// # Errors
    /// It could not be; entry stops for everyone.
    fn rollback(&mut self, mutation: Mutation) -> Result<(), FinalizeFailed> {
        let _ = mutation;
        Ok(())
    }

    /// Follows what happens beside orders; an answer blocks the account that
    /// the event is about.
    fn on_event(&mut self, event: &RiskEvent<'_>) -> Option<RejectCode> {
        let _ = event;
        None
    }

    /// Whether an account may be retired: the policy keeps nothing of it that
    /// matters.
    fn may_retire(&self, account: AccountId) -> bool {
        let _ = account;
        true
    }

    /// The shard that the policy is on, told once when it is added.
    fn placed(&mut self, shard: ShardId) {
        let _ = shard;
    }
}
