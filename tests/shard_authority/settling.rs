//! What an executor tells, each once (rules O23, O24, O27, O28, O30).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pitlane::orders::executor::{Away, Message, MessageBody, Receiver};
use pitlane::shard::record::ToldOutcome;
use pitlane::types::{AccountId, Amount, ClientOrderId, RejectCode, Side};

use crate::journaled::OPENING;
use crate::rig::{Rig, execution, release, request, units};
use crate::shard_cases::{limit, new_order};

fn outcomes(rig: &Rig) -> Vec<ToldOutcome> {
    rig.told().iter().map(|told| told.outcome).collect()
}

#[test]
fn o23_a_fill_settles_its_hold_as_an_own_orders_fill_does() {
    for (side, other) in [(Side::Buy, Side::Sell), (Side::Sell, Side::Buy)] {
        // The shard's own order, filled at its own venue, a little better.
        let mut own = Rig::new();
        let now = pitlane::time::Nanos(2_000_000);
        let better = if side == Side::Buy { 99 } else { 101 };
        own.shard
            .command(&new_order(1, limit(2, other, better, 4)), now);
        own.settle();
        own.shard
            .command(&new_order(2, limit(1, side, 100, 10)), now);
        own.settle();
        let mut rig = Rig::new();
        let allowed = rig.allowed(&request(1, side, 10, 100));
        let fill = execution(&allowed, 1, 4, better);
        rig.tell(MessageBody::Execution(fill));
        assert_eq!(rig.image(1), own.image(1), "{side:?}");
        assert_eq!(outcomes(&rig), [ToldOutcome::Settled]);
        // And so after a restart.
        rig.restart(0);
        assert_eq!(rig.image(1), own.image(1), "{side:?}");
    }
}

#[test]
fn o23_fees_are_paid_and_what_a_trade_realizes_is_counted() {
    let mut rig = Rig::new();
    let bought = rig.allowed(&request(1, Side::Buy, 10, 100));
    let mut fill = execution(&bought, 1, 10, 100);
    fill.fee = Amount::from_raw(units(3));
    fill.release_remainder = true;
    rig.tell(MessageBody::Execution(fill));
    let sold = rig.allowed(&request(1, Side::Sell, 10, 90));
    let mut fill = execution(&sold, 2, 10, 110);
    fill.release_remainder = true;
    rig.tell(MessageBody::Execution(fill));
    assert_eq!(rig.money(1), (OPENING - units(3) + units(100), 0));
    let image = rig.image(1);
    assert_eq!(image.net, 0);
    assert_eq!(image.pnl, units(100) - units(3));
    assert_eq!(rig.shard.held_decisions(), 0);
}

#[test]
fn o23_a_message_and_an_execution_count_once() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let fill = MessageBody::Execution(execution(&allowed, 5, 4, 100));
    rig.tell(fill.clone());
    let booked = rig.image(1);
    // The same message, as after a cursor that was lost.
    rig.tell_as(1, fill.clone());
    assert_eq!(rig.image(1), booked);
    assert_eq!(rig.told().len(), 1, "it is not even written");
    // The same execution under another number.
    rig.tell(fill.clone());
    assert_eq!(rig.image(1), booked);
    // By another executor's log, and after a restart.
    rig.restart(0);
    let mut other = rig.authorizer.receiver(99, Box::new(|| {}));
    let message = Message {
        sequence: 1,
        body: fill.clone(),
    };
    other.offer(&message).unwrap();
    rig.settle();
    assert_eq!(other.taken(), Ok(1));
    rig.tell_as(1, fill);
    assert_eq!(rig.image(1), booked);
    assert_eq!(
        outcomes(&rig),
        [
            ToldOutcome::Settled,
            ToldOutcome::Repeated,
            ToldOutcome::Repeated
        ]
    );
    // The same number at another venue is another execution.
    let mut elsewhere = execution(&allowed, 5, 1, 100);
    elsewhere.venue = "far".into();
    rig.tell(MessageBody::Execution(elsewhere));
    assert_eq!(rig.image(1).net, booked.net + 1_000_000_000);
}

#[test]
fn o23_the_end_that_comes_with_a_repeated_execution_counts() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    rig.tell(MessageBody::Execution(execution(&allowed, 5, 4, 100)));
    let mut again = execution(&allowed, 5, 4, 100);
    again.release_remainder = true;
    rig.tell(MessageBody::Execution(again));
    assert_eq!(rig.money(1), (OPENING - units(400), 0));
}

