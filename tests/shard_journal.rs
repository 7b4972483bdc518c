//! A shard and its journal: what leaves when, and what a crash leaves.

#[path = "support/journaled.rs"]
mod journaled;
#[path = "support/shard_cases.rs"]
mod shard_cases;

use journaled::{FarVenue, Rig, Written, check, config, has_failed};
use pitlane::journal::Condition;
use pitlane::journal::storage::{DiskFault, SimStorage, Storage};
use pitlane::shard::RECOVERED_PORT;
use pitlane::types::{AccountId, Command, RejectCode, ReportKind, Side};
use shard_cases::{INSTRUMENT, cancel, limit, new_order, origin, replace};

/// Commands of a run: orders of three accounts that meet, rest, are replaced
/// and cancelled; the same for the same length.
fn script(length: u64) -> Vec<Command> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut orders: Vec<(u64, u64)> = Vec::new();
    let mut commands = Vec::new();
    for reference in 1..=length {
        let known = orders.len() as u64;
        let pick = if known == 0 { 0 } else { draw(6) };
        if pick < 4 {
            let account = 1 + draw(3);
            let side = if draw(2) == 0 { Side::Buy } else { Side::Sell };
            let (price, quantity) = (98 + draw(5), 1 + draw(9));
            let price = i64::try_from(price).unwrap();
            let quantity = i64::try_from(quantity).unwrap();
            orders.push((account, reference));
            commands.push(new_order(reference, limit(account, side, price, quantity)));
        } else {
            let of = usize::try_from(draw(known)).unwrap();
            let (account, target) = orders[of];
            if pick == 4 {
                commands.push(cancel(reference, account, target));
            } else {
                let price = i64::try_from(97 + draw(7)).unwrap();
                let quantity = i64::try_from(1 + draw(12)).unwrap();
                commands.push(replace(reference, account, target, price, quantity));
            }
        }
    }
    commands
}

/// Three commands a turn, and a look at the disk now and then.
fn run(rig: &mut Rig, commands: &[Command]) {
    for chunk in commands.chunks(3) {
        for command in chunk {
            if !rig.shard.takes_commands() {
                return;
            }
            rig.command(command);
        }
        if !rig.settle() {
            return;
        }
    }
}

#[test]
fn j02_j03_nothing_leaves_before_its_group_is_durable() {
    let storage = SimStorage::new();
    let venue = FarVenue::new();
    let mut rig = Rig::start(&storage, &venue, 1);
    {
        let _slow = storage.hold();
        rig.command(&new_order(1, limit(1, Side::Buy, 100, 1)));
        // Refused for want of funds: a reject waits, too.
        rig.command(&new_order(2, limit(1, Side::Buy, 1_000_000, 9)));
        for _ in 0..100 {
            rig.turn();
        }
        assert!(rig.shard.holds_back() && !rig.shard.has_due());
        assert_eq!(rig.reports, [], "a report left before its group");
        assert_eq!(venue.look(|far| far.submits.len()), 0, "an order left");
    }
    assert!(rig.settle());
    let kinds: Vec<_> = rig.reports.iter().map(|report| report.kind).collect();
    assert_eq!(kinds, [ReportKind::Accepted, ReportKind::Rejected]);
    assert_eq!(venue.look(|far| far.submits.len()), 1);
    check(&storage, &rig, &venue, &rig.reports);
}

#[test]
fn j02_what_a_turn_did_is_one_group() {
    let storage = SimStorage::new();
    let mut rig = Rig::start(&storage, &FarVenue::new(), 1);
    rig.command(&new_order(1, limit(1, Side::Buy, 100, 1)));
    rig.command(&new_order(2, limit(2, Side::Buy, 99, 1)));
    assert!(rig.settle());
    let mut groups = Vec::new();
    pitlane::journal::read(&storage, &mut |record| groups.push(record.group)).unwrap();
    // Two reports, two orders, two accounts.
    assert_eq!(groups, [1; 6]);
}

