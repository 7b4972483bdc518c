//! The simulated venue, case by case: what it answers, and in which order.

use std::time::Duration;

use pitlane::limits;
use pitlane::orders::venue::sim::{
    ControlError, Phase, PhaseError, SimConfig, SimConfigError, SimInstrument, SimVenue,
};
use pitlane::orders::venue::{Venue, VenueError, VenueEvent, VenueOrder};
use pitlane::types::{
    Amount, ClientOrderId, FillId, InstrumentId, OrderType, Price, Quantity, RejectCode, Side,
    TimeInForce,
};

const ES: InstrumentId = InstrumentId(7);
const WAIT: Duration = Duration::from_secs(20);

fn id(low: u64) -> ClientOrderId {
    ClientOrderId { high: 1, low }
}

fn price(units: i64) -> Price {
    Price::from_raw(units * 1_000_000_000)
}

fn lots(units: i64) -> Quantity {
    Quantity::from_raw(units * 1_000_000_000)
}

fn limit(low: u64, side: Side, at: i64, of: i64) -> VenueOrder {
    VenueOrder {
        id: id(low),
        instrument: ES,
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(lots(of)),
        volume: None,
        price: Some(price(at)),
    }
}

fn market(low: u64, side: Side, of: i64) -> VenueOrder {
    VenueOrder {
        order_type: OrderType::Market,
        price: None,
        ..limit(low, side, 1, of)
    }
}

fn by_volume(order: VenueOrder, units: i128) -> VenueOrder {
    VenueOrder {
        quantity: None,
        volume: Some(Amount::from_raw(units * 1_000_000_000_000_000_000)),
        ..order
    }
}

fn config(phase: Phase) -> SimConfig {
    SimConfig::new(vec![SimInstrument {
        tick: Price::from_raw(250_000_000),
        lot: lots(1),
        phase,
        ..SimInstrument::new(ES)
    }])
}

fn venue(phase: Phase) -> SimVenue {
    SimVenue::new(&config(phase)).unwrap()
}

fn drain(venue: &mut SimVenue) -> Vec<VenueEvent> {
    let mut events = Vec::new();
    while venue.poll(16, &mut |event| events.push(event)) > 0 {}
    events
}

fn submitted(venue: &mut SimVenue, order: &VenueOrder) -> Vec<VenueEvent> {
    venue.submit(order).unwrap();
    drain(venue)
}

fn acknowledged(low: u64) -> VenueEvent {
    VenueEvent::Acknowledged { id: id(low) }
}

fn executed(low: u64, fill: u64, at: i64, of: i64, leaves: i64, aggressor: bool) -> VenueEvent {
    VenueEvent::Executed {
        id: id(low),
        fill_id: FillId(fill),
        price: price(at),
        quantity: lots(of),
        leaves: lots(leaves),
        aggressor,
    }
}

fn canceled(low: u64, unfilled: i64) -> VenueEvent {
    VenueEvent::Canceled {
        id: id(low),
        unfilled: lots(unfilled),
    }
}

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
fn o36_closed_books_rest_crossed_and_refuse_what_must_trade_at_once() {
    for phase in [Phase::Closed, Phase::Auction] {
        let mut venue = venue(phase);
        assert_eq!(
            submitted(&mut venue, &limit(1, Side::Buy, 12, 5)),
            [acknowledged(1)]
        );
        assert_eq!(
            submitted(&mut venue, &limit(2, Side::Sell, 10, 3)),
            [acknowledged(2)]
        );
        venue.replace(id(2), price(9), lots(4)).unwrap();
        assert_eq!(drain(&mut venue).len(), 1, "a replace trades no more");
        let closed = |low| VenueEvent::Rejected {
            id: id(low),
            code: RejectCode::ExchangeClosed,
        };
        let immediate = VenueOrder {
            time_in_force: TimeInForce::ImmediateOrCancel,
            ..limit(3, Side::Buy, 12, 5)
        };
        assert_eq!(submitted(&mut venue, &immediate), [closed(3)]);
        assert_eq!(submitted(&mut venue, &market(4, Side::Buy, 1)), [closed(4)]);
        assert_eq!(
            venue.set_phase(ES, Phase::Continuous),
            Err(PhaseError::Crossed {
                bid: price(12),
                ask: price(9)
            })
        );
        assert_eq!(venue.phase(ES), Some(phase));
    }
}

