//! What is asked, judged, held and signed (rules O1 to O4).

use std::collections::BTreeSet;

use pitlane::limits::{AUTHORITY_ASKS_MAX, AUTHORITY_HOLDS_MAX};
use pitlane::orders::decision::Verdict;
use pitlane::shard::authority::{Decided, Undecided};
use pitlane::time::{Clock, SimClock};
use pitlane::types::{AccountId, RejectCode, RejectScope, Side};

use crate::journaled::{FarVenue, OPENING};
use crate::rig::{Rig, START, TTL, read, request, shard, units};
use crate::shard_cases::{limit, new_order};

#[test]
fn o01_o02_o03_o04_an_allowed_order_is_held_signed_and_named() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let signed = read(&allowed, &rig.clock);
    assert_eq!(signed.decision, allowed.decision);
    let decision = signed.decision;
    let grant = decision.grant.unwrap();
    assert_eq!(decision.verdict, Verdict::Allow);
    assert_eq!(grant.reservation_id, "r-0.1");
    assert_eq!(grant.client_order_id.to_string().len(), 35);
    assert_eq!(decision.key_id, "authorizer-1");
    assert_eq!(
        (decision.issued_at, decision.expires_at),
        (START, START.after(TTL))
    );
    // The hold is the risk engine's.
    assert_eq!(rig.money(1), (OPENING - units(1_000), units(1_000)));
    assert_eq!(rig.shard.held_decisions(), 1);
    let sold = rig.allowed(&request(2, Side::Sell, 3, 100));
    assert_eq!(rig.image(2).of_base.held.raw(), units(3));
    assert_ne!(sold.decision.decision_id, allowed.decision.decision_id);
}

#[test]
fn k02_k26_a_refused_order_says_why_and_holds_nothing() {
    let mut rig = Rig::new();
    let code = rig.denied(&request(1, Side::Buy, 10_001, 100));
    assert_eq!(code, RejectCode::InsufficientFunds);
    assert_eq!(
        rig.denied(&request(9, Side::Buy, 1, 1)),
        RejectCode::UnknownAccount
    );
    let one = Rig::new();
    assert_eq!(rig.image(1), one.image(1), "nothing is held");
    assert_eq!(rig.shard.held_decisions(), 0);
    assert_eq!(rig.shard.authority_counts().denied, 2);
    let risk = RejectCode::KillSwitchArmed;
    let blocked = pitlane::shard::RiskRequest::Block {
        account: AccountId(1),
        cause: risk,
    };
    rig.shard.ports().risk().send(blocked);
    rig.settle();
    match rig.decide(&request(1, Side::Buy, 1, 1)) {
        Decided::Denied(rejects) => {
            assert_eq!(rejects.code(), risk);
            assert_eq!(rejects.scope(), RejectScope::Account);
        }
        Decided::Allowed(allowed) => panic!("{allowed:?}"),
    }
}

#[test]
fn o04_nothing_is_answered_before_it_is_durable() {
    let mut rig = Rig::new();
    rig.syncs = false;
    let mut allowed = rig.ask(&request(1, Side::Buy, 1, 100));
    let mut denied = rig.ask(&request(1, Side::Buy, 1_000_000, 100));
    for _ in 0..10 {
        rig.turn();
    }
    assert_eq!(allowed.try_take(), None);
    assert_eq!(denied.try_take(), None);
    assert!(rig.shard.holds_back(), "the shard looks until it is");
    rig.journal.sync();
    assert!(rig.shard.has_due());
    rig.turn();
    assert!(matches!(allowed.try_take(), Some(Ok(Decided::Allowed(_)))));
    assert!(matches!(denied.try_take(), Some(Ok(Decided::Denied(_)))));
    assert_eq!(allowed.try_take(), Some(Err(Undecided::NotThere)), "once");
}

#[test]
fn o04_j05_what_is_held_is_held_after_a_crash_and_what_was_not_durable_is_not() {
    let mut rig = Rig::new();
    let kept = rig.allowed(&request(1, Side::Buy, 10, 100));
    let sold = rig.allowed(&request(2, Side::Sell, 3, 100));
    let before = [rig.image(1), rig.image(2)];
    rig.syncs = false;
    let mut lost = rig.ask(&request(1, Side::Buy, 5, 100));
    rig.settle();
    assert_ne!(rig.image(1), before[0], "held, for all that is known");
    rig.restart(0);
    assert_eq!(lost.try_take(), Some(Err(Undecided::NotThere)));
    assert_eq!([rig.image(1), rig.image(2)], before);
    assert_eq!(rig.shard.held_decisions(), 2);
    rig.syncs = true;
    rig.tell(crate::rig::release(&kept));
    rig.tell(crate::rig::release(&sold));
    assert_eq!(rig.money(1), (OPENING, 0));
    assert_eq!(rig.image(2).of_base.held.raw(), 0);
}

