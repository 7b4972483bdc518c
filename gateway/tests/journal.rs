//! The journal as a user meets it: `pitlane serve` killed and started again, and
//! `pitlane journal` over what it left.

#[path = "support/journal_desk.rs"]
mod journal_desk;

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};

use journal_desk::{Desk, balances, key, next, order, out, pitlane, refusal, send};
use pitlane::types::Side;
use pitlane_gateway::client::Event;
use serde_json::Value;

#[test]
fn j14_j03_what_was_acknowledged_is_there_after_a_kill() {
    for engine in ["shards = 1", "shards = 2"] {
        let desk = Desk::new(engine);
        let serving = desk.serve();
        let mut client = serving.client();
        // Two that trade with one another, and one that rests.
        send(&mut client, 1, &order(42, Side::Sell, 100));
        send(&mut client, 2, &order(43, Side::Buy, 100));
        send(&mut client, 3, &order(43, Side::Buy, 90));
        let (mut accepted, mut executed) = (0, 0);
        while accepted < 3 || executed < 2 {
            match next(&mut client) {
                Event::Accepted(_) => accepted += 1,
                Event::Executed(_) => executed += 1,
                other => panic!("{other:?}"),
            }
        }
        serving.kill();
        let records = desk.records();
        assert_eq!(
            balances(&records, 43),
            ("99620".into(), "180".into(), "2".into()),
            "200 paid, 180 held"
        );
        let reports = |kind: &str| records.iter().filter(|one| one["report"] == kind).count();
        assert_eq!((reports("accepted"), reports("executed")), (3, 2));

        // The simulated venue's book is gone with it: what rested is over, and
        // its hold is free; what was traded stays.
        let serving = desk.serve();
        let mut client = serving.client();
        send(&mut client, 4, &order(43, Side::Buy, 90));
        journal_desk::accepted(&mut client, 4);
        let told = serving.kill();
        assert!(told.contains("1 orders were open"), "{told}");
        let records = desk.records();
        assert_eq!(
            balances(&records, 43),
            ("99620".into(), "180".into(), "2".into())
        );
        let ended = records.iter().filter(|one| one["standing"] == "rejected");
        assert_eq!(ended.count(), 1);
        // Numbers of reports go on.
        let numbers: Vec<_> = records
            .iter()
            .filter(|one| one["kind"] == "report" && one["account"] == 43)
            .map(|one| one["number"].as_u64().unwrap())
            .collect();
        let expected: Vec<_> = (1..=numbers.len() as u64).collect();
        if engine == "shards = 1" {
            assert!(numbers.is_sorted() && numbers.len() >= 5, "{numbers:?}");
        } else {
            assert!(numbers.is_sorted() && numbers.len() <= expected.len() * 2);
        }
    }
}

#[test]
fn j05_another_number_of_shards_is_refused_with_what_to_do() {
    let desk = Desk::new("shards = 2");
    let serving = desk.serve();
    let mut client = serving.client();
    for account in 42..46 {
        send(&mut client, account, &order(account, Side::Buy, 90));
    }
    for _ in 42..46 {
        assert!(matches!(next(&mut client), Event::Accepted(_)));
    }
    serving.kill();
    let file = desk.file();
    let serve = ["serve", "--config", file.to_str().unwrap()];
    for shards in ["shards = 1", "shards = 3"] {
        desk.configure(shards);
        let refused = refusal(&serve, 2);
        assert!(refused.contains("number of shards"), "{refused}");
        assert!(refused.contains("2"), "{refused}");
    }
    desk.configure("shards = 2");
    desk.serve().kill();
}

#[test]
fn f43_j10_a_second_process_is_told_who_has_the_journal() {
    let desk = Desk::new("shards = 1");
    let serving = desk.serve();
    let file = desk.file();
    let refused = refusal(&["serve", "--config", file.to_str().unwrap()], 2);
    let holder = serving.child.id().to_string();
    assert!(refused.contains(&holder), "{refused}");
    // Looking needs no lock.
    let verified = out(&["journal", "verify", &desk.journal()]);
    assert!(verified.contains("whole"), "{verified}");
}

