//! `[risk]` in the gateway's configuration: taken whole, or every fault of it
//! told at its line.

#[path = "support/config_text.rs"]
mod config_text;

use config_text::{ASSETS, in_its_part, problem, problems};
use pitlane::risk::{
    CollarRule, CreditRule, CreditSettings, DuplicateSettings, FundsRule, FundsSettings,
    OpenOrdersRule, PnlRule, PnlSettings, PositionRule, RateRule, RepeatedRule, RestrictedRule,
    RiskConfig, SelfMatchSettings, SharedLimits, SizeRule, UnknownAccounts, ValidationSettings,
};
use pitlane::types::{AccountId, AssetId, GroupId, Quantity};
use pitlane_gateway::config::Config;

/// A rule list of `[risk]`, and a text with some assets and an instrument above.
fn with_risk(risk: &str) -> String {
    format!("{ASSETS}[[instrument]]\nid = 1\nbase = \"AAPL\"\nsettlement = \"USD\"\n{risk}")
}

const RISK_LINE: usize = 11;

#[test]
fn risk_is_taken_with_the_lists_of_the_file() {
    let text = with_risk(
        "[risk]\nunknown_accounts = \"open\"\n\
         [[risk.rate_limit]]\nscope = \"account\"\nlimit = 100\nwindow_ms = 1000\n\
         [[risk.order_size]]\nasset = \"AAPL\"\nmax_quantity = \"500.5\"\n\
         [[account]]\nid = 5\ncount = 3\ngroup = 2\n",
    );
    let config = Config::parse("test.toml", &text).expect("good");
    let risk = config.risk_config();
    assert_eq!(risk.unknown_accounts, UnknownAccounts::Open);
    assert_eq!(risk.rate_limit[0].limit, 100);
    assert_eq!(
        risk.order_size[0].max_quantity,
        Quantity::parse("500.5").ok()
    );
    assert_eq!(risk.assets["USD"], AssetId(1));
    assert_eq!(risk.instruments[0].name.as_deref(), Some("AAPL/USD"));
    let accounts: Vec<_> = risk
        .accounts
        .iter()
        .map(|entry| (entry.id, entry.group))
        .collect();
    let group = GroupId::new(2);
    assert_eq!(
        accounts,
        [
            (AccountId(5), group),
            (AccountId(6), group),
            (AccountId(7), group)
        ]
    );
    SharedLimits::new(&risk).expect("the engine takes what the file's reader took");
}

#[test]
fn every_fault_of_risk_is_told_at_its_line() {
    let text = with_risk(
        "[risk]\nunknown_acounts = \"open\"\n\
         [[risk.rate_limit]]\nscope = \"acount\"\nlimit = 100\nwindow_ms = 1000\n\
         [[risk.order_size]]\nmax_quantity = 0.5\n\
         [[risk.order_size]]\nmax_notional = \"1e6\"\n",
    );
    let mut found = problems(&text);
    found.sort_by_key(|problem| problem.line);
    let shown: Vec<String> = found
        .iter()
        .map(|p| format!("{}: {}: {}; {}", p.line - RISK_LINE, p.key, p.found, p.mend))
        .collect();
    assert_eq!(
        shown,
        [
            "1: risk.unknown_acounts: unknown field `unknown_acounts`; did you mean unknown_accounts?",
            "3: risk.rate_limit[1]: unknown variant `acount`; did you mean account?",
            "7: risk.order_size[1]: invalid type: floating point `0.5`; \
             mend or remove it in risk.order_size[1]",
            "9: risk.order_size[2]: \"1e6\": byte 1: an exponent; \
             write the number out, as in 1500 for 1.5e3; mend or remove it in risk.order_size[2]",
        ]
    );
}

#[test]
fn every_rule_that_does_not_fit_is_told_at_its_line() {
    let text = with_risk(
        "[risk]\n\
         [[risk.order_size]]\nasset = \"APL\"\nmax_quantity = \"5\"\n\
         [[risk.order_size]]\nasset = \"AAPL\"\n\
         [[risk.order_size]]\nasset = \"AAPL\"\nmax_quantity = \"5\"\n",
    );
    let shown: Vec<String> = problems(&text)
        .iter()
        .map(|p| format!("{}: {}: {}", p.line - RISK_LINE, p.key, p.mend))
        .collect();
    assert_eq!(
        shown,
        [
            "1: risk.order_size[1]: did you mean \"AAPL\"?",
            "4: risk.order_size[2]: mend the rule"
        ]
    );

    let rule = "[[risk.order_size]]\nasset = \"AAPL\"\nmax_quantity = \"5\"\n";
    let twice = problem(&with_risk(&rule.repeat(2)));
    assert!(
        twice.contains("test.toml:14: risk.order_size[2]: found a size rule"),
        "{twice}"
    );
}

#[test]
fn the_lists_are_not_written_twice() {
    let shown = problem("[risk]\naccounts = []\n");
    assert!(
        shown.ends_with("write [[account]] entries outside of [risk]"),
        "{shown}"
    );
}

/// The keys that a type of the engine's configuration knows, as it says itself.
fn keys_of<T: serde::de::DeserializeOwned>() -> Vec<String> {
    let error = toml::from_str::<T>("no_such_key = 1")
        .err()
        .expect("refused")
        .to_string();
    let known = error
        .split_once("expected ")
        .expect("it says what it knows")
        .1;
    known
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_string)
        .collect()
}

#[test]
fn the_page_has_every_key_of_risk() {
    let page = include_str!("../../docs/config.md");
    let mut missing = Vec::new();
    for (part, keys) in [
        ("risk]", keys_of::<RiskConfig>()),
        ("risk.validation]", keys_of::<ValidationSettings>()),
        ("[risk.rate_limit]]", keys_of::<RateRule>()),
        ("[risk.order_size]]", keys_of::<SizeRule>()),
        ("[risk.collar]]", keys_of::<CollarRule>()),
        ("risk.spot_funds]", keys_of::<FundsSettings>()),
        ("[risk.spot_funds.rules]]", keys_of::<FundsRule>()),
        ("risk.pnl]", keys_of::<PnlSettings>()),
        ("[risk.pnl.rules]]", keys_of::<PnlRule>()),
        ("[risk.position]]", keys_of::<PositionRule>()),
        ("risk.gross_credit]", keys_of::<CreditSettings>()),
        ("[risk.gross_credit.rules]]", keys_of::<CreditRule>()),
        ("risk.duplicate]", keys_of::<DuplicateSettings>()),
        ("[risk.restricted]]", keys_of::<RestrictedRule>()),
        ("[risk.open_orders]]", keys_of::<OpenOrdersRule>()),
        ("[risk.repeated_execution]]", keys_of::<RepeatedRule>()),
        ("risk.self_match]", keys_of::<SelfMatchSettings>()),
    ] {
        assert!(!keys.is_empty());
        for key in keys {
            let lists = ["assets", "instruments", "accounts"];
            let section = format!("[risk.{key}");
            let listed = in_its_part(
                page,
                "\n## `[",
                &[part.to_string()],
                &format!("\n| `{key}` |"),
            );
            if !(listed || lists.contains(&&*key) || part == "risk]" && page.contains(&section)) {
                missing.push(format!("{part} {key}"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/config.md lacks {missing:#?}");
}
