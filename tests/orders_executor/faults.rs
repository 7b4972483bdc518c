//! What venues and lines do to an order (rules O20 to O28, O33; faults 30 to
//! 34).

use std::time::Duration;

use pitlane::orders::Code;
use pitlane::orders::lifecycle::OrderState;
use pitlane::orders::venue::distant::{Chance, Faults, Outage, OutageKind};
use pitlane::orders::venue::{Venue, VenueEvent};
use pitlane::time::Clock;
use pitlane::types::{AccountId, FillId, RejectCode, Side};

use crate::rig::{AGENT, Rig, order_id, price, units};

fn silent(rig: &Rig, time: Duration) -> Faults {
    let from = rig.clock.wall();
    Faults {
        outages: vec![Outage {
            from,
            until: from.after(time),
            kind: OutageKind::Silent,
        }],
        ..Faults::default()
    }
}

fn lossy() -> Faults {
    Faults {
        lose: Chance::in_a_million(1_000_000),
        ..Faults::default()
    }
}

fn executed(id: u64, fill: u64, quantity: i64, leaves: i64) -> VenueEvent {
    VenueEvent::Executed {
        id: order_id(id),
        fill_id: FillId(fill),
        price: price(100),
        quantity: units(quantity),
        leaves: units(leaves),
        aggressor: false,
    }
}

/// An order whose acknowledgement was lost, and is `unknown`, while the line is
/// still dead.
fn unknown() -> Rig {
    let mut rig = Rig::new();
    let decision = rig.decision(1);
    rig.bring(decision);
    // The order gets there; nothing comes back.
    let faults = silent(&rig, Duration::from_secs(10));
    let far = rig.venue.far.clone();
    rig.executor().turn();
    far.borrow_mut().advance_to(rig.clock.wall());
    rig.faults(faults);
    while far.borrow_mut().next_event().is_some() {}
    rig.pass(Duration::from_secs(3));
    assert_eq!(rig.state(1), OrderState::Unknown);
    rig
}

#[test]
fn o20_f33_a_lost_acknowledgement_is_unknown_then_asked_for_and_resolved_once() {
    let mut rig = unknown();
    assert_eq!(rig.inbox.settled(order_id(1)), (0, 0), "it keeps its hold");
    let refusal = rig.executor().resend(AGENT, order_id(1)).unwrap_err();
    assert_eq!(refusal.code, Code::BlindResend);
    let cancel = rig.cancel(1);
    rig.settle();
    assert_eq!(rig.answer(cancel), Err(Code::Unknown));
    rig.pass(Duration::from_secs(30));
    assert_eq!(rig.state(1), OrderState::Acked);
    assert_eq!(rig.executor().open_questions(), 0);
    assert_eq!(rig.venue.submits.borrow().len(), 1);
    assert_eq!(rig.venue.far.borrow().repeated(), 0);
}

#[test]
fn o20_an_ack_between_time_out_and_reconciliation_moves_nothing() {
    let mut rig = unknown();
    rig.faults(Faults::default());
    rig.tell(VenueEvent::Acknowledged { id: order_id(1) });
    let executor = rig.executor();
    executor.turn();
    assert_eq!(
        rig.state(1),
        OrderState::Unknown,
        "only the venue's answer does"
    );
    rig.pass(Duration::from_secs(5));
    assert_eq!(rig.state(1), OrderState::Acked);
}

#[test]
fn o20_timed_out_then_filled_is_booked_at_once_and_settled_by_the_answer() {
    let mut rig = unknown();
    rig.market(Side::Sell, 10, 100);
    rig.pass(Duration::from_secs(1));
    assert_eq!(
        rig.state(1),
        OrderState::Unknown,
        "nothing comes through yet"
    );
    rig.tell(executed(1, 77, 0, 10));
    rig.faults(Faults::default());
    rig.pass(Duration::from_secs(10));
    assert_eq!(rig.state(1), OrderState::Filled);
    assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
}

