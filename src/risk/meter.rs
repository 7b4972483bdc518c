//! Running figures of an account in one settlement asset, and of the account
//! as a whole: made on first use, so that an idle account has none.

use super::table::{Record, Table};
use super::window::Window;
use crate::types::AssetId;

/// Stands where an asset would for the account's message windows.
const CANCELS: u64 = 1 << 32;
const REPLACES: u64 = 2 << 32;
/// With an instrument's number below it.
const FILLS: u64 = 3 << 32;

#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(crate) struct Meter {
    account: u32,
    /// An asset, or one of the constants above.
    what: u64,
    /// Attempts: orders in this asset, or messages of this kind.
    pub(crate) orders: Window,
    /// Realized profit less fees.
    pub(crate) pnl: i128,
    /// What working orders and positions are worth together.
    pub(crate) credit: i128,
}

const _: () = assert!(size_of::<Meter>() == 64, "one cache line");

impl Record for Meter {
    type Key = (u32, u64);

    fn key(&self) -> Self::Key {
        (self.account, self.what)
    }
}

pub(crate) struct MeterTable(Table<Meter>);

impl MeterTable {
    pub(crate) fn new() -> Self {
        Self(Table::with_capacity(0))
    }

    fn at(&mut self, account: u32, what: u64) -> &mut Meter {
        let number = self.0.find_or_insert((account, what), || Meter {
            account,
            what,
            orders: Window::EMPTY,
            pnl: 0,
            credit: 0,
        });
        self.0.get_mut(number)
    }

    pub(crate) fn of(&mut self, account: u32, asset: AssetId) -> &mut Meter {
        self.at(account, u64::from(asset.0))
    }

    pub(crate) fn cancels(&mut self, account: u32) -> &mut Meter {
        self.at(account, CANCELS)
    }

    pub(crate) fn replaces(&mut self, account: u32) -> &mut Meter {
        self.at(account, REPLACES)
    }

    /// The fills of an instrument.
    pub(crate) fn fills(&mut self, account: u32, instrument: u32) -> &mut Meter {
        self.at(account, FILLS | u64::from(instrument))
    }

    /// Takes an account's figures in one asset out.
    pub(crate) fn remove_asset(&mut self, account: u32, asset: AssetId) -> Option<Meter> {
        self.remove(account, u64::from(asset.0))
    }

    /// Takes an account's message windows, and the fills of an instrument, out.
    pub(crate) fn remove_messages(&mut self, account: u32) -> [Option<Meter>; 2] {
        [
            self.remove(account, CANCELS),
            self.remove(account, REPLACES),
        ]
    }

    pub(crate) fn remove_fills(&mut self, account: u32, instrument: u32) -> Option<Meter> {
        self.remove(account, FILLS | u64::from(instrument))
    }

    fn remove(&mut self, account: u32, what: u64) -> Option<Meter> {
        let number = self.0.find((account, what))?;
        let meter = *self.0.get(number);
        self.0.remove(number);
        Some(meter)
    }

    /// Windows of any kind, for maintenance.
    pub(crate) fn numbers(&self) -> u32 {
        self.0.numbers()
    }

    pub(crate) fn at_number(&mut self, number: u32) -> &mut Meter {
        self.0.get_mut(number)
    }

    pub(crate) fn find(&self, account: u32, asset: AssetId) -> Option<&Meter> {
        self.0
            .find((account, u64::from(asset.0)))
            .map(|number| self.0.get(number))
    }
}
