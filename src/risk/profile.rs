//! Rules resolved: what holds for everyone, and for one account of one group,
//! so that an order looks up nothing by name (rules K14 to K24).

use std::collections::{BTreeSet, HashMap};

use super::ConfigError;
use super::config::RiskConfig;
use super::instruments::Instruments;
use super::settings::{RateRule, RateScope, RateSubject, SizeRule};
use super::window::Rate;
use crate::limits::RATE_LIMIT_MAX;
use crate::types::{AccountId, AssetId, GroupId};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SizeLimit {
    pub(crate) quantity: Option<i64>,
    pub(crate) notional: Option<i128>,
}

/// What holds for one account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    pub(crate) orders: Option<Rate>,
    pub(crate) cancels: Option<Rate>,
    pub(crate) replaces: Option<Rate>,
    pub(crate) asset_orders: Vec<(AssetId, Rate)>,
    pub(crate) size: Vec<(AssetId, SizeLimit)>,
}

/// One version of the configuration, resolved.
pub(crate) struct Rules {
    pub(crate) config: RiskConfig,
    pub(crate) instruments: Instruments,
    pub(crate) broker_orders: Option<Rate>,
    pub(crate) broker_cancels: Option<Rate>,
    pub(crate) broker_replaces: Option<Rate>,
    pub(crate) asset_orders: Vec<(AssetId, Rate)>,
    pub(crate) any_account_asset_rate: bool,
    pub(crate) any_size: bool,
    pub(crate) broker_size: SizeLimit,
    pub(crate) asset_size: Vec<(AssetId, SizeLimit)>,
    /// The first is everyone's.
    profiles: Vec<Profile>,
    by_owner: HashMap<(Option<AccountId>, Option<GroupId>), u32>,
    named_accounts: BTreeSet<AccountId>,
    named_groups: BTreeSet<GroupId>,
}

/// A rule that says whose it is.
pub(crate) trait Owned {
    fn owner(&self) -> (Option<AccountId>, Option<GroupId>);
}

macro_rules! owned {
    ($($name:ident)*) => {$(
        impl Owned for $name {
            fn owner(&self) -> (Option<AccountId>, Option<GroupId>) {
                (self.account, self.group)
            }
        }
    )*};
}

owned!(RateRule);

impl Owned for SizeRule {
    fn owner(&self) -> (Option<AccountId>, Option<GroupId>) {
        (self.account, None)
    }
}

/// Of the rules that fit, those of the narrowest owner; the first of several.
fn narrowest<'a, R: Owned>(
    rules: impl Iterator<Item = &'a R>,
    account: Option<AccountId>,
    group: Option<GroupId>,
) -> Option<&'a R> {
    let mut best: Option<(u8, &R)> = None;
    for rule in rules {
        let rank = match rule.owner() {
            (Some(owner), _) if Some(owner) == account => 2,
            (None, Some(owner)) if Some(owner) == group => 1,
            (None, None) => 0,
            _ => continue,
        };
        if best.is_none_or(|(found, _)| rank > found) {
            best = Some((rank, rule));
        }
    }
    best.map(|(_, rule)| rule)
}

impl Rules {
    /// Resolves a configuration.
    ///
    /// # Errors
    /// The first thing that does not fit, and where.
    pub(crate) fn new(config: &RiskConfig) -> Result<Self, ConfigError> {
        let instruments = Instruments::new(config)?;
        let mut rules = Self {
            config: config.clone(),
            instruments,
            broker_orders: None,
            broker_cancels: None,
            broker_replaces: None,
            asset_orders: Vec::new(),
            any_account_asset_rate: false,
            any_size: !config.order_size.is_empty(),
            broker_size: SizeLimit::default(),
            asset_size: Vec::new(),
            profiles: Vec::new(),
            by_owner: HashMap::new(),
            named_accounts: BTreeSet::new(),
            named_groups: BTreeSet::new(),
        };
        rules.resolve_rates()?;
        rules.resolve_sizes()?;
        let general = rules.profile(None, None)?;
        rules.profiles.push(general);
        Ok(rules)
    }

