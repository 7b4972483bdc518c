//! The configuration of risk as plain data, in code and in TOML.
//!
//! Every key has a default and unknown keys are refused. Rules of one policy
//! stand in a list; of those that fit an order, the most specific holds: an
//! account's before its group's, a group's before everyone's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::settings::{
    CollarRule, CreditSettings, DuplicateSettings, FundsSettings, OpenOrdersRule, PnlSettings,
    PositionRule, RateRule, RepeatedRule, RestrictedRule, SelfMatchSettings, SizeRule,
    ValidationSettings,
};
use crate::types::{AccountId, AssetId, GroupId, InstrumentId};

/// An asset by number or by its name in [`RiskConfig::assets`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AssetRef {
    /// By number.
    Id(AssetId),
    /// By name.
    Name(String),
}

impl From<AssetId> for AssetRef {
    fn from(id: AssetId) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for AssetRef {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// An instrument by number or by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum InstrumentRef {
    /// By number.
    Id(InstrumentId),
    /// By name.
    Name(String),
}

impl From<InstrumentId> for InstrumentRef {
    fn from(id: InstrumentId) -> Self {
        Self::Id(id)
    }
}

impl From<&str> for InstrumentRef {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// An instrument: a base asset priced in a settlement asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstrumentConfig {
    /// Its number in orders.
    pub id: InstrumentId,
    /// Its name in rules; `BASE/SETTLEMENT` of the names where it is left out.
    #[serde(default)]
    pub name: Option<String>,
    /// What a buyer receives.
    pub base: AssetRef,
    /// What a buyer pays.
    pub settlement: AssetRef,
    /// Whether limit prices of zero and below are taken (rule K13).
    #[serde(default)]
    pub allow_non_positive_price: bool,
}

/// An account that is known from the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountConfig {
    /// Its number.
    pub id: AccountId,
    /// Its group, if any; zero is not a group (rule K32).
    #[serde(default)]
    pub group: Option<GroupId>,
}

/// What becomes of an order of an account that is not known (rule K27).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownAccounts {
    /// `UnknownAccount`.
    #[default]
    Refuse,
    /// The account is opened, with nothing.
    Open,
}

/// Everything that decides about orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RiskConfig {
    /// Names of assets, for use in the rules.
    pub assets: BTreeMap<String, AssetId>,
    /// The instruments that can be traded.
    pub instruments: Vec<InstrumentConfig>,
    /// The accounts that are known from the start.
    pub accounts: Vec<AccountConfig>,
    /// Unknown accounts: refused by default.
    pub unknown_accounts: UnknownAccounts,
    /// The currency of accounts whose group has none (rule K32).
    pub currency: Option<AssetRef>,
    /// The currency of each group's accounts, by the group's number.
    pub group_currency: BTreeMap<GroupId, AssetRef>,
    /// Account records to make room for at the start.
    pub expected_accounts: usize,
    /// Open orders to make room for at the start, per shard.
    pub expected_open_orders: usize,
    /// How long a quote is good, in ms; for ever where it is left out (K34).
    pub quote_ttl_ms: Option<u64>,
    /// Order validation (K13).
    pub validation: ValidationSettings,
    /// Rate limits (K14).
    pub rate_limit: Vec<RateRule>,
    /// Order size (K15).
    pub order_size: Vec<SizeRule>,
    /// Price collar (K16).
    pub collar: Vec<CollarRule>,
    /// Spot funds (K17).
    pub spot_funds: FundsSettings,
    /// P&L kill switch (K18).
    pub pnl: PnlSettings,
    /// Position limit (K19).
    pub position: Vec<PositionRule>,
    /// Gross credit (K20).
    pub gross_credit: CreditSettings,
    /// Duplicate orders (K21).
    pub duplicate: Option<DuplicateSettings>,
    /// Restricted list (K22).
    pub restricted: Vec<RestrictedRule>,
    /// Open orders (K23).
    pub open_orders: Vec<OpenOrdersRule>,
    /// Repeated execution (K24).
    pub repeated_execution: Vec<RepeatedRule>,
    /// Self-match (K39).
    pub self_match: Option<SelfMatchSettings>,
}

impl RiskConfig {
    /// Reads TOML.
    ///
    /// # Errors
    /// What is wrong and where: syntax, an unknown key, a bad value. Whether
    /// the parts fit one another is checked by the engine.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Syntax(error.to_string()))
    }

    pub(crate) fn asset(&self, place: &str, asset: &AssetRef) -> Result<AssetId, ConfigError> {
        match asset {
            AssetRef::Id(id) => Ok(*id),
            AssetRef::Name(name) => {
                self.assets
                    .get(name)
                    .copied()
                    .ok_or_else(|| ConfigError::Unknown {
                        place: place.to_owned(),
                        what: "asset",
                        name: name.clone(),
                    })
            }
        }
    }

    fn asset_name(&self, asset: &AssetRef) -> String {
        match asset {
            AssetRef::Name(name) => name.clone(),
            AssetRef::Id(id) => self
                .assets
                .iter()
                .find(|(_, other)| *other == id)
                .map_or_else(|| id.to_string(), |(name, _)| name.clone()),
        }
    }

    pub(crate) fn instrument_name(&self, instrument: &InstrumentConfig) -> String {
        instrument.name.clone().unwrap_or_else(|| {
            format!(
                "{}/{}",
                self.asset_name(&instrument.base),
                self.asset_name(&instrument.settlement)
            )
        })
    }
}
