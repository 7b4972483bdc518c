//! One rule by itself: whose it is, which of several holds, and its numbers as
//! the engine counts them.

use super::ConfigError;
use super::policies::pnl::Bounds;
use super::profile::SizeLimit;
use super::settings::{
    CollarRule, CreditRule, FundsRule, OpenOrdersRule, PnlRule, PositionRule, RateRule,
    RepeatedRule, RestrictedRule, SizeRule,
};
use super::window::Rate;
use crate::limits::RATE_LIMIT_MAX;
use crate::types::{AccountId, GroupId};

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

owned!(RateRule CollarRule FundsRule PositionRule CreditRule RestrictedRule OpenOrdersRule RepeatedRule);

impl Owned for PnlRule {
    fn owner(&self) -> (Option<AccountId>, Option<GroupId>) {
        (self.account, None)
    }
}

impl Owned for SizeRule {
    fn owner(&self) -> (Option<AccountId>, Option<GroupId>) {
        (self.account, None)
    }
}

/// Of the rules that fit, those of the narrowest owner; the first of several.
pub(super) fn narrowest<'a, R: Owned>(
    rules: impl Iterator<Item = &'a R>,
    account: Option<AccountId>,
    group: Option<GroupId>,
) -> Option<&'a R> {
    ranked(rules, account, group, |_| 0).into_iter().next()
}

/// The rules that fit, narrowest owner first; of one owner, those that `detail`
/// finds more of first; of those, as written.
pub(super) fn ranked<'a, R: Owned>(
    rules: impl Iterator<Item = &'a R>,
    account: Option<AccountId>,
    group: Option<GroupId>,
    detail: impl Fn(&R) -> u8,
) -> Vec<&'a R> {
    let mut fitting: Vec<(u8, u8, &R)> = rules
        .filter_map(|rule| {
            let rank = match rule.owner() {
                (Some(owner), _) if Some(owner) == account => 0,
                (None, Some(owner)) if Some(owner) == group => 1,
                (None, None) => 2,
                _ => return None,
            };
            Some((rank, u8::MAX - detail(rule), rule))
        })
        .collect();
    fitting.sort_by_key(|(rank, detail, _)| (*rank, *detail));
    fitting.into_iter().map(|(_, _, rule)| rule).collect()
}

/// All of a price.
pub(super) const BASIS_POINTS: u32 = 10_000;

pub(super) fn bounds(rule: &PnlRule) -> Bounds {
    Bounds {
        lower: rule.lower.map(|bound| bound.raw()),
        upper: rule.upper.map(|bound| bound.raw()),
    }
}

pub(super) fn size(rule: &SizeRule) -> SizeLimit {
    SizeLimit {
        quantity: rule.max_quantity.map(|max| max.raw()),
        notional: rule.max_notional.map(|max| max.raw()),
    }
}

pub(super) fn rate(place: &str, rule: &RateRule) -> Result<Rate, ConfigError> {
    let window_ns = window(place, rule.window_ms, rule.window_ns)?;
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

pub(super) fn window(place: &str, ms: Option<u64>, ns: Option<u64>) -> Result<u64, ConfigError> {
    let window_ns = match (ms, ns) {
        (Some(ms), None) => ms.checked_mul(1_000_000),
        (None, Some(ns)) => Some(ns),
        _ => {
            return Err(ConfigError::value(
                place,
                "exactly one of window_ms and window_ns is needed",
            ));
        }
    };
    window_ns
        .filter(|ns| (1..=u64::MAX >> 2).contains(ns))
        .ok_or_else(|| ConfigError::value(place, "a window is 1 ns at least and 146 years at most"))
}
