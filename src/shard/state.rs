//! A shard's state as its journal tells it: what was last written of each
//! thing. Nothing is calculated and no configuration is asked (rule J5).

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::authority::AuthorityState;
use super::record::{
    AccountRecord, ConfigRecord, DecodeError, Effect, Glance, OrderRecord, OrderStanding,
    ReportMark, glance,
};
use crate::journal::RecordView;
use crate::limits::FILL_IDS_MAX;
use crate::types::{AccountId, Amount, AssetId, ClientOrderId, FillId, InstrumentId, RejectCode};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardState {
    /// With the record that opened each.
    pub(super) orders: HashMap<ClientOrderId, (u64, OrderRecord)>,
    /// With the record that told last of each: two instruments share an asset.
    pub(super) accounts: HashMap<(AccountId, InstrumentId), (u64, AccountRecord)>,
    pub(super) blocks: HashMap<AccountId, Option<RejectCode>>,
    pub(super) halt: Option<RejectCode>,
    /// By credential, the last report's number.
    pub(super) reports: HashMap<u16, u64>,
    pub(super) fills: VecDeque<FillId>,
    pub(super) last_fill: u64,
    pub(super) records: u64,
    pub(super) authority: AuthorityState,
    pub(super) config: Option<ConfigRecord>,
    pub(super) openings: HashMap<(AccountId, AssetId), Amount>,
}

/// A record of a journal is not one of a shard's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {sequence}, in segment {segment} at byte {offset}: {error}")]
pub struct StateError {
    /// Its sequence.
    pub sequence: u64,
    /// Its segment.
    pub segment: u64,
    /// Its place there.
    pub offset: u64,
    /// What is wrong with it.
    pub error: DecodeError,
}

impl ShardState {
    /// Takes the next record of a journal.
    ///
    /// # Errors
    /// It is none of a shard's, or of a newer program; the state is as it was.
    pub fn take(&mut self, record: &RecordView<'_>) -> Result<(), StateError> {
        let seen = glance(record.kind, record.version, record.body);
        let seen = seen.map_err(|error| StateError {
            sequence: record.sequence,
            segment: record.segment,
            offset: record.offset,
            error,
        })?;
        match seen {
            Glance::Effect(effect) => self.apply(record.sequence, &effect),
            Glance::Ended(id) => {
                self.records += 1;
                self.orders.remove(&id);
            }
            Glance::Told(mark) => {
                self.records += 1;
                self.take_mark(mark);
            }
        }
        Ok(())
    }

    /// Takes an effect that was written as record `sequence`.
    #[inline]
    pub fn apply(&mut self, sequence: u64, effect: &Effect) {
        self.records += 1;
        match effect {
            Effect::Order(order) if order.standing == OrderStanding::Open => {
                let place = self.orders.entry(order.id).or_insert((sequence, *order));
                place.1 = *order;
            }
            Effect::Order(order) => {
                self.orders.remove(&order.id);
            }
            Effect::Account(account) => {
                let key = (account.image.account, account.image.instrument);
                self.accounts.insert(key, (sequence, *account));
            }
            Effect::Report(report) => self.take_mark(ReportMark::of(report)),
            Effect::Block(block) => match block.account {
                Some(account) => {
                    self.blocks.insert(account, block.cause);
                }
                None => self.halt = block.cause,
            },
            Effect::Config(config) => self.config = Some(*config),
            Effect::Adjustment(one) => {
                self.openings.insert((one.account, one.asset), one.amount);
            }
            Effect::Decision(_) | Effect::Hold(_) | Effect::Told(_) => self.authority.apply(effect),
        }
    }

    fn take_mark(&mut self, mark: ReportMark) {
        let last = self.reports.entry(mark.credential).or_insert(0);
        *last = mark.number.max(*last);
        if let Some(fill) = mark.fill {
            if self.fills.len() == FILL_IDS_MAX {
                self.fills.pop_front();
            }
            self.fills.push_back(fill);
            self.last_fill = self.last_fill.max(fill.0);
        }
    }

    /// How many records it was made from.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// The orders that are not over, oldest first.
    #[must_use]
    pub fn open_orders(&self) -> Vec<OrderRecord> {
        in_order(self.orders.values())
    }

    /// What accounts have, in the order in which it was written last.
    #[must_use]
    pub fn accounts(&self) -> Vec<AccountRecord> {
        in_order(self.accounts.values())
    }

    /// Blocks of accounts, and blocks that were cleared.
    pub fn blocks(&self) -> impl Iterator<Item = (AccountId, Option<RejectCode>)> {
        self.blocks
            .iter()
            .map(|(account, cause)| (*account, *cause))
    }

    /// What it held for decisions, and was told of them.
    #[must_use]
    pub const fn authority(&self) -> &AuthorityState {
        &self.authority
    }

    /// The settings that it ran with last.
    #[must_use]
    pub const fn config(&self) -> Option<&ConfigRecord> {
        self.config.as_ref()
    }

    /// What an account was given before it traded.
    #[must_use]
    pub fn opening(&self, account: AccountId, asset: AssetId) -> Option<Amount> {
        self.openings.get(&(account, asset)).copied()
    }

    /// The firm-wide halt.
    #[must_use]
    pub const fn halt(&self) -> Option<RejectCode> {
        self.halt
    }

    /// By credential, the number of its last report.
    pub fn reports(&self) -> impl Iterator<Item = (u16, u64)> {
        self.reports
            .iter()
            .map(|(credential, last)| (*credential, *last))
    }

    /// The last fills that were booked, oldest first.
    pub fn fills(&self) -> impl Iterator<Item = FillId> {
        self.fills.iter().copied()
    }

    /// The highest fill id that was booked; zero before the first.
    #[must_use]
    pub const fn last_fill(&self) -> FillId {
        FillId(self.last_fill)
    }
}

fn in_order<'a, T: Copy + 'a>(all: impl Iterator<Item = &'a (u64, T)>) -> Vec<T> {
    let mut all: Vec<&(u64, T)> = all.collect();
    all.sort_unstable_by_key(|(sequence, _)| *sequence);
    all.into_iter().map(|(_, one)| *one).collect()
}
