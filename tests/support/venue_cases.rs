//! Orders, venues and expected events in whole units, for the simulated venue's
//! tests.
#![allow(dead_code)] // Each test uses the part that it needs.
#![allow(unreachable_pub)] // Included by several test crates.

use pitlane::orders::venue::sim::{Phase, SimConfig, SimInstrument, SimVenue};
use pitlane::orders::venue::{Venue, VenueEvent, VenueOrder};
use pitlane::types::{
    Amount, ClientOrderId, FillId, InstrumentId, OrderType, Price, Quantity, Side, TimeInForce,
};

pub const ES: InstrumentId = InstrumentId(7);

pub fn id(low: u64) -> ClientOrderId {
    ClientOrderId { high: 1, low }
}

pub fn price(units: i64) -> Price {
    Price::from_raw(units * 1_000_000_000)
}

pub fn lots(units: i64) -> Quantity {
    Quantity::from_raw(units * 1_000_000_000)
}

pub fn limit(low: u64, side: Side, at: i64, of: i64) -> VenueOrder {
    VenueOrder {
        id: id(low),
        instrument: ES,
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::Day,
        quantity: Some(lots(of)),
        volume: None,
        price: Some(price(at)),
        stop: None,
        expires_at: None,
    }
}

pub fn market(low: u64, side: Side, of: i64) -> VenueOrder {
    VenueOrder {
        order_type: OrderType::Market,
        price: None,
        ..limit(low, side, 1, of)
    }
}

pub fn by_volume(order: VenueOrder, units: i128) -> VenueOrder {
    VenueOrder {
        quantity: None,
        volume: Some(Amount::from_raw(units * 1_000_000_000_000_000_000)),
        ..order
    }
}

pub fn config(phase: Phase) -> SimConfig {
    SimConfig::new(vec![SimInstrument {
        tick: Price::from_raw(250_000_000),
        lot: lots(1),
        phase,
        ..SimInstrument::new(ES)
    }])
}

pub fn venue(phase: Phase) -> SimVenue {
    SimVenue::new(&config(phase)).unwrap()
}

pub fn drain(venue: &mut SimVenue) -> Vec<VenueEvent> {
    let mut events = Vec::new();
    while venue.poll(16, &mut |event| events.push(event)) > 0 {}
    events
}

pub fn submitted(venue: &mut SimVenue, order: &VenueOrder) -> Vec<VenueEvent> {
    venue.submit(order).unwrap();
    drain(venue)
}

pub fn acknowledged(low: u64) -> VenueEvent {
    VenueEvent::Acknowledged { id: id(low) }
}

pub fn executed(low: u64, fill: u64, at: i64, of: i64, leaves: i64, aggressor: bool) -> VenueEvent {
    VenueEvent::Executed {
        id: id(low),
        fill_id: FillId(fill),
        price: price(at),
        quantity: lots(of),
        leaves: lots(leaves),
        aggressor,
    }
}

pub fn canceled(low: u64, unfilled: i64) -> VenueEvent {
    VenueEvent::Canceled {
        id: id(low),
        unfilled: lots(unfilled),
    }
}

pub fn expired(low: u64, unfilled: i64) -> VenueEvent {
    VenueEvent::Expired {
        id: id(low),
        unfilled: lots(unfilled),
    }
}
