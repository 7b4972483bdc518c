//! `[risk]`: the risk engine's own configuration, whose keys it knows itself.
//!
//! The whole is tried first. Where it is refused, its parts are tried one by
//! one, each rule of a list by itself, so that every fault is found, and each at
//! its line.

use core::ops::Range;

use pitlane::risk::{AssetRef, ConfigError, InstrumentConfig, RiskConfig, SharedLimits};
use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, ValueDeserializer};

use super::model::Config;
use super::reader::{Complaint, describe, did_you_mean};
use super::section::Section;

/// Keys that the engine takes, but this file writes as lists of its own.
const LISTS: [(&str, &str); 3] = [
    ("assets", "[[asset]]"),
    ("instruments", "[[instrument]]"),
    ("accounts", "[[account]]"),
];

/// One part of the section: what it is called, where it stands, and a table of
/// that part alone.
struct Part<'d> {
    path: String,
    span: Range<usize>,
    table: DeTable<'d>,
}

/// Reads the section; rules are held against the lists only if those are sound.
pub(super) fn read(
    section: &Section<'_, '_>,
    config: &Config,
    lists_are_sound: bool,
) -> RiskConfig {
    let named = with_lists(RiskConfig::default(), config);
    let Some(table) = section.table() else {
        return named;
    };
    let mut faults = 0;
    for (key, list) in LISTS {
        if let Some(value) = table.get(key) {
            let mend = format!("write {list} entries outside of [risk]");
            section.complain(
                key,
                Complaint::new(describe(value.get_ref()), "no such key here", mend),
            );
            faults += 1;
        }
    }
    if faults > 0 {
        return named;
    }
    let whole = Part {
        path: String::new(),
        span: 0..0,
        table: table.clone(),
    };
    let Ok(risk) = deserialize(&whole) else {
        for part in parts(table) {
            if let Err(error) = deserialize(&part) {
                let span = error.span().unwrap_or(part.span);
                section.complain_at(&span, &part.path, of_syntax(&error, &part.path));
            }
        }
        return named;
    };
    let risk = with_lists(risk, config);
    if lists_are_sound && let Err(error) = SharedLimits::new(&risk) {
        complain_of_rules(section, table, config, &error);
    }
    risk
}

/// The engine's configuration with this file's assets and instruments.
fn with_lists(mut risk: RiskConfig, config: &Config) -> RiskConfig {
    risk.assets = config
        .assets
        .iter()
        .map(|asset| (asset.name.clone(), asset.id))
        .collect();
    let instrument = |entry: &super::InstrumentEntry| InstrumentConfig {
        id: entry.id,
        name: Some(entry.symbol.clone()),
        base: AssetRef::Id(entry.base),
        settlement: AssetRef::Id(entry.settlement),
        allow_non_positive_price: entry.allow_non_positive_price,
    };
    risk.instruments = config.instruments.iter().map(instrument).collect();
    risk
}

fn deserialize(part: &Part<'_>) -> Result<RiskConfig, toml::de::Error> {
    let value = Spanned::new(part.span.clone(), DeValue::Table(part.table.clone()));
    RiskConfig::deserialize(ValueDeserializer::from(value))
}

/// The section taken apart: a key each, and a rule each where a key has a list.
fn parts<'d>(table: &DeTable<'d>) -> Vec<Part<'d>> {
    let mut parts = Vec::new();
    for (key, value) in table {
        let with = |value: Spanned<DeValue<'d>>| {
            let mut alone = DeTable::new();
            alone.insert(key.clone(), value);
            alone
        };
        match value.get_ref().as_array() {
            Some(list) => {
                for (index, item) in list.iter().enumerate() {
                    let mut alone = DeArray::new();
                    alone.push(item.clone());
                    let path = format!("{}[{}]", key.get_ref(), index + 1);
                    let table = with(Spanned::new(item.span(), DeValue::Array(alone)));
                    parts.push(Part {
                        path,
                        span: item.span(),
                        table,
                    });
                }
            }
            None => {
                let (path, span) = (key.get_ref().to_string(), key.span());
                parts.push(Part {
                    path,
                    span,
                    table: with(value.clone()),
                });
            }
        }
    }
    parts
}

/// What the engine does not understand. The texts are the deserializer's; the
/// names in their backticks are what it found, and then what it knows.
fn of_syntax(error: &toml::de::Error, path: &str) -> Complaint {
    let message = error.message().replace('\n', ", ");
    let mut names = message.split('`').skip(1).step_by(2);
    let (found, known) = (names.next().unwrap_or_default().to_string(), names);
    let meant = did_you_mean(&found, known).map(str::to_string);
    let (what, wanted) = message
        .split_once(", expected ")
        .unwrap_or((&message, "what docs/config.md says"));
    let mend = match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("mend or remove it in risk.{path}"),
    };
    Complaint::new(what, wanted, mend)
}

/// Holds each rule by itself against the lists, then tells what only the whole
/// of them shows.
fn complain_of_rules(
    section: &Section<'_, '_>,
    table: &DeTable<'_>,
    config: &Config,
    error: &ConfigError,
) {
    let mut found = false;
    for part in parts(table) {
        let alone = deserialize(&part).map(|risk| SharedLimits::new(&with_lists(risk, config)));
        if let Ok(Err(error)) = alone {
            section.complain_at(&part.span, &part.path, of_rule(&error, config));
            found = true;
        }
    }
    if !found {
        let place = match error {
            ConfigError::Value { place, .. } | ConfigError::Twice { place, .. } => place.as_str(),
            _ => "",
        };
        match locate(table, place) {
            Some((path, span)) => section.complain_at(&span, &path, of_rule(error, config)),
            None => section.complain("", of_rule(error, config)),
        }
    }
}

/// Where the engine's `key[index]`, from 0, stands in the text; shown from 1.
fn locate(table: &DeTable<'_>, place: &str) -> Option<(String, Range<usize>)> {
    let (key, index) = place.split_once('[')?;
    let index: usize = index.trim_end_matches(']').parse().ok()?;
    let item = table.get(key)?.get_ref().as_array()?.get(index)?;
    Some((format!("{key}[{}]", index + 1), item.span()))
}

fn of_rule(error: &ConfigError, config: &Config) -> Complaint {
    match error {
        ConfigError::Unknown { what, name, .. } => {
            let assets = config.assets.iter().map(|asset| asset.name.as_str());
            let instruments = config.instruments.iter().map(|entry| entry.symbol.as_str());
            let meant = did_you_mean(name, assets.chain(instruments));
            let mend = match meant {
                Some(meant) => format!("did you mean {meant:?}?"),
                None => format!("add [[{what}]], or mend the name"),
            };
            Complaint::new(
                format!("{name:?}"),
                format!("an {what} that this file names"),
                mend,
            )
        }
        ConfigError::Twice { name, .. } => {
            Complaint::new(format!("{name} again"), "each once", "remove one of them")
        }
        ConfigError::Value { problem, .. } => Complaint::new(
            "a rule that does not fit",
            problem.as_str(),
            "mend the rule",
        ),
        other => Complaint::new("rules that do not fit", other.to_string(), "mend the rules"),
    }
}
