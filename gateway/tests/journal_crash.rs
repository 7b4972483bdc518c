//! The real binary on the real file system, killed by `strace` at every sync of a
//! run, or with a sync that fails (rule J14). What is lost with the power is for
//! the simulated disk: a killed process leaves the page cache.

#[path = "support/journal_desk.rs"]
mod journal_desk;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::process::Command;
use std::time::Duration;

use journal_desk::{Desk, Serving, order, out, send};
use pitlane::types::{AMOUNT_SCALE, Amount, Side};
use pitlane_gateway::client::{Client, Event};
use serde_json::Value;

/// Orders of a run; half of them trade.
const ORDERS: u64 = 12;

/// Whether faults can be injected. `.ci/run` sees to it that they can, and says so;
/// elsewhere a test that injects nothing says that it tests nothing.
fn has_strace() -> bool {
    let found = Command::new("strace").arg("--version").output().is_ok();
    let is_needed = std::env::var_os("PITLANE_TESTS_NEED_STRACE").is_some();
    assert!(found || !is_needed, "strace is not installed");
    if !found {
        eprintln!("strace is not installed: nothing is injected, and nothing tested");
    }
    found
}

/// What a client was told, by the number of the report.
type Told = BTreeMap<u64, String>;

/// Sends the run, three at a time, until it is over or the gateway is gone.
fn drive(client: &mut Client, told: &mut Told) {
    let mut answered = 0;
    for first in (1..=ORDERS).step_by(3) {
        for reference in first..first + 3 {
            let side = if reference % 2 == 0 {
                Side::Buy
            } else {
                Side::Sell
            };
            let price = if reference % 3 == 0 { 90 } else { 100 };
            let order = order(42 + reference % 4, side, price);
            let reference = pitlane::types::ClientReference(reference);
            if client.sender().new_order(reference, &order).is_err() {
                return;
            }
        }
        if client.sender().flush().is_err() {
            return;
        }
        while answered < first + 2 {
            let Ok(Some(event)) = client.next_event(Duration::from_secs(20)) else {
                return;
            };
            if matches!(event, Event::Terminated { .. }) {
                return;
            }
            answered += u64::from(matches!(event, Event::Accepted(_) | Event::Rejected(_)));
            if let Some(head) = event.report() {
                told.insert(
                    head.report_seq,
                    head.client_order_id()
                        .map_or_else(String::new, |id| id.to_string()),
                );
            }
        }
    }
}

/// I2, I4, and each fill booked once.
fn check(desk: &Desk, told: &Told) {
    let records = desk.records();
    let reports: Vec<_> = records
        .iter()
        .filter(|one| one["kind"] == "report")
        .collect();
    let mut numbers = BTreeSet::new();
    let mut fills = BTreeSet::new();
    for report in &reports {
        assert!(
            numbers.insert(report["number"].as_u64()),
            "a number twice: {report}"
        );
        if report["report"] == "executed" {
            assert!(
                fills.insert(report["fill_id"].as_u64()),
                "a fill twice: {report}"
            );
        }
    }
    for (number, id) in told {
        let is_it = |one: &&&Value| one["number"].as_u64() == Some(*number);
        let written = reports.iter().find(is_it);
        let written = written.unwrap_or_else(|| panic!("I2: report {number} is not there"));
        let is_the_same = written["client_order_id"] == id.as_str();
        assert!(is_the_same || id.is_empty(), "{written} was told as {id}");
    }
    let mut held: BTreeMap<u64, i128> = BTreeMap::new();
    let mut orders: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut accounts: BTreeMap<u64, &Value> = BTreeMap::new();
    for record in &records {
        if record["kind"] == "order" {
            orders.insert(record["client_order_id"].as_str().unwrap(), record);
        } else if record["kind"] == "account" {
            accounts.insert(record["account"].as_u64().unwrap(), record);
        }
    }
    let amount =
        |record: &Value, name: &str| Amount::parse(record[name].as_str().unwrap()).unwrap().raw();
    for order in orders.values().filter(|order| order["standing"] == "open") {
        let account = order["account"].as_u64().unwrap();
        *held.entry(account).or_default() += amount(order, "held_settlement");
    }
    let (mut cash, mut opened) = (0, 0);
    for (account, record) in &accounts {
        let expected = held.get(account).copied().unwrap_or(0);
        assert_eq!(
            amount(record, "settlement_held"),
            expected,
            "I4 of {account}"
        );
        cash += amount(record, "settlement_available") + expected;
        opened += 100_000 * AMOUNT_SCALE;
    }
    // Both sides of a trade are in one group where they have one shard.
    assert_eq!(cash, opened, "what one has paid another has got");
}