#[test]
fn o21_an_order_that_never_arrived_is_rejected_after_the_settle_time_only() {
    let mut config = crate::rig::perfect();
    config.capabilities.settle_time = Duration::from_secs(5);
    config.faults = lossy();
    let mut rig = Rig::with(config, pitlane::orders::executor::SimLog::synced());
    let decision = rig.decision(1);
    rig.bring(decision);
    rig.settle();
    rig.faults(Faults::default());
    rig.pass(Duration::from_millis(4_900));
    assert_eq!(
        rig.state(1),
        OrderState::Unknown,
        "not there, or not there yet"
    );
    rig.pass(Duration::from_secs(2));
    assert_eq!(rig.state(1), OrderState::Rejected);
    assert_eq!(rig.inbox.settled(order_id(1)), (0, 1));
}

#[test]
fn o21_a_slow_listing_does_not_reject_an_order_that_works() {
    let mut config = crate::rig::perfect();
    config.capabilities.settle_time = Duration::from_secs(8);
    config.faults.listing_delay = Duration::from_secs(7);
    let mut rig = Rig::with(config, pitlane::orders::executor::SimLog::synced());
    rig.working(1);
    let cancel = rig.cancel(1);
    rig.settle();
    rig.pass(Duration::from_secs(3));
    assert_eq!(rig.answer(cancel), Err(Code::CancelPending));
    assert_eq!(
        rig.state(1),
        OrderState::Acked,
        "not listed yet is not cancelled"
    );
    rig.pass(Duration::from_secs(10));
    assert_eq!(rig.state(1), OrderState::Cancelled);
}

#[test]
fn o21_a_venue_that_is_dark_for_ten_minutes_is_asked_seldom_and_alarmed() {
    let mut rig = unknown();
    let faults = silent(&rig, Duration::from_secs(600));
    rig.faults(faults);
    rig.pass(Duration::from_secs(600));
    assert_eq!(rig.state(1), OrderState::Unknown);
    assert_eq!(rig.executor().counts().unanswered, 1, "alarmed once");
    rig.pass(Duration::from_secs(62));
    assert_eq!(rig.state(1), OrderState::Acked);
}

#[test]
fn f34_a_venue_that_flaps_gets_every_order_once() {
    let mut config = crate::rig::perfect();
    config.capabilities.settle_time = Duration::from_secs(1);
    let start = crate::rig::START;
    config.faults.outages = (0..20)
        .map(|round| Outage {
            from: start.after(Duration::from_secs(2 * round + 1)),
            until: start.after(Duration::from_secs(2 * round + 2)),
            kind: if round % 2 == 0 {
                OutageKind::Silent
            } else {
                OutageKind::Refused
            },
        })
        .collect();
    let mut rig = Rig::with(config, pitlane::orders::executor::SimLog::synced());
    for number in 1..=80 {
        let decision = rig.decision(number);
        rig.bring(decision);
        rig.pass(Duration::from_millis(500));
    }
    rig.pass(Duration::from_secs(120));
    let submits = rig.venue.submits.borrow().clone();
    let mut distinct = submits.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(
        distinct.len(),
        submits.len(),
        "no order was handed over twice"
    );
    assert_eq!(rig.venue.far.borrow().repeated(), 0);
    assert_eq!(rig.executor().open_questions(), 0);
    for view in rig.executor().orders() {
        let settled = matches!(view.state, OrderState::Acked | OrderState::Rejected);
        assert!(settled, "{view:?}");
    }
}

#[test]
fn o23_f30_a_fill_that_comes_again_is_booked_once() {
    let mut rig = Rig::new();
    rig.working(1);
    for _ in 0..3 {
        rig.tell(executed(1, 500, 4, 6));
    }
    rig.settle();
    assert_eq!(rig.inbox.settled(order_id(1)), (4_000_000_000, 0));
    assert_eq!(rig.executor().counts().duplicate_fills, 2);
    assert_eq!(rig.order(1).filled_qty, units(4).amount());
}

#[test]
fn f31_a_cancel_that_overtakes_its_fills_waits_for_them() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(Side::Sell, 4, 100);
    // The fill is lost; the cancel's word comes through.
    while rig.venue.next_event().is_some() {}
    let cancel = rig.cancel(1);
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.answer(cancel), Ok(OrderState::Cancelled));
    let order = rig.order(1);
    assert_eq!(
        (order.filled_qty, order.ended),
        (units(4).amount(), units(6).amount())
    );
    assert_eq!(rig.inbox.settled(order_id(1)), (4_000_000_000, 1));
}

