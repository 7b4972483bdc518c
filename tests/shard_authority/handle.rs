//! The handle alone: what it refuses, and that it never stands in for a shard.

use std::collections::BTreeMap;
use std::time::Duration;

use pitlane::limits::{AUTHORITY_ASKS_MAX, DECISION_TTL_MAX};
use pitlane::orders::decision::{Role, Signer, Size};
use pitlane::orders::executor::{Away, Message, MessageBody, Receiver, Release};
use pitlane::shard::authority::{
    AuthorityEnd, Authorizer, AuthorizerSettings, Decided, DecisionRequest, Undecided,
};
use pitlane::time::{SimClock, UnixNanos};
use pitlane::types::{
    AccountId, ClientOrderId, InstrumentId, OrderType, PRICE_SCALE, Price, Quantity, RejectCode,
    Side, TimeInForce,
};

const NO_TIME: Duration = Duration::ZERO;

fn authorizer(shards: usize) -> (Authorizer, Vec<AuthorityEnd>) {
    let gold = BTreeMap::from([("GOLD".to_owned(), InstrumentId(1))]);
    let settings = AuthorizerSettings {
        signer: Some(Signer::new("authorizer-1", Role::Authorizer, &[1; 32]).unwrap()),
        instruments: BTreeMap::from([("sim".to_owned(), gold)]),
        skew: Duration::from_secs(5),
        clock: Box::new(SimClock::new(UnixNanos(1_796_000_000_000_000_000))),
    };
    Authorizer::new(settings, vec![None; shards])
}

fn request() -> DecisionRequest {
    DecisionRequest {
        agent_id: "agent-7".into(),
        user_id: "ann".into(),
        account: AccountId(42),
        venue: "sim".into(),
        instrument: "GOLD".into(),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::GoodTillCancel,
        size: Size::Quantity(Quantity::from_raw(PRICE_SCALE)),
        price: Some(Price::from_raw(100 * PRICE_SCALE)),
        stop_price: None,
        good_till: None,
        ttl: Duration::from_secs(60),
    }
}

fn release(sequence: u64) -> Message {
    let body = MessageBody::Release(Release {
        reservation_id: "r-0.1".into(),
        account_id: AccountId(42),
        client_order_id: ClientOrderId { high: 1, low: 2 },
    });
    Message { sequence, body }
}

#[test]
fn a_shard_that_is_gone_is_not_there_before_and_after_the_question() {
    let (authorizer, ends) = authorizer(1);
    let asked = authorizer.decide(&request()).unwrap();
    drop(ends);
    assert_eq!(asked.wait(NO_TIME), Err(Undecided::NotThere));
    let refused = authorizer.decide(&request());
    assert_eq!(refused.err(), Some(Undecided::NotThere));
    let refused = authorizer.release(AccountId(42), "r-0.1");
    assert_eq!(refused.err(), Some(Undecided::NotThere));
    let mut due = authorizer.due();
    assert!(!due.poll(&mut |decision| panic!("{decision:?}")));
}

#[test]
fn a_shard_that_does_not_turn_is_late_and_in_the_end_busy() {
    let (authorizer, ends) = authorizer(1);
    let mut asked = authorizer.decide(&request()).unwrap();
    assert_eq!(asked.try_take(), None, "it is on its way");
    assert_eq!(asked.wait(NO_TIME), Err(Undecided::Late));
    for _ in 1..AUTHORITY_ASKS_MAX {
        drop(authorizer.decide(&request()).unwrap());
    }
    let refused = authorizer.decide(&request());
    assert_eq!(refused.err(), Some(Undecided::Busy));
    drop(ends);
}

#[test]
fn o30_what_a_shard_had_and_did_not_take_for_good_is_offered_again() {
    let (authorizer, ends) = authorizer(1);
    let mut receiver = authorizer.receiver(1, Box::new(|| {}));
    assert_eq!(receiver.offer(&release(1)), Ok(()));
    assert_eq!(receiver.taken(), Ok(0), "handed over is not taken");
    drop(ends);
    assert_eq!(receiver.taken(), Err(Away));
    assert_eq!(receiver.offer(&release(1)), Err(Away));
}

#[test]
fn o01_what_no_decision_can_say_is_not_asked_of_a_shard() {
    let (authorizer, ends) = authorizer(1);
    let wrong = |change: &dyn Fn(&mut DecisionRequest)| {
        let mut request = request();
        change(&mut request);
        match authorizer.decide(&request) {
            Err(Undecided::Invalid(error)) => error.field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(wrong(&|own| own.agent_id = "not a name".into()), "agent_id");
    assert_eq!(wrong(&|own| own.user_id.clear()), "user_id");
    assert_eq!(
        wrong(&|own| own.size = Size::Quantity(Quantity::ZERO)),
        "qty"
    );
    assert_eq!(wrong(&|own| own.price = None), "price");
    assert_eq!(wrong(&|own| own.stop_price = own.price), "stop_price");
    let stops = |own: &mut DecisionRequest| own.order_type = OrderType::StopLimit;
    assert_eq!(wrong(&stops), "stop_price");
    assert_eq!(
        wrong(&|own| own.time_in_force = TimeInForce::GoodTillDate),
        "good_till"
    );
    assert_eq!(
        wrong(&|own| own.good_till = Some(UnixNanos(1))),
        "good_till"
    );
    assert_eq!(wrong(&|own| own.ttl = Duration::ZERO), "ttl");
    assert_eq!(
        wrong(&|own| own.ttl = DECISION_TTL_MAX + Duration::from_nanos(1)),
        "ttl"
    );
    drop(ends);
}

#[test]
fn k26_a_name_that_nothing_has_is_denied_with_its_code() {
    let (authorizer, ends) = authorizer(3);
    let denied = |change: &dyn Fn(&mut DecisionRequest)| {
        let mut request = request();
        change(&mut request);
        match authorizer.decide(&request).unwrap().wait(NO_TIME) {
            Ok(Decided::Denied(rejects)) => rejects.code(),
            other => panic!("{other:?}"),
        }
    };
    let code = denied(&|own| own.venue = "moon".into());
    assert_eq!(code, RejectCode::UnknownVenue);
    let code = denied(&|own| own.instrument = "TIN".into());
    assert_eq!(code, RejectCode::UnknownInstrument);
    drop(ends);
}
