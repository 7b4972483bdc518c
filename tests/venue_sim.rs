//! The simulated venue, case by case: what trades, what is refused, and in which
//! order that is told.

#[path = "support/venue_cases.rs"]
mod venue_cases;

use pitlane::limits;
use pitlane::orders::venue::sim::{Phase, PhaseError, SimConfig, SimVenue};
use pitlane::orders::venue::{Venue, VenueError, VenueEvent, VenueOrder};
use pitlane::types::{
    Amount, ClientOrderId, FillId, InstrumentId, OrderType, Price, Quantity, RejectCode, Side,
    TimeInForce,
};
use venue_cases::{
    ES, acknowledged, by_volume, canceled, config, drain, executed, id, limit, lots, market, price,
    submitted, venue,
};

#[test]
fn o36_fills_at_the_resting_price_by_price_then_time() {
    let mut venue = venue(Phase::Continuous);
    for order in [
        limit(1, Side::Sell, 102, 2),
        limit(2, Side::Sell, 101, 1),
        limit(3, Side::Sell, 101, 4),
    ] {
        submitted(&mut venue, &order);
    }
    let events = submitted(&mut venue, &limit(4, Side::Buy, 102, 6));
    assert_eq!(
        events,
        [
            acknowledged(4),
            executed(2, 1, 101, 1, 0, false),
            executed(4, 2, 101, 1, 5, true),
            executed(3, 3, 101, 4, 0, false),
            executed(4, 4, 101, 4, 1, true),
            executed(1, 5, 102, 1, 1, false),
            executed(4, 6, 102, 1, 0, true),
        ]
    );
    assert_eq!(venue.open_orders(), 1);
    assert_eq!(venue.best(ES, Side::Sell), Some(price(102)));
    assert_eq!(venue.best(ES, Side::Buy), None);
}

#[test]
fn o38_a_limit_day_order_rests_an_immediate_or_cancel_does_not() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Sell, 100, 2));
    let immediate = VenueOrder {
        time_in_force: TimeInForce::ImmediateOrCancel,
        ..limit(2, Side::Buy, 100, 5)
    };
    assert_eq!(
        submitted(&mut venue, &immediate),
        [
            acknowledged(2),
            executed(1, 1, 100, 2, 0, false),
            executed(2, 2, 100, 2, 3, true),
            canceled(2, 3),
        ]
    );
    assert_eq!(
        submitted(&mut venue, &limit(3, Side::Buy, 100, 5)),
        [acknowledged(3)]
    );
    assert_eq!(venue.order(id(3)).unwrap().leaves, lots(5));
}

#[test]
fn o38_a_market_order_takes_every_level_and_never_rests() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Buy, 50, 1));
    submitted(&mut venue, &limit(2, Side::Buy, 1, 1));
    assert_eq!(
        submitted(&mut venue, &market(3, Side::Sell, 5)),
        [
            acknowledged(3),
            executed(1, 1, 50, 1, 0, false),
            executed(3, 2, 50, 1, 4, true),
            executed(2, 3, 1, 1, 0, false),
            executed(3, 4, 1, 1, 3, true),
            canceled(3, 3),
        ]
    );
    assert_eq!(
        submitted(&mut venue, &market(4, Side::Sell, 5)),
        [acknowledged(4), canceled(4, 5)]
    );
    assert_eq!(venue.open_orders(), 0);
}

