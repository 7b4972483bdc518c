//! What a chain belongs to, and which steps that allows (rule L31).

use crate::types::{AccountId, GroupId, Order};

use super::super::key::LaneKey;
use super::super::pre_trade::PreTradeDriver;
use crate::risk::RiskEngine;

/// A chain of one order: every step.
#[derive(Clone, Copy, Debug)]
pub enum OfOrder {}

/// A chain of one account: no order steps.
#[derive(Clone, Copy, Debug)]
pub enum OfAccount {}

/// A chain of one group: the caller's work, in the group's lane. What an engine
/// does to a group it does on every shard, by the
/// [`Sequencer`](crate::lanes::Sequencer), so no step of one lane is that.
#[derive(Clone, Copy, Debug)]
pub enum OfGroup {}

/// The kinds of chain that have an account.
pub trait AccountSteps {}
impl AccountSteps for OfOrder {}
impl AccountSteps for OfAccount {}

/// What a chain may be made of.
pub trait ChainSource<D: PreTradeDriver> {
    /// Which steps it allows: [`OfOrder`], [`OfAccount`] or [`OfGroup`].
    type Kind;

    /// What the chain belongs to.
    fn into_source(self) -> Source<D>;
}

/// What a chain belongs to.
#[derive(Debug)]
pub enum Source<D: PreTradeDriver> {
    /// An order, and by it its account.
    Order(D::Order),
    /// An account.
    Account(AccountId),
    /// A group.
    Group(GroupId),
}

impl<D: PreTradeDriver> Source<D> {
    /// The lane; `None` for an order that names no account.
    pub(super) fn key(&self) -> Option<LaneKey> {
        match self {
            Self::Order(order) => D::account_of(order).map(LaneKey::Account),
            Self::Account(account) => Some(LaneKey::Account(*account)),
            Self::Group(group) => Some(LaneKey::Group(*group)),
        }
    }
}

/// The order of any driver, as a chain's source.
#[derive(Clone, Copy, Debug)]
pub struct FromOrder<T>(pub T);

impl<D: PreTradeDriver<Order = T>, T> ChainSource<D> for FromOrder<T> {
    type Kind = OfOrder;

    fn into_source(self) -> Source<D> {
        Source::Order(self.0)
    }
}

impl ChainSource<RiskEngine> for Order {
    type Kind = OfOrder;

    fn into_source(self) -> Source<RiskEngine> {
        Source::Order(self)
    }
}

impl<D: PreTradeDriver> ChainSource<D> for AccountId {
    type Kind = OfAccount;

    fn into_source(self) -> Source<D> {
        Source::Account(self)
    }
}

impl<D: PreTradeDriver> ChainSource<D> for GroupId {
    type Kind = OfGroup;

    fn into_source(self) -> Source<D> {
        Source::Group(self)
    }
}
