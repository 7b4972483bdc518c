//! Blocks: by account, by group, of all (rules K1, K26, K31).
//!
//! They stop orders and replaces; cancels, reports, adjustments and drop copies
//! pass. The first cause stays until it is replaced by an explicit call.

use super::account::NONE;
use super::custom::RiskEvent;
use super::engine::RiskEngine;
use super::order_table::Status;
use super::rejects::Rejects;
use super::token::ReservationToken;
use crate::types::{AccountId, GroupId, RejectCode, RejectScope};

/// There is no such account, or no such block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The account is not known.
    #[error("account {0} is not known")]
    UnknownAccount(AccountId),
    /// There is nothing whose cause could be replaced.
    #[error("there is no such block")]
    NotBlocked,
}

/// A block as it is kept over a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Of an account.
    Account(AccountId, RejectCode),
    /// Of a group.
    Group(GroupId, RejectCode),
    /// Of everything.
    All(RejectCode),
}

impl RiskEngine {
    /// Whether nothing at all is blocked that could be the account.
    #[inline]
    pub(super) fn is_clear(&self, account: u32) -> bool {
        self.accounts.get(account).block.is_none()
            && self.group_blocks.is_empty()
            && self.shared.halted().is_none()
    }

    /// Blocks, narrowest first: account, group, all (K1).
    pub(super) fn blocked(&self, account: u32) -> Result<(), Rejects> {
        if self.is_clear(account) {
            return Ok(());
        }
        let account = self.accounts.get(account);
        let group = || {
            let of = |(group, _): &&(GroupId, RejectCode)| group.get() == account.group;
            self.group_blocks.iter().find(of).map(|(_, cause)| *cause)
        };
        match account
            .block
            .or_else(group)
            .or_else(|| self.shared.halted())
        {
            None => Ok(()),
            Some(cause) => Err(Rejects::one(cause, RejectScope::Account)),
        }
    }

    /// Blocks an account unless it is blocked; whether it was not.
    pub(super) fn latch(&mut self, number: u32, cause: RejectCode) -> bool {
        let account = self.accounts.get_mut(number);
        if account.block.is_some() {
            return false;
        }
        account.block = Some(cause);
        let id = AccountId(account.id);
        if !self.custom.is_empty() {
            self.tell_custom(None, &RiskEvent::Blocked(id, cause));
        }
        true
    }

    fn number_of(&self, account: AccountId) -> Result<u32, BlockError> {
        self.accounts
            .find(account.0)
            .ok_or(BlockError::UnknownAccount(account))
    }

    /// Blocks an account; a cause that is there stays.
    ///
    /// # Errors
    /// The account is not known.
    pub fn block_account(
        &mut self,
        account: AccountId,
        cause: RejectCode,
    ) -> Result<(), BlockError> {
        let number = self.number_of(account)?;
        self.latch(number, cause);
        Ok(())
    }

    /// Replaces the cause of an account's block.
    ///
    /// # Errors
    /// The account is not known, or not blocked.
    pub fn replace_block(
        &mut self,
        account: AccountId,
        cause: RejectCode,
    ) -> Result<(), BlockError> {
        let number = self.number_of(account)?;
        let block = &mut self.accounts.get_mut(number).block;
        if block.is_none() {
            return Err(BlockError::NotBlocked);
        }
        *block = Some(cause);
        Ok(())
    }

    /// Clears an account's block, whatever its cause; a group's stays.
    ///
    /// # Errors
    /// The account is not known.
    pub fn unblock_account(&mut self, account: AccountId) -> Result<(), BlockError> {
        let number = self.number_of(account)?;
        if self.accounts.get_mut(number).block.take().is_some() && !self.custom.is_empty() {
            self.tell_custom(None, &RiskEvent::Unblocked(account));
        }
        Ok(())
    }

    /// Blocks the accounts of a group, those that join later too.
    pub fn block_group(&mut self, group: GroupId, cause: RejectCode) {
        if !self.group_blocks.iter().any(|(known, _)| *known == group) {
            self.group_blocks.push((group, cause));
        }
    }

