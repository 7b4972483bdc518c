//! Snapshots of a shard's state against the state that all records come to.

use super::record::{
    AccountRecord, AdjustmentKind, AdjustmentRecord, BlockRecord, ConfigRecord, DecisionRecord,
    Effect, HoldRecord, HoldStanding, OrderRecord, OrderStanding, ToldKind, ToldOutcome,
    ToldRecord, encode_long, venue_name,
};
use super::{ShardIntake, ShardState, SnapshotBuilder};
use crate::journal::small::{Content, SmallJournal};
use crate::journal::storage::{DiskFault, SimStorage};
use crate::journal::{OldSegments, snapshots, tidy};
use crate::orders::CostImage;
use crate::orders::decision::{Decision, Grant, Size, Verdict};
use crate::risk::{AccountImage, Balance, HoldImage};
use crate::time::UnixNanos;
use crate::types::{
    AccountId, Amount, AssetId, ClientOrderId, ClientReference, FillId, InstrumentId, Order,
    OrderType, Origin, Price, Quantity, RejectCode, Report, ReportKind, ShardId, Side, TimeInForce,
};

const UNITS: u64 = 64;

/// A run of effects that no shard would have, but of every kind.
struct Run {
    draw: u64,
    number: u64,
}

impl Run {
    const fn new(seed: u64) -> Self {
        Self {
            draw: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            number: 0,
        }
    }

    const fn below(&mut self, bound: u64) -> u64 {
        self.draw ^= self.draw << 13;
        self.draw ^= self.draw >> 7;
        self.draw ^= self.draw << 17;
        (self.draw >> 11) % bound
    }

    /// The same, as a smaller number.
    fn few<T: TryFrom<u64>>(&mut self, bound: u64) -> T {
        T::try_from(self.below(bound)).ok().expect("a small bound")
    }

    fn signed(&mut self) -> i64 {
        self.below(2_000).cast_signed() - 1_000
    }

    fn group(&mut self) -> Vec<Content> {
        let count = 1 + self.below(3);
        let mut group = Vec::new();
        for _ in 0..count {
            for effect in self.effects() {
                let encoded = encode_long(&effect);
                group.push((encoded.kind(), encoded.body().to_vec()));
            }
        }
        group
    }

    fn effects(&mut self) -> Vec<Effect> {
        self.number += 1;
        let account = AccountId(self.below(4));
        match self.below(10) {
            0 | 1 => vec![Effect::Order(self.order(account))],
            2 => vec![Effect::Account(self.account(account))],
            3 | 4 => vec![Effect::Report(self.report(account))],
            5 => {
                let cause = (self.below(2) == 0).then_some(RejectCode::Other);
                let account = (self.below(3) > 0).then_some(account);
                vec![Effect::Block(BlockRecord { account, cause })]
            }
            6 => {
                let number = self.number;
                let hold = self.hold(number, HoldStanding::Given);
                vec![Effect::Decision(Box::new(self.decision(number))), hold]
            }
            7 => {
                let number = 1 + self.below(self.number);
                let standing = if self.below(2) == 0 {
                    HoldStanding::Brought
                } else {
                    HoldStanding::Ended
                };
                vec![self.hold(number, standing)]
            }
            8 => vec![Effect::Told(self.told())],
            _ if self.below(2) == 0 => vec![Effect::Config(ConfigRecord {
                digest: [self.few(256); 16],
                program: "1.0".try_into().unwrap(),
            })],
            _ => vec![Effect::Adjustment(AdjustmentRecord {
                account,
                asset: AssetId(1 + self.few::<u32>(2)),
                kind: AdjustmentKind::Opening,
                amount: Amount::from_raw(i128::from(self.signed())),
            })],
        }
    }

    fn order(&mut self, account: AccountId) -> OrderRecord {
        let standing = if self.below(3) > 0 {
            OrderStanding::Open
        } else {
            OrderStanding::Canceled
        };
        let hold = if standing == OrderStanding::Open {
            HoldImage {
                settlement: i128::from(self.signed()),
                ..HoldImage::default()
            }
        } else {
            HoldImage::default()
        };
        OrderRecord {
            id: ClientOrderId {
                high: 7,
                low: self.below(20),
            },
            standing,
            origin: Origin::default(),
            reference: ClientReference(self.number),
            order: Order {
                account,
                instrument: InstrumentId(1),
                side: Side::Buy,
                order_type: OrderType::Limit,
                time_in_force: TimeInForce::Day,
                quantity: Some(Quantity::from_raw(self.signed())),
                volume: None,
                price: Some(Price::from_raw(self.signed())),
            },
            cumulative: Quantity::from_raw(self.signed()),
            replacing: None,
            cancelling: None,
            hold,
        }
    }

