//! The simulated venue's order types and times in force beyond limit, market,
//! day and immediate-or-cancel, case by case.

#[path = "support/venue_cases.rs"]
mod venue_cases;

use pitlane::orders::venue::sim::{Phase, SimVenue};
use pitlane::orders::venue::{Venue, VenueEvent, VenueOrder};
use pitlane::time::UnixNanos;
use pitlane::types::{OrderType, RejectCode, Side, TimeInForce};
use venue_cases::{
    ES, acknowledged, by_volume, canceled, drain, executed, expired, id, limit, lots, market,
    price, submitted, venue,
};

fn stop(low: u64, side: Side, at: i64, of: i64) -> VenueOrder {
    VenueOrder {
        order_type: OrderType::Stop,
        stop: Some(price(at)),
        ..market(low, side, of)
    }
}

fn stop_limit(low: u64, side: Side, stop: i64, at: i64, of: i64) -> VenueOrder {
    VenueOrder {
        order_type: OrderType::StopLimit,
        stop: Some(price(stop)),
        ..limit(low, side, at, of)
    }
}

fn lasting(order: VenueOrder, time_in_force: TimeInForce) -> VenueOrder {
    VenueOrder {
        time_in_force,
        ..order
    }
}

fn until(order: VenueOrder, at: u64) -> VenueOrder {
    VenueOrder {
        expires_at: Some(UnixNanos(at)),
        ..lasting(order, TimeInForce::GoodTillDate)
    }
}

fn post_only(order: VenueOrder) -> VenueOrder {
    VenueOrder {
        order_type: OrderType::PostOnly,
        ..order
    }
}

fn rejected(low: u64, code: RejectCode) -> VenueEvent {
    VenueEvent::Rejected { id: id(low), code }
}

fn refused(low: u64, code: RejectCode) -> VenueEvent {
    VenueEvent::CancelRejected { id: id(low), code }
}

/// One lot trades at a price, by orders 90 and 91; the events of others.
fn trade(venue: &mut SimVenue, at: i64) -> Vec<VenueEvent> {
    submitted(venue, &limit(90, Side::Sell, at, 1));
    let mut events = submitted(venue, &limit(91, Side::Buy, at, 1));
    events.retain(|event| ![Some(id(90)), Some(id(91))].contains(&event.order()));
    events
}

#[test]
fn o38_a_stop_waits_for_a_trade_at_its_price_or_beyond() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Sell, 105, 9));
    assert_eq!(
        submitted(&mut venue, &stop(2, Side::Buy, 102, 3)),
        [acknowledged(2)]
    );
    assert_eq!(trade(&mut venue, 101), [], "below its price");
    let begun = trade(&mut venue, 102);
    assert_eq!(
        begun,
        [
            executed(1, 5, 105, 3, 6, false),
            executed(2, 6, 105, 3, 0, true)
        ]
    );
    // What the last trade has reached begins at once.
    let at_once = submitted(&mut venue, &stop(3, Side::Buy, 105, 1));
    assert_eq!(at_once.len(), 3);
    assert_eq!(venue.open_orders(), 1);
}

#[test]
fn o38_a_sell_stop_waits_for_a_fall_and_ends_where_nobody_buys() {
    let mut venue = venue(Phase::Continuous);
    trade(&mut venue, 100);
    submitted(&mut venue, &stop(1, Side::Sell, 98, 3));
    assert_eq!(trade(&mut venue, 99), []);
    assert_eq!(trade(&mut venue, 98), [canceled(1, 3)]);
}

#[test]
fn o38_stops_set_each_other_off_the_nearest_first() {
    let mut venue = venue(Phase::Continuous);
    for (low, at) in [(1, 103), (2, 104), (3, 106)] {
        submitted(&mut venue, &limit(low, Side::Sell, at, 1));
    }
    submitted(&mut venue, &stop(5, Side::Buy, 104, 1));
    submitted(&mut venue, &stop(6, Side::Buy, 103, 1));
    submitted(&mut venue, &stop(7, Side::Buy, 102, 1));
    let events = trade(&mut venue, 102);
    let buyers: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            VenueEvent::Executed {
                id,
                price,
                aggressor: true,
                ..
            } => Some((id.low, *price)),
            _ => None,
        })
        .collect();
    assert_eq!(buyers, [(7, price(103)), (6, price(104)), (5, price(106))]);
}

#[test]
fn o38_a_stop_limit_becomes_a_limit_order() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &stop_limit(1, Side::Buy, 102, 103, 4));
    assert_eq!(venue.best(ES, Side::Buy), None, "it waits unseen");
    assert_eq!(trade(&mut venue, 102), []);
    assert_eq!(venue.best(ES, Side::Buy), Some(price(103)));
    let events = submitted(&mut venue, &limit(2, Side::Sell, 103, 4));
    assert_eq!(events[1], executed(1, 3, 103, 4, 0, false));
}

#[test]
fn o38_a_stop_that_waits_can_be_cancelled_but_not_changed() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &stop_limit(1, Side::Buy, 102, 103, 4));
    venue.replace(id(1), price(104), lots(4)).unwrap();
    assert_eq!(
        drain(&mut venue),
        [refused(1, RejectCode::UnsupportedOrderAttribute)]
    );
    assert_eq!(
        submitted(&mut venue, &stop(1, Side::Buy, 102, 1)),
        [rejected(1, RejectCode::DuplicateClientOrderId)]
    );
    venue.cancel(id(1)).unwrap();
    assert_eq!(drain(&mut venue), [canceled(1, 4)]);
    assert_eq!(trade(&mut venue, 102), []);
}

