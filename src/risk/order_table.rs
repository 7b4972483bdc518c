//! Requests, reservations and working orders: a slab whose places count their
//! tenants, so that a token of an earlier one is known to be stale (rule K6).

use super::account::NONE;
use super::token::TokenError;
use crate::limits::OPEN_ORDERS_MAX;
use crate::types::{Order, OrderType, Side, TimeInForce};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Free,
    /// Between the two stages.
    Request,
    /// Accepted, not yet committed.
    Reserved,
    /// Committed.
    Working,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Odd while somebody lives here.
    pub(crate) generation: u32,
    pub(crate) status: Status,
    pub(crate) account: u32,
    pub(crate) instrument: u32,
    /// The account's orders, oldest first; `next` is the free list's too.
    pub(crate) previous: u32,
    pub(crate) next: u32,
    /// The configuration under which it was started.
    pub(crate) version: u32,
    /// Its owner's orders of its instrument and side, for self-match.
    pub(crate) book: u32,
    pub(crate) book_previous: u32,
    pub(crate) book_next: u32,
    pub(crate) order: Order,
    pub(crate) hold: Hold,
}

const _: () = assert!(size_of::<Entry>() <= 320, "target P16 leaves 512");

/// What an order holds and counts; all of it falls to zero while it trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    /// Of the settlement asset.
    pub(crate) settlement: i128,
    /// Of the base asset.
    pub(crate) base: i128,
    /// Of the base asset for a buy, of the settlement asset for a sell.
    pub(crate) incoming: i128,
    /// Of the account's and the firm's gross credit.
    pub(crate) credit: i128,
    /// Of an order by volume: what was not traded.
    pub(crate) volume: i128,
    /// At which the hold is released.
    pub(crate) lock_price: i64,
    /// Counted into the position's working side.
    pub(crate) counted: i64,
    /// Traded so far.
    pub(crate) filled: i64,
    /// In the duplicate log, counted from 1; zero is none.
    pub(crate) duplicate: u64,
    /// While a replace is not confirmed, the larger of both totals: what may
    /// trade without being an overfill; zero at other times.
    pub(crate) replacing: i64,
    /// The hold is larger than the terms need: those of before may still trade.
    pub(crate) is_of_before: bool,
}

impl Hold {
    pub(crate) const NONE: Self = Self {
        settlement: 0,
        base: 0,
        incoming: 0,
        credit: 0,
        volume: 0,
        lock_price: 0,
        counted: 0,
        filled: 0,
        duplicate: 0,
        replacing: 0,
        is_of_before: false,
    };
}

const VACANT: Order = Order {
    account: crate::types::AccountId(0),
    instrument: crate::types::InstrumentId(0),
    side: Side::Buy,
    order_type: OrderType::Limit,
    time_in_force: TimeInForce::Day,
    quantity: None,
    volume: None,
    price: None,
};

pub(crate) struct OrderTable {
    entries: Vec<Entry>,
    free: u32,
    live: usize,
}

impl OrderTable {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity.min(OPEN_ORDERS_MAX)),
            free: NONE,
            live: 0,
        }
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.live >= OPEN_ORDERS_MAX
    }

    pub(crate) const fn live(&self) -> usize {
        self.live
    }

    /// A place for an order; the caller has seen that there is one.
    #[inline]
    pub(crate) fn add(
        &mut self,
        status: Status,
        account: u32,
        instrument: u32,
        order: &Order,
    ) -> u32 {
        let index = if self.free == NONE {
            let index = u32::try_from(self.entries.len()).unwrap_or(NONE);
            self.entries.push(Entry {
                generation: 0,
                status: Status::Free,
                account: NONE,
                instrument: NONE,
                previous: NONE,
                next: NONE,
                version: 0,
                book: NONE,
                book_previous: NONE,
                book_next: NONE,
                order: VACANT,
                hold: Hold::NONE,
            });
            index
        } else {
            let index = self.free;
            self.free = self.entries[index as usize].next;
            index
        };
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.status = status;
        entry.account = account;
        entry.instrument = instrument;
        entry.previous = NONE;
        entry.next = NONE;
        entry.book = NONE;
        entry.order = *order;
        // The last tenant gave its hold back; these two outlived it.
        entry.hold.filled = 0;
        entry.hold.duplicate = 0;
        debug_assert_eq!(entry.hold, Hold::NONE, "a hold outlived its order");
        self.live += 1;
        index
    }

    pub(crate) fn remove(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.status = Status::Free;
        entry.next = self.free;
        self.free = index;
        self.live -= 1;
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> &Entry {
        &self.entries[index as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut Entry {
        &mut self.entries[index as usize]
    }

    /// The entry of a token that is not stale.
    #[inline]
    pub(crate) fn check(&self, index: u32, generation: u32) -> Result<&Entry, TokenError> {
        match self.entries.get(index as usize) {
            Some(entry) if entry.generation == generation && entry.status != Status::Free => {
                Ok(entry)
            }
            _ => Err(TokenError::Stale),
        }
    }
}
