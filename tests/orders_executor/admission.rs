//! Every check at the door, in its order (rules O5 to O18).

use std::time::Duration;

use pitlane::orders::Code;
use pitlane::orders::decision::{Decision, Verdict};
use pitlane::orders::executor::{MessageBody, Room};
use pitlane::orders::lifecycle::OrderState;
use pitlane::orders::venue::distant::{Faults, Outage, OutageKind};
use pitlane::orders::venue::{IdAlphabet, IdRule};
use pitlane::time::{Clock, UnixNanos};
use pitlane::types::{AccountId, OrderType, TimeInForce};

use crate::rig::{AGENT, Rig, START, order_id};

/// The answer to a decision on a fresh rig.
fn answer(change: impl FnOnce(&mut Rig, &mut Decision)) -> Result<OrderState, Code> {
    let mut rig = Rig::new();
    let mut decision = rig.decision(1);
    change(&mut rig, &mut decision);
    let request = rig.bring(decision);
    rig.settle();
    rig.answer(request)
}

#[test]
fn o07_only_the_agent_that_it_was_signed_for_may_bring_it() {
    let refused = answer(|_, decision| decision.agent_id = "agent-8".into());
    assert_eq!(refused, Err(Code::AgentUnknown));
    assert_eq!(Code::AgentUnknown.status(), 401);
}

#[test]
fn o08_a_verdict_that_is_not_executable_is_refused() {
    for verdict in [Verdict::Deny, Verdict::Escalate] {
        let refused = answer(|_, decision| {
            decision.verdict = verdict;
            decision.grant = None;
            decision.enforcement = "soft".into();
        });
        assert_eq!(refused, Err(Code::NotAuthorized), "before O9");
    }
    let reduced = answer(|_, decision| decision.verdict = Verdict::Reduce);
    assert_eq!(reduced, Ok(OrderState::PendingNew));
}

#[test]
fn o09_an_enforcement_that_is_not_implemented_is_refused() {
    let refused = answer(|rig, decision| {
        decision.enforcement = "advisory".into();
        rig.clock.advance(Duration::from_secs(3_600));
    });
    assert_eq!(refused, Err(Code::Enforcement), "before O10");
}

#[test]
fn o10_a_decision_is_good_up_to_its_last_moment() {
    let on_time = answer(|rig, _| rig.clock.advance(Duration::from_secs(60)));
    assert_eq!(on_time, Ok(OrderState::PendingNew));
    let late = answer(|rig, decision| {
        rig.clock.advance(Duration::from_nanos(60_000_000_001));
        decision.venue = "nowhere".into();
    });
    assert_eq!(late, Err(Code::DecisionExpired), "before O11");
}

#[test]
fn o11_a_venue_without_a_way_or_an_instrument_and_one_that_is_down() {
    let nowhere = answer(|_, decision| decision.venue = "nowhere".into());
    assert_eq!(nowhere, Err(Code::NoRoute));
    let silver = answer(|_, decision| decision.instrument = "SILVER".into());
    assert_eq!(silver, Err(Code::NoRoute));
    let mut rig = Rig::new();
    let faults = Faults {
        outages: vec![Outage {
            from: START,
            until: START.after(Duration::from_secs(5)),
            kind: OutageKind::Refused,
        }],
        ..Faults::default()
    };
    rig.faults(faults);
    // The first finds out: it was not sent, which is certain.
    let first = rig.decision(1);
    rig.bring(first);
    rig.settle();
    assert_eq!(rig.state(1), OrderState::Rejected);
    let second = rig.decision(2);
    let request = rig.bring(second);
    rig.settle();
    assert_eq!(rig.answer(request), Err(Code::VenueDown));
    assert_eq!(Code::VenueDown.status(), 503);
    assert!(rig.venue.submits.borrow().is_empty());
}

#[test]
fn o12_only_what_the_venue_declares_is_sent_and_nothing_is_coerced() {
    let refused = answer(|rig, decision| {
        let declares = rig.venue.declares.as_mut().unwrap();
        declares.order_types = vec![OrderType::Market];
        declares.times_in_force = vec![TimeInForce::Day];
        rig.start();
        decision.time_in_force = "gtc".into();
    });
    assert_eq!(refused, Err(Code::OrderType), "before the time in force");
    let refused = answer(|rig, _| {
        let declares = rig.venue.declares.as_mut().unwrap();
        declares.times_in_force = vec![TimeInForce::Day];
        rig.start();
    });
    assert_eq!(refused, Err(Code::TimeInForce));
    let unknown = answer(|_, decision| decision.order_type = "iceberg".into());
    assert_eq!(unknown, Err(Code::OrderType));
    let unknown = answer(|_, decision| decision.time_in_force = "opg".into());
    assert_eq!(unknown, Err(Code::TimeInForce));
}

