//! The settings of each policy, as they are written in code and in TOML.
//!
//! `account` and `group` in a rule say whose it is; a rule with neither is for
//! everyone. Amounts are decimal text; windows are in milliseconds, or in
//! nanoseconds where a shorter one is meant.

use serde::{Deserialize, Serialize};

use super::config::{AssetRef, InstrumentRef};
use crate::types::{AccountId, Amount, GroupId, Price, Quantity, Side};

/// Order validation (K13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ValidationSettings {
    /// On by default.
    pub enabled: bool,
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// What a rate limit counts over (K14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateScope {
    /// All orders of all shards.
    Broker,
    /// All orders of one settlement asset, of all shards.
    Asset,
    /// The orders of each account.
    Account,
    /// The orders of each account in one settlement asset.
    AccountAsset,
}

/// Which messages a rate limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSubject {
    /// New orders.
    #[default]
    Order,
    /// Cancels; on the broker and account axes only.
    Cancel,
    /// Replaces; on the broker and account axes only.
    Replace,
}

/// At most `limit` in any window (K14).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateRule {
    /// What is counted over.
    pub scope: RateScope,
    /// What is counted.
    #[serde(default)]
    pub subject: RateSubject,
    /// Whose, on the account axes.
    #[serde(default)]
    pub account: Option<AccountId>,
    /// Whose, on the account axes.
    #[serde(default)]
    pub group: Option<GroupId>,
    /// The settlement asset, on the asset axes.
    #[serde(default)]
    pub asset: Option<AssetRef>,
    /// How many pass; zero stops everything.
    pub limit: u32,
    /// The window's length; exactly one of this and `window_ns`.
    #[serde(default)]
    pub window_ms: Option<u64>,
    /// The window's length; exactly one of this and `window_ms`.
    #[serde(default)]
    pub window_ns: Option<u64>,
}

/// A largest order (K15): for any order, for an asset, or for an account and an
/// asset. Quantity looks at the base asset, notional at the settlement asset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SizeRule {
    /// Whose; needs an asset.
    pub account: Option<AccountId>,
    /// Which asset; without one, any order.
    pub asset: Option<AssetRef>,
    /// The largest quantity.
    pub max_quantity: Option<Quantity>,
    /// The largest notional.
    pub max_notional: Option<Amount>,
}

/// How far from the reference price an order may be (K16).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CollarRule {
    /// Whose.
    pub account: Option<AccountId>,
    /// Whose.
    pub group: Option<GroupId>,
    /// Of which instrument; any other without one.
    pub instrument: Option<InstrumentRef>,
    /// For which side; both without one.
    pub side: Option<Side>,
    /// How far above the reference price, in hundredths of a percent.
    pub above_bps: Option<u32>,
    /// How far below.
    pub below_bps: Option<u32>,
    /// How far above, in units of the price.
    pub above: Option<Price>,
    /// How far below.
    pub below: Option<Price>,
}

/// Whether funds decide, or are only followed (K17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FundsMode {
    /// Too little refuses the order.
    #[default]
    Enforce,
    /// Balances are followed and may go below zero.
    Track,
}

/// Which price a market order is valued at (K17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pricing {
    /// The quote's mark.
    #[default]
    Mark,
    /// The quote's ask for a buy, its bid for a sell.
    BookTop,
}

/// Spot funds (K17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FundsSettings {
    /// On by default.
    pub enabled: bool,
    /// Enforce by default.
    pub mode: FundsMode,
    /// Mark by default.
    pub pricing: Pricing,
    /// How much worse than the quote a market order is valued, in hundredths of
    /// a percent.
    pub slippage_bps: u32,
    /// What is different for a group, or an account.
    pub rules: Vec<FundsRule>,
}

impl Default for FundsSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: FundsMode::Enforce,
            pricing: Pricing::Mark,
            slippage_bps: 0,
            rules: Vec::new(),
        }
    }
}

/// What is different about funds for a group, or an account (K17).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FundsRule {
    /// Whose.
    pub account: Option<AccountId>,
    /// Whose.
    pub group: Option<GroupId>,
    /// In place of the general mode.
    pub mode: Option<FundsMode>,
    /// In place of the general slippage.
    pub slippage_bps: Option<u32>,
}

/// P&L kill switch (K18).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PnlSettings {
    /// The bounds.
    pub rules: Vec<PnlRule>,
    /// What the broker's sum, which spans shards, is counted in: rounded
    /// against the accounts, by less than one unit for each shard.
    pub unit: Amount,
    /// Whether a breach asks for the cancel of what works.
    pub cancel_working: bool,
}

