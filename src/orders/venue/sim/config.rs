//! What a simulated venue is made of, checked before it is built.

use super::Phase;
use crate::limits;
use crate::types::{FillId, InstrumentId, Price, Quantity};

/// One instrument of a simulated venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimInstrument {
    /// Its id.
    pub id: InstrumentId,
    /// Prices are positive multiples of this; positive.
    pub tick: Price,
    /// Quantities are positive multiples of this; positive.
    pub lot: Quantity,
    /// The phase that it starts in.
    pub phase: Phase,
    /// Breaks an auction's ties until there is a last trade.
    pub reference: Option<Price>,
}

impl SimInstrument {
    /// Trades continuously in the smallest units of price and quantity.
    #[must_use]
    pub const fn new(id: InstrumentId) -> Self {
        Self {
            id,
            tick: Price::from_raw(1),
            lot: Quantity::from_raw(1),
            phase: Phase::Continuous,
            reference: None,
        }
    }
}

/// How a simulated venue is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimConfig {
    /// The instruments; no id twice.
    pub instruments: Vec<SimInstrument>,
    /// Orders that rest at once, over all instruments; 1 to
    /// [`limits::SIM_VENUE_ORDERS_MAX`]. Room for all is taken at once, about
    /// 80 bytes each.
    pub orders_max: usize,
    /// Events that wait to be polled; rounded up to a power of two, from
    /// [`limits::SIM_VENUE_EVENTS_MIN`] to [`limits::SIM_VENUE_EVENTS_MAX`].
    pub events_max: usize,
    /// The first execution's id; the ids count up from it. Venues that report
    /// to one place need ranges of their own.
    pub first_fill: FillId,
}

impl SimConfig {
    /// Room for 65,536 orders and 16,384 events.
    #[must_use]
    pub fn new(instruments: Vec<SimInstrument>) -> Self {
        Self {
            instruments,
            orders_max: limits::SIM_VENUE_ORDERS_DEFAULT,
            events_max: limits::SIM_VENUE_EVENTS_DEFAULT,
            first_fill: FillId(1),
        }
    }

    pub(super) fn check(&self) -> Result<(), SimConfigError> {
        if self.instruments.is_empty() || self.instruments.len() > limits::SIM_VENUE_INSTRUMENTS_MAX
        {
            return Err(SimConfigError::Instruments(self.instruments.len()));
        }
        if self.orders_max == 0 || self.orders_max > limits::SIM_VENUE_ORDERS_MAX {
            return Err(SimConfigError::Orders(self.orders_max));
        }
        if self.events_max < limits::SIM_VENUE_EVENTS_MIN
            || self.events_max > limits::SIM_VENUE_EVENTS_MAX
        {
            return Err(SimConfigError::Events(self.events_max));
        }
        for instrument in &self.instruments {
            instrument.check()?;
        }
        let mut ids: Vec<_> = self.instruments.iter().map(|one| one.id).collect();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(SimConfigError::Twice(pair[0])),
            None => Ok(()),
        }
    }
}

impl SimInstrument {
    fn check(&self) -> Result<(), SimConfigError> {
        if !self.tick.is_positive() {
            return Err(SimConfigError::Tick(self.id, self.tick));
        }
        if !self.lot.is_positive() {
            return Err(SimConfigError::Lot(self.id, self.lot));
        }
        match self.reference {
            Some(price) if !price.is_positive() || price.raw() % self.tick.raw() != 0 => {
                Err(SimConfigError::Reference(self.id, price))
            }
            _ => Ok(()),
        }
    }
}

/// Why a simulated venue cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimConfigError {
    /// None, or too many.
    #[error(
        "{0} instruments: a simulated venue has 1 to {max}",
        max = limits::SIM_VENUE_INSTRUMENTS_MAX
    )]
    Instruments(usize),
    /// The same id again.
    #[error("instrument {0} is named twice: name it once")]
    Twice(InstrumentId),
    /// Out of range.
    #[error("orders_max is {0}: give 1 to {max}", max = limits::SIM_VENUE_ORDERS_MAX)]
    Orders(usize),
    /// Out of range.
    #[error(
        "events_max is {0}: give {min} to {max}",
        min = limits::SIM_VENUE_EVENTS_MIN,
        max = limits::SIM_VENUE_EVENTS_MAX
    )]
    Events(usize),
    /// Not positive.
    #[error("instrument {0} has the tick {1}: give a positive price step")]
    Tick(InstrumentId, Price),
    /// Not positive.
    #[error("instrument {0} has the lot {1}: give a positive quantity step")]
    Lot(InstrumentId, Quantity),
    /// Not a price of the instrument.
    #[error("instrument {0} has the reference price {1}: give a positive multiple of its tick")]
    Reference(InstrumentId, Price),
}
