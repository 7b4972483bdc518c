//! The orders that a shard has open: bounded, found by id and by reference.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::index::SlotIndex;
use crate::risk::ReservationToken;
use crate::types::{AccountId, ClientOrderId, ClientReference, Order, Origin, Price, Quantity};

/// How a client names its order: references are a credential's own, per account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderKey {
    /// Who sent it.
    pub credential: u16,
    /// Whose order.
    pub account: AccountId,
    /// The number of the message that brought it.
    pub reference: ClientReference,
}

/// A change that the venue has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingReplace {
    /// The message that asked.
    pub reference: ClientReference,
    /// The order as it is once the venue has confirmed.
    pub after: Order,
}

/// Who asked for a cancel that the venue has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingCancel {
    /// Its client, with this message.
    Client(ClientReference),
    /// Risk; nobody waits for an answer.
    Risk,
}

impl PendingCancel {
    /// The message that waits for an answer.
    #[must_use]
    pub const fn reference(self) -> Option<ClientReference> {
        match self {
            Self::Client(reference) => Some(reference),
            Self::Risk => None,
        }
    }
}

/// An order that is not over.
#[derive(Clone, Copy, Debug)]
pub struct OpenOrder {
    /// Its identity.
    pub id: ClientOrderId,
    /// The risk engine's hold for it.
    pub reservation: ReservationToken,
    /// Who is told.
    pub origin: Origin,
    /// The number under which it came.
    pub reference: ClientReference,
    /// As it stands at the venue, confirmed replaces included.
    pub order: Order,
    /// Filled so far.
    pub cumulative: Quantity,
    /// The replace that is at the venue, if one is.
    pub replacing: Option<PendingReplace>,
    /// The cancel that is at the venue, if one is.
    pub cancelling: Option<PendingCancel>,
}

impl OpenOrder {
    /// How its client names it.
    #[must_use]
    pub const fn key(&self) -> OrderKey {
        OrderKey {
            credential: self.origin.credential,
            account: self.order.account,
            reference: self.reference,
        }
    }

    /// The total quantity; zero in an order by volume.
    #[must_use]
    pub fn quantity(&self) -> Quantity {
        self.order.quantity.unwrap_or(Quantity::ZERO)
    }

    /// What is not filled of an order by quantity; zero where more was filled.
    #[must_use]
    pub fn leaves(&self) -> Quantity {
        match self.quantity().checked_sub(self.cumulative) {
            Some(leaves) if leaves.is_positive() => leaves,
            _ => Quantity::ZERO,
        }
    }

    /// The price; zero in a market order.
    #[must_use]
    pub fn price(&self) -> Price {
        self.order.price.unwrap_or(Price::ZERO)
    }
}

/// Why an order cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// As many orders are open as the table holds.
    Full,
    /// An open order has the same credential, account and reference.
    ReferenceInUse,
}

/// The table: a slab and two indexes, all of them allocated when it is made.
pub struct OrderTable {
    slots: Vec<Option<OpenOrder>>,
    max: usize,
    free: Vec<u32>,
    by_id: SlotIndex,
    by_key: SlotIndex,
    /// The slot of each reservation's index, which the risk engine gives out
    /// densely; [`NO_SLOT`] where it names no open order.
    by_reservation: Vec<u32>,
    hasher: FixedState,
}

/// A slot that is none.
const NO_SLOT: u32 = u32::MAX;

impl OrderTable {
    /// For at most `max` open orders; `seed` keeps clients from choosing
    /// references that collide.
    ///
    /// # Panics
    /// Where `max` is over 2^30.
    #[must_use]
    pub fn new(max: usize, seed: u64) -> Self {
        Self {
            slots: Vec::with_capacity(max),
            max,
            free: Vec::with_capacity(max),
            by_id: SlotIndex::with_max(max),
            by_key: SlotIndex::with_max(max),
            by_reservation: Vec::with_capacity(max),
            hasher: FixedState::with_seed(seed),
        }
    }

    /// How many orders are open.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether none is.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Whether an order could be opened under this key.
    ///
    /// # Errors
    /// As [`OrderTable::open`].
    pub fn admits(&self, key: &OrderKey) -> Result<(), OpenError> {
        if self.slots.len() == self.max && self.free.is_empty() {
            return Err(OpenError::Full);
        }
        if self.find(key).is_some() {
            return Err(OpenError::ReferenceInUse);
        }
        Ok(())
    }

    /// Opens an order.
    ///
    /// # Errors
    /// The table is as it was.
    pub fn open(&mut self, order: OpenOrder) -> Result<(), OpenError> {
        self.admits(&order.key())?;
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = u32::try_from(self.slots.len()).map_err(|_| OpenError::Full)?;
                self.slots.push(None);
                slot
            }
        };
        let by_id = self.by_id.insert(hash_id(order.id), slot);
        let by_key = self.by_key.insert(self.hasher.hash_one(order.key()), slot);
        debug_assert!(
            by_id && by_key,
            "an index has room for every slot of the slab"
        );
        let place = order.reservation.index as usize;
        if self.by_reservation.len() <= place {
            // Requests have places, too, so this may pass the orders' bound.
            self.by_reservation.resize(place + 1, NO_SLOT);
        }
        self.by_reservation[place] = slot;
        self.slots[slot as usize] = Some(order);
        Ok(())
    }

    /// The order that a client names so.
    #[must_use]
    pub fn find(&self, key: &OrderKey) -> Option<&OpenOrder> {
        let slot = self.by_key.find(self.hasher.hash_one(key), |slot| {
            self.slot(slot).is_some_and(|order| order.key() == *key)
        })?;
        self.slot(slot)
    }

    /// The order of this identity.
    pub fn get_mut(&mut self, id: ClientOrderId) -> Option<&mut OpenOrder> {
        let slot = self.by_id.find(hash_id(id), |slot| {
            self.slot(slot).is_some_and(|o| o.id == id)
        })?;
        self.slots[slot as usize].as_mut()
    }

    /// The order that holds this reservation.
    pub fn holder_mut(&mut self, token: ReservationToken) -> Option<&mut OpenOrder> {
        let slot = *self.by_reservation.get(token.index as usize)?;
        let order = self.slots.get_mut(slot as usize)?.as_mut()?;
        (order.reservation == token).then_some(order)
    }

    /// Takes an order out: it is over.
    pub fn close(&mut self, id: ClientOrderId) -> Option<OpenOrder> {
        let slots = &self.slots;
        let is = |slot: u32| slots[slot as usize].as_ref().is_some_and(|o| o.id == id);
        let slot = self.by_id.remove(hash_id(id), is)?;
        let order = self.slots[slot as usize].take()?;
        if let Some(place) = self
            .by_reservation
            .get_mut(order.reservation.index as usize)
        {
            *place = NO_SLOT;
        }
        self.by_key
            .remove(self.hasher.hash_one(order.key()), |other| other == slot);
        self.free.push(slot);
        Some(order)
    }

    fn slot(&self, slot: u32) -> Option<&OpenOrder> {
        self.slots[slot as usize].as_ref()
    }
}

/// Ids are random already.
const fn hash_id(id: ClientOrderId) -> u64 {
    id.low
}
