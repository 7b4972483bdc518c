//! What a shard's authority was, as its journal tells it (rule J5).

use std::collections::{BTreeMap, VecDeque};

use super::ended::{EndedHolds, Left};
use crate::limits::{EXTERNAL_FILLS_MAX, FILL_IDS_MAX};
use crate::shard::record::{
    DecisionRecord, Effect, HoldRecord, HoldStanding, ToldKind, ToldOutcome, ToldRecord,
};
use crate::types::ClientOrderId;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorityState {
    /// By number; a hold's image is written in the group of its decision.
    holds: BTreeMap<u64, (DecisionRecord, Option<HoldRecord>)>,
    /// The last number that was given.
    last: u64,
    /// By executor's log, the last message that was taken.
    streams: BTreeMap<u64, u64>,
    /// The last executions that were told, oldest first.
    fills: VecDeque<ToldRecord>,
    /// What a person should look at, oldest first.
    set_aside: VecDeque<ToldRecord>,
    /// What was left of orders that are over.
    ended: EndedHolds,
}

impl AuthorityState {
    /// Takes an effect that is none of an order's.
    pub(in crate::shard) fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Decision(decision) => {
                self.last = self.last.max(decision.number);
                self.holds
                    .insert(decision.number, ((**decision).clone(), None));
            }
            Effect::Hold(hold) if hold.standing == HoldStanding::Ended => self.end(hold.number),
            Effect::Hold(hold) => {
                if let Some(held) = self.holds.get_mut(&hold.number) {
                    held.1 = Some(*hold);
                }
            }
            Effect::Told(told) => self.take_told(told),
            _ => {}
        }
    }

    fn end(&mut self, number: u64) {
        let Some((record, Some(last))) = self.holds.remove(&number) else {
            return;
        };
        if let Some(grant) = &record.decision.grant {
            let left = Left::of(record.decision.size, &last.hold);
            self.ended.insert(grant.client_order_id, left);
        }
    }

    fn take_told(&mut self, told: &ToldRecord) {
        let last = self.streams.entry(told.stream).or_insert(0);
        *last = told.sequence.max(*last);
        if told.kind != ToldKind::Release && told.outcome != ToldOutcome::Repeated {
            push_bounded(&mut self.fills, *told, FILL_IDS_MAX);
        }
        if (told.kind, told.outcome) == (ToldKind::Execution, ToldOutcome::NoHold) {
            // The block that follows was written where it was set.
            self.ended.is_beyond(told);
        }
        if told.outcome == ToldOutcome::SetAside {
            push_bounded(&mut self.set_aside, *told, EXTERNAL_FILLS_MAX);
        }
    }

    /// The decisions that hold something, oldest first, each with what it holds.
    pub fn holds(&self) -> impl Iterator<Item = (&DecisionRecord, &HoldRecord)> {
        let held = self.holds.values();
        held.filter_map(|(decision, hold)| Some((decision, hold.as_ref()?)))
    }

    /// All of them, as a snapshot has them.
    pub(in crate::shard) fn all_holds(
        &self,
    ) -> impl Iterator<Item = &(DecisionRecord, Option<HoldRecord>)> {
        self.holds.values()
    }

    /// As a snapshot says.
    pub(in crate::shard) const fn set_last_number(&mut self, last: u64) {
        self.last = last;
    }

    /// As a snapshot says.
    pub(in crate::shard) fn set_stream(&mut self, stream: u64, last: u64) {
        self.streams.insert(stream, last);
    }

    /// As a snapshot says.
    pub(in crate::shard) fn push_fill(&mut self, told: ToldRecord) {
        push_bounded(&mut self.fills, told, FILL_IDS_MAX);
    }

    /// As a snapshot says.
    pub(in crate::shard) fn push_set_aside(&mut self, told: ToldRecord) {
        push_bounded(&mut self.set_aside, told, EXTERNAL_FILLS_MAX);
    }

    /// As a snapshot says.
    pub(in crate::shard) fn push_ended(&mut self, id: ClientOrderId, left: Left) {
        self.ended.insert(id, left);
    }

    /// The last number that a decision was given; zero before the first.
    #[must_use]
    pub const fn last_number(&self) -> u64 {
        self.last
    }

    /// By executor's log, the last message that was taken.
    pub fn streams(&self) -> impl Iterator<Item = (u64, u64)> {
        self.streams.iter().map(|(stream, last)| (*stream, *last))
    }

    /// The last executions and reversals that were told, oldest first.
    pub fn fills(&self) -> impl Iterator<Item = &ToldRecord> {
        self.fills.iter()
    }

    /// What was set aside for a person, oldest first.
    pub fn set_aside(&self) -> impl Iterator<Item = &ToldRecord> {
        self.set_aside.iter()
    }

    pub(in crate::shard) const fn ended(&self) -> &EndedHolds {
        &self.ended
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last == 0 && self.streams.is_empty()
    }
}

/// Beyond `max` the oldest is forgotten.
pub(super) fn push_bounded<T>(list: &mut VecDeque<T>, item: T, max: usize) {
    if list.len() >= max {
        list.pop_front();
    }
    list.push_back(item);
}
