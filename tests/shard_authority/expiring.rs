//! Decisions that were never brought (rules O4, O14).

use std::time::Duration;

use pitlane::limits::{AUTHORITY_DUE_MAX, AUTHORITY_DUE_PAUSE};
use pitlane::orders::decision::Decision;
use pitlane::orders::executor::MessageBody;
use pitlane::types::{AccountId, Side};

use crate::journaled::OPENING;
use crate::rig::{Rig, SKEW, TTL, execution, request};

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
