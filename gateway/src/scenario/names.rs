//! Names of a table, and the numbers that the engine knows them by.

use std::collections::BTreeMap;

use pitlane::types::{AccountId, AssetId, GroupId, InstrumentId};

/// Numbers for names, given in the order of first use; a name that is a number
/// already keeps it.
#[derive(Debug, Default)]
pub(super) struct Names {
    accounts: BTreeMap<String, AccountId>,
    groups: BTreeMap<String, GroupId>,
    pub(super) assets: BTreeMap<String, AssetId>,
    pub(super) instruments: BTreeMap<String, InstrumentId>,
}

/// Above what people number accounts by.
const FIRST_NAMED_ACCOUNT: u64 = 1 << 63;
const FIRST_NAMED_GROUP: u32 = 1 << 31;

impl Names {
    pub(super) fn account(&mut self, name: &str) -> AccountId {
        let next = FIRST_NAMED_ACCOUNT + self.accounts.len() as u64;
        *self
            .accounts
            .entry(name.to_owned())
            .or_insert_with(|| AccountId(name.parse().unwrap_or(next)))
    }

    /// The name of an account; its number, if the table has none for it.
    pub(super) fn account_name(&self, id: AccountId) -> String {
        self.accounts
            .iter()
            .find(|(_, known)| **known == id)
            .map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    pub(super) fn accounts(&self) -> impl Iterator<Item = AccountId> {
        self.accounts.values().copied()
    }

    /// `None` for zero, which is not a group.
    pub(super) fn group(&mut self, name: &str) -> Option<GroupId> {
        if let Some(group) = self.groups.get(name) {
            return Some(*group);
        }
        let next = FIRST_NAMED_GROUP + u32::try_from(self.groups.len()).ok()?;
        let group = GroupId::new(name.parse().unwrap_or(next))?;
        self.groups.insert(name.to_owned(), group);
        Some(group)
    }

    pub(super) fn asset(&mut self, name: &str) -> AssetId {
        if let Some(id) = self.assets.get(name) {
            return *id;
        }
        let next = self.assets.values().map(|id| id.0).max().unwrap_or(0) + 1;
        self.assets.insert(name.to_owned(), AssetId(next));
        AssetId(next)
    }

    /// The name of an asset; its number, if the table has none for it.
    pub(super) fn asset_name(&self, id: AssetId) -> String {
        self.assets
            .iter()
            .find(|(_, known)| **known == id)
            .map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    /// `None` where the name is not `BASE/SETTLEMENT` and was not configured.
    pub(super) fn instrument(&mut self, name: &str) -> Option<InstrumentId> {
        if let Some(id) = self.instruments.get(name) {
            return Some(*id);
        }
        let (base, settlement) = split(name)?;
        self.asset(base);
        self.asset(settlement);
        let next = self.instruments.values().map(|id| id.0).max().unwrap_or(0) + 1;
        self.instruments.insert(name.to_owned(), InstrumentId(next));
        Some(InstrumentId(next))
    }
}

/// Base and settlement of an instrument's name.
pub(super) fn split(name: &str) -> Option<(&str, &str)> {
    let (base, settlement) = name.split_once('/').or_else(|| name.split_once('-'))?;
    (!base.is_empty() && !settlement.is_empty() && base != settlement).then_some((base, settlement))
}
