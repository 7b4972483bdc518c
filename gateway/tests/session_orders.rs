//! An established session: numbers, references, keep-alive, deadlines, and the
//! bounded queue.

mod support;

use std::collections::HashMap;
use std::time::Duration;

use pitlane::types::{
    AccountId, ClientOrderId, ClientReference, Command, FillId, InstrumentId, Origin, Price,
    Quantity, RejectCode, RejectScope, Report, ReportKind, ShardId, Side,
};
use pitlane_gateway::session::{Credential, EndedBy};
use pitlane_gateway::wire::{
    Cancel, FromGateway, NewOrder, NotApplied, Sequence, Terminate, TerminateReason,
};
use proptest::prelude::*;

use support::desk::{Desk, KEEP_ALIVE_MS, frame, messages, rules};
use support::{credential, key, order};

const INTERVAL: Duration = Duration::from_millis(KEEP_ALIVE_MS as u64);

fn new_order(seq_num: u64, account: u64, reference: u64) -> NewOrder {
    NewOrder::new(
        seq_num,
        ClientReference(reference),
        &order(AccountId(account)),
    )
    .unwrap()
}

fn cancel(seq_num: u64, account: u64, reference: u64) -> Cancel {
    Cancel {
        seq_num,
        reference,
        account,
        target: 1,
    }
}

fn sequence(next_seq_num: u64) -> Sequence {
    Sequence {
        next_seq_num,
        lapsed: 0,
        pad1: 0,
        pad2: 0,
        pad3: 0,
    }
}

fn report(kind: ReportKind, reference: u64, order_reference: u64, id: u64) -> Report {
    Report {
        kind,
        side: Side::Buy,
        reject: Some((RejectCode::AccountBlocked, RejectScope::Account)),
        shard: ShardId(2),
        origin: Origin::default(),
        account: AccountId(10),
        instrument: InstrumentId(3),
        reference: ClientReference(reference),
        order_reference: ClientReference(order_reference),
        client_order_id: ClientOrderId { high: 0, low: id },
        sequence: 1,
        fill_id: FillId(0),
        price: Price::ZERO,
        quantity: Quantity::ZERO,
        cumulative: Quantity::ZERO,
        leaves: Quantity::ZERO,
    }
}

fn reason(desk: &Desk) -> TerminateReason {
    desk.session.ending().expect("ended").reason
}

