//! What is built in: every package's licence is one that deny.toml allows, and
//! every package comes from the registry or from this workspace.
//!
//! It asks cargo, offline, for the packages of this host's build.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

fn metadata() -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--offline",
            "--filter-platform",
        ])
        .arg(host)
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo answers in JSON")
}

/// The licences that deny.toml allows.
fn allowed() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml");
    let text = std::fs::read_to_string(path).expect("deny.toml is there");
    let table: toml::Table = text.parse().expect("deny.toml is TOML");
    let list = table["licenses"]["allow"]
        .as_array()
        .expect("a list of licences");
    list.iter()
        .map(|name| name.as_str().expect("a name").to_string())
        .collect()
}

/// Whether a package under this licence expression may be built in.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let Ok(expression) = Expression::parse_mode(expression, ParseMode::LAX) else {
        return false;
    };
    expression.evaluate(|requirement| allowed.contains(&requirement.to_string()))
}

#[test]
fn every_licence_is_allowed() {
    let (metadata, allowed) = (metadata(), allowed());
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 20, "cargo knows the dependencies");
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| {
            !package["license"]
                .as_str()
                .is_some_and(|text| is_allowed(text, &allowed))
        })
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    assert!(
        refused.is_empty(),
        "not in deny.toml's licences:\n{}",
        refused.join("\n")
    );
}

#[test]
fn every_licence_is_allowed_canary() {
    let allowed = ["MIT".to_string(), "Zlib".to_string()];
    for (expression, good) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0-only OR MIT", true),
        ("MIT AND Zlib", true),
        ("MIT AND GPL-3.0-only", false),
        ("AGPL-3.0-only", false),
        ("Apache-2.0 WITH LLVM-exception", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), good, "{expression}");
    }
}

#[test]
fn every_package_comes_from_the_registry_or_from_here() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().expect("packages") {
        // A package without a source is a path: those are this workspace's.
        let source = package["source"].as_str().unwrap_or_default();
        let ours = package["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("pitlane"));
        let sound = if ours {
            source.is_empty()
        } else {
            source.starts_with("registry+")
        };
        assert!(sound, "{} comes from {source:?}", package["name"]);
    }
}
