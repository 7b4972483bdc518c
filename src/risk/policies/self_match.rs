//! Self-match (rule K39): an order that would trade with an own working order
//! is refused, or the resting one's cancel is asked for.
//!
//! Working orders are listed by owner (account or group), instrument and side.
//! A group's accounts on other shards are not seen.

use crate::risk::account::NONE;
use crate::risk::order_table::OrderTable;
use crate::risk::table::{Record, Table};
use crate::types::{Order, Side};

/// The most that the policy says.
pub(crate) const REJECTS: usize = 1;

/// An owner's working orders in one instrument.
pub(crate) struct Book {
    key: (u64, u32),
    pub(crate) buys: u32,
    pub(crate) sells: u32,
}

impl Record for Book {
    type Key = (u64, u32);

    fn key(&self) -> Self::Key {
        self.key
    }
}

pub(crate) struct Books(Table<Book>);

impl Books {
    pub(crate) fn new() -> Self {
        Self(Table::with_capacity(0))
    }

    /// Calls `met` for every own order that `order` would meet, but `except`,
    /// until it says stop.
    pub(crate) fn meets(
        &self,
        owner: u64,
        instrument: u32,
        order: &Order,
        except: u32,
        orders: &OrderTable,
        mut met: impl FnMut(u32) -> bool,
    ) {
        let Some(number) = self.0.find((owner, instrument)) else {
            return;
        };
        let book = self.0.get(number);
        let mut at = match order.side {
            Side::Buy => book.sells,
            Side::Sell => book.buys,
        };
        while at != NONE {
            let entry = orders.get(at);
            let crosses = match (order.price, entry.order.price) {
                (Some(price), Some(resting)) => match order.side {
                    Side::Buy => price >= resting,
                    Side::Sell => price <= resting,
                },
                _ => true,
            };
            if crosses && at != except && !met(at) {
                return;
            }
            at = entry.book_next;
        }
    }

    pub(crate) fn insert(
        &mut self,
        owner: u64,
        instrument: u32,
        index: u32,
        orders: &mut OrderTable,
    ) {
        let key = (owner, instrument);
        let number = self.0.find_or_insert(key, || Book {
            key,
            buys: NONE,
            sells: NONE,
        });
        let entry = orders.get_mut(index);
        entry.book = number;
        let head = head(self.0.get_mut(number), entry.order.side);
        entry.book_previous = NONE;
        entry.book_next = *head;
        let next = *head;
        *head = index;
        if next != NONE {
            orders.get_mut(next).book_previous = index;
        }
    }

    pub(crate) fn remove(&mut self, index: u32, orders: &mut OrderTable) {
        let entry = *orders.get(index);
        if entry.book == NONE {
            return;
        }
        orders.get_mut(index).book = NONE;
        if entry.book_next != NONE {
            orders.get_mut(entry.book_next).book_previous = entry.book_previous;
        }
        if entry.book_previous == NONE {
            let book = self.0.get_mut(entry.book);
            *head(book, entry.order.side) = entry.book_next;
            if book.buys == NONE && book.sells == NONE {
                self.0.remove(entry.book);
            }
        } else {
            orders.get_mut(entry.book_previous).book_next = entry.book_next;
        }
    }
}

const fn head(book: &mut Book, side: Side) -> &mut u32 {
    match side {
        Side::Buy => &mut book.buys,
        Side::Sell => &mut book.sells,
    }
}
