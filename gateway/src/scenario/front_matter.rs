//! What stands before the tables: a name, and the policies that are on.

use std::path::Path;

use pitlane::risk::{
    AssetRef, PnlRule, PnlScope, RateRule, RateScope, RateSubject, RiskConfig, SizeRule,
};
use pitlane::types::AccountId;

use super::ScenarioError;
use super::names::Names;

/// The front matter, and where the tables begin.
#[derive(Debug)]
pub(super) struct FrontMatter {
    pub(super) name: String,
    pub(super) config: RiskConfig,
    /// Keys that mean nothing here.
    pub(super) warnings: Vec<String>,
}

/// Splits a file; the second is the text after the front matter, the third its
/// first line.
pub(super) fn read<'a>(
    text: &'a str,
    folder: &Path,
    names: &mut Names,
) -> Result<(FrontMatter, &'a str, usize), ScenarioError> {
    let mut front = FrontMatter {
        name: String::new(),
        config: RiskConfig::default(),
        warnings: Vec::new(),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    if lines.next().is_none_or(|line| line.trim_end() != "---") {
        return Ok((front, text, 1));
    }
    let mut offset = text.find('\n').map_or(text.len(), |at| at + 1);
    let mut pairs = Vec::new();
    let mut number = 1;
    for line in lines {
        number += 1;
        offset += line.len();
        if line.trim_end() == "---" {
            apply(&mut front, &pairs, folder, names)?;
            return Ok((front, &text[offset..], number + 1));
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line
            .split_once(':')
            .ok_or_else(|| ScenarioError::text(number, "front matter is `key: value` lines"))?;
        let value = value.trim().trim_matches(['"', '\'']);
        pairs.push((number, key.trim().to_owned(), value.to_owned()));
    }
    Err(ScenarioError::text(
        number,
        "the front matter has no closing `---`",
    ))
}

fn apply(
    front: &mut FrontMatter,
    pairs: &[(usize, String, String)],
    folder: &Path,
    names: &mut Names,
) -> Result<(), ScenarioError> {
    // The policies' file first: what the table says itself is laid over it.
    for (_, _, file) in pairs.iter().filter(|(_, key, _)| key == "policies") {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path).map_err(|source| ScenarioError::Read {
            path: path.clone(),
            source,
        })?;
        front.config = RiskConfig::from_toml(&text)
            .map_err(|error| ScenarioError::Settings(format!("{}: {error}", path.display())))?;
    }
    for (asset, id) in &front.config.assets {
        names.assets.insert(asset.clone(), *id);
    }
    for (line, key, value) in pairs {
        setting(front, *line, key, value, names)?;
    }
    Ok(())
}

fn setting(
    front: &mut FrontMatter,
    line: usize,
    key: &str,
    value: &str,
    names: &mut Names,
) -> Result<(), ScenarioError> {
    let parts: Vec<&str> = key.split('.').collect();
    let fault = |problem: String| ScenarioError::text(line, format!("{key}: {problem}"));
    let mut owner = |name: &str| -> AccountId { names.account(name) };
    match parts.as_slice() {
        ["policies"] => {}
        ["name"] => front.name = value.to_owned(),
        ["slippage_bps"] => {
            front.config.spot_funds.slippage_bps = value
                .parse()
                .map_err(|_| fault("a whole number of basis points".into()))?;
        }
        ["rate_limit"] | ["rate_limit", _] => {
            let account = parts.get(1).map(|name| owner(name));
            let rule = rate(value, account)
                .ok_or_else(|| fault("write N/S: how many orders, in how many seconds".into()))?;
            front.config.rate_limit.push(rule);
        }
        ["order_size_qty" | "order_size_notional", rest @ ..] if rest.len() <= 2 => {
            let (account, asset) = match rest {
                [account, asset] => (Some(owner(account)), Some(*asset)),
                [asset] => (None, Some(*asset)),
                _ => (None, None),
            };
            let asset = asset.map(|name| {
                names.asset(name);
                AssetRef::from(name)
            });
            let rule = size_rule(&mut front.config.order_size, account, asset);
            if parts[0] == "order_size_qty" {
                rule.max_quantity = Some(value.parse().map_err(|error| fault(format!("{error}")))?);
            } else {
                rule.max_notional = Some(value.parse().map_err(|error| fault(format!("{error}")))?);
            }
        }
        ["pnl_lower" | "pnl_upper", rest @ ..] if matches!(rest.len(), 1 | 2) => {
            let account = (rest.len() == 2).then(|| owner(rest[0]));
            let asset = rest[rest.len() - 1];
            names.asset(asset);
            let bound = value.parse().map_err(|error| fault(format!("{error}")))?;
            let rule = pnl_rule(&mut front.config.pnl.rules, account, asset.into());
            if parts[0] == "pnl_lower" {
                rule.lower = Some(bound);
            } else {
                rule.upper = Some(bound);
            }
        }
        _ => front
            .warnings
            .push(format!("line {line}: {key} means nothing here")),
    }
    Ok(())
}

fn rate(text: &str, account: Option<AccountId>) -> Option<RateRule> {
    let (count, seconds) = text.split_once('/')?;
    let seconds = seconds.trim().trim_end_matches('s');
    let window: pitlane::types::Price = seconds.parse().ok()?;
    Some(RateRule {
        scope: RateScope::Account,
        subject: RateSubject::Order,
        account,
        group: None,
        asset: None,
        limit: count.trim().parse().ok()?,
        window_ms: None,
        // Nine decimals of a second are nanoseconds.
        window_ns: Some(u64::try_from(window.raw()).ok()?),
    })
}

fn size_rule(
    rules: &mut Vec<SizeRule>,
    account: Option<AccountId>,
    asset: Option<AssetRef>,
) -> &mut SizeRule {
    let found = rules
        .iter()
        .position(|rule| rule.account == account && rule.asset == asset);
    let at = found.unwrap_or_else(|| {
        rules.push(SizeRule {
            account,
            asset,
            ..SizeRule::default()
        });
        rules.len() - 1
    });
    &mut rules[at]
}

fn pnl_rule(rules: &mut Vec<PnlRule>, account: Option<AccountId>, asset: AssetRef) -> &mut PnlRule {
    let found = rules.iter().position(|rule| {
        rule.scope == PnlScope::Account && rule.account == account && rule.asset == asset
    });
    let at = found.unwrap_or_else(|| {
        rules.push(PnlRule {
            scope: PnlScope::Account,
            account,
            asset,
            lower: None,
            upper: None,
        });
        rules.len() - 1
    });
    &mut rules[at]
}
