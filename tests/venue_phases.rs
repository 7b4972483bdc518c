//! The simulated venue's phases: closed books, auctions, the end of the day, and
//! how another thread asks for them.

#[path = "support/venue_cases.rs"]
mod venue_cases;

use std::time::Duration;

use pitlane::limits;
use pitlane::orders::venue::sim::{
    ControlError, Phase, PhaseError, SimConfig, SimConfigError, SimVenue,
};
use pitlane::orders::venue::{Venue, VenueEvent, VenueOrder};
use pitlane::types::{InstrumentId, Price, RejectCode, Side, TimeInForce};
use venue_cases::{
    ES, acknowledged, config, drain, executed, expired, id, limit, lots, market, price, submitted,
    venue,
};

const WAIT: Duration = Duration::from_secs(20);

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
fn o38_the_end_of_the_day_ends_day_orders_and_closes() {
    let mut venue = venue(Phase::Continuous);
    submitted(&mut venue, &limit(1, Side::Sell, 12, 5));
    submitted(&mut venue, &limit(2, Side::Buy, 10, 3));
    venue.end_day(ES).unwrap();
    assert_eq!(drain(&mut venue), [expired(2, 3), expired(1, 5)]);
    assert_eq!(venue.phase(ES), Some(Phase::Closed));
    assert_eq!(venue.open_orders(), 0);
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
