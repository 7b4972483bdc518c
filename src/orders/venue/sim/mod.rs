//! A simulated venue: a real price-time book per instrument, in memory.
//!
//! Promises: the same calls give the same events, always (its clock is told the
//! time; no randomness, no thread); no allocation per order once warm, but for
//! stops and dates; every table and queue is bounded, and a full one refuses
//! before any work is taken.
//!
//! Does not: lose, delay or reorder messages (`distant` does), prevent self-matches, know
//! accounts, fees or sessions. Nothing is kept of an order that is over.

mod auction;
mod book;
mod config;
mod control;
mod entry;
mod event_queue;
mod expiries;
mod ladder;
mod matching;
mod order_slab;
mod phase;
mod stops;
mod venue;

pub use auction::Auction;
pub use config::{SimConfig, SimConfigError, SimInstrument};
pub use control::{ControlError, VenueControl};
pub use phase::{Phase, PhaseError};
pub use venue::{OpenOrder, SimVenue};