#[test]
fn o13_capabilities_that_cannot_be_read_refuse() {
    let refused = answer(|rig, _| {
        rig.venue.declares = None;
        rig.start();
    });
    assert_eq!(refused, Err(Code::OrderType));
}

#[test]
fn o17_a_venue_whose_ids_are_too_short_gets_no_order() {
    let refused = answer(|rig, _| {
        rig.venue.declares.as_mut().unwrap().ids = IdRule {
            length_max: 20,
            alphabet: IdAlphabet::Alphanumeric,
        };
        rig.start();
    });
    assert_eq!(refused, Err(Code::NoRoute));
    let mut rig = Rig::new();
    let rule = IdRule {
        length_max: 22,
        alphabet: IdAlphabet::Alphanumeric,
    };
    rig.venue.declares.as_mut().unwrap().ids = rule;
    rig.start();
    rig.working(1);
    let name = rig.order(1).venue_order_id.unwrap();
    assert_eq!((name.len(), rule.id(&name)), (22, Some(order_id(1))));
}

#[test]
fn o14_a_refusal_voids_the_decision_for_good_and_releases_its_hold_once() {
    let mut rig = Rig::new();
    let mut decision = rig.decision(1);
    decision.order_type = "iceberg".into();
    for round in 0..3 {
        let request = rig.bring(decision.clone());
        rig.settle();
        assert_eq!(rig.answer(request), Err(Code::OrderType), "round {round}");
        if round == 1 {
            rig.start();
        }
    }
    assert_eq!(rig.inbox.settled(order_id(1)), (0, 1));
    assert_eq!(rig.executor().counts().voided, 0, "since the restart");
    // Its identity is used up, too.
    let mut other = rig.decision(2);
    other.grant = decision.grant;
    let request = rig.bring(other);
    rig.settle();
    assert_eq!(rig.answer(request), Err(Code::Idempotency));
}

#[test]
fn o14_what_is_forged_stolen_or_unreadable_touches_nothing() {
    let mut rig = Rig::new();
    let mut stolen = rig.decision(1);
    stolen.agent_id = "agent-8".into();
    rig.bring(stolen);
    rig.bring_body(b"{}");
    let forged = serde_json::to_string(&rig.decision(1).signed(&rig.signer)).unwrap();
    rig.bring_body(forged.replace("\"10\"", "\"11\"").as_bytes());
    rig.settle();
    assert_eq!(rig.answers.len(), 3);
    assert!(rig.answers.values().all(Result::is_err));
    assert!(rig.inbox.bodies().is_empty());
    let request = {
        let decision = rig.decision(1);
        rig.bring(decision)
    };
    rig.settle();
    assert_eq!(rig.answer(request), Ok(OrderState::PendingNew));
}

#[test]
fn o14_a_clock_set_back_revives_nothing_not_even_after_a_restart() {
    let mut rig = Rig::new();
    let old = rig.decision(1);
    rig.clock.advance(Duration::from_secs(61));
    let other = rig.decision(2);
    rig.bring(other);
    rig.settle();
    rig.clock.set_wall(START);
    for _ in 0..2 {
        let request = rig.bring(old.clone());
        rig.settle();
        assert_eq!(rig.answer(request), Err(Code::DecisionExpired));
        rig.start();
    }
}

#[test]
fn o15_the_same_decision_again_is_the_same_order_whatever_its_state() {
    let mut rig = Rig::new();
    let decision = rig.decision(1);
    rig.bring(decision.clone());
    rig.settle();
    rig.market(pitlane::types::Side::Sell, 10, 100);
    rig.settle();
    assert_eq!(rig.state(1), OrderState::Filled);
    // The decision has expired, the venue is gone, the process has restarted.
    rig.clock.advance(Duration::from_secs(3_600));
    rig.venue.declares = None;
    rig.start();
    let request = rig.bring(decision);
    rig.settle();
    assert_eq!(rig.answer(request), Ok(OrderState::Filled));
    assert_eq!(rig.venue.submits.borrow().len(), 1);
}