#[test]
fn o03_no_identity_is_given_twice_over_restarts() {
    let mut rig = Rig::new();
    let (mut ids, mut holds, mut names) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for round in 0..20 {
        for _ in 0..5 {
            let allowed = rig.allowed(&request(1, Side::Buy, 1, 1));
            let grant = allowed.decision.grant.clone().unwrap();
            assert!(ids.insert(grant.client_order_id), "minted twice");
            assert!(holds.insert(grant.reservation_id), "one name, two holds");
            assert!(names.insert(allowed.decision.decision_id.clone()));
            if round % 2 == 0 {
                rig.tell(crate::rig::release(&allowed));
            }
        }
        rig.restart(0);
    }
}

#[test]
fn o03_the_name_of_a_hold_that_was_lost_is_no_other_orders() {
    let (venue, clock) = (FarVenue::new(), SimClock::new(START));
    // Without a journal the numbers begin again, and the identity tells.
    let (mut first, _, authorizer) = shard(None, &venue, &clock, 1);
    let mut asked = authorizer.decide(&request(1, Side::Buy, 1, 100)).unwrap();
    first.turn(pitlane::time::Nanos(1), 64);
    let Some(Ok(Decided::Allowed(old))) = asked.try_take() else {
        panic!("without a journal it is answered at once")
    };
    drop(first);
    let mut rig = Rig::new();
    rig.restart(0);
    let new = rig.allowed(&request(1, Side::Buy, 1, 100));
    let name = |one: &pitlane::shard::authority::Allowed| {
        one.decision.grant.clone().unwrap().reservation_id
    };
    assert_eq!(name(&old), name(&new));
    rig.tell(crate::rig::release(&old));
    assert_eq!(rig.shard.held_decisions(), 1, "it is not that order's");
}

#[test]
fn o04_beyond_the_table_a_decision_is_denied_and_a_place_that_is_free_is_used() {
    let mut rig = Rig::new();
    let tiny = request(1, Side::Buy, 1, 1);
    let first = rig.allowed(&tiny);
    let mut asked = Vec::new();
    while rig.shard.held_decisions() < AUTHORITY_HOLDS_MAX {
        let room = AUTHORITY_HOLDS_MAX - rig.shard.held_decisions();
        asked.extend((0..room.min(AUTHORITY_ASKS_MAX)).map(|_| rig.authorizer.decide(&tiny)));
        rig.settle();
        asked.clear();
    }
    assert_eq!(rig.denied(&tiny), RejectCode::CapacityExceeded);
    rig.tell(crate::rig::release(&first));
    rig.allowed(&tiny);
    assert_eq!(rig.denied(&tiny), RejectCode::CapacityExceeded);
}

#[test]
fn j08_where_the_journal_has_failed_nobody_is_there() {
    let mut rig = Rig::new();
    rig.syncs = false;
    let mut asked = rig.ask(&request(1, Side::Buy, 1, 100));
    rig.turn();
    rig.journal.crash(0);
    let mut waits = rig.ask(&request(1, Side::Buy, 1, 100));
    rig.turn();
    assert_eq!(asked.try_take(), Some(Err(Undecided::NotThere)));
    assert_eq!(waits.try_take(), Some(Err(Undecided::NotThere)));
    let refused = rig.authorizer.decide(&request(1, Side::Buy, 1, 100));
    assert_eq!(refused.err(), Some(Undecided::NotThere));
}

#[test]
fn a_request_that_nobody_waits_for_any_more_holds_nothing() {
    let mut rig = Rig::new();
    drop(rig.ask(&request(1, Side::Buy, 1, 100)));
    rig.settle();
    assert_eq!(rig.shard.held_decisions(), 0);
    assert_eq!(rig.money(1), (OPENING, 0));
}

#[test]
fn decisions_and_orders_of_one_account_share_its_funds() {
    let mut rig = Rig::new();
    rig.allowed(&request(1, Side::Buy, 6_000, 100));
    let order = new_order(1, limit(1, Side::Buy, 100, 6_000));
    rig.shard.command(&order, pitlane::time::Nanos(2_000_000));
    rig.settle();
    assert_eq!(rig.shard.counts().rejected, 1, "the hold counts");
    let order = new_order(2, limit(1, Side::Buy, 100, 3_000));
    rig.shard.command(&order, pitlane::time::Nanos(2_000_000));
    rig.settle();
    assert_eq!(rig.shard.counts().accepted, 1);
    assert_eq!(
        rig.denied(&request(1, Side::Buy, 2_000, 100)),
        RejectCode::InsufficientFunds
    );
    let now = rig.clock.wall();
    assert_eq!(now, START);
}
