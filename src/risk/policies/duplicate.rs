//! Duplicate order (rule K21): the same account, instrument, side, amount and
//! price again within the window.
//!
//! The log holds accepted orders, oldest first, at most
//! [`DUPLICATE_LOG_MAX`]; beyond that an order cannot be judged and is refused.
//! A reservation that is rolled back takes its entry out again.

use std::collections::VecDeque;

use crate::limits::DUPLICATE_LOG_MAX;
use crate::risk::rejects::{PolicyId, Rejects};
use crate::risk::table::{Record, Table};
use crate::time::Nanos;
use crate::types::{Order, RejectCode, Side};

/// The most that [`Duplicates::check`] can say.
pub(crate) const REJECTS: usize = 1;

/// What makes two orders the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint {
    account: u32,
    instrument: u32,
    buy: bool,
    by_volume: bool,
    amount: i128,
    /// `i64::MIN` for a market order, which no price check lets pass as one.
    price: i64,
}

impl Fingerprint {
    pub(crate) fn of(account: u32, instrument: u32, order: &Order) -> Self {
        let amount = match (order.quantity, order.volume) {
            (Some(quantity), _) => i128::from(quantity.raw()),
            (None, volume) => volume.map_or(0, |volume| volume.raw()),
        };
        Self {
            account,
            instrument,
            buy: order.side == Side::Buy,
            by_volume: order.quantity.is_none(),
            amount,
            price: order.price.map_or(i64::MIN, |price| price.raw()),
        }
    }
}

struct Seen {
    what: Fingerprint,
    times: u32,
}

impl Record for Seen {
    type Key = Fingerprint;

    fn key(&self) -> Fingerprint {
        self.what
    }
}

pub(crate) struct Duplicates {
    /// When, and which record of `seen`; `None` where it was taken back.
    log: VecDeque<(Nanos, Option<u32>)>,
    /// Of the log's first entry, counted from the first ever.
    first: u64,
    seen: Table<Seen>,
}

impl Duplicates {
    pub(crate) fn new() -> Self {
        Self {
            log: VecDeque::new(),
            first: 0,
            seen: Table::with_capacity(0),
        }
    }

    /// Forgets what is older than the window.
    pub(crate) fn expire(&mut self, now: Nanos, window_ns: u64) {
        while let Some((at, number)) = self.log.front().copied() {
            if now.since(at) < window_ns {
                break;
            }
            self.log.pop_front();
            self.first += 1;
            if let Some(number) = number {
                self.uncount(number);
            }
        }
    }

    /// Judges an order; older entries than the window may still be there, and
    /// are not counted.
    pub(crate) fn check(
        &self,
        what: Fingerprint,
        repeats: u32,
        now: Nanos,
        window_ns: u64,
        rejects: &mut Rejects,
    ) {
        if self.log.len() >= DUPLICATE_LOG_MAX {
            return rejects.add(PolicyId::DUPLICATE, RejectCode::CapacityExceeded);
        }
        let Some(number) = self.seen.find(what) else {
            return;
        };
        let old = self
            .log
            .iter()
            .take_while(|(at, _)| now.since(*at) >= window_ns)
            .filter(|(_, other)| *other == Some(number))
            .count();
        let times = self.seen.get(number).times as usize - old;
        if times > repeats as usize {
            rejects.add(PolicyId::DUPLICATE, RejectCode::DuplicateOrder);
        }
    }

    /// Remembers an accepted order; what [`take_back`](Self::take_back) needs.
    pub(crate) fn record(&mut self, what: Fingerprint, now: Nanos) -> u64 {
        let number = self.seen.find_or_insert(what, || Seen { what, times: 0 });
        self.seen.get_mut(number).times += 1;
        self.log.push_back((now, Some(number)));
        self.first + self.log.len() as u64 - 1
    }

    /// Takes an entry out that is not too old to be there.
    pub(crate) fn take_back(&mut self, entry: u64) {
        let place = entry
            .checked_sub(self.first)
            .and_then(|at| usize::try_from(at).ok());
        let Some(slot) = place.and_then(|at| self.log.get_mut(at)) else {
            return;
        };
        if let Some(number) = slot.1.take() {
            self.uncount(number);
        }
    }

    fn uncount(&mut self, number: u32) {
        let seen = self.seen.get_mut(number);
        seen.times -= 1;
        if seen.times == 0 {
            self.seen.remove(number);
        }
    }
}