#[test]
fn o36_bad_orders_are_rejected_with_a_code() {
    use RejectCode as Code;
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Buy, 10, 1));
    let good = limit(2, Side::Buy, 10, 1);
    let priced = |at: Price| VenueOrder {
        price: Some(at),
        ..good
    };
    let sized = |of: Quantity| VenueOrder {
        quantity: Some(of),
        ..good
    };
    let cases = [
        (limit(1, Side::Sell, 99, 1), Code::DuplicateClientOrderId),
        (
            VenueOrder {
                instrument: InstrumentId(8),
                ..good
            },
            Code::UnknownInstrument,
        ),
        (priced(Price::ZERO), Code::InvalidFieldValue),
        (priced(price(-10)), Code::InvalidFieldValue),
        (priced(Price::MIN), Code::InvalidFieldValue),
        (
            priced(Price::from_raw(10_000_000_001)),
            Code::InvalidFieldValue,
        ),
        (sized(Quantity::ZERO), Code::InvalidFieldValue),
        (sized(lots(-1)), Code::InvalidFieldValue),
        (sized(Quantity::MIN), Code::InvalidFieldValue),
        (sized(Quantity::from_raw(1)), Code::InvalidFieldValue),
        (
            VenueOrder {
                price: None,
                ..good
            },
            Code::MissingRequiredField,
        ),
        (
            VenueOrder {
                order_type: OrderType::Market,
                ..good
            },
            Code::InvalidFieldValue,
        ),
        (
            VenueOrder {
                quantity: None,
                ..good
            },
            Code::MissingRequiredField,
        ),
        (
            VenueOrder {
                volume: Some(Amount::from_raw(1)),
                ..good
            },
            Code::InvalidFieldValue,
        ),
        (by_volume(good, 0), Code::InvalidFieldValue),
        (by_volume(good, -1), Code::InvalidFieldValue),
        (
            VenueOrder {
                volume: Some(Amount::MAX),
                ..by_volume(good, 1)
            },
            Code::InvalidFieldValue,
        ),
    ];
    for (order, code) in cases {
        let rejected = VenueEvent::Rejected { id: order.id, code };
        assert_eq!(submitted(&mut venue, &order), [rejected], "{order:?}");
    }
    assert_eq!(venue.open_orders(), 1, "nothing of a refused order is kept");
    assert_eq!(submitted(&mut venue, &good), [acknowledged(2)]);
}

#[test]
fn o36_a_full_book_refuses_what_would_rest_and_trades_all_the_same() {
    let mut venue = SimVenue::new(&SimConfig {
        orders_max: 2,
        ..config(Phase::Continuous)
    })
    .unwrap();
    submitted(&mut venue, &limit(1, Side::Buy, 10, 1));
    submitted(&mut venue, &limit(2, Side::Buy, 11, 3));
    let full = VenueEvent::Rejected {
        id: id(3),
        code: RejectCode::CapacityExceeded,
    };
    assert_eq!(submitted(&mut venue, &limit(3, Side::Buy, 9, 1)), [full]);
    assert_eq!(
        submitted(&mut venue, &market(4, Side::Sell, 3)),
        [
            acknowledged(4),
            executed(2, 1, 11, 3, 0, false),
            executed(4, 2, 11, 3, 0, true),
        ]
    );
    assert_eq!(
        submitted(&mut venue, &limit(3, Side::Buy, 9, 1)),
        [acknowledged(3)],
        "an ended order's place is free again"
    );
}

#[test]
fn o35_cancel_ends_what_works_and_an_unknown_one_is_refused() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Buy, 10, 3));
    submitted(&mut venue, &limit(2, Side::Sell, 10, 1));
    venue.cancel(id(1)).unwrap();
    assert_eq!(drain(&mut venue), [canceled(1, 2)]);
    let unknown = VenueEvent::CancelRejected {
        id: id(1),
        code: RejectCode::UnknownOrder,
    };
    venue.cancel(id(1)).unwrap();
    venue.replace(id(1), price(10), lots(9)).unwrap();
    assert_eq!(drain(&mut venue), [unknown, unknown]);
}

/// What a later seller meets first tells who kept the place.
fn first_after_replace(at: i64, total: i64) -> ClientOrderId {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Buy, 10, 5));
    submitted(&mut venue, &limit(2, Side::Buy, 10, 5));
    venue.replace(id(1), price(at), lots(total)).unwrap();
    drain(&mut venue);
    venue.resting(ES, Side::Buy).next().unwrap().id
}

