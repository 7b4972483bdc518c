//! The venue at the end of a line that fails: each fault does what it says, and
//! what the venue did can be found out whatever the line lost.

#[path = "support/venue_cases.rs"]
mod venue_cases;

use core::time::Duration;
use std::collections::{HashMap, HashSet};

use pitlane::orders::venue::distant::{
    Chance, DistantConfig, DistantVenue, Faults, Outage, OutageKind,
};
use pitlane::orders::venue::sim::Phase;
use pitlane::orders::venue::{
    OrderSnapshot, Venue, VenueError, VenueEvent, VenueOrder, VenueStatus,
};
use pitlane::time::UnixNanos;
use pitlane::types::{ClientOrderId, FillId, Quantity, RejectCode, Side};
use proptest::prelude::*;
use venue_cases::{acknowledged, config, executed, id, limit, lots, price, venue};

const ALWAYS: Chance = Chance::in_a_million(1_000_000);

fn distant(faults: Faults) -> DistantVenue {
    seeded(7, faults)
}

fn seeded(seed: u64, faults: Faults) -> DistantVenue {
    DistantVenue::new(DistantConfig {
        seed,
        faults,
        ..DistantConfig::new(config(Phase::Continuous))
    })
    .unwrap()
}

fn takes(duration: Duration) -> Faults {
    Faults {
        delay: duration..=duration,
        ..Faults::default()
    }
}

fn heard(venue: &mut impl Venue) -> Vec<VenueEvent> {
    std::iter::from_fn(|| venue.next_event()).collect()
}

fn snapshot(low: u64, status: Option<VenueStatus>, filled: i64, leaves: i64) -> VenueEvent {
    VenueEvent::Snapshot(OrderSnapshot {
        id: id(low),
        status,
        filled: lots(filled),
        leaves: lots(leaves),
    })
}

const MS: Duration = Duration::from_millis(1);

fn at(ms: u64) -> UnixNanos {
    UnixNanos(0).after(MS * u32::try_from(ms).unwrap())
}

#[test]
fn o36_a_message_arrives_after_its_delay() {
    let mut venue = distant(takes(3 * MS));
    venue.submit(&limit(1, Side::Buy, 10, 5)).unwrap();
    venue.advance_to(at(3));
    assert_eq!(venue.inner_mut().open_orders(), 1, "there after 3 ms");
    venue.advance_to(at(5));
    assert_eq!(heard(&mut venue), [], "the answer takes as long");
    assert_eq!(venue.next_due(), Some(at(6)));
    venue.advance_to(at(6));
    assert_eq!(heard(&mut venue), [acknowledged(1)]);
    assert_eq!(venue.next_due(), None);
}

#[test]
fn o36_what_an_outage_holds_up_is_due_after_it() {
    let outage = Outage {
        from: at(2),
        until: at(9),
        kind: OutageKind::Refused,
    };
    let faults = Faults {
        outages: vec![outage],
        ..takes(3 * MS)
    };
    let mut venue = distant(faults);
    venue.submit(&limit(1, Side::Buy, 10, 5)).unwrap();
    for now in [at(0), at(3), at(5)] {
        venue.advance_to(now);
        assert_eq!(venue.next_due(), Some(at(9)), "at {now:?}");
    }
    venue.advance_to(at(9));
    assert_eq!(venue.inner_mut().open_orders(), 1, "there at last");
    assert_eq!(venue.next_due(), Some(at(12)));
}

#[test]
fn f33_a_lost_answer_is_found_out_by_asking() {
    let mut venue = distant(Faults::default());
    venue.submit(&limit(1, Side::Sell, 10, 5)).unwrap();
    venue.set_faults(Faults {
        lose: ALWAYS,
        ..Faults::default()
    });
    // The acknowledgement is on its way; this one's request is lost.
    venue.submit(&limit(2, Side::Buy, 10, 2)).unwrap();
    venue.set_faults(Faults::default());
    heard(&mut venue);
    venue.query(id(2)).unwrap();
    venue.query(id(1)).unwrap();
    let expected = [
        snapshot(2, None, 0, 0),
        snapshot(1, Some(VenueStatus::Working), 0, 5),
    ];
    assert_eq!(heard(&mut venue), expected);
    venue.submit(&limit(2, Side::Buy, 10, 2)).unwrap();
    heard(&mut venue);
    venue.query(id(1)).unwrap();
    let expected = [
        executed(1, 1, 10, 2, 3, false),
        snapshot(1, Some(VenueStatus::Working), 2, 3),
    ];
    assert_eq!(heard(&mut venue), expected, "its executions come again");
}

#[test]
fn o36_a_doubled_submit_makes_one_order() {
    let mut venue = distant(Faults {
        duplicate: ALWAYS,
        ..Faults::default()
    });
    venue.submit(&limit(1, Side::Buy, 10, 5)).unwrap();
    let code = RejectCode::DuplicateClientOrderId;
    let rejected = VenueEvent::Rejected { id: id(1), code };
    let twice = [acknowledged(1), acknowledged(1), rejected, rejected];
    assert_eq!(heard(&mut venue), twice, "answers are doubled too");
    assert_eq!((venue.inner_mut().open_orders(), venue.repeated()), (1, 1));
}