/// Starts under strace; `None` where it was killed before it listened.
fn serve_under(desk: &Desk, call: Call, inject: &str) -> Option<Serving> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]);
    let name = match call {
        Call::Sync => "fdatasync",
        // Under its own name a segment is written by groups alone; the zeros that
        // it is filled with go to another name.
        Call::GroupWrite => {
            let segment = "shard-0/0000000000000001.segment";
            command.args(["-P", &format!("{}/{segment}", desk.journal())]);
            "pwrite64"
        }
    };
    command
        .args(["-e", &format!("trace={name}")])
        .args(["-e", &format!("inject={name}:{inject}")])
        .arg(env!("CARGO_BIN_EXE_pitlane"));
    Serving::try_start(&mut command, &desk.file())
}

/// What is counted, and fails.
#[derive(Clone, Copy)]
enum Call {
    Sync,
    GroupWrite,
}

#[test]
fn j14_f03_f06_killed_at_every_sync_of_a_run_all_adds_up() {
    killed_at_every(Call::Sync);
}

#[test]
fn j14_f01_killed_before_every_write_of_a_group_all_adds_up() {
    killed_at_every(Call::GroupWrite);
}

fn killed_at_every(call: Call) {
    if !has_strace() {
        return;
    }
    let mut killed = 0;
    let (mut at, mut is_over) = (1, false);
    // The run is over when the whole of it got by without the injection.
    while !is_over {
        let desk = Desk::new("shards = 1");
        let mut told = Told::new();
        match serve_under(&desk, call, &format!("signal=SIGKILL:when={at}")) {
            None => killed += 1,
            Some(mut serving) => {
                if let Some(mut client) = serving.try_client() {
                    drive(&mut client, &mut told);
                }
                is_over =
                    serving.child.try_wait().unwrap().is_none() && told.len() as u64 >= ORDERS;
                killed += u64::from(!is_over);
                serving.kill_all();
            }
        }
        if desk.folder.path().join("journal/shard-0").exists() && !told.is_empty() {
            check(&desk, &told);
        }
        let serving = desk.serve();
        let mut client = serving.client();
        send(&mut client, 1_000, &order(45, Side::Buy, 80));
        journal_desk::accepted(&mut client, 1_000);
        serving.kill();
        check(&desk, &told);
        out(&["journal", "verify", &desk.journal()]);
        at += 1;
        assert!(at < 60, "it never ends");
    }
    assert!(killed >= 5, "{killed} killed");
}

#[test]
fn f11_j08_a_sync_that_fails_ends_the_process_and_nothing_more_is_told() {
    if !has_strace() {
        return;
    }
    let desk = Desk::new("shards = 1");
    let mut told = Told::new();
    // The first ones make the segments.
    let mut serving = serve_under(&desk, Call::Sync, "error=EIO:when=5+").expect("it starts");
    if let Some(mut client) = serving.try_client() {
        drive(&mut client, &mut told);
    }
    let code = serving.child.wait().unwrap().code();
    let mut text = String::new();
    let stderr = serving.child.stderr.as_mut().unwrap();
    stderr.read_to_string(&mut text).unwrap();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("its journal has failed"), "{text}");
    assert!(text.contains("failed: "), "why: {text}");
    check(&desk, &told);
    desk.serve().kill();
}