impl Default for PnlSettings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            unit: CENT,
            cancel_working: false,
        }
    }
}

/// A hundredth.
const CENT: Amount = Amount::from_raw(10_000_000_000_000_000);

/// Whose P&L a bound looks at (K18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PnlScope {
    /// Each account's own.
    #[default]
    Account,
    /// The sum of all accounts, of all shards; a breach stops everything.
    Broker,
}

/// Bounds of the realized P&L in one settlement asset (K18).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PnlRule {
    /// Each account by default.
    #[serde(default)]
    pub scope: PnlScope,
    /// Whose; every account's own without one.
    #[serde(default)]
    pub account: Option<AccountId>,
    /// The settlement asset.
    pub asset: AssetRef,
    /// Below this is a breach.
    #[serde(default)]
    pub lower: Option<Amount>,
    /// Above this is a breach.
    #[serde(default)]
    pub upper: Option<Amount>,
}

/// How long or short a position may become, working orders counted at their
/// worst (K19).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PositionRule {
    /// Whose.
    pub account: Option<AccountId>,
    /// Whose.
    pub group: Option<GroupId>,
    /// Of which instrument; any other without one.
    pub instrument: Option<InstrumentRef>,
    /// The longest position.
    pub long: Option<Quantity>,
    /// The shortest position, as a positive number.
    pub short: Option<Quantity>,
}

/// Gross credit (K20).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CreditSettings {
    /// The limits.
    pub rules: Vec<CreditRule>,
    /// What the firm's sum, which spans shards, is counted in: rounded up, by
    /// less than one unit for each shard.
    pub unit: Amount,
}

impl Default for CreditSettings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            unit: CENT,
        }
    }
}

/// Whose credit a limit looks at (K20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreditScope {
    /// Each account's own.
    #[default]
    Account,
    /// The sum of all accounts, of all shards.
    Firm,
}

/// The most that working orders and positions may be worth together, in one
/// settlement asset (K20).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreditRule {
    /// Each account by default.
    #[serde(default)]
    pub scope: CreditScope,
    /// Whose.
    #[serde(default)]
    pub account: Option<AccountId>,
    /// Whose.
    #[serde(default)]
    pub group: Option<GroupId>,
    /// The settlement asset.
    pub asset: AssetRef,
    /// The most.
    pub limit: Amount,
}

/// The same order again (K21).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateSettings {
    /// How many repeats pass.
    pub repeats: u32,
    /// Within how long.
    pub window_ms: u64,
}

/// What a restriction leaves (K22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restriction {
    /// Nothing.
    #[default]
    Forbid,
    /// Orders that bring the position nearer to zero.
    ReduceOnly,
    /// Everything: an exception from a wider rule.
    Allow,
}

/// An instrument that may not be traded, or only reduced (K22).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestrictedRule {
    /// Whose.
    #[serde(default)]
    pub account: Option<AccountId>,
    /// Whose.
    #[serde(default)]
    pub group: Option<GroupId>,
    /// Which instrument.
    pub instrument: InstrumentRef,
    /// Forbid by default.
    #[serde(default)]
    pub mode: Restriction,
}

/// The most orders that an account may have working (K23).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenOrdersRule {
    /// Whose.
    #[serde(default)]
    pub account: Option<AccountId>,
    /// Whose.
    #[serde(default)]
    pub group: Option<GroupId>,
    /// How many.
    pub limit: u32,
}

/// More fills of one account and instrument than this block it (K24).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatedRule {
    /// Whose.
    #[serde(default)]
    pub account: Option<AccountId>,
    /// Whose.
    #[serde(default)]
    pub group: Option<GroupId>,
    /// How many fills pass.
    pub fills: u32,
    /// Within how long.
    pub window_ms: u64,
}

/// Whose working orders an order must not meet (K39).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelfMatchScope {
    /// The account's own.
    #[default]
    Account,
    /// Its group's, as far as they are on the same shard.
    Group,
}

/// What becomes of an order that would meet an own one (K39).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelfMatchAction {
    /// It is refused.
    #[default]
    Refuse,
    /// It passes, and the cancel of the resting ones is asked for.
    CancelResting,
}

/// Self-match prevention (K39).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SelfMatchSettings {
    /// The account's own by default.
    pub scope: SelfMatchScope,
    /// Refuse by default.
    pub action: SelfMatchAction,
}
