//! What a venue is to a shard: poll-based, so that a shard never blocks.

mod port;
pub mod sim;

pub use port::{Venue, VenueError, VenueEvent, VenueOrder};
