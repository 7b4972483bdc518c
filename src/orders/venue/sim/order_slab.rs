//! The open orders: one cache line each, in a table of fixed size.

use crate::orders::index::SlotIndex;
use crate::types::{ClientOrderId, OrderType, Side, TimeInForce};

/// A slot that is none.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// An open order, and its links in the queue of its price.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct OpenSlot {
    pub(super) id: ClientOrderId,
    /// Limit price, raw; positive. Unused while a market order sweeps.
    pub(super) price: i64,
    /// What may still trade, raw; a multiple of the lot.
    pub(super) leaves: i64,
    /// What has traded, raw.
    pub(super) filled: i64,
    /// Of an order that was sent by volume: what its volume pays for beyond
    /// whole lots, raw, rounded up; never trades.
    pub(super) excess: i64,
    /// The neighbour with better time, or `NO_SLOT`.
    pub(super) ahead: u32,
    /// The neighbour with worse time, or `NO_SLOT`; the next free slot while
    /// this one is free.
    pub(super) behind: u32,
    /// Index of its instrument's book.
    pub(super) book: u16,
    pub(super) side: Side,
    pub(super) order_type: OrderType,
    pub(super) time_in_force: TimeInForce,
    /// Its stop price has not been reached: it is in no queue.
    pub(super) waits: bool,
}

const _: () = assert!(
    size_of::<OpenSlot>() == 64,
    "an open order is one cache line"
);

/// Every open order of the venue, by slot and by id.
pub(super) struct OrderSlab {
    slots: Box<[OpenSlot]>,
    index: SlotIndex,
    /// The last freed slot: it is still in cache.
    free: u32,
    len: usize,
}

impl OrderSlab {
    pub(super) fn new(capacity: u32) -> Self {
        let vacant = |behind| OpenSlot {
            id: ClientOrderId::default(),
            price: 0,
            leaves: 0,
            filled: 0,
            excess: 0,
            ahead: NO_SLOT,
            behind,
            book: 0,
            side: Side::Buy,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::Day,
            waits: false,
        };
        let last = capacity - 1;
        Self {
            slots: (0..capacity)
                .map(|slot| vacant(if slot == last { NO_SLOT } else { slot + 1 }))
                .collect(),
            index: SlotIndex::with_max(capacity as usize),
            free: 0,
            len: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn find(&self, id: ClientOrderId) -> Option<u32> {
        self.index
            .find(hash_of(id), |slot| self.slots[slot as usize].id == id)
    }

    /// Keeps an order whose id is not there; `None` when the table is full.
    pub(super) fn insert(&mut self, order: OpenSlot) -> Option<u32> {
        let slot = self.free;
        if slot == NO_SLOT {
            return None;
        }
        if !self.index.insert(hash_of(order.id), slot) {
            return None;
        }
        self.free = self.slots[slot as usize].behind;
        self.slots[slot as usize] = order;
        self.len += 1;
        Some(slot)
    }

    /// Forgets an order that is in no queue.
    pub(super) fn remove(&mut self, slot: u32) {
        let order = &mut self.slots[slot as usize];
        let id = order.id;
        order.behind = self.free;
        self.free = slot;
        self.len -= 1;
        self.index.remove(hash_of(id), |other| other == slot);
    }

    pub(super) fn get(&self, slot: u32) -> &OpenSlot {
        &self.slots[slot as usize]
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut OpenSlot {
        &mut self.slots[slot as usize]
    }
}

/// Spreads ids over the index. They are minted by us from a cryptographic
/// source: nobody can choose ids that collide, and the hash needs no seed.
const fn hash_of(id: ClientOrderId) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = (id.high.rotate_left(32) ^ id.low).wrapping_mul(GOLDEN);
    (mixed ^ (mixed >> 32)).wrapping_mul(GOLDEN)
}