#[test]
fn j04_with_too_many_groups_at_the_disk_no_commands_are_taken() {
    let storage = SimStorage::new();
    let mut rig = Rig::start(&storage, &FarVenue::new(), 1);
    let mut taken = 0;
    {
        let _slow = storage.hold();
        while rig.shard.takes_commands() {
            taken += 1;
            assert!(taken <= config().groups_max as u64 + 1, "no bound");
            rig.command(&new_order(taken, limit(1, Side::Buy, 100, 1)));
            rig.turn();
        }
        for _ in 0..100 {
            rig.turn();
        }
        assert_eq!(rig.reports, []);
    }
    assert!(rig.settle() && rig.shard.takes_commands());
    assert_eq!(rig.reports.len() as u64, taken, "all of it was told");
}

#[test]
fn j05_a_restart_has_the_same_accounts_orders_and_blocks() {
    let storage = SimStorage::new();
    let venue = FarVenue::new();
    let mut rig = Rig::start(&storage, &venue, 1);
    run(&mut rig, &script(200));
    let image = |rig: &Rig| {
        (1..=3)
            .map(|account| {
                rig.shard
                    .risk()
                    .account_image(AccountId(account), INSTRUMENT)
            })
            .collect::<Vec<_>>()
    };
    let (before, open) = (image(&rig), rig.shard.open_orders());
    assert!(open > 5, "the script leaves orders open: {open}");
    let told = std::mem::take(&mut rig.reports);
    drop(rig);
    let mut rig = Rig::start(&storage, &venue, 2);
    assert_eq!(rig.shard.unreconciled(), open);
    assert_eq!(
        (image(&rig), rig.shard.open_orders()),
        (before.clone(), open)
    );
    assert!(rig.settle());
    assert_eq!((image(&rig), rig.shard.open_orders()), (before, open));
    // Reports go on from where they were.
    let last = told.iter().map(|report| report.sequence).max();
    rig.command(&new_order(1_000, limit(1, Side::Buy, 90, 1)));
    assert!(rig.settle());
    let next = rig.reports.iter().map(|report| report.sequence).max();
    assert_eq!(next, last.map(|last| last + 1));
    check(&storage, &rig, &venue, &told);
}

/// Rule O22.
#[test]
fn j05_o22_until_its_orders_are_known_an_account_sends_none() {
    let storage = SimStorage::new();
    let venue = FarVenue::new();
    let mut rig = Rig::start(&storage, &venue, 1);
    rig.command(&new_order(1, limit(1, Side::Buy, 90, 1)));
    assert!(rig.settle());
    drop(rig);
    let mut rig = Rig::start(&storage, &venue, 2);
    rig.command(&new_order(2, limit(1, Side::Buy, 90, 1)));
    rig.command(&new_order(3, limit(2, Side::Buy, 90, 1)));
    assert!(rig.settle());
    rig.command(&new_order(4, limit(1, Side::Buy, 90, 1)));
    assert!(rig.settle());
    let outcomes: Vec<_> = rig.reports.iter().map(|report| report.reject).collect();
    let refused = outcomes[0].map(|(code, _)| code);
    assert_eq!(refused, Some(RejectCode::SystemUnavailable));
    assert_eq!(outcomes[1..], [None, None]);
}

#[test]
fn j05_g09_reports_of_an_earlier_runs_orders_go_to_every_io_thread_until_their_client_speaks() {
    let storage = SimStorage::new();
    let venue = FarVenue::new();
    let mut rig = Rig::start(&storage, &venue, 1);
    for reference in 1..=2 {
        rig.command(&new_order(reference, limit(1, Side::Buy, 90, 4)));
    }
    assert!(rig.settle());
    let last = rig.reports.last().unwrap().sequence;
    drop(rig);
    for round in 0..2_u64 {
        let mut rig = Rig::start(&storage, &venue, 2 + round);
        assert!(rig.settle());
        // Somebody sells to the first; nobody has spoken of it since the restart.
        rig.command(&new_order(10 + round, limit(2, Side::Sell, 90, 1)));
        assert!(rig.settle());
        let told = rig.reports.iter().find(|report| report.account.0 == 1);
        let told = told.expect("its credential is told");
        assert_eq!(told.kind, ReportKind::Executed);
        assert_eq!(told.origin.port, RECOVERED_PORT);
        assert_eq!(told.origin.credential, origin().credential);
        let numbers: Vec<_> = rig.reports.iter().map(|report| report.sequence).collect();
        assert!(
            numbers.is_sorted_by(|one, next| one + 1 == *next),
            "{numbers:?}"
        );
        assert!(numbers[0] > last);
        // From now on it is the connection's that speaks of it.
        rig.reports.clear();
        rig.command(&replace(
            20 + round,
            1,
            2,
            90,
            5 + i64::try_from(round).unwrap(),
        ));
        rig.command(&cancel(30 + round, 1, 2));
        rig.command(&new_order(2, limit(1, Side::Buy, 90, 4)));
        assert!(rig.settle());
        assert!(rig.reports.iter().all(|report| report.origin == origin()));
    }
}