#[test]
fn o35_replace_keeps_the_place_only_for_less_at_the_same_price() {
    assert_eq!(first_after_replace(10, 4), id(1), "less keeps it");
    assert_eq!(first_after_replace(10, 5), id(1), "the same keeps it");
    assert_eq!(first_after_replace(10, 6), id(2), "more loses it");
    assert_eq!(first_after_replace(9, 4), id(2), "another price loses it");
    assert_eq!(first_after_replace(11, 4), id(1), "a better price is first");
}

#[test]
fn o35_replace_gives_the_new_total_fills_included() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Buy, 10, 5));
    submitted(&mut venue, &limit(2, Side::Sell, 10, 3));
    venue.replace(id(1), price(9), lots(10)).unwrap();
    let replaced = VenueEvent::Replaced {
        id: id(1),
        price: price(9),
        leaves: lots(7),
    };
    assert_eq!(drain(&mut venue), [replaced]);

    // A total of what has traded already, or less, leaves nothing to work.
    let refused = VenueEvent::CancelRejected {
        id: id(1),
        code: RejectCode::InvalidFieldValue,
    };
    for total in [lots(3), lots(2), Quantity::ZERO, Quantity::MIN] {
        venue.replace(id(1), price(9), total).unwrap();
    }
    venue.replace(id(1), Price::ZERO, lots(9)).unwrap();
    assert_eq!(drain(&mut venue), [refused; 5]);
    let order = venue.order(id(1)).unwrap();
    assert_eq!((order.filled, order.leaves), (lots(3), lots(7)));
}

#[test]
fn o35_a_replace_that_crosses_trades_as_the_one_that_arrived() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Buy, 10, 5));
    submitted(&mut venue, &limit(2, Side::Sell, 12, 2));
    venue.replace(id(1), price(13), lots(5)).unwrap();
    let replaced = VenueEvent::Replaced {
        id: id(1),
        price: price(13),
        leaves: lots(5),
    };
    assert_eq!(
        drain(&mut venue),
        [
            replaced,
            executed(2, 1, 12, 2, 0, false),
            executed(1, 2, 12, 2, 3, true),
        ]
    );
    assert_eq!(venue.best(ES, Side::Buy), Some(price(13)));
}

#[test]
fn o38_an_order_by_volume_buys_what_the_volume_pays_for_at_each_level() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Sell, 10, 2));
    submitted(&mut venue, &limit(2, Side::Sell, 15, 9));
    // 57 = 2 × 10 + 2 × 15 + 7; seven pay for no lot at 15: 0.466666667 of one.
    let events = submitted(&mut venue, &by_volume(market(3, Side::Buy, 1), 57));
    let part = |raw: i64| Quantity::from_raw(raw);
    assert_eq!(events.len(), 6);
    assert_eq!(events[1], executed(1, 1, 10, 2, 0, false));
    assert!(
        matches!(events[2], VenueEvent::Executed { leaves, .. } if leaves == part(3_700_000_000))
    );
    assert_eq!(events[3], executed(2, 3, 15, 2, 7, false));
    assert!(
        matches!(events[4], VenueEvent::Executed { leaves, .. } if leaves == part(466_666_667))
    );
    assert_eq!(
        events[5],
        VenueEvent::Canceled {
            id: id(3),
            unfilled: part(466_666_667)
        }
    );

    // Spent to the last unit: filled, nothing is cancelled.
    let events = submitted(&mut venue, &by_volume(market(4, Side::Buy, 1), 45));
    assert_eq!(events.last(), Some(&executed(4, 6, 15, 3, 0, true)));
    // Nothing that it pays for.
    let events = submitted(&mut venue, &by_volume(market(5, Side::Buy, 1), 14));
    assert_eq!(events, [acknowledged(5), canceled(5, 0)]);
}