#[test]
fn o36_messages_overtake_each_other_only_where_they_may() {
    let orders = |reorder| {
        let mut venue = distant(Faults {
            delay: MS..=50 * MS,
            reorder,
            ..Faults::default()
        });
        for low in 1..=20 {
            venue.submit(&limit(low, Side::Buy, 10, 1)).unwrap();
        }
        venue.advance_to(at(200));
        let events = heard(&mut venue);
        let ids = events.iter().filter_map(VenueEvent::order);
        ids.map(|id| id.low).collect::<Vec<_>>()
    };
    let sorted: Vec<u64> = (1..=20).collect();
    assert_eq!(orders(false), sorted);
    let mut overtaken = orders(true);
    assert_ne!(overtaken, sorted);
    overtaken.sort_unstable();
    assert_eq!(overtaken, sorted);
}

#[test]
fn f34_a_venue_that_is_down_says_so_and_keeps_what_it_has_to_tell() {
    let outage = |kind| Outage {
        from: at(10),
        until: at(20),
        kind,
    };
    let mut venue = distant(Faults {
        outages: vec![outage(OutageKind::Refused)],
        ..takes(5 * MS)
    });
    venue.submit(&limit(1, Side::Buy, 10, 5)).unwrap();
    venue.advance_to(at(12));
    assert_eq!(
        venue.submit(&limit(2, Side::Buy, 9, 5)),
        Err(VenueError::Down)
    );
    assert_eq!(venue.query(id(1)), Err(VenueError::Down));
    assert_eq!(heard(&mut venue), []);
    venue.advance_to(at(20));
    assert_eq!(heard(&mut venue), [acknowledged(1)]);

    let mut dark = distant(Faults {
        outages: vec![outage(OutageKind::Silent)],
        ..Faults::default()
    });
    dark.advance_to(at(15));
    dark.submit(&limit(1, Side::Buy, 10, 5)).unwrap();
    dark.advance_to(at(25));
    assert_eq!(heard(&mut dark), []);
    assert_eq!(dark.inner_mut().open_orders(), 0);
}

#[test]
fn o36_a_query_may_be_too_early_and_its_answer_late() {
    let mut venue = distant(Faults {
        listing_delay: 10 * MS,
        snapshot_delay: 30 * MS,
        ..Faults::default()
    });
    venue.submit(&limit(1, Side::Buy, 10, 5)).unwrap();
    heard(&mut venue);
    venue.query(id(1)).unwrap();
    venue.advance_to(at(10));
    venue.query(id(1)).unwrap();
    venue.query_open().unwrap();
    venue.cancel(id(1)).unwrap();
    venue.advance_to(at(100));
    let heard: Vec<_> = heard(&mut venue);
    let (early, working) = (
        snapshot(1, None, 0, 0),
        snapshot(1, Some(VenueStatus::Working), 0, 5),
    );
    let all = VenueEvent::OpenOrders { count: 1 };
    assert_eq!(heard[..4], [early, working, working, all]);
    assert_eq!(
        heard[4],
        venue_cases::canceled(1, 5),
        "the line keeps its order"
    );
}

#[test]
fn o28_a_bust_is_told_and_taken_off_the_record() {
    let mut venue = distant(Faults::default());
    venue.submit(&limit(1, Side::Sell, 10, 5)).unwrap();
    venue.submit(&limit(2, Side::Buy, 10, 2)).unwrap();
    heard(&mut venue);
    assert!(venue.bust(id(1), FillId(1)));
    assert!(!venue.bust(id(1), FillId(1)), "once");
    let busted = VenueEvent::Busted {
        id: id(1),
        fill_id: FillId(1),
    };
    assert_eq!(heard(&mut venue), [busted]);
    assert_eq!(
        venue.truth(id(1)),
        [snapshot(1, Some(VenueStatus::Working), 0, 3)]
    );
}

#[test]
fn o36_the_record_forgets_what_is_over_and_refuses_when_all_works() {
    let mut venue = DistantVenue::new(DistantConfig {
        records_max: 2,
        ..DistantConfig::new(config(Phase::Continuous))
    })
    .unwrap();
    for low in 1..=3 {
        venue.submit(&limit(low, Side::Buy, 10, 5)).unwrap();
    }
    let code = RejectCode::CapacityExceeded;
    let refused = VenueEvent::Rejected { id: id(3), code };
    assert_eq!(
        heard(&mut venue),
        [acknowledged(1), acknowledged(2), refused]
    );
    venue.cancel(id(1)).unwrap();
    venue.submit(&limit(4, Side::Buy, 10, 5)).unwrap();
    assert_eq!(heard(&mut venue).last(), Some(&acknowledged(4)));
    assert_eq!(venue.truth(id(1)), [snapshot(1, None, 0, 0)]);
}

