//! What tests of the configuration share: problems of a text, and parts of a page.
#![allow(dead_code)] // Each test uses the part that it needs.

use pitlane_gateway::config::{Config, ConfigError, Problem};

pub(crate) fn problems(text: &str) -> Vec<Problem> {
    match Config::parse("test.toml", text) {
        Ok(_) => Vec::new(),
        Err(ConfigError::Problems(problems)) => problems,
        Err(other) => panic!("{other}"),
    }
}

/// The only problem of a text, as it is shown.
pub(crate) fn problem(text: &str) -> String {
    match problems(text).as_slice() {
        [only] => only.to_string(),
        others => panic!("{} problems: {others:#?}", others.len()),
    }
}

/// Whether a part of a text, from its heading to the next one, contains a line.
pub(crate) fn in_its_part(text: &str, between: &str, headings: &[String], wanted: &str) -> bool {
    text.split(between).any(|part| {
        headings.iter().any(|heading| part.starts_with(heading)) && part.contains(wanted)
    })
}

/// Two assets, in six lines.
pub(crate) const ASSETS: &str =
    "[[asset]]\nid = 1\nname = \"USD\"\n[[asset]]\nid = 2\nname = \"AAPL\"\n";
