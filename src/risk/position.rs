//! How long or short an account is in an instrument, and may become (rules
//! K19, K20).

use super::table::{Record, Table};
use crate::types::Side;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(crate) struct Position {
    /// Bought less sold, in units of a quantity.
    pub(crate) net: i128,
    /// What working buys may still buy.
    pub(crate) buying: i128,
    /// What working sells may still sell.
    pub(crate) selling: i128,
    /// What the account last traded it at; values the position.
    pub(crate) last_price: i64,
    account: u32,
    instrument: u32,
}

const _: () = assert!(size_of::<Position>() == 64, "one cache line");

impl Position {
    pub(crate) const fn working(&mut self, side: Side) -> &mut i128 {
        match side {
            Side::Buy => &mut self.buying,
            Side::Sell => &mut self.selling,
        }
    }

    /// The position's worth; what is out of range is as much as there can be.
    pub(crate) fn value(&self) -> i128 {
        self.net
            .checked_mul(i128::from(self.last_price))
            .and_then(i128::checked_abs)
            .unwrap_or(i128::MAX)
    }

    /// Whether `quantity` more on `side` brings the position nearer to zero,
    /// even when everything that works on that side fills.
    pub(crate) const fn reduces(&self, side: Side, quantity: i128) -> bool {
        match side {
            Side::Buy => self.net < 0 && self.net + self.buying + quantity <= 0,
            Side::Sell => self.net > 0 && self.net - self.selling - quantity >= 0,
        }
    }
}

impl Record for Position {
    type Key = u64;

    fn key(&self) -> u64 {
        key(self.account, self.instrument)
    }
}

const fn key(account: u32, instrument: u32) -> u64 {
    (account as u64) << 32 | instrument as u64
}

pub(crate) struct PositionTable(Table<Position>);

impl PositionTable {
    pub(crate) fn new() -> Self {
        Self(Table::with_capacity(0))
    }

    #[inline]
    pub(crate) fn find(&self, account: u32, instrument: u32) -> Option<&Position> {
        self.0
            .find(key(account, instrument))
            .map(|number| self.0.get(number))
    }

    #[inline]
    pub(crate) fn of(&mut self, account: u32, instrument: u32) -> &mut Position {
        let number = self
            .0
            .find_or_insert(key(account, instrument), || empty(account, instrument));
        self.0.get_mut(number)
    }

    /// A copy; an empty one where there is none.
    #[inline]
    pub(crate) fn get(&self, account: u32, instrument: u32) -> Position {
        self.find(account, instrument)
            .copied()
            .unwrap_or_else(|| empty(account, instrument))
    }

    pub(crate) fn remove(&mut self, account: u32, instrument: u32) {
        if let Some(number) = self.0.find(key(account, instrument)) {
            self.0.remove(number);
        }
    }
}

const fn empty(account: u32, instrument: u32) -> Position {
    Position {
        net: 0,
        buying: 0,
        selling: 0,
        last_price: 0,
        account,
        instrument,
    }
}