#[test]
fn o24_f32_an_overfill_is_booked_alarmed_and_blocks_the_account() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.tell(executed(1, 500, 13, 0));
    rig.settle();
    let order = rig.order(1);
    assert_eq!(order.state, OrderState::Filled);
    assert_eq!(
        (order.excess, order.leaves),
        (units(3).amount(), units(0).amount())
    );
    assert_eq!(
        rig.inbox.settled(order_id(1)),
        (13_000_000_000, 1),
        "it happened"
    );
    assert_eq!(rig.executor().counts().overfills, 1);
    let blocked = rig.decision(2);
    let request = rig.bring(blocked);
    rig.settle();
    assert_eq!(rig.answer(request), Err(Code::AccountBlocked));
    rig.start();
    assert!(
        rig.executor().is_blocked(AccountId(42)),
        "after a restart, too"
    );
    rig.executor().unblock(AccountId(42));
    let free = rig.decision(3);
    let request = rig.bring(free);
    rig.settle();
    assert_eq!(rig.answer(request), Ok(OrderState::PendingNew));
}

#[test]
fn o24_f32_a_fill_of_nobodys_order_is_set_aside_once() {
    let mut rig = Rig::new();
    for _ in 0..2 {
        rig.tell(executed(31, 500, 1, 0));
    }
    rig.settle();
    assert_eq!(rig.executor().counts().external_fills, 1);
    let bodies = rig.inbox.bodies();
    assert_eq!(bodies.len(), 1);
    let pitlane::orders::executor::MessageBody::Execution(execution) = &bodies[0] else {
        panic!("an execution: {bodies:?}")
    };
    assert!(execution.external && execution.account_id.is_none());
}

#[test]
fn o24_a_fill_after_the_end_is_booked_and_resurrects_nothing() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.cancel(1);
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.state(1), OrderState::Cancelled);
    rig.tell(executed(1, 500, 2, 8));
    rig.settle();
    let order = rig.order(1);
    assert_eq!(
        (order.state, order.filled_qty),
        (OrderState::Cancelled, units(2).amount())
    );
    assert_eq!(rig.executor().counts().late_fills, 1);
    assert_eq!(
        rig.inbox.settled(order_id(1)),
        (2_000_000_000, 1),
        "released once"
    );
}

#[test]
fn o33_a_cancel_is_confirmed_by_the_snapshot_alone() {
    let mut rig = Rig::new();
    rig.working(1);
    // The venue's word alone: the order still works there.
    rig.tell(VenueEvent::Canceled {
        id: order_id(1),
        unfilled: units(10),
    });
    rig.pass(Duration::from_secs(2));
    assert_eq!(rig.state(1), OrderState::Acked);
    let cancel = rig.cancel(1);
    rig.pass(Duration::from_secs(60));
    assert_eq!(rig.answer(cancel), Ok(OrderState::Cancelled));
}

#[test]
fn o33_a_cancel_that_was_sent_is_pending_until_the_snapshot_says_so() {
    let mut rig = Rig::new();
    rig.working(1);
    let faults = silent(&rig, Duration::from_secs(4));
    rig.faults(faults);
    let cancel = rig.cancel(1);
    rig.pass(Duration::from_secs(3));
    assert_eq!(rig.answer(cancel), Err(Code::CancelPending));
    assert_eq!(rig.state(1), OrderState::Acked, "not marked cancelled");
    rig.pass(Duration::from_secs(20));
    assert_eq!(
        rig.state(1),
        OrderState::Cancelled,
        "it was asked for again"
    );
}

#[test]
fn o33_a_cancel_of_an_order_that_is_over_returns_it() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(Side::Sell, 10, 100);
    rig.settle();
    let cancel = rig.cancel(1);
    rig.settle();
    assert_eq!(rig.answer(cancel), Ok(OrderState::Filled));
    // The venue's late word about it changes nothing.
    rig.tell(VenueEvent::Canceled {
        id: order_id(1),
        unfilled: units(10),
    });
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.state(1), OrderState::Filled);
}

