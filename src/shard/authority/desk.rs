//! A shard's part of the authorizer: what it holds, what it was told, and what it
//! has to answer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::ask::{AuthorityEnd, BlockedAccounts};
use super::counts::AuthorityCounts;
use super::ended::EndedHolds;
use super::fills::ToldFills;
use super::holds::HoldTable;
use super::receiver::Acknowledged;
use crate::orders::decision::Decision;
use crate::risk::Rejects;
use crate::shard::held::Held;
use crate::shard::record::ToldRecord;
use crate::types::ShardId;

/// See the module. Everything here is owned by one shard.
pub(in crate::shard) struct AuthorityDesk {
    /// `None` where nobody can ask: what is held stays held.
    pub(super) end: Option<AuthorityEnd>,
    pub(super) holds: HoldTable,
    /// By executor's log, the last message that was taken.
    pub(super) cursors: BTreeMap<u64, u64>,
    pub(super) fills: ToldFills,
    /// What was left of orders that are over.
    pub(super) ended: EndedHolds,
    /// What a person should look at, oldest first.
    pub(super) set_aside: VecDeque<ToldRecord>,
    /// Holds that are not as they were written last.
    pub(super) touched: Vec<u64>,
    /// What leaves when its group is durable.
    pub(super) answers: Held<AnswerOut>,
    pub(super) counts: AuthorityCounts,
}

/// An answer on its way out.
pub(super) enum AnswerOut {
    Decided(
        oneshot::Sender<Result<Box<Decision>, Rejects>>,
        Result<Box<Decision>, Rejects>,
    ),
    Taken {
        shard: ShardId,
        sequence: u64,
        acknowledged: Arc<Acknowledged>,
    },
    Due(oneshot::Sender<Vec<Decision>>, Vec<Decision>),
    /// Whether there was one: a hold that is released, an account that is blocked.
    Done(oneshot::Sender<bool>, bool),
    Blocks(oneshot::Sender<BlockedAccounts>, BlockedAccounts),
}

impl AuthorityDesk {
    pub(super) fn new(end: Option<AuthorityEnd>) -> Self {
        Self {
            end,
            holds: HoldTable::default(),
            cursors: BTreeMap::new(),
            fills: ToldFills::default(),
            ended: EndedHolds::default(),
            set_aside: VecDeque::new(),
            touched: Vec::new(),
            answers: Held::with_capacity(0),
            counts: AuthorityCounts::default(),
        }
    }

    /// Whether somebody has asked and was not looked at.
    pub(in crate::shard) fn is_asked(&self) -> bool {
        self.end.as_ref().is_some_and(|end| !end.asks.is_empty())
    }

    pub(in crate::shard) fn is_due(&self, durable: u64) -> bool {
        self.answers.is_due(durable)
    }

    pub(in crate::shard) fn holds_back(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Gives the answers that may leave; whether there were any. Who asked may be
    /// gone: then nobody reads it.
    pub(in crate::shard) fn answer(&mut self, durable: u64) -> bool {
        let mut any = false;
        let mut told: Option<Arc<Acknowledged>> = None;
        while let Some(answer) = self.answers.take_due(durable) {
            any = true;
            match answer {
                AnswerOut::Decided(reply, verdict) => drop(reply.send(verdict)),
                AnswerOut::Due(reply, decisions) => drop(reply.send(decisions)),
                AnswerOut::Done(reply, was_there) => drop(reply.send(was_there)),
                AnswerOut::Blocks(reply, blocks) => drop(reply.send(blocks)),
                AnswerOut::Taken {
                    shard,
                    sequence,
                    acknowledged,
                } => {
                    acknowledged.take(shard, sequence);
                    // One bell for all that leaves at once, as long as it is one
                    // executor's.
                    if let Some(other) = told.replace(acknowledged)
                        && told.as_ref().is_some_and(|own| !Arc::ptr_eq(own, &other))
                    {
                        other.ring();
                    }
                }
            }
        }
        if let Some(told) = told {
            told.ring();
        }
        any
    }

    /// Nothing is answered any more: whoever asks, or has asked, is told that
    /// nobody is there.
    #[cold]
    pub(in crate::shard) fn close(&mut self) {
        self.end = None;
        self.answers = Held::with_capacity(0);
    }
}