#[test]
fn f11_j08_a_failed_sync_ends_it_and_nothing_more_is_told() {
    let storage = SimStorage::new();
    let venue = FarVenue::new();
    let mut rig = Rig::start(&storage, &venue, 1);
    rig.command(&new_order(1, limit(1, Side::Buy, 90, 1)));
    assert!(rig.settle());
    let told = rig.reports.len();
    let next = storage.operations().len() as u64 + 1;
    for operation in next..next + 8 {
        storage.plan(operation, DiskFault::Fail);
    }
    rig.command(&new_order(2, limit(1, Side::Buy, 90, 1)));
    assert!(!rig.settle());
    assert!(has_failed(&rig) && !rig.shard.takes_commands());
    for _ in 0..100 {
        rig.turn();
    }
    assert_eq!(rig.reports.len(), told);
    assert_eq!(venue.look(|far| far.submits.len()), 1);
    assert!(rig.journal.fault().is_some());
}

#[test]
fn f10_j09_a_full_disk_refuses_orders_and_still_cancels() {
    let storage = SimStorage::new();
    let venue = FarVenue::new();
    let mut rig = Rig::start(&storage, &venue, 1);
    rig.command(&new_order(1, limit(1, Side::Buy, 90, 1)));
    assert!(rig.settle());
    // Room for no further segment; the thread that makes them finds it out.
    storage.set_room(Some(0));
    let mut reference = 1;
    let start = std::time::Instant::now();
    while rig.shard.journal_condition() != Some(Condition::SpaceLow) {
        assert!(start.elapsed().as_secs() < 30, "nobody noticed");
        reference += 1;
        rig.command(&new_order(reference, limit(2, Side::Buy, 10, 1)));
        assert!(rig.settle());
        if reference.is_multiple_of(2) {
            rig.command(&cancel(1_000_000 + reference, 2, reference));
            assert!(rig.settle());
        }
    }
    let last = rig.reports.iter().map(|report| report.sequence).max();
    rig.reports.clear();
    rig.command(&new_order(2_000_000, limit(1, Side::Buy, 90, 1)));
    rig.command(&replace(2_000_001, 1, 1, 91, 1));
    rig.command(&cancel(2_000_002, 1, 1));
    assert!(rig.settle());
    // What is not written has no number that could be given again.
    let numbers: Vec<_> = rig.reports.iter().map(|report| report.sequence).collect();
    assert_eq!(numbers, [0, 0, last.unwrap() + 1]);
    let told: Vec<_> = rig
        .reports
        .iter()
        .map(|report| (report.kind, report.reject.map(|(code, _)| code)))
        .collect();
    let full = Some(RejectCode::JournalFull);
    assert_eq!(
        told,
        [
            (ReportKind::Rejected, full),
            (ReportKind::CancelRejected, full),
            (ReportKind::Canceled, None)
        ]
    );
    storage.set_room(None);
    let start = std::time::Instant::now();
    while rig.shard.journal_condition() == Some(Condition::SpaceLow) {
        assert!(start.elapsed().as_secs() < 30, "it does not go on");
        rig.turn();
    }
    rig.reports.clear();
    rig.command(&new_order(3_000_000, limit(1, Side::Buy, 90, 1)));
    assert!(rig.settle());
    assert_eq!(rig.reports[0].kind, ReportKind::Accepted);
}

const FAULTS: [DiskFault; 4] = [
    DiskFault::CrashBefore,
    DiskFault::CrashAfter(0),
    DiskFault::CrashAfter(100),
    DiskFault::CrashAfter(usize::MAX),
];

