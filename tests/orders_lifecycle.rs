//! An order's life: states, fills, busts, and where it stands (rules O19, O24
//! to O28), against a plain model.

use pitlane::orders::Code;
use pitlane::orders::decision::Size;
use pitlane::orders::lifecycle::{
    Booking, Fill, Mover, OrderState, OrderTerms, Standing, TrackedOrder,
};
use pitlane::time::UnixNanos;
use pitlane::types::{
    AccountId, Amount, ClientOrderId, FillId, InstrumentId, OrderType, Price, Quantity, Side,
    TimeInForce,
};
use proptest::prelude::*;

fn quantity(units: i64) -> Quantity {
    Quantity::from_raw(units * 1_000_000_000)
}

fn terms(size: Size) -> OrderTerms {
    OrderTerms {
        client_order_id: ClientOrderId { high: 1, low: 2 },
        decision_id: "d".into(),
        agent_id: "a".into(),
        user_id: "u".into(),
        account: AccountId(1),
        venue: 0,
        instrument_name: "GOLD".into(),
        instrument: InstrumentId(1),
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        size,
        price: Some("10".parse().unwrap()),
        stop_price: None,
        good_till: None,
        reservation_id: "r".into(),
        expires_at: UnixNanos(0),
    }
}

fn order(units: i64) -> TrackedOrder {
    let mut order = TrackedOrder::new(terms(Size::Quantity(quantity(units))));
    order.advance(OrderState::PendingNew, Mover::Event).unwrap();
    order
}

fn fill(id: u64, units: i64, price: i64) -> Fill {
    Fill {
        fill_id: FillId(id),
        quantity: quantity(units),
        price: Price::from_raw(price * 1_000_000_000),
        fee: Amount::from_raw(7),
    }
}

fn standing(order: &TrackedOrder) -> [i128; 5] {
    let Standing {
        size,
        cum,
        leaves,
        ended,
        excess,
    } = order.standing();
    [size, cum, leaves, ended, excess].map(|part| part.raw() / 1_000_000_000_000_000_000)
}

const ON_TIME: Booking = Booking::Booked {
    late: false,
    overfilled: false,
};

#[test]
fn o19_an_illegal_move_changes_nothing_and_says_so() {
    let mut order = order(10);
    order.advance(OrderState::Unknown, Mover::Event).unwrap();
    let before = order.clone();
    for to in OrderState::ALL {
        let refusal = order.advance(to, Mover::Event).unwrap_err();
        assert_eq!(refusal.code, Code::OrderState);
        assert_eq!(order, before);
    }
    order
        .advance(OrderState::Acked, Mover::Reconciliation)
        .unwrap();
    assert_eq!(order.state(), OrderState::Acked);
}

#[test]
fn o20_fills_in_unknown_are_booked_and_the_state_stays() {
    let mut order = order(10);
    order.advance(OrderState::Unknown, Mover::Event).unwrap();
    assert_eq!(order.book(fill(1, 10, 5)), ON_TIME);
    assert_eq!(order.state(), OrderState::Unknown);
    assert_eq!(
        order.state_by_fills(),
        OrderState::Filled,
        "the answer will move it"
    );
    assert_eq!(standing(&order), [10, 10, 0, 0, 0]);
}

#[test]
fn o24_a_late_fill_is_booked_and_resurrects_nothing() {
    for end in [
        OrderState::Cancelled,
        OrderState::Expired,
        OrderState::Rejected,
    ] {
        let mut order = order(10);
        order.advance(end, Mover::Event).unwrap();
        assert_eq!(standing(&order), [10, 0, 0, 10, 0]);
        let booking = order.book(fill(1, 4, 5));
        assert_eq!(
            booking,
            Booking::Booked {
                late: true,
                overfilled: false
            }
        );
        assert_eq!(order.state(), end);
        assert_eq!(standing(&order), [10, 4, 0, 6, 0]);
    }
}

#[test]
fn o24_an_overfill_is_booked_and_reported_apart() {
    let mut order = order(10);
    assert_eq!(order.book(fill(1, 7, 5)), ON_TIME);
    let booking = order.book(fill(2, 5, 5));
    assert_eq!(
        booking,
        Booking::Booked {
            late: false,
            overfilled: true
        }
    );
    assert_eq!(order.state(), OrderState::Filled);
    assert_eq!(standing(&order), [10, 10, 0, 0, 2]);
    assert_eq!(order.filled(), quantity(12).amount(), "all of it happened");
}

#[test]
fn o24_an_order_by_volume_counts_volume() {
    let volume: Amount = "100".parse().unwrap();
    let mut order = TrackedOrder::new(terms(Size::Volume(volume)));
    order.advance(OrderState::PendingNew, Mover::Event).unwrap();
    order.book(fill(1, 3, 20));
    assert_eq!(order.state(), OrderState::PartiallyFilled);
    assert_eq!(standing(&order), [100, 60, 40, 0, 0]);
    order.book(fill(2, 4, 10));
    assert_eq!(order.state(), OrderState::Filled);
    assert_eq!(standing(&order), [100, 100, 0, 0, 0]);
}

