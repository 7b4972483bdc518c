//! An order that is judged here and sent elsewhere (rules O1, O3, O4).

use super::ask::ReserveAsk;
use super::desk::AnswerOut;
use super::holds::{HeldDecision, reservation_id};
use crate::orders::IdentitySource;
use crate::orders::decision::{Decision, Grant, Verdict};
use crate::orders::venue::Venue;
use crate::risk::{Rejects, ReservationToken};
use crate::shard::Admission;
use crate::shard::record::{DecisionRecord, Effect};
use crate::time::Nanos;
use crate::types::{Order, RejectCode, RejectScope};

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// Judges an order by every policy, and holds for it.
    pub(super) fn reserve(&mut self, ask: ReserveAsk, now: Nanos) {
        // Nobody would bring it.
        if ask.reply.is_closed() {
            return;
        }
        let ReserveAsk {
            order,
            draft,
            reply,
            due_at,
        } = ask;
        let verdict = self.judge(&order, now).map(|token| {
            let record = self.grant(*draft, &order, due_at);
            self.write_decision(&record);
            if self.risk.hold_moves(token) {
                self.touch_account(order.account, order.instrument);
            }
            self.withdraw_asked();
            let decision = Box::new(record.decision.clone());
            if let Some(desk) = &mut self.authority {
                desk.touched.push(record.number);
                desk.holds.insert(
                    record.number,
                    HeldDecision {
                        decision: record.decision,
                        order,
                        token,
                        is_brought: false,
                        due_at,
                    },
                );
            }
            decision
        });
        if let Some(desk) = &mut self.authority {
            match verdict {
                Ok(_) => desk.counts.allowed += 1,
                Err(_) => desk.counts.denied += 1,
            }
            desk.answers.push(AnswerOut::Decided(reply, verdict));
        }
    }

    fn judge(&mut self, order: &Order, now: Nanos) -> Result<ReservationToken, Rejects> {
        let refused = |code| Err(Rejects::one(code, RejectScope::Order));
        if let Some(code) = self.closed_to(order.account) {
            return refused(code);
        }
        if self
            .authority
            .as_ref()
            .is_none_or(|desk| desk.holds.is_full())
        {
            return refused(RejectCode::CapacityExceeded);
        }
        let token = self
            .risk
            .execute_pre_trade(order, now)
            .inspect_err(|rejects| {
                if rejects.scope() == RejectScope::Account {
                    self.write_block(order.account);
                }
            })?;
        let kept = self.risk.commit(token).is_ok();
        debug_assert!(kept, "the reservation is this call's own");
        Ok(token)
    }

    /// The decision with its identity, which is minted here and now.
    fn grant(
        &mut self,
        draft: Decision,
        order: &Order,
        due_at: crate::time::UnixNanos,
    ) -> DecisionRecord {
        let number = self
            .authority
            .as_mut()
            .map_or(0, |desk| desk.holds.next_number());
        let name = self.identities.mint();
        let grant = Grant {
            client_order_id: self.identities.mint(),
            reservation_id: reservation_id(self.shard, number),
        };
        DecisionRecord {
            number,
            instrument: order.instrument,
            due_at,
            decision: Decision {
                decision_id: format!("d-{:016x}{:016x}", name.high, name.low),
                grant: Some(grant),
                verdict: Verdict::Allow,
                ..draft
            },
        }
    }

    fn write_decision(&mut self, record: &DecisionRecord) {
        if self.journal.is_some() {
            self.write_long(&Effect::Decision(Box::new(record.clone())));
        }
    }
}