#[test]
fn o38_stops_begin_when_the_market_opens_beyond_them() {
    let mut venue = venue(Phase::Closed);
    submitted(&mut venue, &stop_limit(1, Side::Buy, 102, 103, 4));
    submitted(&mut venue, &limit(2, Side::Sell, 102, 1));
    submitted(&mut venue, &limit(3, Side::Buy, 102, 1));
    venue.uncross(ES, None).unwrap();
    assert_eq!(drain(&mut venue).len(), 2, "the auction's own");
    assert_eq!(venue.best(ES, Side::Buy), Some(price(103)));
}

#[test]
fn o38_a_stop_needs_a_price_and_an_order_that_stays() {
    let mut venue = venue(Phase::Continuous);
    let good = stop(1, Side::Buy, 102, 3);
    let no_price = VenueOrder { stop: None, ..good };
    let not_a_stop = VenueOrder {
        stop: good.stop,
        ..limit(1, Side::Buy, 102, 3)
    };
    for (order, code) in [
        (no_price, RejectCode::MissingRequiredField),
        (not_a_stop, RejectCode::InvalidFieldValue),
        (
            lasting(good, TimeInForce::ImmediateOrCancel),
            RejectCode::UnsupportedTimeInForce,
        ),
        (by_volume(good, 100), RejectCode::UnsupportedOrderAttribute),
    ] {
        assert_eq!(submitted(&mut venue, &order), [rejected(1, code)]);
    }
}

#[test]
fn o38_post_only_is_refused_where_it_would_trade() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Sell, 102, 3));
    let crossing = post_only(limit(2, Side::Buy, 102, 1));
    assert_eq!(
        submitted(&mut venue, &crossing),
        [rejected(2, RejectCode::InvalidFieldValue)]
    );
    let resting = post_only(limit(3, Side::Buy, 101, 1));
    assert_eq!(submitted(&mut venue, &resting), [acknowledged(3)]);
    venue.replace(id(3), price(102), lots(1)).unwrap();
    assert_eq!(
        drain(&mut venue),
        [refused(3, RejectCode::InvalidFieldValue)]
    );
    assert_eq!(venue.best(ES, Side::Buy), Some(price(101)), "as it was");
}

#[test]
fn o38_fill_or_kill_trades_all_of_it_or_nothing() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Sell, 100, 2));
    submitted(&mut venue, &limit(2, Side::Sell, 101, 2));
    let order = |low, at, of| lasting(limit(low, Side::Buy, at, of), TimeInForce::FillOrKill);
    let killed = submitted(&mut venue, &order(3, 100, 3));
    assert_eq!(killed, [acknowledged(3), canceled(3, 3)]);
    let killed = submitted(&mut venue, &order(4, 101, 5));
    assert_eq!(killed, [acknowledged(4), canceled(4, 5)]);
    let filled = submitted(&mut venue, &order(5, 101, 3));
    assert_eq!(filled.last(), Some(&executed(5, 4, 101, 1, 0, true)));
    let rest = lasting(market(6, Side::Buy, 2), TimeInForce::FillOrKill);
    assert_eq!(
        submitted(&mut venue, &rest),
        [acknowledged(6), canceled(6, 2)]
    );
}

#[test]
fn o38_good_till_cancel_outlives_the_day() {
    let mut venue = venue(Phase::Continuous);
    let lasting_order = lasting(limit(1, Side::Sell, 100, 2), TimeInForce::GoodTillCancel);
    submitted(&mut venue, &lasting_order);
    submitted(&mut venue, &limit(2, Side::Sell, 100, 2));
    submitted(&mut venue, &stop(3, Side::Sell, 90, 2));
    let kept = lasting(stop(4, Side::Sell, 90, 2), TimeInForce::GoodTillCancel);
    submitted(&mut venue, &kept);
    venue.end_day(ES).unwrap();
    assert_eq!(drain(&mut venue), [expired(2, 2), expired(3, 2)]);
    assert_eq!(venue.open_orders(), 2);
}

#[test]
fn o38_good_till_date_ends_by_the_venues_clock() {
    let mut venue = venue(Phase::Continuous);
    venue.advance_to(UnixNanos(100));
    assert_eq!(
        submitted(&mut venue, &until(limit(1, Side::Buy, 10, 1), 100)),
        [rejected(1, RejectCode::TooLateToEnter)]
    );
    submitted(&mut venue, &until(limit(1, Side::Buy, 10, 1), 130));
    submitted(&mut venue, &until(stop(2, Side::Buy, 99, 2), 120));
    submitted(&mut venue, &until(limit(3, Side::Buy, 10, 3), 110));
    venue.cancel(id(3)).unwrap();
    drain(&mut venue);
    venue.advance_to(UnixNanos(119));
    assert_eq!(drain(&mut venue), [], "not yet, and one was cancelled");
    venue.advance_to(UnixNanos(50));
    venue.advance_to(UnixNanos(200));
    assert_eq!(drain(&mut venue), [expired(2, 2), expired(1, 1)]);
    let no_date = lasting(limit(4, Side::Buy, 10, 1), TimeInForce::GoodTillDate);
    assert_eq!(
        submitted(&mut venue, &no_date),
        [rejected(4, RejectCode::MissingRequiredField)]
    );
}