#[test]
fn o25_filled_is_only_what_is_whole_and_a_bust_does_not_reopen_it() {
    let mut order = order(10);
    order.book(fill(1, 9, 5));
    assert_eq!(order.state(), OrderState::PartiallyFilled);
    order.book(fill(2, 1, 5));
    assert_eq!(order.state(), OrderState::Filled);
    assert_eq!(order.reverse(FillId(2)), Some(fill(2, 1, 5)));
    assert_eq!(order.state(), OrderState::Filled);
    assert_eq!(standing(&order), [10, 9, 0, 1, 0]);
}

#[test]
fn o25_a_partly_filled_then_cancelled_order_is_cancelled_with_its_cum() {
    let mut order = order(10);
    order.book(fill(1, 4, 5));
    order.advance(OrderState::Cancelled, Mover::Event).unwrap();
    assert_eq!(standing(&order), [10, 4, 0, 6, 0]);
    assert_eq!(order.average_price(), Some("5".parse().unwrap()));
}

#[test]
fn o28_a_bust_reverses_once_whenever_it_comes() {
    let mut order = order(10);
    order.book(fill(1, 4, 5));
    assert_eq!(order.reverse(FillId(1)), Some(fill(1, 4, 5)));
    assert_eq!(order.reverse(FillId(1)), None);
    assert_eq!(standing(&order), [10, 0, 6, 4, 0], "it does not work again");
    assert_eq!(order.fees(), Amount::ZERO);
    // A bust that overtook its fill.
    assert_eq!(order.reverse(FillId(2)), None);
    assert_eq!(order.book(fill(2, 3, 5)), ON_TIME);
    assert_eq!(order.filled(), Amount::ZERO);
    assert_eq!(order.book(fill(2, 3, 5)), Booking::Duplicate);
}

#[test]
fn o28_a_correction_replaces_the_fill_and_keeps_what_works() {
    let mut order = order(10);
    order.book(fill(1, 4, 5));
    let wrong = order.reverse(FillId(1)).unwrap();
    assert_eq!(order.correct(&wrong, fill(2, 4, 6)), ON_TIME);
    assert_eq!(standing(&order), [10, 4, 6, 0, 0]);
    assert_eq!(order.average_price(), Some("6".parse().unwrap()));
}

#[test]
fn o26_what_leaves_its_range_is_kept_and_shown_as_nothing() {
    let mut order = order(10);
    for id in 0..3 {
        order.book(Fill {
            fill_id: FillId(id),
            quantity: Quantity::MAX,
            price: Price::MAX,
            fee: Amount::ZERO,
        });
    }
    assert!(order.is_out_of_range());
    assert_eq!(order.average_price(), None);
}

/// What a person would write down of an order.
#[derive(Default)]
struct Notes {
    fills: Vec<(u64, i64, i64, bool)>,
    busted: Vec<u64>,
}

proptest! {
    /// Fills, busts and ends in any order: the parts add up to the size, what
    /// is filled is what the notes say, and the end is final.
    #[test]
    fn o24_cum_leaves_and_ended_add_up_whatever_happens(
        events in prop::collection::vec((0u8..6, 1u64..6, 1i64..7, 1i64..50), 1..40),
    ) {
        let mut order = order(10);
        let mut notes = Notes::default();
        let mut over = None;
        for (kind, id, units, price) in events {
            match kind {
                0..=2 => {
                    let booking = order.book(fill(id, units, price));
                    let known = notes.fills.iter().any(|(own, ..)| *own == id);
                    prop_assert_eq!(booking == Booking::Duplicate, known);
                    if !known {
                        let busted = notes.busted.contains(&id);
                        notes.fills.push((id, units, price, busted));
                        let late = over.is_some();
                        prop_assert_eq!(
                            matches!(booking, Booking::Booked { late: true, .. }), late
                        );
                    }
                }
                3 => {
                    let booked = notes.fills.iter_mut().find(|(own, ..)| *own == id);
                    let fresh = booked.is_some_and(|own| !std::mem::replace(&mut own.3, true));
                    prop_assert_eq!(order.reverse(FillId(id)).is_some(), fresh);
                    notes.busted.push(id);
                }
                4 => {
                    let moved = order.advance(OrderState::Cancelled, Mover::Event).is_ok();
                    prop_assert_eq!(moved, over.is_none());
                }
                _ => {
                    let acked = order.advance(OrderState::Acked, Mover::Event).is_ok();
                    let state = order.state();
                    prop_assert!(!acked || state == OrderState::Acked);
                }
            }
            if order.state().is_terminal() {
                prop_assert!(over.is_none_or(|end| end == order.state()));
                over = Some(order.state());
            }
            let filled: i64 = notes.fills.iter().filter(|f| !f.3).map(|f| f.1).sum();
            let [size, cum, leaves, ended, excess] = standing(&order);
            prop_assert_eq!(cum + leaves + ended, size);
            prop_assert_eq!(cum + excess, i128::from(filled));
            prop_assert!(cum >= 0 && leaves >= 0 && ended >= 0 && excess >= 0);
            prop_assert!(over.is_none() || leaves == 0);
            if order.state() == OrderState::Filled {
                let all: i64 = notes.fills.iter().map(|f| f.1).sum();
                prop_assert!(all >= 10, "filled needs fills for all of it");
            }
        }
    }
}
