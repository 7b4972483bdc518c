//! `pitlane scenario`: tables of orders, and whether each row came out as it
//! says (rule K38).

use core::fmt::Write;

use serde::Serialize;

use super::args::ScenarioArgs;
use super::run::{BAD_INPUT, FAILED, Failure, print};
use crate::scenario::{BalanceLine, Outcome, RowResult, run_file};

pub(super) fn run(args: &ScenarioArgs) -> Result<(), Failure> {
    let mut rows = 0;
    let mut failed = 0;
    let mut unread = 0;
    for path in &args.files {
        // One file that cannot be read does not keep the others from running.
        let outcome = match run_file(path) {
            Ok(outcome) => outcome,
            Err(error) => {
                eprintln!("pitlane: {error}");
                unread += 1;
                continue;
            }
        };
        for warning in &outcome.warnings {
            eprintln!("pitlane: {}: {warning}", path.display());
        }
        rows += outcome.rows.len();
        failed += outcome.rows.iter().filter(|row| !row.ok).count();
        if args.json {
            print(&json(&outcome, args.balances)?);
        } else {
            print(&text(&path.display().to_string(), &outcome, args.balances));
        }
    }
    if !args.json {
        print(&format!("{rows} rows, {failed} not as expected\n"));
    }
    // What is wrong was printed in its place.
    let ended = |code| {
        Err(Failure {
            code,
            message: String::new(),
        })
    };
    match (unread, failed) {
        (0, 0) => Ok(()),
        (0, _) => ended(FAILED),
        _ => ended(BAD_INPUT),
    }
}

/// An object a line: the rows, then the balances.
fn json(outcome: &Outcome, balances: bool) -> Result<String, Failure> {
    let mut lines = json_lines(&outcome.rows)?;
    if balances {
        lines += &json_lines(&outcome.balances)?;
    }
    Ok(lines)
}

fn json_lines(objects: &[impl Serialize]) -> Result<String, Failure> {
    let mut lines = String::new();
    for object in objects {
        lines += &serde_json::to_string(object).map_err(Failure::run)?;
        lines.push('\n');
    }
    Ok(lines)
}

/// A line a file, what did not come out as expected, and the balances.
fn text(file: &str, outcome: &Outcome, balances: bool) -> String {
    let mut text = String::new();
    let failed = outcome.rows.iter().filter(|row| !row.ok).count();
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    let _ = writeln!(
        text,
        "{verdict:<6} {file}  {} rows  {}",
        outcome.rows.len(),
        outcome.name
    );
    for row in outcome.rows.iter().filter(|row| !row.ok) {
        let _ = writeln!(text, "       {}", difference(row));
    }
    if balances && !outcome.balances.is_empty() {
        text += &table(&outcome.balances);
    }
    text
}

fn difference(row: &RowResult) -> String {
    let code = row
        .code
        .as_deref()
        .map_or(String::new(), |code| format!(" {code}"));
    format!(
        "row {}: {} of {}: expected {}, got {}{code}",
        row.row, row.action, row.account, row.expected, row.got
    )
}

/// Names to the left, amounts to the right, each column as wide as it must be.
fn table(balances: &[BalanceLine]) -> String {
    let head = ["account", "asset", "available", "held", "incoming"];
    let cells = |line: &BalanceLine| {
        let BalanceLine {
            account,
            asset,
            available,
            held,
            incoming,
        } = line.clone();
        [account, asset, available, held, incoming]
    };
    let rows: Vec<_> = core::iter::once(head.map(String::from))
        .chain(balances.iter().map(cells))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths = [0, 1, 2, 3, 4].map(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for [account, asset, available, held, incoming] in &rows {
        let [a, b, c, d, e] = widths;
        let _ = writeln!(
            text,
            "       {account:<a$}  {asset:<b$}  {available:>c$}  {held:>d$}  {incoming:>e$}"
        );
    }
    text
}
