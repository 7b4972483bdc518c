//! Inputs that broke others, at a shard: each a test. Those of an executor are in
//! `orders_executor/hard_inputs.rs`, with the list of all.

use pitlane::orders::executor::MessageBody;
use pitlane::orders::venue::VenueEvent;
use pitlane::time::Nanos;
use pitlane::types::{Command, ReportKind, Side};

use crate::journaled::OPENING;
use crate::rig::{Rig, execution, request, units};
use crate::shard_cases::{limit, new_order, replace};

fn run(rig: &mut Rig, command: &Command) {
    rig.shard.command(command, Nanos(2_000_000));
    rig.settle();
    // Until the account's orders are known after a restart it sends none.
    assert_eq!(rig.shard.unreconciled(), 0);
}

/// Two accounts trade with one another, the first named is the buyer.
fn trade(rig: &mut Rig, reference: u64, accounts: [u64; 2], price: i64, quantity: i64) {
    let [buyer, seller] = accounts;
    let bid = limit(buyer, Side::Buy, price, quantity);
    let offer = limit(seller, Side::Sell, price, quantity);
    run(rig, &new_order(reference, bid));
    run(rig, &new_order(reference + 1, offer));
}

#[test]
fn j05_a_restart_with_an_open_position_goes_on_from_it() {
    let play = |restarts: bool| {
        let mut rig = Rig::new();
        trade(&mut rig, 1, [1, 2], 100, 10);
        if restarts {
            rig.restart(0);
        }
        assert_eq!(rig.image(1).net, 10_000_000_000);
        trade(&mut rig, 11, [1, 2], 120, 10);
        if restarts {
            rig.restart(0);
        }
        trade(&mut rig, 21, [3, 1], 130, 15);
        rig.image(1)
    };
    let image = play(true);
    assert_eq!(image, play(false));
    // Bought at 110 on the average, fifteen of twenty sold at 130.
    assert_eq!((image.net, image.pnl), (5_000_000_000, units(300)));
    let money = image.of_settlement.available.raw();
    assert_eq!(money, OPENING - units(1_000 + 1_200 - 1_950));
}

#[test]
fn k28_a_duplicate_of_a_fill_that_turned_a_position_around_changes_nothing() {
    let mut rig = Rig::new();
    trade(&mut rig, 1, [1, 2], 100, 10);
    // Fifteen of twenty: long ten becomes short five, and the order works on.
    run(&mut rig, &new_order(11, limit(2, Side::Buy, 110, 15)));
    run(&mut rig, &new_order(12, limit(1, Side::Sell, 110, 20)));
    let turned = rig.image(1);
    assert_eq!((turned.net, turned.pnl), (-5_000_000_000, units(100)));
    let id = rig.venue.look(|far| far.submits.last().unwrap().id);
    for round in 1..=2 {
        rig.venue.look(|far| {
            let truth = far.venue.truth(id);
            let fills = truth
                .iter()
                .filter(|one| matches!(one, VenueEvent::Executed { .. }));
            fills.for_each(|fill| far.venue.tell(*fill));
        });
        rig.settle();
        assert_eq!(rig.image(1), turned, "round {round}");
        assert!(rig.shard.counts().repeated_fills > 0);
        rig.restart(0);
        rig.settle();
        assert_eq!(rig.image(1), turned, "restart {round}");
    }
}

#[test]
fn o23_a_duplicate_of_an_executors_fill_that_turned_a_position_around_changes_nothing() {
    let mut rig = Rig::new();
    let bought = rig.allowed(&request(1, Side::Buy, 10, 100));
    rig.tell(MessageBody::Execution(execution(&bought, 1, 10, 100)));
    let sold = rig.allowed(&request(1, Side::Sell, 20, 110));
    let turn = MessageBody::Execution(execution(&sold, 2, 15, 110));
    rig.tell(turn.clone());
    let turned = rig.image(1);
    assert_eq!((turned.net, turned.pnl), (-5_000_000_000, units(100)));
    for _ in 0..2 {
        rig.tell(turn.clone());
        assert_eq!(rig.image(1), turned);
        rig.restart(0);
        assert_eq!(rig.image(1), turned);
    }
}

#[test]
fn k17_a_replace_after_a_partial_fill_holds_for_what_is_left() {
    for restarts in [false, true] {
        let mut rig = Rig::new();
        run(&mut rig, &new_order(1, limit(1, Side::Buy, 100, 10)));
        run(&mut rig, &new_order(2, limit(2, Side::Sell, 100, 4)));
        if restarts {
            rig.restart(0);
            rig.settle();
        }
        assert_eq!(rig.money(1).1, units(600));
        // The new size counts what was filled.
        run(&mut rig, &replace(3, 1, 1, 99, 12));
        assert_eq!(rig.money(1), (OPENING - units(400 + 792), units(792)));
        run(&mut rig, &new_order(4, limit(2, Side::Sell, 99, 3)));
        assert_eq!(rig.money(1).1, units(495));
        // Less than was filled cannot be asked for.
        rig.reports.drain(usize::MAX, &mut |_| {});
        run(&mut rig, &replace(5, 1, 1, 99, 6));
        let mut kinds = Vec::new();
        rig.reports
            .drain(usize::MAX, &mut |report| kinds.push(report.kind));
        assert_eq!(kinds, [ReportKind::CancelRejected]);
        assert_eq!(rig.money(1).1, units(495));
        run(&mut rig, &new_order(6, limit(2, Side::Sell, 99, 5)));
        assert_eq!(rig.money(1), (OPENING - units(400 + 792), 0));
        assert_eq!(rig.shard.open_orders(), 0);
    }
}
