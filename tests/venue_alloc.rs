//! The simulated venue allocates nothing per order once it is warm.

#[path = "support/counting_allocator.rs"]
mod counting_allocator;

use counting_allocator::{CountingAllocator, counted};
use pitlane::orders::venue::sim::{SimConfig, SimInstrument, SimVenue};
use pitlane::orders::venue::{Venue, VenueEvent, VenueOrder};
use pitlane::orders::{IdentitySource, RandomIdentity};
use pitlane::types::{ClientOrderId, InstrumentId, OrderType, Price, Quantity, Side, TimeInForce};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const LOT: i64 = 1_000_000_000;

/// New, replaced, cancelled and trading orders around one price, forever new
/// ids; how many events they made.
fn churn(venue: &mut SimVenue, ids: &mut RandomIdentity, rounds: u64) -> usize {
    let mut events = 0;
    let mut ring = [ClientOrderId::default(); 512];
    for round in 0..rounds {
        let id = ids.mint();
        let at = i64::try_from(round * 7_919 % 200).unwrap() - 100;
        let side = if at < 0 { Side::Buy } else { Side::Sell };
        let slot = usize::try_from(round).unwrap() % ring.len();
        // The oldest goes; one of seven orders crosses, one of five moves.
        venue.cancel(ring[slot]).unwrap();
        ring[slot] = id;
        let reach = if round % 7 == 0 {
            at.signum() * -30
        } else {
            at
        };
        venue
            .submit(&VenueOrder {
                id,
                instrument: InstrumentId(1),
                side,
                order_type: OrderType::Limit,
                time_in_force: TimeInForce::Day,
                quantity: Some(Quantity::from_raw(LOT * 3)),
                volume: None,
                price: Some(Price::from_raw((1_000 + reach) * LOT)),
                stop: None,
                expires_at: None,
            })
            .unwrap();
        if round % 5 == 0 {
            let price = Price::from_raw((1_000 + at) * LOT);
            venue
                .replace(id, price, Quantity::from_raw(LOT * 9))
                .unwrap();
        }
        let mut executions = 0;
        events += venue.poll(64, &mut |event| {
            executions += usize::from(matches!(event, VenueEvent::Executed { .. }));
        });
    }
    events
}

#[test]
fn o36_no_allocation_per_order_in_steady_state() {
    let mut venue = SimVenue::new(&SimConfig {
        orders_max: 2_048,
        ..SimConfig::new(vec![SimInstrument::new(InstrumentId(1))])
    })
    .unwrap();
    let mut ids = RandomIdentity::from_seed(3);
    churn(&mut venue, &mut ids, 10_000);
    let (events, counts) = counted(|| churn(&mut venue, &mut ids, 200_000));
    assert!(events > 400_000, "the venue worked: {events} events");
    assert_eq!(counts.allocations, 0);
    assert_eq!(counts.frees, 0);
}
