//! Inputs that broke others, each a test:
//!
//! | input | test |
//! |---|---|
//! | an acknowledgement between time-out and reconciliation | `o20_an_ack_between_…` |
//! | an order that times out and then fills | `o20_timed_out_then_filled_…` |
//! | the venue dark for ten minutes | `o21_a_venue_that_is_dark_…` |
//! | all fills replayed twice after a restart | `f30_all_fills_replayed_twice_…` |
//! | a restart with an open position | `j05_a_restart_with_an_open_position_…` (shard) |
//! | killed between send and fill | `o22_f05_killed_between_send_and_fill_…` |
//! | a fill that crosses every cancel | `o33_fills_that_cross_every_cancel_…` |
//! | a stale cancel after filled | `o33_a_cancel_of_an_order_that_is_over_…`, and here |
//! | partial, then cancel | `o25_partial_then_cancel_…` |
//! | a fill beyond what remains | `o24_f32_an_overfill_…`, and after the end (shard) |
//! | a cancel reject that means already filled | `o33_a_cancel_reject_…` |
//! | replace after a partial | `k17_a_replace_after_a_partial_fill_…` (shard) |
//! | a duplicate of a fill that turned a position around | `k28_a_duplicate_…` (shard) |
//! | a journal cut at every byte of its last group | `j02_f02_a_group_cut_at_any_byte_…` |
//! | a journal damaged in its middle | `j06_f09_…`, `f09_f43_…` |

use std::time::Duration;

use pitlane::orders::Code;
use pitlane::orders::lifecycle::OrderState;
use pitlane::orders::venue::VenueEvent;
use pitlane::orders::venue::distant::{Chance, Faults};
use pitlane::time::UnixNanos;
use pitlane::types::Side;

use crate::rig::{Rig, START, order_id, units};

const ORDERS: u64 = 12;

/// Orders that work, behind a line on which a message takes 50 ms.
fn working() -> Rig {
    let mut rig = Rig::new();
    for number in 1..=ORDERS {
        rig.working(number);
    }
    let slow = Duration::from_millis(50);
    rig.faults(Faults {
        delay: slow..=slow,
        ..Faults::default()
    });
    rig
}

#[test]
fn o33_fills_that_cross_every_cancel_win_what_they_filled() {
    // Everything, and four of the ten of each: the book fills the oldest first.
    for whole in [true, false] {
        let mut rig = working();
        let mut filled = 0;
        if whole {
            rig.market(Side::Sell, 10 * i64::try_from(ORDERS).unwrap(), 100);
            filled = ORDERS;
        }
        // The fills are on their way here, the cancels on theirs.
        let cancels: Vec<_> = (1..=ORDERS).map(|number| rig.cancel(number)).collect();
        rig.settle();
        if !whole {
            rig.market(Side::Sell, 64, 100);
            filled = 6;
        }
        rig.pass(Duration::from_secs(2));
        for (number, cancel) in (1..=ORDERS).zip(cancels) {
            let order = rig.order(number);
            let (state, quantity) = match number {
                number if number <= filled => (OrderState::Filled, 10),
                7 => (OrderState::Cancelled, 4),
                _ => (OrderState::Cancelled, 0),
            };
            assert_eq!(rig.answer(cancel), Ok(state), "order {number}");
            assert_eq!(order.filled_qty, units(quantity).amount());
            assert_eq!(order.ended, units(10 - quantity).amount());
            let settled = (i128::from(units(quantity).raw()), 1);
            assert_eq!(rig.inbox.settled(order_id(number)), settled);
        }
        assert_eq!(rig.executor().open_questions(), 0);
        assert_eq!(rig.executor().counts().illegal_moves, 0);
    }
}

#[test]
fn f28_a_wall_clock_that_jumps_moves_no_deadline_and_no_number() {
    let hour = Duration::from_secs(3_600);
    for jumped in [START.after(hour), UnixNanos(START.0 - 3_600_000_000_000)] {
        let mut rig = Rig::new();
        rig.working(1);
        let told = rig.inbox.bodies().len();
        // One that is not acknowledged: its time-out is no wall's.

        rig.faults(Faults {
            lose: Chance::in_a_million(1_000_000),
            ..Faults::default()
        });
        let decision = rig.decision(2);
        rig.bring(decision);
        rig.settle();
        rig.clock.set_wall(jumped);
        rig.pass(Duration::from_millis(1_900));
        assert_eq!(rig.state(2), OrderState::PendingNew);
        rig.pass(Duration::from_millis(200));
        assert_eq!(rig.state(2), OrderState::Unknown);
        let decision = rig.decision(4);
        rig.bring(decision);
        rig.settle();
        // Decisions of before are as old as the latest time that was judged by.
        rig.faults(Faults::default());
        rig.clock.set_wall(START);
        let mut late = rig.decision(3);
        late.expires_at = START.after(Duration::from_secs(30));
        let request = rig.bring(late);
        rig.settle();
        let expired = jumped > START;
        let answer = rig.answer(request);
        assert_eq!(answer == Err(Code::DecisionExpired), expired, "{answer:?}");
        // What is told goes on where it was.
        rig.market(Side::Sell, 10, 100);
        rig.pass(Duration::from_secs(1));
        assert_eq!(rig.state(1), OrderState::Filled);
        assert!(rig.inbox.bodies().len() > told);
        let seen = rig.inbox.0.borrow();
        let numbers: Vec<_> = seen.seen.iter().map(|message| message.sequence).collect();
        assert!(
            numbers.iter().copied().eq(1..=numbers.len() as u64),
            "{numbers:?}"
        );
    }
}

#[test]
fn o33_a_stale_cancel_after_filled_moves_nothing_whoever_says_it() {
    let mut rig = Rig::new();
    rig.working(1);
    let stale = VenueEvent::Canceled {
        id: order_id(1),
        unfilled: units(10),
    };
    rig.market(Side::Sell, 10, 100);
    rig.settle();
    assert_eq!(rig.state(1), OrderState::Filled);
    for _ in 0..2 {
        rig.tell(stale);
        rig.cancel(1);
        rig.pass(Duration::from_secs(1));
        assert_eq!(rig.state(1), OrderState::Filled);
        assert_eq!(rig.inbox.settled(order_id(1)), (10_000_000_000, 1));
        rig.start();
    }
}
