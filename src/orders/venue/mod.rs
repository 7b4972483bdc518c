//! What a venue is to a shard: poll-based, so that a shard never blocks.

mod capabilities;
pub mod distant;
mod link;
mod naming;
mod port;
pub mod sim;

pub use capabilities::{Capabilities, IdAlphabet, IdRule};
pub use link::{VenueHost, VenueLink, host_venue};
pub use port::{OrderSnapshot, Venue, VenueError, VenueEvent, VenueOrder, VenueStatus};