    fn account(&mut self, account: AccountId) -> AccountRecord {
        let mut balance = || Balance {
            available: Amount::from_raw(i128::from(self.signed())),
            held: Amount::from_raw(i128::from(self.signed())),
            incoming: Amount::ZERO,
        };
        let (of_base, of_settlement) = (balance(), balance());
        AccountRecord {
            image: AccountImage {
                account,
                instrument: InstrumentId(self.few(3)),
                base: AssetId(1),
                settlement: AssetId(2),
                of_base,
                of_settlement,
                net: i128::from(self.signed()),
                buying: 0,
                selling: 0,
                last_price: self.signed(),
                pnl: 0,
                credit: 0,
            },
            cost: CostImage::default(),
        }
    }

    fn report(&mut self, account: AccountId) -> Report {
        Report {
            kind: if self.below(2) == 0 {
                ReportKind::Executed
            } else {
                ReportKind::Accepted
            },
            side: Side::Sell,
            reject: None,
            shard: ShardId(1),
            origin: Origin {
                credential: self.few(3),
                ..Origin::default()
            },
            account,
            instrument: InstrumentId(1),
            reference: ClientReference(1),
            order_reference: ClientReference(1),
            client_order_id: ClientOrderId { high: 7, low: 1 },
            sequence: self.number,
            fill_id: FillId(self.number),
            price: Price::from_raw(1),
            quantity: Quantity::from_raw(1),
            cumulative: Quantity::from_raw(1),
            leaves: Quantity::from_raw(1),
        }
    }

    fn hold(&mut self, number: u64, standing: HoldStanding) -> Effect {
        let hold = match standing {
            HoldStanding::Ended => HoldImage::default(),
            _ => HoldImage {
                volume: i128::from(self.signed()) << 70,
                filled: self.signed(),
                ..HoldImage::default()
            },
        };
        Effect::Hold(HoldRecord {
            number,
            standing,
            hold,
        })
    }

    fn decision(&mut self, number: u64) -> DecisionRecord {
        let size = if self.below(2) == 0 {
            Size::Quantity(Quantity::from_raw(self.signed()))
        } else {
            Size::Volume(Amount::from_raw(i128::from(self.signed())))
        };
        let name = |kind: &str| format!("{kind}{number}");
        DecisionRecord {
            number,
            instrument: InstrumentId(1),
            due_at: UnixNanos(number),
            decision: Decision {
                decision_id: name("d"),
                grant: Some(Grant {
                    client_order_id: ClientOrderId {
                        high: 9,
                        low: number,
                    },
                    reservation_id: name("r"),
                }),
                agent_id: "a".into(),
                user_id: "u".into(),
                account_id: AccountId(1),
                verdict: Verdict::Allow,
                enforcement: "hard".into(),
                venue: "sim".into(),
                instrument: "i".into(),
                side: Side::Buy,
                order_type: "limit".into(),
                time_in_force: "day".into(),
                size,
                price: None,
                stop_price: None,
                good_till: None,
                issued_at: UnixNanos(1),
                expires_at: UnixNanos(2),
                key_id: "k".into(),
            },
        }
    }

    fn told(&mut self) -> ToldRecord {
        let outcomes = [
            ToldOutcome::Settled,
            ToldOutcome::NoHold,
            ToldOutcome::Repeated,
            ToldOutcome::SetAside,
        ];
        ToldRecord {
            stream: self.below(2),
            sequence: self.number,
            kind: ToldKind::Execution,
            outcome: outcomes[self.few::<usize>(4)],
            ends: false,
            account: Some(AccountId(1)),
            instrument: None,
            side: Some(Side::Buy),
            client_order_id: ClientOrderId {
                high: 9,
                low: 1 + self.below(self.number),
            },
            fill_id: FillId(self.number),
            quantity: Quantity::from_raw(1),
            price: Price::from_raw(1),
            fee: Amount::ZERO,
            venue: venue_name("sim"),
        }
    }
}

/// What a start would have.
fn resumed(storage: &SimStorage) -> ShardState {
    let mut intake = ShardIntake::default();
    SmallJournal::open(storage, UNITS, &mut intake).unwrap_or_else(|error| panic!("{error}"));
    intake.finish().unwrap()
}

/// The state that all records come to, from a journal that no snapshot has touched.
fn whole(storage: &SimStorage) -> ShardState {
    assert!(snapshots(storage).unwrap().is_empty());
    resumed(storage)
}

fn written(seed: u64, groups: usize) -> (SimStorage, SmallJournal, Run) {
    let storage = SimStorage::new();
    let mut journal = SmallJournal::open(&storage, UNITS, &mut ShardIntake::default()).unwrap();
    let mut run = Run::new(seed);
    for _ in 0..groups {
        journal.append(&run.group()).unwrap();
    }
    (storage, journal, run)
}

