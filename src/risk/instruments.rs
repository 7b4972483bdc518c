//! The instruments of a configuration, found by their number.

use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::ConfigError;
use super::config::{InstrumentRef, RiskConfig};
use crate::types::{AssetId, InstrumentId};

/// Ids below this are found by their place alone.
const DIRECT: usize = 4_096;
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Instrument {
    pub(crate) id: InstrumentId,
    pub(crate) name: String,
    pub(crate) base: AssetId,
    pub(crate) settlement: AssetId,
    /// Which of the settlement assets that is, in the order of first use.
    pub(crate) settlement_slot: usize,
    pub(crate) allow_non_positive_price: bool,
}

pub(crate) struct Instruments {
    list: Vec<Instrument>,
    settlements: Vec<AssetId>,
    direct: Vec<u32>,
    index: HashTable<u32>,
    hasher: FixedState,
}

impl Instruments {
    pub(crate) fn new(config: &RiskConfig) -> Result<Self, ConfigError> {
        let mut instruments = Self {
            list: Vec::with_capacity(config.instruments.len()),
            settlements: Vec::new(),
            direct: Vec::new(),
            index: HashTable::new(),
            hasher: FixedState::default(),
        };
        for (number, entry) in (0u32..).zip(&config.instruments) {
            let place = format!("instruments[{number}]");
            let name = config.instrument_name(entry);
            if instruments.find(entry.id).is_some() {
                return Err(ConfigError::Twice {
                    place,
                    name: entry.id.to_string(),
                });
            }
            let settlement = config.asset(&place, &entry.settlement)?;
            let known = instruments
                .settlements
                .iter()
                .position(|id| *id == settlement);
            let settlement_slot = known.unwrap_or(instruments.settlements.len());
            if known.is_none() {
                instruments.settlements.push(settlement);
            }
            let instrument = Instrument {
                id: entry.id,
                settlement,
                settlement_slot,
                base: config.asset(&place, &entry.base)?,
                allow_non_positive_price: entry.allow_non_positive_price,
                name,
            };
            if instrument.base == instrument.settlement {
                return Err(ConfigError::value(
                    place,
                    "an instrument's base and settlement assets must differ",
                ));
            }
            let id = entry.id.0 as usize;
            if id < DIRECT {
                if instruments.direct.len() <= id {
                    instruments.direct.resize(id + 1, NONE);
                }
                instruments.direct[id] = number;
            } else {
                let (list, hasher) = (&instruments.list, &instruments.hasher);
                instruments
                    .index
                    .insert_unique(hasher.hash_one(entry.id.0), number, |&other| {
                        hasher.hash_one(list[other as usize].id.0)
                    });
            }
            instruments.list.push(instrument);
        }
        Ok(instruments)
    }

    /// The dense number of an instrument.
    #[inline]
    pub(crate) fn find(&self, id: InstrumentId) -> Option<u32> {
        let place = id.0 as usize;
        if place < DIRECT {
            return self
                .direct
                .get(place)
                .copied()
                .filter(|number| *number != NONE);
        }
        self.index
            .find(self.hasher.hash_one(id.0), |&number| {
                self.list[number as usize].id == id
            })
            .copied()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &Instrument {
        &self.list[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The settlement assets, in the order of first use.
    pub(crate) fn settlements(&self) -> &[AssetId] {
        &self.settlements
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Instrument> {
        self.list.iter()
    }

    /// The dense number of what a rule names.
    pub(crate) fn named(&self, place: &str, name: &InstrumentRef) -> Result<u32, ConfigError> {
        let found = match name {
            InstrumentRef::Id(id) => self.find(*id),
            InstrumentRef::Name(name) => (0u32..)
                .zip(&self.list)
                .find(|(_, instrument)| instrument.name == *name)
                .map(|(number, _)| number),
        };
        found.ok_or_else(|| ConfigError::Unknown {
            place: place.to_owned(),
            what: "instrument",
            name: match name {
                InstrumentRef::Id(id) => id.to_string(),
                InstrumentRef::Name(name) => name.clone(),
            },
        })
    }
}