#[test]
fn o16_f35_an_identity_under_another_name_or_body_is_refused() {
    let mut rig = Rig::new();
    let first = rig.decision(1);
    rig.bring(first.clone());
    let mut renamed = first.clone();
    renamed.decision_id = "d-other".into();
    let mut changed = first;
    changed.price = Some(crate::rig::price(101));
    for conflicting in [renamed, changed] {
        let request = rig.bring(conflicting);
        rig.settle();
        assert_eq!(rig.answer(request), Err(Code::Idempotency));
    }
    assert_eq!(Code::Idempotency.status(), 409);
    assert_eq!(rig.venue.submits.borrow().len(), 1);
    assert_eq!(
        rig.inbox.settled(order_id(1)),
        (0, 0),
        "nobody's hold was touched"
    );
}

#[test]
fn o18_what_is_forgotten_has_expired_and_so_is_never_sent_twice() {
    let mut rig = Rig::new();
    let decision = rig.decision(1);
    rig.bring(decision.clone());
    rig.settle();
    rig.market(pitlane::types::Side::Sell, 10, 100);
    rig.settle();
    rig.executor().forget_old();
    assert_eq!(rig.state(1), OrderState::Filled, "not before its retention");
    rig.clock.advance(Duration::from_secs(61 + 3_600));
    rig.executor().forget_old();
    assert!(rig.executor().orders().is_empty());
    let request = rig.bring(decision);
    rig.settle();
    assert_eq!(rig.answer(request), Err(Code::DecisionExpired));
    assert_eq!(rig.venue.submits.borrow().len(), 1);
}

#[test]
fn o04_a_decision_that_never_comes_is_voided_after_its_expiry() {
    let mut rig = Rig::new();
    let decision = rig.decision(1);
    assert!(!rig.executor().void_unseen(&decision), "it may still come");
    rig.clock.advance(Duration::from_secs(61));
    assert!(rig.executor().void_unseen(&decision));
    assert!(!rig.executor().void_unseen(&decision), "once");
    rig.settle();
    assert_eq!(rig.inbox.settled(order_id(1)), (0, 1));
    rig.clock.set_wall(UnixNanos(START.0 + 1));
    let request = rig.bring(decision);
    rig.settle();
    assert_eq!(rig.answer(request), Err(Code::DecisionExpired));
}

#[test]
fn o29_nothing_leaves_before_it_is_durable() {
    let mut rig = Rig::with(
        crate::rig::perfect(),
        pitlane::orders::executor::SimLog::default(),
    );
    let decision = rig.decision(1);
    let request = rig.bring(decision);
    rig.settle();
    assert!(rig.log.unsynced() > 0);
    assert!(rig.answers.is_empty() && rig.venue.submits.borrow().is_empty());
    rig.log.sync();
    rig.settle();
    assert_eq!(rig.answer(request), Ok(OrderState::PendingNew));
    assert_eq!(*rig.venue.submits.borrow(), [order_id(1)]);
}

#[test]
fn o29_a_log_that_fails_stops_everything_and_answers_everyone() {
    let mut rig = Rig::with(
        crate::rig::perfect(),
        pitlane::orders::executor::SimLog::default(),
    );
    let decision = rig.decision(1);
    let before = rig.bring(decision);
    rig.settle();
    rig.log.fail();
    let decision = rig.decision(2);
    let after = rig.bring(decision);
    rig.settle();
    for request in [before, after] {
        assert_eq!(rig.answer(request), Err(Code::JournalFailed));
    }
    assert!(rig.executor().has_failed() && rig.venue.submits.borrow().is_empty());
}

#[test]
fn o30_orders_go_on_until_the_bound_while_the_authorizer_is_away() {
    let mut rig = Rig::new();
    rig.settings.outbox_max = 2;
    rig.start();
    rig.inbox.0.borrow_mut().away = true;
    rig.working(1);
    rig.market(pitlane::types::Side::Sell, 4, 100);
    rig.market(pitlane::types::Side::Sell, 3, 100);
    rig.settle();
    assert_eq!(rig.executor().undelivered(), 2);
    let decision = rig.decision(2);
    let refused = rig.bring(decision.clone());
    rig.settle();
    assert_eq!(rig.answer(refused), Err(Code::OutboxFull));
    // Facts go on.
    rig.market(pitlane::types::Side::Sell, 3, 100);
    rig.settle();
    assert_eq!(rig.state(1), OrderState::Filled);
    rig.inbox.0.borrow_mut().away = false;
    rig.pass(Duration::from_secs(2));
    assert_eq!(rig.executor().undelivered(), 0);
    assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
    let again = rig.bring(decision);
    rig.settle();
    assert_eq!(
        rig.answer(again),
        Ok(OrderState::PendingNew),
        "it was not voided"
    );
}

