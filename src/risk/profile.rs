//! Rules resolved: what holds for everyone, and for one account of one group,
//! so that an order looks up nothing by name (rules K14 to K24).

use std::collections::{BTreeSet, HashMap};

use super::ConfigError;
use super::config::{InstrumentRef, RiskConfig};
use super::instruments::Instruments;
use super::policies::pnl::Bounds;
use super::rule::{BASIS_POINTS, Owned, bounds, narrowest, ranked, rate, size, window};
use super::settings::{
    CollarRule, CreditScope, FundsMode, PnlScope, PositionRule, RateScope, RateSubject, Restriction,
};
use super::value::MarketPricing;
use super::window::Rate;
use crate::limits::RATE_LIMIT_MAX;
use crate::types::{AccountId, AssetId, GroupId, Side};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SizeLimit {
    pub(crate) quantity: Option<i64>,
    pub(crate) notional: Option<i128>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Collar {
    instrument: Option<u32>,
    side: Option<Side>,
    pub(crate) above_bps: Option<u32>,
    pub(crate) below_bps: Option<u32>,
    pub(crate) above: Option<i64>,
    pub(crate) below: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PositionLimit {
    instrument: Option<u32>,
    pub(crate) long: Option<i64>,
    pub(crate) short: Option<i64>,
}

/// What holds for one account. Lists are narrowest first: the first entry that
/// fits holds.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) funds_mode: FundsMode,
    pub(crate) pricing: MarketPricing,
    collars: Vec<Collar>,
    positions: Vec<PositionLimit>,
    pub(crate) pnl: Vec<(AssetId, Bounds)>,
    pub(crate) credit: Vec<(AssetId, i128)>,
    restricted: Vec<(u32, Restriction)>,
    pub(crate) open_orders: Option<u32>,
    pub(crate) repeated: Option<Rate>,
    pub(crate) orders: Option<Rate>,
    pub(crate) cancels: Option<Rate>,
    pub(crate) replaces: Option<Rate>,
    pub(crate) asset_orders: Vec<(AssetId, Rate)>,
    pub(crate) size: Vec<(AssetId, SizeLimit)>,
}

impl Profile {
    #[inline]
    pub(crate) fn collar(&self, instrument: u32, side: Side) -> Option<&Collar> {
        self.collars.iter().find(|collar| {
            collar.instrument.is_none_or(|only| only == instrument)
                && collar.side.is_none_or(|only| only == side)
        })
    }

    #[inline]
    pub(crate) fn position(&self, instrument: u32) -> Option<PositionLimit> {
        self.positions
            .iter()
            .find(|limit| limit.instrument.is_none_or(|only| only == instrument))
            .copied()
    }

    #[inline]
    pub(crate) fn restriction(&self, instrument: u32) -> Restriction {
        self.restricted
            .iter()
            .find(|(only, _)| *only == instrument)
            .map_or(Restriction::Allow, |(_, mode)| *mode)
    }
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
    pub(crate) broker_pnl: Vec<(AssetId, Bounds)>,
    pub(crate) firm_credit: Vec<(AssetId, i128)>,
    pub(crate) any_pnl: bool,
    /// Of every window that accounts have.
    pub(crate) longest_window_ns: u64,
    pub(crate) any_position: bool,
    pub(crate) any_credit: bool,
    pub(crate) any_collar: bool,
    pub(crate) any_restriction: bool,
    main_is_idle: bool,
    pub(crate) duplicate: Option<(u32, u64)>,
    /// The first is everyone's.
    profiles: Vec<Profile>,
    by_owner: HashMap<(Option<AccountId>, Option<GroupId>), u32>,
    named_accounts: BTreeSet<AccountId>,
    named_groups: BTreeSet<GroupId>,
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
            broker_pnl: Vec::new(),
            firm_credit: Vec::new(),
            longest_window_ns: 0,
            any_pnl: !config.pnl.rules.is_empty(),
            any_position: !config.position.is_empty(),
            any_credit: !config.gross_credit.rules.is_empty(),
            any_collar: !config.collar.is_empty(),
            any_restriction: !config.restricted.is_empty(),
            main_is_idle: false,
            duplicate: None,
            profiles: Vec::new(),
            by_owner: HashMap::new(),
            named_accounts: BTreeSet::new(),
            named_groups: BTreeSet::new(),
        };
        rules.resolve_rates()?;
        rules.resolve_sizes()?;
        rules.resolve_pnl()?;
        rules.resolve_credit()?;
        rules.check_others()?;
        rules.longest_window_ns = rules.longest_window()?;
        rules.main_is_idle = !rules.values_orders()
            && rules.duplicate.is_none()
            && config.open_orders.is_empty()
            && config.self_match.is_none();
        let general = rules.profile(None, None)?;
        rules.profiles.push(general);
        Ok(rules)
    }

    fn longest_window(&self) -> Result<u64, ConfigError> {
        let mut longest = 1;
        for rule in &self.config.rate_limit {
            longest = longest.max(window("rate_limit", rule.window_ms, rule.window_ns)?);
        }
        for rule in &self.config.repeated_execution {
            longest = longest.max(window("repeated_execution", Some(rule.window_ms), None)?);
        }
        Ok(longest)
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

    fn resolve_pnl(&mut self) -> Result<(), ConfigError> {
        let settings = self.config.pnl.clone();
        if !settings.unit.is_positive() {
            return Err(ConfigError::value("pnl.unit", "a unit is above zero"));
        }
        let mut seen = BTreeSet::new();
        for (number, rule) in settings.rules.iter().enumerate() {
            let place = format!("pnl.rules[{number}]");
            let asset = self.config.asset(&place, &rule.asset)?;
            if rule.lower.is_none() && rule.upper.is_none() {
                return Err(ConfigError::value(
                    place,
                    "a rule needs lower, upper or both",
                ));
            }
            if matches!((rule.lower, rule.upper), (Some(lower), Some(upper)) if lower > upper) {
                return Err(ConfigError::value(place, "lower is not above upper"));
            }
            self.note(&place, rule.owner())?;
            if !seen.insert((rule.scope as u8, rule.account, asset)) {
                return Err(ConfigError::Twice {
                    place,
                    name: "a P&L rule of the same scope, account and asset".into(),
                });
            }
            if rule.scope == PnlScope::Broker {
                if rule.account.is_some() {
                    return Err(ConfigError::value(
                        place,
                        "the broker's rule has no account",
                    ));
                }
                self.broker_pnl.push((asset, bounds(rule)));
            }
        }
        Ok(())
    }

    fn resolve_credit(&mut self) -> Result<(), ConfigError> {
        let settings = self.config.gross_credit.clone();
        if !settings.unit.is_positive() {
            return Err(ConfigError::value(
                "gross_credit.unit",
                "a unit is above zero",
            ));
        }
        let mut seen = BTreeSet::new();
        for (number, rule) in settings.rules.iter().enumerate() {
            let place = format!("gross_credit.rules[{number}]");
            let asset = self.config.asset(&place, &rule.asset)?;
            if rule.limit.is_negative() {
                return Err(ConfigError::value(
                    place,
                    "a credit limit is not below zero",
                ));
            }
            self.note(&place, rule.owner())?;
            if !seen.insert((rule.scope as u8, rule.owner(), asset)) {
                return Err(ConfigError::Twice {
                    place,
                    name: "a credit rule of the same scope, owner and asset".into(),
                });
            }
            if rule.scope == CreditScope::Firm {
                if rule.owner() != (None, None) {
                    return Err(ConfigError::value(place, "the firm's rule has no owner"));
                }
                let units = rule.limit.raw() / settings.unit.raw();
                if i64::try_from(units).is_err() {
                    return Err(ConfigError::value(
                        "gross_credit.unit",
                        "the limit takes too many units; use a larger unit",
                    ));
                }
                self.firm_credit.push((asset, rule.limit.raw()));
            }
        }
        Ok(())
    }

    /// The rules that have nothing broker-wide: whose they are, what they name,
    /// and that no two say the same.
    fn check_others(&mut self) -> Result<(), ConfigError> {
        let config = self.config.clone();
        let mut seen = BTreeSet::new();
        let mut once = |place: &str, key: String| {
            if seen.insert(format!(
                "{}: {key}",
                place.split('[').next().unwrap_or(place)
            )) {
                Ok(())
            } else {
                Err(ConfigError::Twice {
                    place: place.to_owned(),
                    name: "a rule of the same owner and scope".into(),
                })
            }
        };
        for (number, rule) in config.collar.iter().enumerate() {
            let place = format!("collar[{number}]");
            self.note(&place, rule.owner())?;
            let instrument = self.instrument(&place, rule.instrument.as_ref())?;
            once(
                &place,
                format!("{:?} {instrument:?} {:?}", rule.owner(), rule.side),
            )?;
            let bounds = [rule.above, rule.below];
            if bounds.iter().flatten().any(|price| price.is_negative()) {
                return Err(ConfigError::value(place, "a distance is not below zero"));
            }
        }
        for (number, rule) in config.position.iter().enumerate() {
            let place = format!("position[{number}]");
            self.note(&place, rule.owner())?;
            let instrument = self.instrument(&place, rule.instrument.as_ref())?;
            once(&place, format!("{:?} {instrument:?}", rule.owner()))?;
            let bounds = [rule.long, rule.short];
            if bounds.iter().flatten().any(|most| most.is_negative()) {
                return Err(ConfigError::value(
                    place,
                    "long and short are both written as positive numbers",
                ));
            }
        }
        for (number, rule) in config.restricted.iter().enumerate() {
            let place = format!("restricted[{number}]");
            self.note(&place, rule.owner())?;
            let instrument = self.instruments.named(&place, &rule.instrument)?;
            once(&place, format!("{:?} {instrument}", rule.owner()))?;
        }
        for (number, rule) in config.open_orders.iter().enumerate() {
            let place = format!("open_orders[{number}]");
            self.note(&place, rule.owner())?;
            once(&place, format!("{:?}", rule.owner()))?;
        }
        for (number, rule) in config.repeated_execution.iter().enumerate() {
            let place = format!("repeated_execution[{number}]");
            self.note(&place, rule.owner())?;
            once(&place, format!("{:?}", rule.owner()))?;
            window(&place, Some(rule.window_ms), None)?;
            if rule.fills > RATE_LIMIT_MAX {
                return Err(ConfigError::value(
                    place,
                    format!("fills is {RATE_LIMIT_MAX} at most"),
                ));
            }
        }
        for (number, rule) in config.spot_funds.rules.iter().enumerate() {
            let place = format!("spot_funds.rules[{number}]");
            self.note(&place, rule.owner())?;
            once(&place, format!("{:?}", rule.owner()))?;
        }
        let slippages = config
            .spot_funds
            .rules
            .iter()
            .filter_map(|rule| rule.slippage_bps);
        if slippages
            .chain([config.spot_funds.slippage_bps])
            .any(|bps| bps > BASIS_POINTS)
        {
            return Err(ConfigError::value(
                "spot_funds",
                "slippage_bps is 10000 at most",
            ));
        }
        if let Some(duplicate) = config.duplicate {
            let window_ns = window("duplicate", Some(duplicate.window_ms), None)?;
            self.duplicate = Some((duplicate.repeats, window_ns));
        }
        for (place, asset) in config
            .group_currency
            .values()
            .map(|asset| ("group_currency", asset))
            .chain(config.currency.iter().map(|asset| ("currency", asset)))
        {
            config.asset(place, asset)?;
        }
        Ok(())
    }

    fn instrument(
        &self,
        place: &str,
        name: Option<&InstrumentRef>,
    ) -> Result<Option<u32>, ConfigError> {
        name.map(|name| self.instruments.named(place, name))
            .transpose()
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

    /// Whether a policy counts positions.
    #[inline]
    pub(crate) const fn counts_positions(&self) -> bool {
        self.any_position || self.any_credit || self.any_restriction
    }

    /// Whether the main stage has nothing to judge or to hold.
    #[inline]
    pub(crate) const fn main_is_idle(&self) -> bool {
        self.main_is_idle
    }

    /// Whether a policy looks at what an order is worth.
    #[inline]
    pub(crate) const fn values_orders(&self) -> bool {
        self.config.spot_funds.enabled || self.any_collar || self.counts_positions()
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
            funds_mode: config.spot_funds.mode,
            pricing: MarketPricing {
                pricing: config.spot_funds.pricing,
                slippage_bps: config.spot_funds.slippage_bps,
            },
            collars: self.collars(account, group)?,
            positions: self.positions(account, group)?,
            pnl: Vec::new(),
            credit: Vec::new(),
            restricted: Vec::new(),
            open_orders: narrowest(config.open_orders.iter(), account, group)
                .map(|rule| rule.limit),
            repeated: None,
            asset_orders: Vec::new(),
            size: Vec::new(),
            orders: account_rate(RateSubject::Order)?,
            cancels: account_rate(RateSubject::Cancel)?,
            replaces: account_rate(RateSubject::Replace)?,
        };
        for rule in ranked(config.spot_funds.rules.iter(), account, group, |_| 0)
            .iter()
            .rev()
        {
            profile.funds_mode = rule.mode.unwrap_or(profile.funds_mode);
            profile.pricing.slippage_bps =
                rule.slippage_bps.unwrap_or(profile.pricing.slippage_bps);
        }
        let pnl = config
            .pnl
            .rules
            .iter()
            .filter(|rule| rule.scope == PnlScope::Account);
        for rule in ranked(pnl, account, group, |_| 0) {
            let asset = config.asset("pnl", &rule.asset)?;
            profile.pnl.push((asset, bounds(rule)));
        }
        let credit = config
            .gross_credit
            .rules
            .iter()
            .filter(|rule| rule.scope == CreditScope::Account);
        for rule in ranked(credit, account, group, |_| 0) {
            let asset = config.asset("gross_credit", &rule.asset)?;
            profile.credit.push((asset, rule.limit.raw()));
        }
        for rule in ranked(config.restricted.iter(), account, group, |_| 0) {
            let instrument = self.instruments.named("restricted", &rule.instrument)?;
            profile.restricted.push((instrument, rule.mode));
        }
        if let Some(rule) = narrowest(config.repeated_execution.iter(), account, group) {
            profile.repeated = Some(Rate {
                count: rule.fills,
                window_ns: window("repeated_execution", Some(rule.window_ms), None)?,
            });
        }
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

impl Rules {
    fn collars(
        &self,
        account: Option<AccountId>,
        group: Option<GroupId>,
    ) -> Result<Vec<Collar>, ConfigError> {
        let detail = |rule: &CollarRule| {
            u8::from(rule.instrument.is_some()) * 2 + u8::from(rule.side.is_some())
        };
        ranked(self.config.collar.iter(), account, group, detail)
            .into_iter()
            .map(|rule| {
                Ok(Collar {
                    instrument: self.instrument("collar", rule.instrument.as_ref())?,
                    side: rule.side,
                    above_bps: rule.above_bps,
                    below_bps: rule.below_bps,
                    above: rule.above.map(|price| price.raw()),
                    below: rule.below.map(|price| price.raw()),
                })
            })
            .collect()
    }

    fn positions(
        &self,
        account: Option<AccountId>,
        group: Option<GroupId>,
    ) -> Result<Vec<PositionLimit>, ConfigError> {
        let detail = |rule: &PositionRule| u8::from(rule.instrument.is_some());
        ranked(self.config.position.iter(), account, group, detail)
            .into_iter()
            .map(|rule| {
                Ok(PositionLimit {
                    instrument: self.instrument("position", rule.instrument.as_ref())?,
                    long: rule.long.map(|most| most.raw()),
                    short: rule.short.map(|most| most.raw()),
                })
            })
            .collect()
    }
}

/// The value of an asset in a short list.
#[inline]
pub(crate) fn of_asset<T: Copy>(list: &[(AssetId, T)], asset: AssetId) -> Option<T> {
    list.iter()
        .find(|(known, _)| *known == asset)
        .map(|(_, value)| *value)
}
