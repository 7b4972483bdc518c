//! `pitlane reports` and `pitlane verify` over an executor's journal (rule O39).

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use pitlane::journal::JournalConfig;
use pitlane::journal::storage::SystemStorage;
use pitlane::orders::executor::{
    Execution, IntentLog, JournalLog, Message, MessageBody, Record, Release,
};
use pitlane::types::{AccountId, Amount, ClientOrderId, FillId, Price, Quantity, Side};

const ID: ClientOrderId = ClientOrderId { high: 1, low: 2 };

fn pitlane(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pitlane"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The messages of one order, as its executor writes them down.
fn messages() -> Vec<Message> {
    let execution = Execution {
        fill_id: FillId(7),
        user_id: "ann".into(),
        account_id: Some(AccountId(42)),
        instrument: "GOLD".into(),
        side: Some(Side::Sell),
        qty: Quantity::from_raw(2_500_000_000),
        price: Price::from_raw(100_000_000_000),
        fee: Amount::ZERO,
        reservation_id: "r-0.1".into(),
        client_order_id: ID,
        venue: "sim".into(),
        external: false,
        release_remainder: false,
    };
    let release = Release {
        reservation_id: "r-0.1".into(),
        account_id: AccountId(42),
        client_order_id: ID,
    };
    let bodies = [
        MessageBody::Execution(execution.clone()),
        MessageBody::Reversal(execution),
        MessageBody::Release(release),
    ];
    let numbered = |(sequence, body)| Message { sequence, body };
    (1..).zip(bodies).map(numbered).collect()
}

/// A journal that has them, closed.
fn journal(folder: &Path) {
    let storage = SystemStorage::create(folder).unwrap();
    let config = JournalConfig {
        segment_bytes: 8 << 20,
        ..JournalConfig::default()
    };
    let mut log = JournalLog::open(&storage, &config, 9, Box::new(|| {}))
        .unwrap()
        .log;
    for message in messages() {
        let told = Record::Message(Box::new(message));
        log.append(&[Record::Delivered { through: 0 }, told])
            .unwrap();
    }
    let start = Instant::now();
    while log.durable().unwrap() < 3 {
        assert!(start.elapsed() < Duration::from_secs(20), "never durable");
        std::thread::yield_now();
    }
}

/// Makes a key; what `--key` of verify wants.
fn keygen(file: &str, name: &str) -> String {
    let made = pitlane(&["keygen", "--out", file]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let line = text(&made.stdout);
    format!("{name}={}", line.split('"').nth(1).unwrap())
}

#[test]
fn o39_what_an_executor_told_is_signed_from_its_journal_and_checked_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (dir, key, file) = (place("executor"), place("key.pem"), place("reports.jsonl"));
    journal(Path::new(&dir));
    let public = keygen(&key, "executor-1");
    let printed = pitlane(&["reports", &dir, "--key", &key, "--key-id", "executor-1"]);
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    fs::write(&file, &printed.stdout).unwrap();

    let verified = pitlane(&["verify", &file, "--key", &public]);
    let said = text(&verified.stdout);
    assert!(
        verified.status.success(),
        "{said}{}",
        text(&verified.stderr)
    );
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(
        lines,
        [
            format!(
                "1: valid: execution: account 42 sold 2.5 GOLD at 100 (fill 7 at sim) by {ID}, \
                 message 1 of log 9, by executor-1"
            ),
            format!(
                "2: valid: reversal: account 42 sold 2.5 GOLD at 100 (fill 7 at sim) by {ID}, \
                 message 2 of log 9, by executor-1"
            ),
            format!(
                "3: valid: release: {ID} of account 42 holds nothing any more, \
                 message 3 of log 9, by executor-1"
            ),
        ]
    );

    // More was sold, says somebody who has no key.
    let altered = text(&printed.stdout).replacen("\"2.5\"", "\"2.6\"", 1);
    fs::write(&file, altered).unwrap();
    let refused = pitlane(&["verify", &file, "--key", &public]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stdout);
    assert!(
        said.contains("1: NOT VALID: the signature is not of this text"),
        "{said}"
    );
    assert!(said.contains("3: valid:"), "the others are: {said}");

    // Another's key, under the same name.
    let other = keygen(&place("other.pem"), "executor-1");
    fs::write(&file, &printed.stdout).unwrap();
    let refused = pitlane(&["verify", &file, "--key", &other]);
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn o39_what_cannot_be_checked_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, key) = (place("texts"), place("key.pem"));
    let public = keygen(&key, "k");
    fs::write(&file, "\n \n").unwrap();
    let run = |arguments: &[&str]| {
        let output = pitlane(arguments);
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let (code, _, error) = run(&["verify", &file, "--key", &public]);
    assert_eq!(
        (code, error.contains("no text")),
        (Some(2), true),
        "{error}"
    );
    let (code, _, error) = run(&["verify", &file, "--key", "k=12"]);
    assert_eq!((code, error.contains("64 hex")), (Some(2), true), "{error}");
    // A line of any length is one line, and is not kept.
    fs::write(&file, format!("{}\nnothing\n", "x".repeat(1 << 20))).unwrap();
    let (code, said, error) = run(&["verify", &file, "--key", &public]);
    assert_eq!(code, Some(1), "{error}");
    assert!(said.starts_with("1: NOT VALID: it has more than"), "{said}");
    assert!(error.contains("2 of 2"), "{error}");
    let (code, _, error) = run(&["reports", &place("none"), "--key", &key, "--key-id", "k"]);
    assert_eq!(
        (code, error.contains("no folder")),
        (Some(2), true),
        "{error}"
    );
    let (code, _, error) = run(&[
        "reports",
        folder.path().to_str().unwrap(),
        "--key",
        &file,
        "--key-id",
        "k",
    ]);
    assert_eq!((code, error.contains("keygen")), (Some(2), true), "{error}");
}
