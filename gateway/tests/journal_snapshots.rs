//! Snapshots as an operator meets them: a journal that does not grow, and a start
//! that goes on from the newest one (rule J7).

#[path = "support/journal_desk.rs"]
mod journal_desk;

use std::fs;
use std::path::Path;

use journal_desk::{Desk, balances, next, order, out, send};
use pitlane::types::Side;
use pitlane_gateway::client::{Client, Event};

/// Orders of one batch; all of them trade.
const BATCH: u64 = 400;

/// Each buys from the other what it sells to it next, at one price.
fn trade(client: &mut Client, from: u64) {
    let mut reference = from;
    while reference < from + BATCH {
        for (account, side) in [
            (42, Side::Sell),
            (43, Side::Buy),
            (43, Side::Sell),
            (42, Side::Buy),
        ] {
            send(client, reference, &order(account, side, 100));
            reference += 1;
        }
    }
    let mut executed = 0;
    while executed < BATCH {
        executed += u64::from(matches!(next(client), Event::Executed(_)));
    }
}

fn names(folder: &Path, end: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
    names.sort();
    names
}

#[test]
fn j07_old_segments_go_and_a_start_goes_on_from_the_newest_snapshot() {
    let desk = Desk::with_keys("shards = 1", |_| {
        "snapshot_segments = 1\nold_segments = \"delete\"\n".into()
    });
    let folder = desk.folder.path().join("journal/shard-0");
    let serving = desk.serve();
    let mut client = serving.client();
    send(&mut client, 1, &order(42, Side::Sell, 100));
    send(&mut client, 2, &order(43, Side::Buy, 100));
    let mut reference = 10;
    // Until the first segments are gone: they are in two snapshots.
    while names(&folder, ".segment")[0] == "0000000000000001.segment" {
        assert!(reference < 400_000, "they stay: {:?}", names(&folder, ""));
        trade(&mut client, reference);
        reference += BATCH;
    }
    assert!(names(&folder, ".snapshot").len() >= 2);
    serving.kill();

    let journal = desk.journal();
    out(&["journal", "verify", &journal]);
    let serving = desk.serve();
    let mut client = serving.client();
    send(&mut client, reference, &order(43, Side::Sell, 90));
    send(&mut client, reference + 1, &order(42, Side::Buy, 90));
    let mut executed = 0;
    while executed < 2 {
        executed += u64::from(matches!(next(&mut client), Event::Executed(_)));
    }
    let told = serving.kill();
    assert!(told.contains("snapshot"), "{told}");
    // The sale at 100 and the purchase at 90 are what is left of all that.
    let records = desk.records();
    let (available, held, position) = balances(&records, 42);
    assert_eq!((&*available, &*held, &*position), ("100020", "0", "0"));
    let (available, held, position) = balances(&records, 43);
    assert_eq!((&*available, &*held, &*position), ("99980", "0", "0"));
}