    /// Replaces the cause of a group's block.
    ///
    /// # Errors
    /// The group is not blocked.
    pub fn replace_group_block(
        &mut self,
        group: GroupId,
        cause: RejectCode,
    ) -> Result<(), BlockError> {
        let mut blocks = self.group_blocks.iter_mut();
        match blocks.find(|(known, _)| *known == group) {
            Some(block) => {
                block.1 = cause;
                Ok(())
            }
            None => Err(BlockError::NotBlocked),
        }
    }

    /// Clears a group's block; its accounts' own stay.
    pub fn unblock_group(&mut self, group: GroupId) {
        self.group_blocks.retain(|(known, _)| *known != group);
    }

    /// Blocks everything, on every shard, before it returns: no order that is
    /// begun afterwards passes (K7).
    pub fn block_all(&mut self, cause: RejectCode) {
        self.shared.halt(cause);
    }

    /// Clears every block that this shard has, causes and kill switches
    /// included, and the one of all.
    pub fn unblock_all(&mut self) {
        self.shared.set_halt(None);
        self.group_blocks.clear();
        for number in 0..self.accounts.numbers() {
            let account = self.accounts.get_mut(number);
            if account.block.take().is_some() && !self.custom.is_empty() {
                let id = AccountId(account.id);
                self.tell_custom(None, &RiskEvent::Unblocked(id));
            }
        }
    }

    /// Why an account's orders are refused, if they are.
    ///
    /// # Errors
    /// The account is not known.
    pub fn block_of(&self, account: AccountId) -> Result<Option<RejectCode>, BlockError> {
        let number = self.number_of(account)?;
        Ok(self.blocked(number).err().map(|rejects| rejects.code()))
    }

    /// Every block, for what keeps them over a restart; set them again by
    /// [`restore_block`](Self::restore_block).
    pub fn blocks(&self, sink: &mut dyn FnMut(Block)) {
        if let Some(cause) = self.shared.halted() {
            sink(Block::All(cause));
        }
        for (group, cause) in &self.group_blocks {
            sink(Block::Group(*group, *cause));
        }
        for (_, account) in self.accounts.iter() {
            if let Some(cause) = account.block {
                sink(Block::Account(AccountId(account.id), cause));
            }
        }
    }

    /// Sets a block of an earlier run again.
    ///
    /// # Errors
    /// The account is not known.
    pub fn restore_block(&mut self, block: Block) -> Result<(), BlockError> {
        match block {
            Block::Account(account, cause) => return self.block_account(account, cause),
            Block::Group(group, cause) => self.block_group(group, cause),
            Block::All(cause) => self.block_all(cause),
        }
        Ok(())
    }

    /// The firm-wide halt, if one is in force, and its cause; whichever shard
    /// called it.
    #[must_use]
    pub fn halted(&self) -> Option<RejectCode> {
        self.shared.halted()
    }

    /// What an account has working, oldest first: what a block with
    /// `cancel_working` cancels (K31).
    pub fn working_orders(&self, account: AccountId, sink: &mut dyn FnMut(ReservationToken)) {
        let Some(number) = self.accounts.find(account.0) else {
            return;
        };
        let mut index = self.accounts.get(number).first_order;
        while index != NONE {
            let entry = self.orders.get(index);
            if entry.status == Status::Working {
                sink(ReservationToken {
                    shard: self.shard,
                    index,
                    generation: entry.generation,
                });
            }
            index = entry.next;
        }
    }

    /// What every account of a group, or without one everybody, has working.
    pub fn working_orders_of(
        &self,
        group: Option<GroupId>,
        sink: &mut dyn FnMut(ReservationToken),
    ) {
        for (_, account) in self.accounts.iter() {
            if group.is_none_or(|group| group.get() == account.group) {
                self.working_orders(AccountId(account.id), sink);
            }
        }
    }

    /// Gives the cancels that self-match prevention asks for to `sink`, in the
    /// order of asking (K39). Call it after each accepted order, before the
    /// order is sent.
    pub fn take_cancels(&mut self, sink: &mut dyn FnMut(ReservationToken)) {
        for token in self.cancels.drain(..) {
            sink(token);
        }
    }
}
