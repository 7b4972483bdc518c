//! `pitlane orders`: the executor's orders, as an operator lists them.

use serde_json::Value;

use super::args::OrdersArgs;
use super::run::{Failure, print};
use crate::remote::Remote;

/// What a table shows of an order, and how wide.
const COLUMNS: [(&str, usize); 7] = [
    ("client_order_id", 35),
    ("state", 16),
    ("venue", 10),
    ("filled_qty", 14),
    ("leaves", 14),
    ("avg_px", 14),
    ("last_error", 0),
];

pub(super) fn run(args: &OrdersArgs) -> Result<(), Failure> {
    let remote = Remote::new(&args.url, &args.token_file)?;
    let mut route = format!("/v1/admin/orders?limit={}", args.limit);
    if let Some(state) = &args.state {
        // Anything but a state's name would be something else in the address.
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        if !state.bytes().all(plain) {
            return Err(Failure::input(format!(
                "--state {state}: write a state as in docs/orders.md, such as unknown"
            )));
        }
        route += &format!("&state={state}");
    }
    let answer = remote.get(&route)?.json()?;
    let orders = answer["orders"].as_array().cloned().unwrap_or_default();
    let mut text = String::new();
    if args.json {
        for order in &orders {
            text += &format!("{order}\n");
        }
    } else if !orders.is_empty() {
        text += &line(|name| name.to_owned());
        for order in &orders {
            text += &line(|name| cell(&order[name]));
        }
    }
    print(&text);
    if answer["more"] == true {
        eprintln!("there are more than {}: the oldest are shown", args.limit);
    } else if orders.is_empty() {
        eprintln!("none");
    }
    Ok(())
}

fn line(cell: impl Fn(&str) -> String) -> String {
    let cells: Vec<String> = COLUMNS
        .iter()
        .map(|(name, width)| format!("{:<width$}", cell(name)))
        .collect();
    format!("{}\n", cells.join("  ").trim_end())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
