//! What a venue is to a shard: poll-based, so that a shard never blocks.

mod link;
mod port;
pub mod sim;

pub use link::{VenueHost, VenueLink, host_venue};
pub use port::{Venue, VenueError, VenueEvent, VenueOrder};
