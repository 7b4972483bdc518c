//! Orders on their way to a venue and back.

pub mod venue;
