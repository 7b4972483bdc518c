//! What an account has of an asset, and what is promised (rule K17).

use super::table::{Record, Table};
use crate::types::{Amount, AssetId};

#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub(crate) struct Holding {
    pub(crate) available: i128,
    pub(crate) held: i128,
    pub(crate) incoming: i128,
    account: u32,
    asset: AssetId,
}

const _: () = assert!(size_of::<Holding>() == 64, "one cache line");

/// What an account has of an asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// May be spent.
    pub available: Amount,
    /// Is reserved for working orders.
    pub held: Amount,
    /// Is expected from working orders; may not be spent.
    pub incoming: Amount,
}

impl Balance {
    /// Whether all three are zero.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.available.is_zero() && self.held.is_zero() && self.incoming.is_zero()
    }
}

impl Holding {
    pub(crate) const fn balance(&self) -> Balance {
        Balance {
            available: Amount::from_raw(self.available),
            held: Amount::from_raw(self.held),
            incoming: Amount::from_raw(self.incoming),
        }
    }

    /// What an order may take: a negative hold lowers it, incoming never raises
    /// it. `None` where it is out of range.
    pub(crate) fn spendable(&self) -> Option<i128> {
        self.available.checked_add(self.held.min(0))
    }
}

impl Record for Holding {
    type Key = u64;

    fn key(&self) -> u64 {
        key(self.account, self.asset)
    }
}

const fn key(account: u32, asset: AssetId) -> u64 {
    (account as u64) << 32 | asset.0 as u64
}

pub(crate) struct HoldingTable(Table<Holding>);

impl HoldingTable {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self(Table::with_capacity(capacity))
    }

    #[inline]
    pub(crate) fn find(&self, account: u32, asset: AssetId) -> Option<&Holding> {
        self.0
            .find(key(account, asset))
            .map(|number| self.0.get(number))
    }

    #[inline]
    pub(crate) fn of(&mut self, account: u32, asset: AssetId) -> &mut Holding {
        let number = self.0.find_or_insert(key(account, asset), || Holding {
            available: 0,
            held: 0,
            incoming: 0,
            account,
            asset,
        });
        self.0.get_mut(number)
    }

    pub(crate) fn remove(&mut self, account: u32, asset: AssetId) {
        if let Some(number) = self.0.find(key(account, asset)) {
            self.0.remove(number);
        }
    }

    /// Account number, asset and balance of every record, in no promised order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, AssetId, Balance)> {
        self.0
            .iter()
            .map(|(_, holding)| (holding.account, holding.asset, holding.balance()))
    }
}