#[derive(Clone, Debug)]
enum Step {
    Submit(bool, i64, i64),
    Cancel(u64),
    Replace(u64, i64, i64),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<bool>(), 8i64..13, 1i64..9).prop_map(|(buys, at, of)| Step::Submit(buys, at, of)),
        2 => (1u64..40).prop_map(Step::Cancel),
        2 => (1u64..40, 8i64..13, 1i64..9).prop_map(|(id, at, of)| Step::Replace(id, at, of)),
        4 => (1u64..30).prop_map(Step::Pass),
    ]
}

fn faults() -> impl Strategy<Value = Faults> {
    (
        0u32..400_000,
        0u32..400_000,
        0u32..40,
        any::<bool>(),
        0u64..200,
    )
        .prop_map(|(lose, duplicate, delay, reorder, dark_from)| Faults {
            lose: Chance::in_a_million(lose),
            duplicate: Chance::in_a_million(duplicate),
            delay: Duration::ZERO..=MS * delay,
            reorder,
            outages: vec![Outage {
                from: at(dark_from),
                until: at(dark_from + 50),
                kind: if reorder {
                    OutageKind::Silent
                } else {
                    OutageKind::Refused
                },
            }],
            ..Faults::default()
        })
}

/// The venue's answers are the same whatever asks it.
fn ask(venue: &mut impl Venue, step: &Step, next: &mut u64) {
    let _ = match step {
        Step::Submit(buys, price, of) => {
            *next += 1;
            let side = if *buys { Side::Buy } else { Side::Sell };
            let order: VenueOrder = limit(*next, side, *price, *of);
            venue.submit(&order)
        }
        Step::Cancel(low) => venue.cancel(id(*low)),
        Step::Replace(low, at, of) => venue.replace(id(*low), price(*at), lots(*of)),
        Step::Pass(_) => Ok(()),
    };
}

fn run(seed: u64, faults: &Faults, steps: &[Step]) -> (DistantVenue, Vec<VenueEvent>, u64) {
    let mut venue = seeded(seed, faults.clone());
    let (mut events, mut next, mut now) = (Vec::new(), 0, 0);
    for step in steps {
        ask(&mut venue, step, &mut next);
        if let Step::Pass(ms) = step {
            now += ms;
            venue.advance_to(at(now));
        }
        events.extend(heard(&mut venue));
    }
    venue.advance_to(at(now + 10_000));
    events.extend(heard(&mut venue));
    (venue, events, next)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn o36_a_perfect_line_changes_nothing(steps in prop::collection::vec(step(), 1..120)) {
        let (_, events, _) = run(1, &Faults::default(), &steps);
        let (mut near, mut next, mut told) = (venue(Phase::Continuous), 0, Vec::new());
        for step in &steps {
            ask(&mut near, step, &mut next);
            told.extend(heard(&mut near));
        }
        prop_assert_eq!(events, told);
    }

    #[test]
    fn o36_the_same_seed_does_the_same(
        seed in any::<u64>(),
        faults in faults(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        prop_assert_eq!(run(seed, &faults, &steps).1, run(seed, &faults, &steps).1);
    }

    /// Whatever was lost, doubled or late: when the line is good again, asking
    /// tells what the book did; and nothing was heard that did not happen.
    #[test]
    fn o36_asking_tells_the_truth_in_the_end(
        seed in any::<u64>(),
        faults in faults(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let (mut venue, heard_before, count) = run(seed, &faults, &steps);
        venue.set_faults(Faults::default());
        let before: HashSet<String> = heard_before.iter().map(|one| format!("{one:?}")).collect();
        let mut fills: HashMap<ClientOrderId, i64> = HashMap::new();
        let mut all_fills = HashSet::new();
        for low in 1..=count {
            venue.query(id(low)).unwrap();
            let answer = heard(&mut venue);
            let (last, executions) = answer.split_last().expect("there is an answer");
            let VenueEvent::Snapshot(told) = *last else {
                panic!("the last of an answer is a snapshot, not {last:?}");
            };
            for event in executions {
                let VenueEvent::Executed { id, fill_id, quantity, .. } = *event else {
                    panic!("before it are executions, not {event:?}");
                };
                prop_assert!(all_fills.insert(format!("{event:?}")), "{} twice", fill_id);
                *fills.entry(id).or_default() += quantity.raw();
            }
            let filled = fills.get(&id(low)).copied().unwrap_or(0);
            prop_assert_eq!(told.filled, Quantity::from_raw(filled));
            let open = venue.inner_mut().order(id(low));
            prop_assert_eq!(told.status == Some(VenueStatus::Working), open.is_some());
            if let Some(open) = open {
                prop_assert_eq!((open.filled, open.leaves), (told.filled, told.leaves));
            }
        }
        let executions = before.iter().filter(|event| event.starts_with("Executed"));
        for event in executions {
            prop_assert!(all_fills.contains(event), "never happened: {}", event);
        }
    }
}