#[test]
fn j11_every_command_reads_a_live_and_a_dead_journal() {
    let desk = Desk::new("shards = 1");
    let serving = desk.serve();
    let mut client = serving.client();
    send(&mut client, 1, &order(42, Side::Buy, 90));
    send(&mut client, 2, &order(42, Side::Buy, 1_000_000));
    assert!(matches!(next(&mut client), Event::Accepted(_)));
    assert!(matches!(next(&mut client), Event::Rejected(_)));
    let dir = desk.journal();
    let look = || {
        let stats = out(&["journal", "stats", &dir, "--json"]);
        let stats: Value = serde_json::from_str(&stats).unwrap();
        assert_eq!(stats["shard"], 0);
        assert_eq!(
            (&stats["open_orders"], &stats["accounts"]),
            (&1.into(), &1.into())
        );
        assert_eq!(stats["kinds"]["accepted"], 1);
        assert_eq!(stats["kinds"]["rejected"], 1);
        let records = desk.records();
        assert_eq!(stats["records"], records.len());
        let numbers = records.iter().map(|one| one["sequence"].as_u64().unwrap());
        assert!(numbers.eq(1..=records.len() as u64), "no gaps");
        let refused = records
            .iter()
            .find(|one| one["report"] == "rejected")
            .unwrap();
        assert_eq!(refused["code"], "InsufficientFunds");
        let tail = out(&["journal", "tail", &dir, "-n", "2", "--json"]);
        let last: Vec<Value> = tail
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(last, records[records.len() - 2..]);
        let from = out(&[
            "journal", "dump", &dir, "--from", "2", "--limit", "1", "--json",
        ]);
        assert_eq!(serde_json::from_str::<Value>(&from).unwrap(), records[1]);
        let people = out(&["journal", "dump", &dir]);
        assert_eq!(people.lines().count(), records.len());
        assert!(people.contains("standing=open"), "{people}");
        let verified = out(&["journal", "verify", &dir, "--json"]);
        let verified: Value = serde_json::from_str(&verified).unwrap();
        assert_eq!(verified["whole"], true);
    };
    look();
    serving.kill();
    look();
    let csv = desk.folder.path().join("reports.csv");
    out(&["journal", "export", &dir, "--out", csv.to_str().unwrap()]);
    let text = fs::read_to_string(&csv).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.lines().all(|line| line.split(',').count() == 18),
        "{text}"
    );
    refusal(
        &["journal", "export", &dir, "--out", csv.to_str().unwrap()],
        2,
    );
    refusal(
        &["journal", "stats", desk.folder.path().to_str().unwrap()],
        2,
    );
}

/// Rule J11 and the threat "secrets": no key, and no signature, of anybody.
#[test]
fn j11_a_dump_has_no_secrets() {
    let desk = Desk::new("shards = 1");
    let serving = desk.serve();
    let mut client = serving.client();
    send(&mut client, 1, &order(42, Side::Buy, 90));
    assert!(matches!(next(&mut client), Event::Accepted(_)));
    serving.kill();
    let text = out(&["journal", "dump", &desk.journal(), "--json"]).to_lowercase();
    let secret: String = [7_u8; 32]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let public: String = key().public().iter().map(|b| format!("{b:02x}")).collect();
    assert!(!text.contains(&secret) && !text.contains(&public));
    let segment = desk
        .folder
        .path()
        .join("journal/shard-0/0000000000000001.segment");
    let bytes = fs::read(segment).unwrap();
    let public = key().public();
    for secret in [[7; 32], public] {
        assert!(!bytes.windows(32).any(|part| part == secret));
    }
}

#[test]
fn f09_j06_damage_is_named_refused_and_copied_around() {
    let desk = Desk::new("shards = 1");
    let serving = desk.serve();
    let mut client = serving.client();
    for reference in 1..=3 {
        send(&mut client, reference, &order(42, Side::Buy, 90));
        assert!(matches!(next(&mut client), Event::Accepted(_)));
    }
    serving.kill();
    let records = desk.records();
    let place = records.iter().find(|one| one["sequence"] == 2).unwrap();
    let offset = place["offset"].as_u64().unwrap() + 20;
    let segment = desk
        .folder
        .path()
        .join("journal/shard-0/0000000000000001.segment");
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&segment)
        .unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    let mut byte = [0];
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
    drop(file);

    let dir = desk.journal();
    let file = desk.file();
    for command in [
        &["journal", "verify", &dir][..],
        &["serve", "--config", file.to_str().unwrap()],
    ] {
        let code = if command[0] == "serve" { 2 } else { 1 };
        let refused = refusal(command, code);
        assert!(refused.contains("damage in segment 1 at byte"), "{refused}");
    }
    let copy = desk.folder.path().join("copy");
    let copy = copy.to_str().unwrap();
    out(&["journal", "verify", &dir, "--repair", copy]);
    let verified = out(&["journal", "verify", copy]);
    assert!(
        verified.contains("whole: 0 records"),
        "the first group is damaged: {verified}"
    );
    let unchanged = pitlane(&["journal", "verify", &dir]);
    assert_eq!(unchanged.status.code(), Some(1), "the old one is as it was");
}
