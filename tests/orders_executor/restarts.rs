//! What survives a crash, and what a restart does first (rules O18, O22, O29;
//! faults 4, 5, 8).

use std::time::Duration;

use pitlane::orders::executor::SimLog;
use pitlane::orders::lifecycle::OrderState;
use pitlane::orders::venue::Venue;
use pitlane::types::{AccountId, Side};

use crate::rig::{Rig, order_id, perfect, units};

#[test]
fn f04_killed_after_the_sync_and_before_the_send_it_is_never_sent() {
    let mut rig = Rig::with(perfect(), SimLog::default());
    let decision = rig.decision(1);
    rig.bring(decision.clone());
    rig.settle();
    rig.log.sync();
    rig.start();
    rig.pass(Duration::from_secs(1));
    rig.log.sync();
    rig.settle();
    assert_eq!(rig.state(1), OrderState::Rejected);
    assert!(rig.venue.submits.borrow().is_empty());
    let again = rig.bring(decision);
    rig.settle();
    rig.log.sync();
    rig.settle();
    assert_eq!(
        rig.answer(again),
        Ok(OrderState::Rejected),
        "and never will be"
    );
    assert!(rig.venue.submits.borrow().is_empty());
    assert_eq!(rig.inbox.settled(order_id(1)), (0, 1));
}

#[test]
fn f03_killed_before_the_sync_nothing_of_it_is_left_and_a_retry_is_taken() {
    let mut rig = Rig::with(perfect(), SimLog::default());
    let decision = rig.decision(1);
    rig.bring(decision.clone());
    rig.settle();
    rig.log.crash(0);
    rig.start();
    let again = rig.bring(decision);
    rig.settle();
    rig.log.sync();
    rig.settle();
    assert_eq!(rig.answer(again), Ok(OrderState::PendingNew));
    assert_eq!(*rig.venue.submits.borrow(), [order_id(1)]);
}

#[test]
fn o22_f05_killed_between_send_and_fill_it_is_asked_for_before_new_orders_go() {
    let mut config = perfect();
    config.capabilities.settle_time = Duration::from_secs(2);
    let mut rig = Rig::with(config, SimLog::synced());
    rig.working(1);
    rig.market(Side::Sell, 10, 100);
    // The fill is on the line to a process that is no more.
    while rig.venue.next_event().is_some() {}
    rig.start();
    let mut other = rig.decision(3);
    other.account_id = AccountId(43);
    let mine = rig.decision(2);
    rig.bring(mine);
    rig.bring(other);
    rig.settle();
    assert_eq!(
        rig.state(2),
        OrderState::New,
        "its account has an open question"
    );
    let submits = rig.venue.submits.borrow().clone();
    assert_eq!(
        submits,
        [order_id(1), order_id(3)],
        "another account's goes"
    );
    rig.pass(Duration::from_secs(3));
    assert_eq!(rig.state(1), OrderState::Filled);
    assert_eq!(rig.state(2), OrderState::Acked);
    assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
}

#[test]
fn f30_all_fills_replayed_twice_after_a_restart_are_booked_once() {
    let mut rig = Rig::new();
    rig.working(1);
    for _ in 0..3 {
        rig.market(Side::Sell, 2, 100);
    }
    rig.settle();
    let told = rig.venue.far.borrow().truth(order_id(1));
    rig.start();
    for _ in 0..2 {
        for event in &told {
            rig.tell(*event);
        }
    }
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.order(1).filled_qty, units(6).amount());
    assert_eq!(rig.inbox.settled(order_id(1)), (6_000_000_000, 0));
}

#[test]
fn o18_a_restart_knows_every_order_decision_and_fill() {
    let mut rig = Rig::new();
    rig.working(1);
    rig.market(Side::Sell, 4, 100);
    rig.settle();
    let before = rig.executor().orders();
    let mut void = rig.decision(2);
    void.enforcement = "soft".into();
    let refused = rig.bring(void.clone());
    rig.settle();
    rig.start();
    assert_eq!(rig.executor().orders(), before);
    let again = rig.bring(void);
    rig.settle();
    assert_eq!(rig.answer(again), rig.answer(refused));
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.state(1), OrderState::PartiallyFilled);
}

#[test]
fn o30_messages_survive_a_crash_and_come_once() {
    let mut rig = Rig::new();
    rig.inbox.0.borrow_mut().away = true;
    rig.working(1);
    rig.market(Side::Sell, 10, 100);
    rig.settle();
    assert_eq!(rig.executor().undelivered(), 1);
    rig.start();
    rig.inbox.0.borrow_mut().away = false;
    rig.pass(Duration::from_secs(1));
    rig.start();
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
    assert_eq!(rig.inbox.0.borrow().repeated, 0, "the cursor is durable");
}

#[test]
fn o30_a_delivery_whose_cursor_was_lost_is_repeated_and_does_no_harm() {
    let mut rig = Rig::with(perfect(), SimLog::default());
    let decision = rig.decision(1);
    rig.bring(decision);
    rig.settle();
    rig.log.sync();
    rig.settle();
    rig.market(Side::Sell, 10, 100);
    rig.settle();
    assert!(
        rig.inbox.bodies().is_empty(),
        "a message waits for its record, too"
    );
    rig.log.sync();
    rig.settle();
    assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
    rig.log.crash(0);
    rig.start();
    rig.settle();
    rig.log.sync();
    rig.settle();
    assert_eq!(rig.inbox.0.borrow().repeated, 1);
    assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
}