#[test]
fn o36_an_auction_trades_everything_that_crosses_at_one_price() {
    let mut venue = venue(Phase::Closed);
    for order in [
        limit(1, Side::Buy, 12, 5),
        limit(2, Side::Buy, 11, 5),
        limit(3, Side::Sell, 9, 4),
        limit(4, Side::Sell, 10, 4),
        limit(5, Side::Sell, 12, 9),
    ] {
        submitted(&mut venue, &order);
    }
    assert_eq!(
        venue.uncross(ES, Some(price(9))),
        Err(PhaseError::AuctionPrice {
            given: price(9),
            best: price(10)
        }),
        "at 9 bids and the offer at 10 would stay crossed"
    );
    assert_eq!(
        venue.uncross(ES, Some(Price::from_raw(1))),
        Err(PhaseError::BadPrice(Price::from_raw(1)))
    );
    let indicated = venue.indicative(ES);
    let auction = venue.uncross(ES, Some(price(11))).unwrap().unwrap();
    assert_eq!(
        indicated.unwrap().price,
        price(10),
        "lowest without a reference"
    );
    assert_eq!(auction.price, price(11));
    assert_eq!(auction.traded, lots(8).amount());
    assert_eq!(auction.surplus, lots(2).amount());
    assert_eq!(
        drain(&mut venue),
        [
            executed(1, 1, 11, 4, 1, false),
            executed(3, 2, 11, 4, 0, false),
            executed(1, 3, 11, 1, 0, false),
            executed(4, 4, 11, 1, 3, false),
            executed(2, 5, 11, 3, 2, false),
            executed(4, 6, 11, 3, 0, false),
        ]
    );
    assert_eq!(venue.phase(ES), Some(Phase::Continuous));
    assert_eq!(
        venue.uncross(ES, None),
        Err(PhaseError::AlreadyOpen),
        "an open market has no auction"
    );
}

#[test]
fn o36_auction_price_is_most_traded_then_least_left_then_the_reference() {
    let at = |reference: Option<i64>, orders: &[VenueOrder]| {
        let mut spec = config(Phase::Auction);
        spec.instruments[0].reference = reference.map(price);
        let mut venue = SimVenue::new(&spec).unwrap();
        for order in orders {
            submitted(&mut venue, order);
        }
        venue
            .uncross(ES, None)
            .unwrap()
            .map(|auction| auction.price)
    };
    let most = [
        limit(1, Side::Buy, 20, 2),
        limit(2, Side::Buy, 15, 8),
        limit(3, Side::Sell, 15, 9),
    ];
    assert_eq!(
        at(Some(20), &most),
        Some(price(15)),
        "9 trade, at 20 only 2"
    );
    let least = [
        limit(1, Side::Buy, 20, 5),
        limit(2, Side::Buy, 18, 1),
        limit(3, Side::Sell, 18, 5),
    ];
    assert_eq!(
        at(Some(18), &least),
        Some(price(20)),
        "5 trade at both; at 18 one is left over"
    );
    let even = [limit(1, Side::Buy, 20, 5), limit(2, Side::Sell, 10, 5)];
    assert_eq!(
        at(Some(14), &even),
        Some(price(14)),
        "inside: the reference"
    );
    assert_eq!(at(Some(3), &even), Some(price(10)), "below: the nearest");
    assert_eq!(at(Some(99), &even), Some(price(20)), "above: the nearest");
    assert_eq!(at(None, &even), Some(price(10)), "no reference: the lowest");
    assert_eq!(at(None, &even[..1]), None, "nothing crosses");
}