#[test]
fn o24_an_overfill_is_booked_and_blocks_the_account() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    rig.tell(MessageBody::Execution(execution(&allowed, 1, 12, 100)));
    assert_eq!(rig.image(1).net, 12_000_000_000);
    assert_eq!(rig.money(1), (OPENING - units(1_200), 0));
    assert_eq!(rig.block(1), Some(RejectCode::RiskLimitExceeded));
    assert!(rig.shard.counts().alarms > 0);
    rig.restart(0);
    assert_eq!(rig.block(1), Some(RejectCode::RiskLimitExceeded));
    let code = rig.denied(&request(1, Side::Buy, 1, 1));
    assert_eq!(code, RejectCode::RiskLimitExceeded);
    rig.allowed(&request(2, Side::Buy, 1, 1));
}

#[test]
fn o24_a_fill_beyond_an_order_that_is_over_blocks_and_a_late_one_does_not() {
    for restarts in [false, true] {
        let mut rig = Rig::new();
        let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
        rig.tell(MessageBody::Execution(execution(&allowed, 1, 4, 100)));
        let mut last = execution(&allowed, 2, 3, 100);
        last.release_remainder = true;
        rig.tell(MessageBody::Execution(last));
        let tell = |rig: &mut Rig, fill, quantity| {
            if restarts {
                rig.restart(0);
            }
            rig.tell(MessageBody::Execution(execution(
                &allowed, fill, quantity, 100,
            )));
            rig.block(1)
        };
        // Three of ten were left.
        assert_eq!(tell(&mut rig, 3, 2), None);
        assert_eq!(tell(&mut rig, 4, 1), None);
        assert_eq!(tell(&mut rig, 5, 1), Some(RejectCode::RiskLimitExceeded));
        assert_eq!(rig.image(1).net, 11_000_000_000, "it happened");
    }
}

#[test]
fn o24_a_late_fill_without_a_hold_is_booked_and_alarmed() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Sell, 10, 100));
    rig.tell(release(&allowed));
    assert_eq!(rig.shard.counts().alarms, 0);
    rig.tell(MessageBody::Execution(execution(&allowed, 1, 4, 100)));
    assert_eq!(rig.image(1).net, -4_000_000_000);
    assert_eq!(rig.money(1), (OPENING + units(400), 0));
    assert_eq!(rig.shard.counts().alarms, 1);
    assert_eq!(rig.shard.authority_counts().without_hold, 1);
    assert_eq!(outcomes(&rig), [ToldOutcome::Settled, ToldOutcome::NoHold]);
}

#[test]
fn o24_a_fill_that_names_another_orders_hold_does_not_touch_it() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let held = rig.money(1).1;
    let mut strange = execution(&allowed, 1, 4, 100);
    strange.client_order_id = ClientOrderId { high: 8, low: 9 };
    rig.tell(MessageBody::Execution(strange));
    let mut wrong_side = execution(&allowed, 2, 4, 100);
    wrong_side.side = Some(Side::Sell);
    rig.tell(MessageBody::Execution(wrong_side));
    let mut wrong_account = execution(&allowed, 3, 4, 100);
    wrong_account.account_id = Some(AccountId(2));
    rig.tell(MessageBody::Execution(wrong_account));
    assert_eq!(outcomes(&rig), [ToldOutcome::NoHold; 3]);
    assert_eq!(rig.money(1).1, held, "the hold is as it was");
    assert_eq!((rig.image(1).net, rig.image(2).net), (0, 4_000_000_000));
}

#[test]
fn o24_what_nobody_can_book_is_set_aside_and_stays_so() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let mut external = execution(&allowed, 1, 4, 100);
    external.account_id = None;
    external.external = true;
    external.side = None;
    external.reservation_id = String::new();
    external.instrument = String::new();
    rig.tell(MessageBody::Execution(external));
    assert_eq!(rig.block(1), None);
    let mut unnamed = execution(&allowed, 2, 4, 100);
    unnamed.instrument = "TIN".into();
    rig.tell(MessageBody::Execution(unnamed));
    assert_eq!(rig.block(1), Some(RejectCode::UnknownInstrument));
    let aside: Vec<_> = rig.shard.set_aside().map(|told| told.fill_id.0).collect();
    assert_eq!(aside, [1, 2]);
    assert_eq!(rig.image(1).net, 0);
    rig.restart(0);
    let again: Vec<_> = rig.shard.set_aside().map(|told| told.fill_id.0).collect();
    assert_eq!(again, aside);
    assert_eq!(rig.block(1), Some(RejectCode::UnknownInstrument));
}