/// Every operation of a run, the machine stopped before it, in the middle of
/// it, or after it, in turn; then the process killed alone, or the power lost.
#[test]
fn j14_f01_f08_after_a_crash_at_every_write_and_sync_all_adds_up() {
    enumerate_crashes(24, |operation| {
        let kind = usize::try_from(operation % 4).unwrap();
        (FAULTS[kind], (operation / 4).is_multiple_of(2))
    });
}

/// Of the operations that make the segments, of which most write zeros, only
/// some are tried.
fn enumerate_crashes(length: u64, crash: impl Fn(u64) -> (DiskFault, bool)) {
    let commands = script(length);
    let (made, length) = {
        let (storage, venue) = (SimStorage::new(), FarVenue::new());
        let mut rig = Rig::start(&storage, &venue, 1);
        run_when_made(&storage, &mut rig, &commands[..0]);
        let made = storage.operations().len() as u64;
        run(&mut rig, &commands);
        check(&storage, &rig, &venue, &rig.reports);
        assert!(venue.look(|far| far.fills.len()) > 3, "the script trades");
        (made, storage.operations().len() as u64)
    };
    assert!(length > made + 30, "{made} of {length} operations");
    let (mut crashed, mut runs) = (0, 0);
    for operation in (1..=made).step_by(43).chain(made + 1..=length) {
        let (fault, loses_power) = crash(operation);
        runs += 1;
        crashed += u64::from(crash_at(operation, fault, loses_power, made, &commands));
    }
    assert!(crashed >= runs * 8 / 10, "{crashed} of {runs} crashed");
}

/// Whether the run got to the crash; what is left of it adds up, and goes on.
fn crash_at(
    operation: u64,
    fault: DiskFault,
    loses_power: bool,
    made: u64,
    commands: &[Command],
) -> bool {
    let (storage, venue) = (SimStorage::new(), FarVenue::new());
    storage.plan(operation, fault);
    let mut rig = Rig::start(&storage, &venue, 1);
    if operation > made {
        run_when_made(&storage, &mut rig, commands);
    } else {
        run(&mut rig, commands);
    }
    let crashed = has_failed(&rig);
    let told = std::mem::take(&mut rig.reports);
    drop(rig);
    let disk = if loses_power {
        storage.after_power_loss(operation)
    } else {
        storage.after_kill()
    };
    let mut rig = Rig::start(&disk, &venue, 2);
    assert!(rig.settle());
    check(&disk, &rig, &venue, &told);
    run(&mut rig, &commands[commands.len() / 2..]);
    check(&disk, &rig, &venue, &told);
    check(&disk, &rig, &venue, &rig.reports);
    crashed
}

/// Runs when the first segments are made, so that a run's operations have the
/// same numbers each time.
fn run_when_made(storage: &SimStorage, rig: &mut Rig, commands: &[Command]) {
    let start = std::time::Instant::now();
    let is_made = || {
        let names = storage.list().unwrap();
        let whole = names.iter().filter(|name| name.ends_with(".segment"));
        whole.count() == 2 && names.iter().all(|name| !name.ends_with(".preparing"))
    };
    while !is_made() {
        assert!(start.elapsed().as_secs() < 30, "no segments");
        std::thread::yield_now();
    }
    run(rig, commands);
}

/// Rule J6, rows 2 and 7: a recovery that is killed can be run again.
#[test]
fn f07_j06_a_restart_killed_at_any_operation_can_be_run_again() {
    let venue = FarVenue::new();
    let storage = SimStorage::new();
    let mut rig = Rig::start(&storage, &venue, 1);
    run(&mut rig, &script(30));
    let told = std::mem::take(&mut rig.reports);
    drop(rig);
    let before = Written::of(&storage).state.records();
    for operation in 1..20 {
        let disk = storage.after_kill();
        disk.plan(operation, DiskFault::CrashBefore);
        // It may get as far as to ask the venue, whose answers are the same.
        let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut rig = Rig::start(&disk, &venue, 100 + operation);
            rig.settle();
        }));
        let disk = disk.after_power_loss(operation);
        let mut rig = Rig::start(&disk, &venue, 200 + operation);
        assert!(rig.settle(), "started before: {}", started.is_ok());
        assert!(Written::of(&disk).state.records() >= before);
        check(&disk, &rig, &venue, &told);
    }
}
