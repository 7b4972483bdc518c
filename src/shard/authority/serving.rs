//! The shard's turn at its authority's queue.

use super::ask::{Ask, AuthorityEnd};
use super::counts::AuthorityCounts;
use super::desk::{AnswerOut, AuthorityDesk};
use super::holds::{HeldDecision, order_of};
use super::state::AuthorityState;
use crate::journal::Condition;
use crate::limits::AUTHORITY_ASKS_PER_TURN;
use crate::orders::IdentitySource;
use crate::orders::venue::Venue;
use crate::risk::{Block, ReservationToken, RestoreError};
use crate::shard::Admission;
use crate::shard::record::{Effect, HoldRecord, HoldStanding, ToldRecord};
use crate::time::Nanos;
use crate::types::{AccountId, RejectCode};

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// From now on this shard answers who asks at the other end. Before
    /// [`with_journal`](Self::with_journal).
    #[must_use]
    pub fn with_authority(mut self, end: AuthorityEnd) -> Self {
        self.authority = Some(Box::new(AuthorityDesk::new(Some(end))));
        self
    }

    /// What this shard's authority did so far; nothing where there is none.
    #[must_use]
    pub fn authority_counts(&self) -> AuthorityCounts {
        let desk = self.authority.as_ref();
        desk.map_or_else(AuthorityCounts::default, |desk| desk.counts)
    }

    /// Decisions that hold something.
    #[must_use]
    pub fn held_decisions(&self) -> usize {
        self.authority.as_ref().map_or(0, |desk| desk.holds.len())
    }

    /// Executions that an executor told and nobody here can book, oldest first.
    pub fn set_aside(&self) -> impl Iterator<Item = &ToldRecord> {
        let desk = self.authority.as_ref();
        desk.into_iter().flat_map(|desk| desk.set_aside.iter())
    }

    /// Answers what is durable, and takes what was asked, as much as a turn may;
    /// whether there was anything. What was done is a record group of its own.
    #[inline(never)]
    pub(in crate::shard) fn serve_authority(&mut self, has_room: bool, now: Nanos) -> bool {
        let mut worked = self.answer_authority();
        let is_asked = self.authority.as_ref().is_some_and(|desk| desk.is_asked());
        if !has_room || !is_asked {
            return worked;
        }
        let mut any = false;
        for _ in 0..AUTHORITY_ASKS_PER_TURN {
            let end = self.authority.as_ref().and_then(|desk| desk.end.as_ref());
            let Some(ask) = end.and_then(|end| end.asks.try_recv().ok()) else {
                break;
            };
            any = true;
            self.split_group();
            self.serve(ask, now);
            self.write_holds();
        }
        if any {
            worked = true;
            self.seal();
            let last = self.journal.as_ref().map_or(0, |journal| journal.last());
            if let Some(desk) = &mut self.authority {
                desk.answers.mark(last);
            }
            if self.journal.is_none() {
                self.answer_authority();
            }
        }
        worked
    }

    fn serve(&mut self, ask: Ask, now: Nanos) {
        match ask {
            Ask::Reserve(ask) => self.reserve(*ask, now),
            Ask::Settle(ask) => self.take_message(*ask, now),
            Ask::Due { now, most, reply } => {
                if let Some(desk) = &mut self.authority {
                    let due = desk.holds.take_due(now, most);
                    desk.answers.push(AnswerOut::Due(reply, due));
                }
            }
            Ask::Release {
                account,
                reservation_id,
                reply,
            } => {
                let shard = self.shard;
                let desk = self.authority.as_ref();
                let hold =
                    desk.and_then(|desk| desk.holds.find_of(shard, &reservation_id, account));
                if let Some(number) = hold {
                    self.end_hold(number, now);
                }
                if let Some(desk) = &mut self.authority {
                    let answer = AnswerOut::Done(reply, hold.is_some());
                    desk.answers.push(answer);
                }
            }
            Ask::SetBlock {
                account,
                cause,
                reply,
            } => {
                let is_known = self.set_block(account, cause);
                if let Some(desk) = &mut self.authority {
                    desk.answers.push(AnswerOut::Done(reply, is_known));
                }
            }
            Ask::Blocks { reply } => {
                let mut blocks = Vec::new();
                self.risk.blocks(&mut |block| {
                    if let Block::Account(account, cause) = block {
                        blocks.push((account, cause));
                    }
                });
                if let Some(desk) = &mut self.authority {
                    desk.answers.push(AnswerOut::Blocks(reply, blocks));
                }
            }
        }
    }

    /// Whether the account is known. A cause that is there stays.
    fn set_block(&mut self, account: AccountId, cause: Option<RejectCode>) -> bool {
        let set = match cause {
            Some(cause) => self.risk.block_account(account, cause),
            None => self.risk.unblock_account(account),
        };
        if set.is_ok() {
            self.write_block(account);
        }
        set.is_ok()
    }

    /// Gives the answers whose groups are durable; whether there were any.
    pub(in crate::shard) fn answer_authority(&mut self) -> bool {
        let Some(desk) = &mut self.authority else {
            return false;
        };
        match &self.journal {
            None => desk.answer(u64::MAX),
            Some(journal) if journal.condition() == Condition::Failed => {
                desk.close();
                false
            }
            Some(journal) => desk.answer(journal.durable()),
        }
    }

    /// Writes the image of every hold that has changed.
    fn write_holds(&mut self) {
        let Some(desk) = &mut self.authority else {
            return;
        };
        let mut touched = std::mem::take(&mut desk.touched);
        for number in touched.drain(..) {
            self.write_hold(number);
        }
        if let Some(desk) = &mut self.authority {
            desk.touched = touched;
        }
    }

    /// Writes the image of a hold; one that has ended was written when it did.
    pub(super) fn write_hold(&mut self, number: u64) {
        let desk = self.authority.as_ref();
        let held = desk.and_then(|desk| desk.holds.get(number));
        if let Some(held) = held
            && let Some(hold) = self.risk.hold_image(held.token)
        {
            let standing = if held.is_brought {
                HoldStanding::Brought
            } else {
                HoldStanding::Given
            };
            self.write_effect(&Effect::Hold(HoldRecord {
                number,
                standing,
                hold,
            }));
        }
    }

    /// Sets what was held, and what was told, as it was. A shard that nobody asks
    /// any more holds on.
    pub(in crate::shard) fn restore_authority(
        &mut self,
        state: &AuthorityState,
    ) -> Result<(), RestoreError> {
        if state.is_empty() && self.authority.is_none() {
            return Ok(());
        }
        let mut desk = self
            .authority
            .take()
            .unwrap_or_else(|| Box::new(AuthorityDesk::new(None)));
        for (record, hold) in state.holds() {
            let order = order_of(&record.decision, record.instrument);
            let order = order.ok_or(RestoreError::Decision(record.number))?;
            let token = self.risk.restore_order(&order, &hold.hold)?;
            desk.holds.insert(
                record.number,
                HeldDecision {
                    decision: record.decision.clone(),
                    order,
                    token,
                    is_brought: hold.standing == HoldStanding::Brought,
                    due_at: record.due_at,
                },
            );
        }
        desk.holds.saw_number(state.last_number());
        desk.cursors.extend(state.streams());
        for told in state.fills() {
            desk.fills.first_time(&told.venue, told.fill_id, told.kind);
        }
        desk.set_aside.extend(state.set_aside().copied());
        desk.ended = state.ended().clone();
        self.authority = Some(desk);
        Ok(())
    }

    /// Risk wants an order cancelled that is none of this shard's own.
    #[cold]
    pub(in crate::shard) fn note_uncancelled(&mut self, token: ReservationToken) {
        if let Some(desk) = &mut self.authority
            && desk.holds.holds_token(token)
        {
            desk.counts.uncancelled += 1;
            self.counts.alarms += 1;
        }
    }
}