#[test]
fn j07_a_snapshot_and_the_records_behind_it_come_to_the_same_state_as_all_records() {
    for seed in 1..=40 {
        let storage = SimStorage::new();
        let plain = SimStorage::new();
        let open = |storage| SmallJournal::open(storage, UNITS, &mut ShardIntake::default());
        let (mut journal, mut beside) = (open(&storage).unwrap(), open(&plain).unwrap());
        let mut builder = SnapshotBuilder::new(storage.clone(), 1 + seed % 3);
        let mut run = Run::new(seed);
        let mut built = 0;
        for number in 0..120 {
            let group = run.group();
            journal.append(&group).unwrap();
            beside.append(&group).unwrap();
            if builder.build(journal.last()).unwrap().is_some() {
                built += 1;
                tidy(&storage, &OldSegments::Delete, u64::MAX).unwrap();
            }
            if number % 30 == 29 {
                let (found, expected) = (storage.after_kill(), plain.after_kill());
                assert_eq!(resumed(&found), whole(&expected), "seed {seed}, {number}");
            }
        }
        assert!(built >= 3, "seed {seed}: {built}");
        assert_eq!(snapshots(&storage).unwrap().len(), 2);
    }
}

#[test]
fn j07_a_builder_waits_for_closed_segments_and_takes_only_what_is_synced() {
    let (storage, journal, _) = written(5, 60);
    let mut builder = SnapshotBuilder::new(storage.clone(), 2);
    // Nothing of the third segment is synced, as far as it is told.
    assert!(builder.build(1).unwrap().is_none());
    let head = builder.build(journal.last()).unwrap().unwrap();
    assert!(head.behind.sequence <= journal.last());
    assert!(
        builder.build(journal.last()).unwrap().is_none(),
        "not again"
    );
    let never = u64::MAX - 1_000;
    assert!(
        SnapshotBuilder::new(storage, never)
            .build(journal.last())
            .unwrap()
            .is_none()
    );
}

/// Stopped before and after each operation, by a kill or a loss of power: the next
/// start has the same state, and can do it all again.
#[test]
fn j07_f06_a_crash_at_any_step_of_a_snapshot_and_of_the_removal_loses_nothing() {
    let (base, journal, _) = written(3, 80);
    let expected = whole(&base.after_kill());
    let durable = journal.last();
    let half = durable / 2;
    let work = |storage: &SimStorage| {
        for durable in [half, durable] {
            if SnapshotBuilder::new(storage.clone(), 1)
                .build(durable)
                .is_err()
            {
                return;
            }
        }
        let _ = tidy(storage, &OldSegments::Delete, u64::MAX);
    };
    let begun = base.after_kill();
    let before = begun.operations().len() as u64;
    work(&begun);
    let steps = begun.operations().len() as u64 - before;
    assert!(steps > 16, "{steps}");
    for step in 1..=steps {
        for fault in [
            DiskFault::CrashBefore,
            DiskFault::CrashAfter(0),
            DiskFault::CrashAfter(70),
            DiskFault::CrashAfter(usize::MAX),
            DiskFault::Fail,
            DiskFault::Full,
        ] {
            let storage = base.after_kill();
            storage.plan(before + step, fault);
            work(&storage);
            let mut found = vec![storage.after_kill()];
            found.extend((0..4).map(|seed| storage.after_power_loss(seed)));
            for found in found {
                assert_eq!(resumed(&found), expected, "step {step}, {fault:?}");
                work(&found);
                assert_eq!(resumed(&found), expected, "again, step {step}, {fault:?}");
                assert_eq!(snapshots(&found).unwrap().len(), 2);
            }
        }
    }
}

/// A shard goes on behind a snapshot, and is not disturbed by one that is built
/// meanwhile.
#[test]
fn j07_the_journal_goes_on_while_and_after_a_snapshot_is_built() {
    let (storage, mut journal, mut run) = written(9, 60);
    let plain = storage.after_kill();
    let mut beside = SmallJournal::open(&plain, UNITS, &mut ShardIntake::default()).unwrap();
    SnapshotBuilder::new(storage.clone(), 1)
        .build(journal.last())
        .unwrap();
    for _ in 0..20 {
        let group = run.group();
        journal.append(&group).unwrap();
        beside.append(&group).unwrap();
    }
    drop(journal);
    let mut intake = ShardIntake::default();
    let mut journal = SmallJournal::open(&storage, UNITS, &mut intake).unwrap();
    let group = run.group();
    assert_eq!(
        journal.append(&group),
        beside.append(&group),
        "the same sequence"
    );
    assert_eq!(resumed(&storage), whole(&plain));
}
