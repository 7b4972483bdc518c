//! Every scenario in `tests/scenarios` does what its table says (rule K38).

use std::path::{Path, PathBuf};

use pitlane_gateway::scenario::{ScenarioError, run_file, run_text};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios")
}

#[test]
fn k38_every_scenario_file_does_what_it_expects() {
    let mut files = 0;
    for entry in std::fs::read_dir(folder()).expect("the scenarios are there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        files += 1;
        let outcome = run_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            outcome.warnings.is_empty(),
            "{}: {:?}",
            path.display(),
            outcome.warnings
        );
        assert!(outcome.rows.len() > 1, "{} has rows", path.display());
        for row in &outcome.rows {
            assert!(row.ok, "{} row {}: {row:?}", path.display(), row.row);
        }
    }
    assert!(files >= 10, "{files} files");
}

#[test]
fn k38_a_row_that_does_not_do_what_it_expects_is_named() {
    let text = "| account | action | asset | amount | instrument | side | qty | price | expect | reject |\n\
                |--|--|--|--|--|--|--|--|--|--|\n\
                | a | SEED | USD | 10 | | | | | OK | |\n\
                | a | ORDER | | | X/USD | BUY | 11 | 1 | ACCEPT | |\n\
                | a | ORDER | | | X/USD | BUY | 11 | 1 | REJECT | ratelimitexceeded |\n\
                | a | ORDER | | | X/USD | BUY | 11 | 1 | REJECT | INSUFFICIENTFUNDS |\n\
                | a | ORDER | | | X/USD | BUY | 3 | 1 | | |\n";
    let outcome = run_text(text, "t.md", Path::new(".")).expect("readable");
    let ok: Vec<bool> = outcome.rows.iter().map(|row| row.ok).collect();
    assert_eq!(ok, [true, false, false, true, true]);
    assert!(!outcome.ok());
    assert_eq!(outcome.rows[2].code.as_deref(), Some("InsufficientFunds"));
    assert_eq!(outcome.rows[2].expected, "REJECT ratelimitexceeded");
    let held: Vec<_> = outcome
        .balances
        .iter()
        .map(|line| {
            (
                line.asset.as_str(),
                line.available.as_str(),
                line.held.as_str(),
                line.incoming.as_str(),
            )
        })
        .collect();
    assert_eq!(held, [("USD", "7", "3", "0"), ("X", "0", "0", "3")]);
}

#[test]
fn k38_a_fills_leaves_are_checked() {
    let text = "| account | action | asset | amount | instrument | side | qty | price | final | \
                leaves | expect |\n\
                |--|--|--|--|--|--|--|--|--|--|--|\n\
                | a | SEED | USD | 10 | | | | | | | OK |\n\
                | a | ORDER | | | X/USD | BUY | 5 | 1 | | | ACCEPT |\n\
                | a | FILL | | | X/USD | BUY | 2 | 1 | no | 3 | OK |\n\
                | a | FILL | | | X/USD | BUY | 1 | 1 | no | 3 | OK |\n";
    let outcome = run_text(text, "t.md", Path::new(".")).expect("readable");
    let ok: Vec<bool> = outcome.rows.iter().map(|row| row.ok).collect();
    assert_eq!(ok, [true, true, true, false]);
}

#[test]
fn k38_what_cannot_be_read_is_refused_with_its_line() {
    let fault = |text: &str| {
        run_text(text, "t.md", Path::new("."))
            .expect_err(text)
            .to_string()
    };
    let row = |cells: &str| {
        format!(
            "| action | account | qty | price | side | instrument | expect |\n|-|-|-|-|-|-|-|\n{cells}\n"
        )
    };
    assert!(fault(&row("| BUY | a | | | | | |")).contains("line 3"));
    assert!(fault(&row("| ORDER | a | 1e5 | 1 | BUY | X/Y | OK |")).contains("qty \"1e5\""));
    assert!(fault(&row("| ORDER | a | 1 | 1 | UP | X/Y | OK |")).contains("BUY or SELL"));
    assert!(fault(&row("| ORDER | a | 1 | 1 | BUY | XY | OK |")).contains("BASE/SETTLEMENT"));
    assert!(fault(&row("| ORDER | | 1 | 1 | BUY | X/Y | OK |")).contains("needs an account"));
    assert!(
        fault(&row("| ORDER | a | 1 | 1 | BUY | X/Y | PERHAPS |")).contains("OK, ACCEPT or REJECT")
    );
    assert!(fault("---\nname: x\n").contains("no closing"));
    assert!(fault("---\nrate_limit: many\n---\n").contains("N/S"));
    assert!(fault("---\npolicies: missing.toml\n---\n").contains("missing.toml"));
    assert!(matches!(
        run_file(Path::new("nowhere.md")),
        Err(ScenarioError::Read { .. })
    ));
}
