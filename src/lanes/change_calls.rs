//! The typed calls of a submitter for blocks, groups and configuration (rules
//! L4, L13, L16).
//!
//! They are facts: they may use the room that orders leave free, and do not
//! stand in line behind a chain that waits.

use crate::time::{Clock, Nanos};
use crate::types::{AccountId, GroupId};

use super::change::{Change, ChangeOf, ControlDriver};
use super::change_future::ChangeFuture;
use super::desk::Desk;
use super::desk_calls::Wait;
use super::dynamic::DynamicSubmitter;
use super::error::{Failure, LaneError, Refused};
use super::future::Outcome;
use super::observer::Observer;
use super::operation::Operation;
use super::slab::Slot;
use super::submitter::{Class, FutureOf, Submitter};

/// One lane's part of a change.
pub(super) struct MakeChange<D: ControlDriver>(ChangeOf<D>);

impl<D: ControlDriver> Operation<Desk<D>> for MakeChange<D> {
    type Value = ();
    type Error = D::Error;
    type Payload = ChangeOf<D>;

    fn run(
        self,
        desk: &mut Desk<D>,
        _now: Nanos,
        _slot: Slot,
    ) -> Outcome<(), D::Error, ChangeOf<D>> {
        let made = desk.driver.change(&self.0);
        made.map_err(|error| Failure::without_payload(LaneError::Driver(error)))
    }

    fn abort(self) -> Option<ChangeOf<D>> {
        Some(self.0)
    }
}

/// A change on its way, by lane.
type OnItsWay<D> = Vec<FutureOf<Desk<D>, MakeChange<D>>>;

/// How a submitter brings a change to the lanes that it concerns.
trait SendsChanges<D: ControlDriver> {
    fn send_change(&mut self, change: &ChangeOf<D>, wait: Wait) -> Result<OnItsWay<D>, LaneError>;
}

impl<D: ControlDriver, O: Observer, C: Clock> SendsChanges<D> for Submitter<Desk<D>, O, C> {
    fn send_change(&mut self, change: &ChangeOf<D>, wait: Wait) -> Result<OnItsWay<D>, LaneError> {
        let key = change.key().ok_or(LaneError::MissingAccountId)?;
        let parts = change.by_shard(self.core.shards()).into_iter();
        let parts = parts
            .map(|(shard, part)| (shard, MakeChange(part)))
            .collect();
        self.spread(key, parts, wait.patience())
    }
}

impl<D: ControlDriver, O: Observer, C: Clock> SendsChanges<D> for DynamicSubmitter<Desk<D>, O, C>
where
    Desk<D>: Send,
{
    fn send_change(&mut self, change: &ChangeOf<D>, wait: Wait) -> Result<OnItsWay<D>, LaneError> {
        let key = change.key().ok_or(LaneError::MissingAccountId)?;
        self.operate(
            key,
            MakeChange(change.clone()),
            Class::Fact,
            wait.patience(),
        )
        .map(|future| vec![future])
        .map_err(|refused: Refused<_>| refused.error)
    }
}

macro_rules! change_calls {
    ($Submitter:ident $(where $($bound:tt)*)?) => {
        impl<D: ControlDriver, O: Observer, C: Clock> $Submitter<Desk<D>, O, C>
        $(where $($bound)*)?
        {
            /// Makes a change in the lane that it belongs to; what concerns a
            /// group or everyone resolves when all lanes have made it. One that
            /// no lane has begun comes back.
            pub fn change(&mut self, change: ChangeOf<D>, wait: Wait) -> ChangeFuture<D> {
                match self.send_change(&change, wait) {
                    Ok(lanes) => ChangeFuture::new(change, lanes),
                    Err(error) => ChangeFuture::refused(error.widen(), change),
                }
            }

            /// Blocks an account's orders; a cause that is there stays.
            pub fn block_account(
                &mut self,
                account: AccountId,
                cause: D::Cause,
                wait: Wait,
            ) -> ChangeFuture<D> {
                self.change(Change::BlockAccount(account, cause), wait)
            }

            /// Replaces the cause of an account's block.
            pub fn replace_block(
                &mut self,
                account: AccountId,
                cause: D::Cause,
                wait: Wait,
            ) -> ChangeFuture<D> {
                self.change(Change::ReplaceBlock(account, cause), wait)
            }

            /// Clears an account's block; its group's stays.
            pub fn unblock_account(&mut self, account: AccountId, wait: Wait) -> ChangeFuture<D> {
                self.change(Change::UnblockAccount(account), wait)
            }

            /// Blocks the orders of a group's accounts, in the group's lane.
            pub fn block_group(
                &mut self,
                group: GroupId,
                cause: D::Cause,
                wait: Wait,
            ) -> ChangeFuture<D> {
                self.change(Change::BlockGroup(group, cause), wait)
            }

            /// Replaces the cause of a group's block, in the group's lane.
            pub fn replace_group_block(
                &mut self,
                group: GroupId,
                cause: D::Cause,
                wait: Wait,
            ) -> ChangeFuture<D> {
                self.change(Change::ReplaceGroupBlock(group, cause), wait)
            }

            /// Clears a group's block, in the group's lane.
            pub fn unblock_group(&mut self, group: GroupId, wait: Wait) -> ChangeFuture<D> {
                self.change(Change::UnblockGroup(group), wait)
            }

            /// Sets the currency of a group's accounts, in the group's lane.
            pub fn set_group_currency(
                &mut self,
                group: GroupId,
                currency: Option<D::Currency>,
                wait: Wait,
            ) -> ChangeFuture<D> {
                self.change(Change::GroupCurrency(group, currency), wait)
            }

            /// Puts accounts into a group, in the lane of the first one; without
            /// one it is `MissingAccountId`.
            pub fn join_group(
                &mut self,
                accounts: Vec<AccountId>,
                group: GroupId,
                wait: Wait,
            ) -> ChangeFuture<D> {
                self.change(Change::JoinGroup(accounts, group), wait)
            }

            /// Takes accounts out of a group; as [`join_group`](Self::join_group).
            pub fn leave_group(
                &mut self,
                accounts: Vec<AccountId>,
                group: GroupId,
                wait: Wait,
            ) -> ChangeFuture<D> {
                self.change(Change::LeaveGroup(accounts, group), wait)
            }

            /// Clears what blocks everyone, and with the risk engine every block, in
            /// the engine's lane.
            pub fn unblock_all(&mut self, wait: Wait) -> ChangeFuture<D> {
                self.change(Change::UnblockAll, wait)
            }

            /// Takes a new configuration, in the engine's lane: each request sees
            /// one version of it.
            pub fn configure(&mut self, config: D::Config, wait: Wait) -> ChangeFuture<D> {
                self.change(Change::Configure(config), wait)
            }
        }
    };
}

change_calls!(Submitter);
change_calls!(DynamicSubmitter where Desk<D>: Send);