#[test]
fn o33_a_fill_that_crosses_a_cancel_wins_what_it_filled() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(Side::Sell, 10, 100);
    let cancel = rig.cancel(1);
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.answer(cancel), Ok(OrderState::Filled));
    assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
}

#[test]
fn o33_a_cancel_reject_that_means_already_filled_is_asked_about() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(Side::Sell, 10, 100);
    while rig.venue.next_event().is_some() {}
    rig.tell(VenueEvent::CancelRejected {
        id: order_id(1),
        code: RejectCode::UnknownOrder,
    });
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.state(1), OrderState::Filled);
}

#[test]
fn o25_partial_then_cancel_is_cancelled_with_its_cum() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(Side::Sell, 4, 100);
    rig.settle();
    rig.cancel(1);
    rig.pass(Duration::from_secs(1));
    let order = rig.order(1);
    assert_eq!(
        (order.state, order.filled_qty),
        (OrderState::Cancelled, units(4).amount())
    );
}

#[test]
fn o28_a_bust_reverses_what_was_told_once() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(Side::Sell, 4, 100);
    rig.settle();
    let fill = rig.venue.far.borrow().truth(order_id(1));
    let VenueEvent::Executed { fill_id, .. } = fill[0] else {
        panic!("an execution: {fill:?}")
    };
    assert!(rig.venue.far.borrow_mut().bust(order_id(1), fill_id));
    let busted = VenueEvent::Busted {
        id: order_id(1),
        fill_id,
    };
    rig.tell(busted);
    rig.settle();
    assert_eq!(rig.inbox.settled(order_id(1)), (0, 0));
    assert_eq!(rig.executor().counts().reversals, 1);
    assert_eq!(rig.order(1).filled_qty, units(0).amount());
}

#[test]
fn o20_a_duplicated_submit_does_not_reject_an_order_that_works() {
    let mut rig = Rig::new();
    let faults = Faults {
        duplicate: Chance::in_a_million(1_000_000),
        ..Faults::default()
    };
    rig.faults(faults);
    let decision = rig.decision(1);
    rig.bring(decision);
    rig.pass(Duration::from_secs(5));
    assert_eq!(
        rig.venue.far.borrow().repeated(),
        1,
        "the line sent it twice"
    );
    assert_eq!(rig.state(1), OrderState::Acked);
    assert_eq!(rig.executor().open_questions(), 0);
}

#[test]
fn o20_a_working_order_whose_end_was_lost_is_found_out() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(Side::Sell, 10, 100);
    while rig.venue.next_event().is_some() {}
    rig.pass(Duration::from_secs(29));
    assert_eq!(rig.state(1), OrderState::Acked);
    rig.pass(Duration::from_secs(35));
    assert_eq!(rig.state(1), OrderState::Filled);
}

#[test]
fn o38_every_type_and_time_in_force_reaches_the_venue_as_it_was_said() {
    for (number, (kind, time)) in [
        ("market", "ioc"),
        ("limit", "fok"),
        ("limit", "day"),
        ("post_only", "gtc"),
        ("stop", "day"),
        ("stop_limit", "gtd"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut rig = Rig::new();
        let number = number as u64 + 1;
        let mut decision = rig.decision(number);
        decision.order_type = kind.into();
        decision.time_in_force = time.into();
        decision.price = (kind != "market").then(|| price(100));
        decision.stop_price = (kind == "stop_limit").then(|| price(99));
        let end = rig.clock.wall().after(Duration::from_secs(5));
        decision.good_till = (time == "gtd").then_some(end);
        rig.bring(decision);
        rig.pass(Duration::from_secs(1));
        let rests = !matches!(time, "ioc" | "fok");
        let state = rig.state(number);
        assert_eq!(state == OrderState::Acked, rests, "{kind} {time}: {state}");
        assert!(
            rests || state == OrderState::Cancelled,
            "{kind} {time}: {state}"
        );
        rig.pass(Duration::from_secs(6));
        let expired = rig.state(number) == OrderState::Expired;
        assert_eq!(expired, time == "gtd", "{kind} {time}");
    }
}
