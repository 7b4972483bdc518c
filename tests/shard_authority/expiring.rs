//! Decisions that were never brought (rules O4, O14).

use std::collections::BTreeMap;
use std::time::Duration;

use pitlane::limits::{AUTHORITY_DUE_MAX, AUTHORITY_DUE_PAUSE};
use pitlane::orders::decision::{Decision, Size};
use pitlane::orders::executor::{
    Authority, Executor, ExecutorParts, ExecutorSettings, MessageBody, NoHistory, SimLog,
    VenueSetup,
};
use pitlane::shard::authority::Allowed;
use pitlane::time::SimClock;
use pitlane::types::{AccountId, Side};

use crate::journaled::{FarVenue, OPENING};
use crate::rig::{Rig, SKEW, START, TTL, execution, keys, request};
use crate::shard_cases::INSTRUMENT;

const MOMENT: Duration = Duration::from_nanos(1);

fn due(rig: &mut Rig) -> Vec<Decision> {
    let mut asked = rig.authorizer.due();
    rig.settle();
    let mut listed = Vec::new();
    let more = asked.poll(&mut |decision| listed.push(decision));
    assert!(!more, "every shard has answered");
    listed
}

#[test]
fn o04_a_decision_is_due_after_its_expiry_and_the_skew_and_as_it_was_signed() {
    let mut rig = Rig::new();
    let mut dated = request(1, Side::Sell, 2, 90);
    dated.user_id = "bob".into();
    dated.ttl = TTL + TTL;
    let first = rig.allowed(&request(1, Side::Buy, 1, 100));
    let second = rig.allowed(&dated);
    rig.pass(TTL + SKEW);
    assert_eq!(due(&mut rig), []);
    rig.pass(MOMENT);
    assert_eq!(due(&mut rig), std::slice::from_ref(&first.decision));
    // A restart forgets that it was listed, and nothing else.
    rig.restart(0);
    assert_eq!(due(&mut rig), std::slice::from_ref(&first.decision));
    assert_eq!(due(&mut rig), [], "not at once again");
    rig.pass(AUTHORITY_DUE_PAUSE + MOMENT);
    assert_eq!(due(&mut rig), [second.decision, first.decision]);
}

#[test]
fn o04_of_what_was_brought_nothing_is_due() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    rig.tell(MessageBody::Execution(execution(&allowed, 1, 4, 100)));
    rig.pass(TTL + SKEW + MOMENT);
    assert_eq!(due(&mut rig), []);
    rig.restart(0);
    assert_eq!(due(&mut rig), []);
}

#[test]
fn o04_a_list_is_bounded_and_goes_on() {
    let mut rig = Rig::new();
    let count = AUTHORITY_DUE_MAX + 3;
    for _ in 0..count {
        rig.allowed(&request(1, Side::Buy, 1, 1));
    }
    rig.pass(TTL + SKEW + MOMENT);
    assert_eq!(due(&mut rig).len(), AUTHORITY_DUE_MAX);
    assert_eq!(due(&mut rig).len(), 3);
}

#[test]
fn o14_a_void_decision_is_released_by_hand_once() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let name = allowed.decision.grant.unwrap().reservation_id;
    let ask = |rig: &mut Rig, account: u64, name: &str| {
        let mut answer = rig.authorizer.release(AccountId(account), name).unwrap();
        rig.settle();
        answer.try_take().unwrap().unwrap()
    };
    assert!(!ask(&mut rig, 2, &name), "not this account's");
    assert!(!ask(&mut rig, 1, "r-1.1"), "not this shard's");
    assert!(!ask(&mut rig, 1, "nothing"));
    assert_eq!(rig.shard.held_decisions(), 1);
    assert!(ask(&mut rig, 1, &name));
    assert_eq!(rig.money(1), (OPENING, 0));
    assert!(!ask(&mut rig, 1, &name), "once");
    rig.restart(0);
    assert!(!ask(&mut rig, 1, &name), "and after a restart");
    assert_eq!(rig.money(1), (OPENING, 0));
}

/// An executor on its own clock, at the shard's venue.
fn executor(rig: &Rig, clock: &SimClock) -> Executor {
    let instruments = BTreeMap::from([("GOLD".to_owned(), INSTRUMENT)]);
    let parts = ExecutorParts {
        settings: ExecutorSettings {
            keys: keys(),
            ..ExecutorSettings::default()
        },
        venues: vec![VenueSetup {
            name: "sim".into(),
            venue: Box::new(FarVenue::new()),
            instruments,
        }],
        log: Box::new(SimLog::synced()),
        recovered: (0, Vec::new()),
        history: Box::new(NoHistory),
        authority: Authority::Remote(Box::new(rig.authorizer.receiver(70, Box::new(|| {})))),
    };
    Executor::new(parts, clock.clone())
}

#[test]
fn f28_o04_an_authorizers_clock_that_jumps_releases_nothing_that_may_still_be_brought() {
    let mut rig = Rig::new();
    let of_executor = SimClock::new(START);
    let mut executor = executor(&rig, &of_executor);
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let forgotten = rig.allowed(&request(1, Side::Buy, 5, 100));
    rig.clock.set_wall(START.after(Duration::from_secs(3_600)));
    for decision in due(&mut rig) {
        assert!(!executor.void_unseen(&decision), "it may still be brought");
    }
    assert_eq!(rig.shard.held_decisions(), 2);
    executor.submit(1, "agent-7", allowed.body.as_bytes());
    let rests = |executor: &mut Executor, rig: &mut Rig| {
        for _ in 0..20 {
            executor.turn();
            rig.settle();
        }
    };
    rests(&mut executor, &mut rig);
    assert_eq!(executor.orders().len(), 1);
    // The other is over when the executor's clock says so, too.
    of_executor.advance(TTL + MOMENT);
    rig.pass(AUTHORITY_DUE_PAUSE + MOMENT);
    let voided = due(&mut rig)
        .iter()
        .filter(|decision| executor.void_unseen(decision))
        .count();
    assert_eq!(voided, 1);
    of_executor.advance(Duration::from_secs(1));
    rests(&mut executor, &mut rig);
    assert_eq!(rig.shard.held_decisions(), 1);
    assert_eq!(rig.money(1).1, rig_held(&allowed));
    // Set back, it revives nothing.
    rig.clock.set_wall(START);
    executor.submit(2, "agent-7", forgotten.body.as_bytes());
    rests(&mut executor, &mut rig);
    assert_eq!(executor.orders().len(), 1);
}

fn rig_held(allowed: &Allowed) -> i128 {
    match (allowed.decision.size, allowed.decision.price) {
        (Size::Quantity(quantity), Some(price)) => price.notional(quantity).raw(),
        other => panic!("{other:?}"),
    }
}