fn codes(answers: &[FromGateway]) -> Vec<Option<RejectCode>> {
    answers
        .iter()
        .map(|answer| match answer {
            FromGateway::Rejected(rejected) => rejected.code(),
            FromGateway::CancelRejected(rejected) => rejected.code(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn g09_gaps_are_told_duplicates_ignored_and_each_message_counts_once() {
    let rules = rules(&[credential(1)]);
    let mut desk = Desk::established(&rules, 1, &key(1));
    assert!(desk.answers(&new_order(1, 10, 1)).is_empty());
    assert!(
        desk.answers(&new_order(1, 10, 1)).is_empty(),
        "again: ignored"
    );
    assert_eq!(
        desk.answers(&new_order(5, 10, 5)),
        [FromGateway::NotApplied(NotApplied {
            from_seq_num: 2,
            count: 3
        })]
    );
    assert!(desk.answers(&new_order(3, 10, 6)).is_empty(), "too late");
    let references: Vec<_> = desk
        .commands
        .iter()
        .map(|command| command.reference().0)
        .collect();
    assert_eq!(references, [1, 5]);
    assert_eq!((desk.counts.duplicates, desk.counts.gaps), (2, 1));
    // The keep-alive tells of messages that were the last.
    assert!(desk.answers(&sequence(6)).is_empty());
    assert!(desk.answers(&sequence(4)).is_empty(), "an old one");
    assert_eq!(
        desk.answers(&sequence(8)),
        [FromGateway::NotApplied(NotApplied {
            from_seq_num: 6,
            count: 2
        })]
    );
    desk.answers(&new_order(8, 10, 7));
    assert_eq!(desk.commands.len(), 3);
    // The last number there is ends the session, and has no effect.
    desk.answers(&new_order(u64::MAX, 10, 8));
    assert_eq!(reason(&desk), TerminateReason::SequenceExhausted);
    assert_eq!(desk.commands.len(), 3);
}

#[test]
fn g13_each_direct_answer_makes_room_and_nothing_else_does() {
    let rules = rules(&[Credential {
        max_in_flight: 2,
        ..credential(1)
    }]);
    let mut desk = Desk::established(&rules, 1, &key(1));
    desk.answers(&new_order(1, 10, 1));
    desk.answers(&new_order(2, 10, 2));
    assert_eq!(desk.session.in_flight(), 2);
    let told = |desk: &mut Desk, report: &Report, is_own| {
        let now = desk.at.now;
        desk.session
            .report(report, is_own, now, &mut desk.out, &mut desk.counts);
        assert_eq!(desk.taken().len(), 1);
        desk.session.in_flight()
    };
    let accepted = report(ReportKind::Accepted, 1, 1, 7);
    assert_eq!(told(&mut desk, &accepted, false), 2, "another session's");
    assert_eq!(told(&mut desk, &accepted, true), 1);
    for no_answer in [
        report(ReportKind::Executed, 1, 1, 7),
        report(ReportKind::Canceled, 1, 1, 7),
        report(ReportKind::Rejected, 1, 1, 7),
    ] {
        assert_eq!(told(&mut desk, &no_answer, true), 1, "{no_answer:?}");
    }
    assert_eq!(
        told(&mut desk, &report(ReportKind::Rejected, 2, 2, 0), true),
        0
    );
    for kind in [
        ReportKind::Replaced,
        ReportKind::CancelRejected,
        ReportKind::Canceled,
    ] {
        let (seq_num, reference) = (
            desk.commands.len() as u64 + 1,
            desk.commands.len() as u64 + 1,
        );
        desk.answers(&cancel(seq_num, 10, reference));
        assert_eq!(desk.session.in_flight(), 1, "cancels count");
        assert_eq!(told(&mut desk, &report(kind, reference, 1, 7), true), 0);
    }
}

#[test]
fn g04_a_field_with_an_unknown_value_refuses_its_order_alone() {
    let rules = rules(&[credential(1)]);
    let mut desk = Desk::established(&rules, 1, &key(1));
    let good = new_order(1, 10, 1);
    for (number, (bad, code)) in (1..).zip([
        (NewOrder { side: 9, ..good }, RejectCode::InvalidFieldValue),
        (
            NewOrder {
                order_type: 9,
                ..good
            },
            RejectCode::UnsupportedOrderType,
        ),
        (
            NewOrder {
                time_in_force: 9,
                ..good
            },
            RejectCode::UnsupportedTimeInForce,
        ),
    ]) {
        let bad = NewOrder {
            seq_num: number,
            ..bad
        };
        assert_eq!(codes(&desk.answers(&bad)), [Some(code)]);
    }
    // Their reference is not used.
    assert!(desk.answers(&new_order(4, 10, 1)).is_empty());
    assert_eq!(desk.commands.len(), 1);
}

#[test]
fn g05_a_shards_refusal_is_passed_on_whole() {
    let rules = rules(&[credential(1)]);
    let mut desk = Desk::established(&rules, 1, &key(1));
    let now = desk.at.now;
    let rejected = report(ReportKind::Rejected, 4, 4, 0);
    desk.session
        .report(&rejected, true, now, &mut desk.out, &mut desk.counts);
    let [FromGateway::Rejected(rejected)] = desk.taken()[..] else {
        panic!("one reject");
    };
    assert_eq!(rejected.code(), Some(RejectCode::AccountBlocked));
    assert_eq!(rejected.scope, 2);
    assert!(rejected.text.starts_with(b"AccountBlocked\0"));
    assert_eq!((rejected.head.shard, rejected.head.report_seq), (2, 1));
    assert!(!rejected.head.is_gateways_own());
}

#[test]
fn g10_a_silent_peer_is_warned_then_ended() {
    let rules = rules(&[credential(1)]);
    let mut desk = Desk::established(&rules, 1, &key(1));
    desk.tick();
    let here = |next_seq_num, lapsed| {
        FromGateway::Sequence(Sequence {
            lapsed,
            ..sequence(next_seq_num)
        })
    };
    desk.pass(INTERVAL);
    assert_eq!(desk.tick(), [here(1, 0)], "the gateway is there");
    assert!(desk.tick().is_empty(), "once an interval");
    // Anything that comes counts as a sign.
    desk.answers(&sequence(1));
    desk.pass(INTERVAL);
    assert_eq!(desk.tick(), [here(1, 0)]);
    desk.pass(INTERVAL);
    assert_eq!(desk.tick(), [here(1, 1)], "the warning");
    desk.pass(INTERVAL);
    assert!(matches!(
        desk.tick()[..],
        [FromGateway::Terminate(Terminate { session_id: 1, reason, .. })]
            if reason == TerminateReason::KeepAliveTimeout.number()
    ));
    let ending = desk.session.ending().unwrap();
    assert_eq!(ending.by, EndedBy::Gateway);
}

#[test]
fn g10_a_warned_peer_that_speaks_lives_on() {
    let rules = rules(&[credential(1)]);
    let mut desk = Desk::established(&rules, 1, &key(1));
    for _ in 0..5 {
        desk.pass(INTERVAL * 2);
        assert!(matches!(desk.tick()[..], [FromGateway::Sequence(sequence)]
            if sequence.lapsed == 1));
        desk.answers(&sequence(1));
    }
    // Asked whether it is there, the gateway answers at once.
    let asked = Sequence {
        lapsed: 1,
        ..sequence(1)
    };
    assert_eq!(desk.answers(&asked), [FromGateway::Sequence(sequence(1))]);
}

#[test]
fn g10_a_frame_has_a_second_from_its_first_byte() {
    let rules = rules(&[credential(1)]);
    let second = Duration::from_secs(1);
    let bytes = [frame(&cancel(1, 10, 1)), frame(&cancel(2, 10, 2))].concat();
    // A byte at a time does not extend it.
    let mut desk = Desk::established(&rules, 1, &key(1));
    for byte in &bytes[..10] {
        desk.receive(&[*byte]);
        desk.tick();
        desk.pass(second / 11);
    }
    assert!(desk.session.ending().is_none());
    desk.pass(second / 5);
    desk.tick();
    assert_eq!(reason(&desk), TerminateReason::FrameTimeout);
    // The second frame's time begins when the first is complete.
    let mut desk = Desk::established(&rules, 1, &key(1));
    desk.receive(&bytes[..40]);
    desk.pass(second * 3 / 4);
    desk.receive(&bytes[40..50]);
    desk.pass(second * 3 / 4);
    desk.tick();
    assert!(desk.session.ending().is_none());
    desk.receive(&bytes[50..]);
    assert_eq!(desk.commands.len(), 2);
    desk.pass(second * 5 / 4);
    desk.tick();
    assert!(desk.session.ending().is_none(), "nothing is begun");
}

#[test]
fn g12_a_full_queue_ends_the_session_with_a_reason_behind_what_it_holds() {
    let rules = rules(&[credential(1)]);
    let mut desk = Desk::open_with(&rules, [5; 32], 4_096);
    desk.log_on(1, &key(1));
    let accepted = report(ReportKind::Accepted, 1, 1, 7);
    let mut told = 0;
    while desk.session.ending().is_none() {
        let now = desk.at.now;
        desk.session
            .report(&accepted, true, now, &mut desk.out, &mut desk.counts);
        told += 1;
        assert!(told < 100, "there is a bound");
    }
    assert_eq!(reason(&desk), TerminateReason::SlowReader);
    assert!(desk.out.queued() <= 4_096);
    let left = desk.taken();
    assert_eq!(left.len() as u64, desk.counts.reports + 1);
    assert!(matches!(left.last(), Some(FromGateway::Terminate(_))));
    // Own refusals count too: a client that only sends nonsense is bounded.
    let mut desk = Desk::open_with(&rules, [5; 32], 4_096);
    desk.log_on(1, &key(1));
    for number in 1..100 {
        desk.receive(&frame(&new_order(number, 999, 1)));
    }
    assert_eq!(reason(&desk), TerminateReason::SlowReader);
    assert!(desk.out.queued() <= 4_096);
}

#[test]
fn g18_a_gateway_that_stops_refuses_entry_and_lets_cancels_through() {
    let rules = rules(&[credential(1)]);
    let mut desk = Desk::established(&rules, 1, &key(1));
    desk.session.refuse_new_work();
    assert_eq!(
        codes(&desk.answers(&new_order(1, 10, 1))),
        [Some(RejectCode::SystemUnavailable)]
    );
    assert!(desk.answers(&cancel(2, 10, 2)).is_empty());
    assert_eq!(desk.commands.len(), 1);
    desk.session
        .terminate(TerminateReason::GatewayStopping, desk.at.now, &mut desk.out);
    assert_eq!(desk.session.ending().unwrap().in_flight, 1);
}

/// The plain story of what a session does with each message.
struct Story {
    next: u64,
    last: HashMap<u64, u64>,
    in_flight: u64,
    cap: u64,
}

#[derive(Clone, Debug)]
struct Step {
    /// Added to the next number; −1 repeats the last message's.
    skip: i8,
    is_order: bool,
    account: u64,
    reference: u64,
    is_full: bool,
    answers: u8,
}

fn any_step() -> impl Strategy<Value = Step> {
    (
        prop_oneof![6 => Just(0_i8), 1 => -1_i8..3],
        any::<bool>(),
        8_u64..13,
        0_u64..12,
        prop::bool::weighted(0.2),
        0_u8..3,
    )
        .prop_map(
            |(skip, is_order, account, reference, is_full, answers)| Step {
                skip,
                is_order,
                account,
                reference,
                is_full,
                answers,
            },
        )
}

impl Story {
    /// Whether the message is looked at, and how it is refused.
    fn tell(&mut self, step: &Step) -> (u64, Option<u64>, Option<Result<(), RejectCode>>) {
        let number = self.next.saturating_add_signed(i64::from(step.skip)).max(1);
        if number < self.next {
            return (number, None, None);
        }
        let gap = (number > self.next).then_some(number - self.next);
        self.next = number + 1;
        let last = *self.last.get(&step.account).unwrap_or(&0);
        let verdict = if !(10..20).contains(&step.account) {
            Err(RejectCode::AccountNotAuthorized)
        } else if step.reference == 0 {
            Err(RejectCode::InvalidFieldValue)
        } else if step.reference <= last {
            Err(RejectCode::DuplicateClientOrderId)
        } else if step.is_order && self.in_flight >= self.cap {
            Err(RejectCode::RateLimitExceeded)
        } else if step.is_full {
            Err(RejectCode::CapacityExceeded)
        } else {
            self.last.insert(step.account, step.reference);
            self.in_flight += 1;
            Ok(())
        };
        (number, gap, Some(verdict))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn g09_a_session_does_what_the_plain_story_says(steps in prop::collection::vec(any_step(), 1..40)) {
        let cap = 4;
        let rules = rules(&[Credential { max_in_flight: 4, ..credential(1) }]);
        let mut desk = Desk::established(&rules, 1, &key(1));
        let mut story = Story { next: 1, last: HashMap::new(), in_flight: 0, cap };
        for step in &steps {
            let (number, gap, verdict) = story.tell(step);
            desk.is_full = step.is_full;
            let before = desk.commands.len();
            let mut answers = if step.is_order {
                desk.answers(&new_order(number, step.account, step.reference))
            } else {
                desk.answers(&cancel(number, step.account, step.reference))
            };
            if let Some(count) = gap {
                let told = FromGateway::NotApplied(NotApplied { from_seq_num: number - count, count });
                prop_assert_eq!(answers.remove(0), told);
            }
            match verdict {
                None => prop_assert!(answers.is_empty() && desk.commands.len() == before),
                Some(Ok(())) => {
                    prop_assert!(answers.is_empty());
                    let command = desk.commands.last().unwrap();
                    prop_assert_eq!(desk.commands.len(), before + 1);
                    prop_assert_eq!(command.reference().0, step.reference);
                    prop_assert_eq!(command.account().0, step.account);
                    prop_assert_eq!(command.origin().credential, 1);
                    let is_order = matches!(command, Command::NewOrder { .. });
                    prop_assert_eq!(is_order, step.is_order);
                }
                Some(Err(code)) => {
                    prop_assert_eq!(desk.commands.len(), before);
                    prop_assert_eq!(codes(&answers), [Some(code)]);
                }
            }
            for _ in 0..step.answers {
                let now = desk.at.now;
                let accepted = report(ReportKind::Accepted, 1, 1, 7);
                desk.session.report(&accepted, true, now, &mut desk.out, &mut desk.counts);
                story.in_flight = story.in_flight.saturating_sub(1);
            }
            desk.taken_bytes();
            prop_assert_eq!(u64::from(desk.session.in_flight()), story.in_flight);
        }
    }

    #[test]
    fn f15_a_conversation_cut_anywhere_goes_the_same_way(
        steps in prop::collection::vec(any_step(), 1..12),
        noise in prop::collection::vec(any::<u8>(), 0..20),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut stream = Vec::new();
        let mut story = Story { next: 1, last: HashMap::new(), in_flight: 0, cap: 100 };
        for step in &steps {
            let (number, ..) = story.tell(step);
            stream.extend(if step.is_order {
                frame(&new_order(number, step.account, step.reference))
            } else {
                frame(&cancel(number, step.account, step.reference))
            });
        }
        stream.extend(noise);
        let mut points: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        points.extend([0, stream.len()]);
        points.sort_unstable();
        let outcome = |chunks: &[&[u8]]| {
            let rules = rules(&[credential(1)]);
            let mut desk = Desk::established(&rules, 1, &key(1));
            for chunk in chunks {
                desk.receive(chunk);
            }
            let answers = messages(&desk.taken_bytes());
            (desk.commands, answers, desk.session.ending(), desk.counts)
        };
        let chunks: Vec<&[u8]> = points.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(outcome(&chunks), outcome(&[&stream]));
    }
}
