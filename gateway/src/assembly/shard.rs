//! A shard as the gateway runs it: over the venue that the configuration names.

use pitlane::orders::RandomIdentity;
use pitlane::orders::venue::sim::SimVenue;
use pitlane::orders::venue::{Capabilities, Venue, VenueError, VenueEvent, VenueLink, VenueOrder};
use pitlane::shard::Admission;
use pitlane::time::UnixNanos;
use pitlane::types::{ClientOrderId, Price, Quantity};

/// The shard that lanes drive.
pub(super) type Shard = Admission<ShardVenue, RandomIdentity>;

/// The simulated venue, where it is.
pub(super) enum ShardVenue {
    /// In the only shard.
    Own(Box<SimVenue>),
    /// On a thread of its own, shared with other shards.
    Hosted(VenueLink),
}

impl Venue for ShardVenue {
    fn capabilities(&self) -> Option<&Capabilities> {
        match self {
            Self::Own(venue) => venue.capabilities(),
            Self::Hosted(link) => link.capabilities(),
        }
    }

    fn advance_to(&mut self, now: UnixNanos) {
        match self {
            Self::Own(venue) => venue.advance_to(now),
            Self::Hosted(link) => link.advance_to(now),
        }
    }

    fn submit(&mut self, order: &VenueOrder) -> Result<(), VenueError> {
        match self {
            Self::Own(venue) => venue.submit(order),
            Self::Hosted(link) => link.submit(order),
        }
    }

    fn cancel(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        match self {
            Self::Own(venue) => venue.cancel(id),
            Self::Hosted(link) => link.cancel(id),
        }
    }

    fn replace(
        &mut self,
        id: ClientOrderId,
        price: Price,
        quantity: Quantity,
    ) -> Result<(), VenueError> {
        match self {
            Self::Own(venue) => venue.replace(id, price, quantity),
            Self::Hosted(link) => link.replace(id, price, quantity),
        }
    }

    fn query(&mut self, id: ClientOrderId) -> Result<(), VenueError> {
        match self {
            Self::Own(venue) => venue.query(id),
            Self::Hosted(link) => link.query(id),
        }
    }

    fn query_open(&mut self) -> Result<(), VenueError> {
        match self {
            Self::Own(venue) => venue.query_open(),
            Self::Hosted(link) => link.query_open(),
        }
    }

    fn next_event(&mut self) -> Option<VenueEvent> {
        match self {
            Self::Own(venue) => venue.next_event(),
            Self::Hosted(link) => link.next_event(),
        }
    }
}