#[test]
fn o24_a_fill_of_an_account_that_nobody_knows_is_booked_and_blocks_it() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let mut strange = execution(&allowed, 1, 4, 100);
    strange.account_id = Some(AccountId(77));
    rig.tell(MessageBody::Execution(strange));
    assert_eq!(rig.image(77).net, 4_000_000_000);
    assert_eq!(rig.block(77), Some(RejectCode::UnknownAccount));
    rig.restart(0);
    assert_eq!(rig.image(77).net, 4_000_000_000);
}

#[test]
fn o27_what_is_left_of_a_hold_is_released_once() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let other = rig.allowed(&request(1, Side::Buy, 5, 100));
    rig.tell(MessageBody::Execution(execution(&allowed, 1, 4, 90)));
    assert_eq!(rig.money(1).1, units(600) + units(500));
    rig.tell(release(&allowed));
    let after = rig.image(1);
    assert_eq!(
        rig.money(1),
        (OPENING - units(360) - units(500), units(500))
    );
    rig.tell(release(&allowed));
    rig.tell_as(2, release(&allowed));
    rig.restart(0);
    rig.tell(release(&allowed));
    assert_eq!(rig.image(1), after, "it was free already");
    let mut last = execution(&other, 2, 5, 100);
    last.release_remainder = true;
    rig.tell(MessageBody::Execution(last));
    rig.tell(release(&other));
    assert_eq!(rig.money(1), (OPENING - units(360) - units(500), 0));
    assert_eq!(rig.shard.held_decisions(), 0);
}

#[test]
fn o28_a_reversal_takes_the_fill_back_once() {
    let mut rig = Rig::new();
    let before = rig.image(1);
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let mut fill = execution(&allowed, 1, 4, 90);
    fill.fee = Amount::from_raw(units(2));
    rig.tell(MessageBody::Execution(fill.clone()));
    rig.tell(MessageBody::Reversal(fill.clone()));
    rig.tell(MessageBody::Reversal(fill.clone()));
    rig.restart(0);
    rig.tell(MessageBody::Reversal(fill));
    // What it traded is not held again: its order does not trade it again.
    assert_eq!(rig.money(1), (OPENING - units(600), units(600)));
    rig.tell(release(&allowed));
    let after = rig.image(1);
    assert_eq!((after.net, after.pnl), (0, 0));
    assert_eq!(after.of_settlement, before.of_settlement);
    assert_eq!(after.of_base, before.of_base);
    let counts = rig.shard.authority_counts();
    assert_eq!(counts.repeated, 1, "since the restart");
}

#[test]
fn o30_a_message_is_taken_when_it_is_durable_and_not_before() {
    let mut rig = Rig::new();
    let allowed = rig.allowed(&request(1, Side::Buy, 10, 100));
    let rung = Arc::new(AtomicU64::new(0));
    let bell = |rung: &Arc<AtomicU64>| -> Box<dyn Fn() + Send + Sync> {
        let rung = Arc::clone(rung);
        Box::new(move || {
            rung.fetch_add(1, Ordering::Relaxed);
        })
    };
    let mut receiver = rig.authorizer.receiver(8, bell(&rung));
    rig.syncs = false;
    for sequence in 1..=3 {
        let body = MessageBody::Execution(execution(&allowed, sequence, 1, 100));
        receiver.offer(&Message { sequence, body }).unwrap();
    }
    for _ in 0..5 {
        rig.turn();
    }
    assert_eq!(rig.image(1).net, 3_000_000_000, "booked");
    assert_eq!(receiver.taken(), Ok(0), "and not durable");
    rig.restart(0);
    assert_eq!(receiver.taken(), Err(Away), "that shard is gone");
    assert_eq!(rig.image(1).net, 0);
    let mut receiver = rig.authorizer.receiver(8, bell(&rung));
    for sequence in 1..=3 {
        let body = MessageBody::Execution(execution(&allowed, sequence, 1, 100));
        receiver.offer(&Message { sequence, body }).unwrap();
    }
    rig.turn();
    assert_eq!(rung.load(Ordering::Relaxed), 0);
    rig.journal.sync();
    rig.turn();
    assert_eq!(receiver.taken(), Ok(3));
    assert_eq!(rung.load(Ordering::Relaxed), 1, "one bell for all of them");
    assert_eq!(rig.image(1).net, 3_000_000_000);
}