    fn note(
        &mut self,
        place: &str,
        owner: (Option<AccountId>, Option<GroupId>),
    ) -> Result<(), ConfigError> {
        if let (Some(_), Some(_)) = owner {
            return Err(ConfigError::value(
                place,
                "a rule is of an account or of a group; leave one out",
            ));
        }
        self.named_accounts.extend(owner.0);
        self.named_groups.extend(owner.1);
        Ok(())
    }

    fn resolve_rates(&mut self) -> Result<(), ConfigError> {
        let rules = self.config.rate_limit.clone();
        let mut seen = BTreeSet::new();
        for (number, rule) in rules.iter().enumerate() {
            let place = format!("rate_limit[{number}]");
            let rate = rate(&place, rule)?;
            let on_account = matches!(rule.scope, RateScope::Account | RateScope::AccountAsset);
            let on_asset = matches!(rule.scope, RateScope::Asset | RateScope::AccountAsset);
            if !on_account && rule.owner() != (None, None) {
                return Err(ConfigError::value(
                    place,
                    "this scope is of no account or group; leave them out",
                ));
            }
            if on_asset != rule.asset.is_some() {
                return Err(ConfigError::value(
                    place,
                    "an asset is needed on the asset axes, and on no other",
                ));
            }
            if on_asset && rule.subject != RateSubject::Order {
                return Err(ConfigError::value(
                    place,
                    "cancels and replaces have limits on the broker and account axes only",
                ));
            }
            let asset = match &rule.asset {
                Some(asset) => Some(self.config.asset(&place, asset)?),
                None => None,
            };
            self.note(&place, rule.owner())?;
            if !seen.insert((rule.scope as u8, rule.subject as u8, rule.owner(), asset)) {
                return Err(ConfigError::Twice {
                    place,
                    name: "a rate limit of the same scope, subject and owner".into(),
                });
            }
            match (rule.scope, rule.subject) {
                (RateScope::Broker, RateSubject::Order) => self.broker_orders = Some(rate),
                (RateScope::Broker, RateSubject::Cancel) => self.broker_cancels = Some(rate),
                (RateScope::Broker, RateSubject::Replace) => self.broker_replaces = Some(rate),
                (RateScope::Asset, _) => self.asset_orders.extend(asset.map(|id| (id, rate))),
                (RateScope::AccountAsset, _) => self.any_account_asset_rate = true,
                (RateScope::Account, _) => {}
            }
        }
        Ok(())
    }

    fn resolve_sizes(&mut self) -> Result<(), ConfigError> {
        let rules = self.config.order_size.clone();
        let mut seen = BTreeSet::new();
        for (number, rule) in rules.iter().enumerate() {
            let place = format!("order_size[{number}]");
            if rule.max_quantity.is_none() && rule.max_notional.is_none() {
                return Err(ConfigError::value(
                    place,
                    "a size rule needs max_quantity, max_notional or both",
                ));
            }
            if rule.max_quantity.is_some_and(|max| max.is_negative())
                || rule.max_notional.is_some_and(|max| max.is_negative())
            {
                return Err(ConfigError::value(
                    place,
                    "a largest size is not below zero",
                ));
            }
            let asset = match &rule.asset {
                Some(asset) => Some(self.config.asset(&place, asset)?),
                None if rule.account.is_some() => {
                    return Err(ConfigError::value(
                        place,
                        "an account's size rule needs an asset",
                    ));
                }
                None => None,
            };
            self.note(&place, rule.owner())?;
            if !seen.insert((rule.account, asset)) {
                return Err(ConfigError::Twice {
                    place,
                    name: "a size rule of the same account and asset".into(),
                });
            }
            let limit = size(rule);
            match (rule.account, asset) {
                (None, None) => self.broker_size = limit,
                (None, Some(asset)) => self.asset_size.push((asset, limit)),
                (Some(_), _) => {}
            }
        }
        Ok(())
    }

