//! Blocks, groups and configuration of the crate's engine (rule L4).

use core::borrow::Borrow;
use core::fmt;
use std::sync::Arc;

use ::openpit::param::{self, AccountGroupId, Asset};
use ::openpit::{Engine, EngineTrait, HasAccountId};

use crate::lanes::change::{Change, ChangeOf, ControlDriver};
use crate::types::{AccountId, GroupId};

use super::driver::{OpenpitDriver, OpenpitError};
use super::place::Place;

/// What a change of configuration does with the engine; where shards share one,
/// each of them does it.
pub struct OpenpitConfigure<T: EngineTrait>(Arc<Configure<T>>);

type Configure<T> = dyn Fn(&Engine<T>) + Send + Sync;

impl<T: EngineTrait> OpenpitConfigure<T> {
    /// A change that calls `configure` with the engine.
    pub fn new(configure: impl Fn(&Engine<T>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(configure))
    }
}

impl<T: EngineTrait> Clone for OpenpitConfigure<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Clones are equal.
impl<T: EngineTrait> PartialEq for OpenpitConfigure<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: EngineTrait> Eq for OpenpitConfigure<T> {}

impl<T: EngineTrait> fmt::Debug for OpenpitConfigure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenpitConfigure")
    }
}

fn theirs(account: AccountId) -> param::AccountId {
    param::AccountId::from_u64(account.0)
}

fn group(group: GroupId) -> Result<AccountGroupId, OpenpitError> {
    AccountGroupId::from_u32(group.get()).map_err(OpenpitError::GroupId)
}

/// The cause of a block is its reason, in words. `UnblockAll` is that crate's:
/// it clears the engine-wide block, resumes a halted driver, and leaves the blocks
/// of accounts and groups.
impl<T, E, P> ControlDriver for OpenpitDriver<T, E, P>
where
    T: EngineTrait,
    T::Order: HasAccountId + Clone + Send,
    T::ExecutionReport: HasAccountId + Send,
    T::AccountAdjustment: Send,
    E: Borrow<Engine<T>> + 'static,
    P: Place,
{
    type Cause = String;
    type Currency = Asset;
    type Config = OpenpitConfigure<T>;

    fn change(&mut self, change: &ChangeOf<Self>) -> Result<(), OpenpitError> {
        let engine = self.engine();
        let accounts = engine.accounts();
        match change {
            Change::BlockAccount(account, reason) => {
                accounts.block(theirs(*account), reason.clone());
            }
            Change::ReplaceBlock(account, reason) => {
                accounts.replace_block_reason(theirs(*account), reason.clone())?;
            }
            Change::UnblockAccount(account) => accounts.unblock(theirs(*account)),
            Change::BlockGroup(of, reason) => accounts.block_group(group(*of)?, reason.clone())?,
            Change::ReplaceGroupBlock(of, reason) => {
                accounts.replace_group_block_reason(group(*of)?, reason.clone())?;
            }
            Change::UnblockGroup(of) => accounts.unblock_group(group(*of)?)?,
            Change::GroupCurrency(of, Some(currency)) => {
                accounts.set_group_currency(group(*of)?, currency.clone());
            }
            Change::GroupCurrency(of, None) => accounts.clear_group_currency(group(*of)?),
            Change::JoinGroup(members, of) => {
                let members: Vec<_> = members.iter().copied().map(theirs).collect();
                accounts.register_group(&members, group(*of)?)?;
            }
            Change::LeaveGroup(members, of) => {
                let members: Vec<_> = members.iter().copied().map(theirs).collect();
                accounts.unregister_group(&members, group(*of)?)?;
            }
            Change::UnblockAll => {
                accounts.unblock_all();
                self.resume();
            }
            Change::Configure(configure) => (configure.0)(engine),
        }
        Ok(())
    }
}