#[test]
fn o38_a_limit_order_by_volume_rests_as_whole_lots_at_its_limit() {
    let mut venue = venue(Phase::Continuous);
    // 57 at 20: two lots, and 0.85 that no lot is.
    submitted(&mut venue, &by_volume(limit(1, Side::Buy, 20, 1), 57));
    let excess = Quantity::from_raw(850_000_000);
    assert_eq!(
        venue.order(id(1)).unwrap().leaves,
        Quantity::from_raw(2_850_000_000)
    );
    let events = submitted(&mut venue, &limit(2, Side::Sell, 20, 9));
    assert!(matches!(events[1], VenueEvent::Executed { leaves, .. } if leaves == excess));
    assert_eq!(
        events[2],
        VenueEvent::Canceled {
            id: id(1),
            unfilled: excess
        },
        "the end comes with the last lot"
    );
    assert_eq!(events[3], executed(2, 2, 20, 2, 7, true));

    // A seller that stops for its volume must not rest across the bid.
    submitted(&mut venue, &limit(3, Side::Buy, 19, 5));
    let events = submitted(&mut venue, &by_volume(limit(4, Side::Sell, 10, 1), 18));
    assert_eq!(events.len(), 2);
    assert!(matches!(events[1], VenueEvent::Canceled { .. }));
    assert_eq!(venue.order(id(4)), None);
}

#[test]
fn o35_busy_is_said_before_any_work_is_taken() {
    let mut venue = SimVenue::new(&SimConfig {
        events_max: limits::SIM_VENUE_EVENTS_MIN,
        ..config(Phase::Continuous)
    })
    .unwrap();
    let mut taken = 0;
    while venue.submit(&limit(taken, Side::Sell, 10, 1)).is_ok() {
        taken += 1;
        assert!(taken < 100, "a queue of eight events must fill");
    }
    assert_eq!(
        venue.submit(&limit(99, Side::Buy, 10, 1)),
        Err(VenueError::Busy)
    );
    assert_eq!(venue.cancel(id(0)), Err(VenueError::Busy));
    assert_eq!(
        venue.replace(id(0), price(11), lots(1)),
        Err(VenueError::Busy)
    );
    assert_eq!(venue.open_orders(), usize::try_from(taken).unwrap());
    assert_eq!(drain(&mut venue).len(), usize::try_from(taken).unwrap());
}

#[test]
fn o35_a_sweep_longer_than_the_event_queue_is_one_event_all_the_same() {
    let mut venue = SimVenue::new(&SimConfig {
        events_max: limits::SIM_VENUE_EVENTS_MIN,
        ..config(Phase::Continuous)
    })
    .unwrap();
    for low in 0..50 {
        submitted(&mut venue, &limit(low, Side::Sell, 10, 1));
    }
    venue.submit(&market(100, Side::Buy, 60)).unwrap();
    assert_eq!(venue.cancel(id(49)), Err(VenueError::Busy));
    assert_eq!(venue.set_phase(ES, Phase::Closed), Err(PhaseError::Busy));
    let mut events = Vec::new();
    // One at a time: whoever asks between two events is told to wait.
    while venue.poll(1, &mut |event| events.push(event)) > 0 {
        if events.len() < 90 {
            assert_eq!(venue.cancel(id(49)), Err(VenueError::Busy));
        }
    }
    assert_eq!(events.len(), 1 + 2 * 50 + 1);
    assert_eq!(events[101], canceled(100, 10));
}

#[test]
fn o36_fill_ids_start_where_they_are_told() {
    let mut venue = SimVenue::new(&SimConfig {
        first_fill: FillId(1_000),
        ..config(Phase::Continuous)
    })
    .unwrap();
    submitted(&mut venue, &limit(1, Side::Sell, 10, 1));
    let events = submitted(&mut venue, &limit(2, Side::Buy, 10, 1));
    assert_eq!(events[1], executed(1, 1_000, 10, 1, 0, false));
    assert_eq!(events[2], executed(2, 1_001, 10, 1, 0, true));
}
