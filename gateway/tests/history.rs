//! History: what the journals tell, in a SQLite file (rule J12).

#[path = "support/journal_desk.rs"]
mod journal_desk;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use journal_desk::{Desk, Serving, next, order, refusal, send};
use pitlane::types::{AccountId, ClientReference, Side};
use pitlane_gateway::client::{Client, Event};
use rusqlite::{Connection, OpenFlags};

fn desk(engine: &str) -> Desk {
    Desk::with_keys(engine, |folder| {
        // An account that has lost 15 is blocked.
        format!(
            "history = \"{folder}/history.sqlite\"\n\
             [[risk.pnl.rules]]\nasset = \"USD\"\nlower = \"-15\"\n"
        )
    })
}

fn file(desk: &Desk) -> PathBuf {
    desk.folder.path().join("history.sqlite")
}

fn look(desk: &Desk) -> Connection {
    Connection::open_with_flags(file(desk), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

fn one<T: rusqlite::types::FromSql>(history: &Connection, question: &str) -> T {
    history.query_row(question, [], |row| row.get(0)).unwrap()
}

/// A trade at 100, one back at 90 that blocks whoever has lost, a cancel, an order
/// that rests and one that is refused; `from` is the first reference.
fn trade(client: &mut Client, from: u64) {
    send(client, from, &order(42, Side::Sell, 100));
    send(client, from + 1, &order(43, Side::Buy, 100));
    send(client, from + 2, &order(44, Side::Buy, 90));
    send(client, from + 3, &order(43, Side::Sell, 90));
    send(client, from + 4, &order(45, Side::Buy, 70));
    let target = ClientReference(from + 4);
    let sender = client.sender();
    sender
        .cancel(ClientReference(from + 5), AccountId(45), target)
        .unwrap();
    sender.flush().unwrap();
    send(client, from + 6, &order(42, Side::Buy, 60));
    send(client, from + 7, &order(45, Side::Buy, 1_000_000));
    // Whoever is refused or blocked is answered, too: the last is a refusal.
    loop {
        if let Event::Rejected(head) = next(client)
            && head.head.reference == from + 7
        {
            break;
        }
    }
}

/// Waits until everything that was told is in the file.
fn caught_up(desk: &Desk, reports: i64) {
    let since = Instant::now();
    loop {
        let found: i64 = one(&look(desk), "SELECT count(*) FROM reports");
        if found >= reports {
            return;
        }
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "{found} of {reports}"
        );
        std::thread::yield_now();
    }
}

/// Every report, order, fill and setting of the journals is in the file, once.
fn check(desk: &Desk) {
    let records = desk.records();
    let history = look(desk);
    let count = |kind: &str| {
        records
            .iter()
            .filter(|record| record["kind"] == kind)
            .count()
    };
    let rows = |table: &str| {
        let count: i64 = one(&history, &format!("SELECT count(*) FROM {table}"));
        usize::try_from(count).unwrap()
    };
    assert_eq!(rows("reports"), count("report"));
    assert_eq!(rows("adjustments"), count("adjustment"));
    assert_eq!(rows("config_changes"), count("config"));
    let fills = records
        .iter()
        .filter(|record| record["report"] == "executed");
    assert_eq!(rows("fills"), fills.count());
    let mut orders = std::collections::BTreeMap::new();
    for record in records.iter().filter(|record| record["kind"] == "order") {
        let id = record["client_order_id"].as_str().unwrap();
        orders.insert(id, record["standing"].as_str().unwrap());
    }
    assert_eq!(rows("orders"), orders.len());
    for (id, standing) in orders {
        let state: String = one(
            &history,
            &format!("SELECT state FROM orders WHERE client_order_id = '{id}'"),
        );
        assert_eq!(state, standing, "{id}");
    }
    for account in [42u32, 43] {
        let (available, held, position) = journal_desk::balances(&records, account.into());
        let found: (String, String, String) = history
            .query_row(
                "SELECT settlement_available, settlement_held, position FROM balances
                 WHERE account = ?1",
                [account],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .unwrap();
        assert_eq!(found, (available, held, position));
    }
}

fn run(serving: &Serving, from: u64) {
    trade(&mut serving.client(), from);
}

#[test]
fn j12_what_the_journals_tell_is_in_the_history_once_however_the_process_ends() {
    for engine in ["shards = 1", "shards = 2"] {
        let desk = desk(engine);
        let mut reference = 1;
        for _ in 0..3 {
            let serving = desk.serve();
            run(&serving, reference);
            reference += 10;
            serving.kill();
        }
        let serving = desk.serve();
        run(&serving, reference);
        serving.stop();
        check(&desk);
        let history = look(&desk);
        let first: i64 = one(&history, "SELECT max(sequence) FROM since");
        assert_eq!(first, 1, "from the first record on");
    }
}

#[test]
fn j12_it_follows_the_running_shards() {
    let desk = desk("shards = 1");
    let serving = desk.serve();
    let mut client = serving.client();
    send(&mut client, 1, &order(42, Side::Sell, 100));
    assert!(matches!(next(&mut client), Event::Accepted(_)));
    caught_up(&desk, 1);
    let state: String = one(&look(&desk), "SELECT state FROM orders");
    assert_eq!(state, "open");
    serving.kill();
}

#[test]
fn j12_a_deleted_file_is_made_anew_and_says_from_when() {
    let desk = desk("shards = 1");
    let serving = desk.serve();
    run(&serving, 1);
    serving.stop();
    let reports: i64 = one(&look(&desk), "SELECT count(*) FROM reports");
    for name in ["history.sqlite", "history.sqlite-wal", "history.sqlite-shm"] {
        let _ = fs::remove_file(desk.folder.path().join(name));
    }
    desk.serve().stop();
    check(&desk);
    let history = look(&desk);
    assert!(one::<i64>(&history, "SELECT count(*) FROM reports") >= reports);
    let since: (i64, i64) = history
        .query_row("SELECT sequence, at_ns FROM since", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(since.0, 1);
    let oldest: i64 = one(&history, "SELECT min(at_ns) FROM reports");
    assert!(since.1 > 0 && since.1 <= oldest);
}

#[test]
fn j12_a_history_of_another_journal_is_refused_with_what_to_do() {
    let desk = desk("shards = 1");
    let serving = desk.serve();
    run(&serving, 1);
    serving.stop();
    fs::remove_dir_all(desk.folder.path().join("journal")).unwrap();
    let config = desk.file();
    let refused = refusal(&["serve", "--config", config.to_str().unwrap()], 2);
    assert!(refused.contains("another journal"), "{refused}");
    assert!(refused.contains("move the file away"), "{refused}");
}

/// The questions of docs/history.md, each over a run that has an answer to it.
#[test]
fn j12_the_questions_of_the_docs_are_answered() {
    let desk = desk("shards = 1");
    let serving = desk.serve();
    run(&serving, 1);
    let mut client = serving.client();
    send(&mut client, 100, &order(43, Side::Buy, 50));
    // Blocked, or resting: it is answered.
    next(&mut client);
    serving.stop();
    let history = look(&desk);
    let page = include_str!("../../docs/history.md");
    let questions: Vec<_> = page
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(questions.len() >= 10);
    for question in questions {
        let mut asked = history.prepare(question).unwrap();
        let rows = asked.query([]).unwrap();
        let answers = rows.mapped(|_| Ok(())).count();
        // An account that is blocked may have nothing open.
        assert!(
            answers > 0 || question.contains("state = 'open'"),
            "{question}"
        );
    }
    let cause: String = one(&history, "SELECT cause FROM blocks WHERE account = 43");
    assert!(cause.starts_with("Pnl"), "{cause}");
}