    /// The number of the settings that hold for an account of a group.
    pub(crate) fn profile_of(&mut self, account: AccountId, group: Option<GroupId>) -> u32 {
        let account = Some(account).filter(|id| self.named_accounts.contains(id));
        let group = group.filter(|id| self.named_groups.contains(id));
        if account.is_none() && group.is_none() {
            return 0;
        }
        if let Some(number) = self.by_owner.get(&(account, group)) {
            return *number;
        }
        // Every rule was resolved once when the configuration was taken.
        let Ok(profile) = self.profile(account, group) else {
            return 0;
        };
        let number = u32::try_from(self.profiles.len()).unwrap_or(0);
        self.profiles.push(profile);
        self.by_owner.insert((account, group), number);
        number
    }

    #[inline]
    pub(crate) fn profile_at(&self, number: u32) -> &Profile {
        &self.profiles[number as usize]
    }

    /// Whether a rule names the account.
    pub(crate) fn names(&self, account: AccountId) -> bool {
        self.named_accounts.contains(&account)
    }

    fn profile(
        &self,
        account: Option<AccountId>,
        group: Option<GroupId>,
    ) -> Result<Profile, ConfigError> {
        let config = &self.config;
        let account_rate = |subject| {
            narrowest(
                config
                    .rate_limit
                    .iter()
                    .filter(|rule| rule.scope == RateScope::Account && rule.subject == subject),
                account,
                group,
            )
            .map(|rule| rate("rate_limit", rule))
            .transpose()
        };
        let mut profile = Profile {
            orders: account_rate(RateSubject::Order)?,
            cancels: account_rate(RateSubject::Cancel)?,
            replaces: account_rate(RateSubject::Replace)?,
            ..Profile::default()
        };
        for rule in &config.rate_limit {
            let (RateScope::AccountAsset, Some(asset)) = (rule.scope, &rule.asset) else {
                continue;
            };
            let asset = config.asset("rate_limit", asset)?;
            if profile
                .asset_orders
                .iter()
                .any(|(known, _)| *known == asset)
            {
                continue;
            }
            let of_asset = config.rate_limit.iter().filter(|rule| {
                rule.scope == RateScope::AccountAsset
                    && rule
                        .asset
                        .as_ref()
                        .and_then(|other| config.asset("rate_limit", other).ok())
                        == Some(asset)
            });
            if let Some(rule) = narrowest(of_asset, account, group) {
                profile
                    .asset_orders
                    .push((asset, rate("rate_limit", rule)?));
            }
        }
        for rule in &config.order_size {
            if let (Some(owner), Some(asset)) = (rule.account, &rule.asset)
                && Some(owner) == account
            {
                profile
                    .size
                    .push((config.asset("order_size", asset)?, size(rule)));
            }
        }
        Ok(profile)
    }
}

fn size(rule: &SizeRule) -> SizeLimit {
    SizeLimit {
        quantity: rule.max_quantity.map(|max| max.raw()),
        notional: rule.max_notional.map(|max| max.raw()),
    }
}

fn rate(place: &str, rule: &RateRule) -> Result<Rate, ConfigError> {
    let window_ns = match (rule.window_ms, rule.window_ns) {
        (Some(ms), None) => ms.checked_mul(1_000_000),
        (None, Some(ns)) => Some(ns),
        _ => {
            return Err(ConfigError::value(
                place,
                "exactly one of window_ms and window_ns is needed",
            ));
        }
    };
    let window_ns = window_ns
        .filter(|ns| (1..=u64::MAX >> 2).contains(ns))
        .ok_or_else(|| {
            ConfigError::value(place, "a window is 1 ns at least and 146 years at most")
        })?;
    if rule.limit > RATE_LIMIT_MAX {
        return Err(ConfigError::value(
            place,
            format!("the limit is {RATE_LIMIT_MAX} at most"),
        ));
    }
    Ok(Rate {
        count: rule.limit,
        window_ns,
    })
}

/// The value of an asset in a short list.
#[inline]
pub(crate) fn of_asset<T: Copy>(list: &[(AssetId, T)], asset: AssetId) -> Option<T> {
    list.iter()
        .find(|(known, _)| *known == asset)
        .map(|(_, value)| *value)
}
