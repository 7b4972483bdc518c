//! Blocks, groups and configuration: what is changed beside orders (rules L4
//! and L13).

use crate::types::{AccountId, GroupId};

use super::key::LaneKey;
use super::pre_trade::PreTradeDriver;

/// A change of what holds for an account, a group or everyone. `C` is why
/// something is blocked, `Q` a currency, `F` a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change<C, Q, F> {
    /// Blocks an account's orders; a cause that is there stays.
    BlockAccount(AccountId, C),
    /// Replaces the cause of an account's block.
    ReplaceBlock(AccountId, C),
    /// Clears an account's block; its group's stays.
    UnblockAccount(AccountId),
    /// Blocks the orders of a group's accounts, of those that join later too.
    BlockGroup(GroupId, C),
    /// Replaces the cause of a group's block.
    ReplaceGroupBlock(GroupId, C),
    /// Clears a group's block; its accounts' own stay.
    UnblockGroup(GroupId),
    /// Sets the currency of a group's accounts, or leaves them the general one.
    GroupCurrency(GroupId, Option<Q>),
    /// Puts accounts into a group.
    JoinGroup(Vec<AccountId>, GroupId),
    /// Takes accounts out of a group.
    LeaveGroup(Vec<AccountId>, GroupId),
    /// Clears what blocks everyone; with the risk engine, every block.
    UnblockAll,
    /// Takes a new configuration.
    Configure(F),
}

/// A driver's own kind of [`Change`].
pub type ChangeOf<D> = Change<
    <D as ControlDriver>::Cause,
    <D as ControlDriver>::Currency,
    <D as ControlDriver>::Config,
>;

/// What a driver does beside orders: the typed calls for blocks, groups and
/// configuration are there for drivers that have it.
///
/// In the sharded strategy what holds for a group or for everyone is changed in
/// every shard's driver, each with the same changes in the same order; of a
/// change of membership each gets its own accounts. In the dynamic strategy one
/// lane's driver makes the change for all of them, which share one engine.
pub trait ControlDriver: PreTradeDriver {
    /// Why something is blocked.
    type Cause: Clone + Send + 'static;
    /// A currency of accounts.
    type Currency: Clone + Send + 'static;
    /// A configuration; one that is large in an `Arc`.
    type Config: Clone + Send + 'static;

    /// Makes a change.
    ///
    /// # Errors
    /// The driver's own; this driver has changed nothing.
    fn change(&mut self, change: &ChangeOf<Self>) -> Result<(), Self::Error>;
}

impl<C: Clone, Q: Clone, F: Clone> Change<C, Q, F> {
    /// The lane that it belongs to; none where no account is named.
    pub(super) fn key(&self) -> Option<LaneKey> {
        Some(match self {
            Self::BlockAccount(account, _)
            | Self::ReplaceBlock(account, _)
            | Self::UnblockAccount(account) => LaneKey::Account(*account),
            Self::BlockGroup(group, _)
            | Self::ReplaceGroupBlock(group, _)
            | Self::UnblockGroup(group)
            | Self::GroupCurrency(group, _) => LaneKey::Group(*group),
            Self::JoinGroup(accounts, _) | Self::LeaveGroup(accounts, _) => {
                LaneKey::Account(*accounts.first()?)
            }
            Self::UnblockAll | Self::Configure(_) => LaneKey::Engine,
        })
    }

    /// What of it each of `shards` shards has to make, by shard.
    pub(super) fn by_shard(&self, shards: u16) -> Vec<(u16, Self)> {
        let of = |account: &AccountId| LaneKey::Account(*account).shard(shards).0;
        let split = |accounts: &[AccountId], make: &dyn Fn(Vec<AccountId>) -> Self| {
            (0..shards)
                .filter_map(|shard| {
                    let own: Vec<_> = accounts
                        .iter()
                        .filter(|&a| of(a) == shard)
                        .copied()
                        .collect();
                    (!own.is_empty()).then(|| (shard, make(own)))
                })
                .collect()
        };
        match self {
            Self::BlockAccount(account, _)
            | Self::ReplaceBlock(account, _)
            | Self::UnblockAccount(account) => vec![(of(account), self.clone())],
            Self::JoinGroup(accounts, group) => {
                split(accounts, &|own| Self::JoinGroup(own, *group))
            }
            Self::LeaveGroup(accounts, group) => {
                split(accounts, &|own| Self::LeaveGroup(own, *group))
            }
            Self::BlockGroup(..)
            | Self::ReplaceGroupBlock(..)
            | Self::UnblockGroup(_)
            | Self::GroupCurrency(..)
            | Self::UnblockAll
            | Self::Configure(_) => (0..shards).map(|shard| (shard, self.clone())).collect(),
        }
    }
}