#[test]
fn o38_the_end_of_the_day_cancels_day_orders_and_closes() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Sell, 12, 5));
    submitted(&mut venue, &limit(2, Side::Buy, 10, 3));
    venue.end_day(ES).unwrap();
    assert_eq!(drain(&mut venue), [canceled(2, 3), canceled(1, 5)]);
    assert_eq!(venue.phase(ES), Some(Phase::Closed));
    assert_eq!(venue.open_orders(), 0);
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
fn o36_another_thread_changes_the_phase_between_orders() {
    let mut venue = venue(Phase::Closed);
    let control = venue.control();
    venue.submit(&limit(1, Side::Buy, 12, 5)).unwrap();
    venue.submit(&limit(2, Side::Sell, 10, 5)).unwrap();
    let opener = std::thread::spawn(move || {
        let refused = control.set_phase(ES, Phase::Continuous, WAIT);
        let unknown = control.end_day(InstrumentId(0), WAIT);
        let auction = control.uncross(ES, Some(price(11)), WAIT);
        (refused, unknown, auction)
    });
    let mut events = Vec::new();
    while !opener.is_finished() {
        venue.poll(16, &mut |event| events.push(event));
        std::thread::yield_now();
    }
    let (refused, unknown, auction) = opener.join().unwrap();
    assert_eq!(
        refused,
        Err(ControlError::Refused(PhaseError::Crossed {
            bid: price(12),
            ask: price(10)
        }))
    );
    assert_eq!(
        unknown,
        Err(ControlError::Refused(PhaseError::UnknownInstrument(
            InstrumentId(0)
        )))
    );
    assert_eq!(auction.unwrap().unwrap().price, price(11));
    assert_eq!(venue.phase(ES), Some(Phase::Continuous));
    events.extend(drain(&mut venue));
    assert_eq!(events[2], executed(1, 1, 11, 5, 0, false));
}

#[test]
fn o36_a_venue_that_does_not_answer_or_is_gone_is_told_apart() {
    let venue = venue(Phase::Closed);
    let control = venue.control();
    let short = Duration::from_millis(1);
    for _ in 0..limits::SIM_VENUE_REQUESTS_MAX + 2 {
        assert_eq!(
            control.set_phase(ES, Phase::Auction, short),
            Err(ControlError::TimedOut),
            "nobody polls; a full queue of requests is no other"
        );
    }
    drop(venue);
    assert_eq!(
        control.set_phase(ES, Phase::Auction, WAIT),
        Err(ControlError::Gone)
    );
}

#[test]
fn o36_a_bad_configuration_is_named() {
    let good = config(Phase::Closed);
    let with = |change: &dyn Fn(&mut SimConfig)| {
        let mut config = good.clone();
        change(&mut config);
        SimVenue::new(&config).err()
    };
    assert_eq!(with(&|_| {}), None);
    assert_eq!(
        with(&|config| config.instruments.clear()),
        Some(SimConfigError::Instruments(0))
    );
    assert_eq!(
        with(&|config| config.instruments.push(config.instruments[0])),
        Some(SimConfigError::Twice(ES))
    );
    assert_eq!(
        with(&|config| config.orders_max = 0),
        Some(SimConfigError::Orders(0))
    );
    assert_eq!(
        with(&|config| config.events_max = 7),
        Some(SimConfigError::Events(7))
    );
    assert_eq!(
        with(&|config| config.instruments[0].tick = Price::ZERO),
        Some(SimConfigError::Tick(ES, Price::ZERO))
    );
    assert_eq!(
        with(&|config| config.instruments[0].lot = lots(-1)),
        Some(SimConfigError::Lot(ES, lots(-1)))
    );
    let off = Price::from_raw(1);
    assert_eq!(
        with(&|config| config.instruments[0].reference = Some(off)),
        Some(SimConfigError::Reference(ES, off))
    );
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