#[test]
fn o30_beyond_the_reserved_disk_the_venue_is_not_polled() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.log.set_room(Room::Reserved);
    let decision = rig.decision(2);
    let refused = rig.bring(decision);
    rig.market(pitlane::types::Side::Sell, 4, 100);
    rig.settle();
    assert_eq!(rig.answer(refused), Err(Code::DiskFull));
    assert_eq!(rig.state(1), OrderState::PartiallyFilled, "fills fit");
    rig.log.set_room(Room::Gone);
    rig.market(pitlane::types::Side::Sell, 6, 100);
    rig.settle();
    assert_eq!(rig.state(1), OrderState::PartiallyFilled);
    rig.log.set_room(Room::Plenty);
    rig.settle();
    assert_eq!(rig.state(1), OrderState::Filled);
}

#[test]
fn o23_an_execution_names_all_that_settles_it() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(pitlane::types::Side::Sell, 10, 100);
    rig.settle();
    let bodies = rig.inbox.bodies();
    let [MessageBody::Execution(execution)] = bodies.as_slice() else {
        panic!("one execution, which releases: {bodies:?}")
    };
    assert_eq!(execution.account_id, Some(AccountId(42)));
    assert_eq!(
        (execution.user_id.as_str(), execution.venue.as_str()),
        ("ann", "sim")
    );
    assert_eq!(execution.reservation_id, "r-1");
    assert!(execution.release_remainder && !execution.external);
}

#[test]
fn o32_anothers_order_answers_exactly_like_none() {
    let mut rig = Rig::new();
    rig.working(1);
    let executor = rig.executor();
    let anothers = executor.status("agent-8", order_id(1));
    let none = executor.status("agent-8", order_id(2));
    assert_eq!(anothers, none);
    assert_eq!(anothers.unwrap_err().code, Code::NotFound);
    executor.cancel(71, "agent-8", order_id(1));
    executor.cancel(72, "agent-8", order_id(2));
    rig.settle();
    assert_eq!(rig.answers[&71], rig.answers[&72]);
    assert_eq!(rig.answers[&71], none);
    assert!(rig.executor().status(AGENT, order_id(1)).is_ok());
    let _ = rig.clock.wall();
}

#[test]
fn o37_orders_beyond_the_venues_rate_wait_and_beyond_the_bound_are_refused() {
    let mut rig = Rig::new();
    let declares = rig.venue.declares.as_mut().unwrap();
    declares.orders_per_second = core::num::NonZeroU32::new(2);
    declares.cancels_per_second = core::num::NonZeroU32::new(1);
    rig.settings.waiting_max = 3;
    rig.start();
    for number in 1..=5 {
        let decision = rig.decision(number);
        rig.bring(decision);
        rig.settle();
    }
    assert_eq!(rig.venue.submits.borrow().len(), 2);
    assert_eq!(rig.state(5), OrderState::New, "it waits, and is nowhere");
    let decision = rig.decision(6);
    let refused = rig.bring(decision);
    rig.settle();
    assert_eq!(rig.answer(refused), Err(Code::VenueBusy));
    // A cancel has a budget of its own; one of an order that waits is local.
    let cancelled = rig.cancel(1);
    let unsent = rig.cancel(5);
    rig.settle();
    rig.pass(Duration::from_millis(40));
    assert_eq!(rig.answer(cancelled), Ok(OrderState::Cancelled));
    assert_eq!(rig.answer(unsent), Ok(OrderState::Rejected));
    rig.pass(Duration::from_secs(2));
    assert_eq!(rig.venue.submits.borrow().len(), 4);
    assert!(!rig.venue.submits.borrow().contains(&order_id(5)));
}

#[test]
fn o14_the_docs_have_a_line_for_every_code_with_its_status_and_what_to_do() {
    let page = include_str!("../../docs/orders.md");
    let rows = page.lines().filter(|line| line.starts_with("| `A2M_"));
    let rows: Vec<Vec<_>> = rows
        .map(|row| row.split('|').map(str::trim).collect())
        .collect();
    for code in Code::ALL {
        let name = format!("`{code}`");
        let of_code: Vec<_> = rows.iter().filter(|row| row[1] == name).collect();
        assert_eq!(of_code.len(), 1, "{code} in docs/orders.md");
        let row = of_code[0];
        assert_eq!(row[2], code.status().to_string(), "{code}");
        assert!(row.len() == 6 && !row[3].is_empty() && !row[4].is_empty());
    }
    assert_eq!(
        rows.len(),
        Code::ALL.len(),
        "no line for a code that is gone"
    );
}
