//! What an executor tells: each message once, each execution once (rules O23, O24,
//! O27, O28, O30).
//!
//! A fact is never refused. One that has no hold here is booked all the same, and
//! alarmed; one that nobody here can book is set aside for a person.

use super::ask::SettleAsk;
use super::desk::AnswerOut;
use super::ended::Left;
use super::holds::HeldDecision;
use super::state::push_bounded;
use crate::limits::{AUTHORITY_STREAMS_MAX, EXTERNAL_FILLS_MAX};
use crate::orders::IdentitySource;
use crate::orders::executor::{Execution, Message, MessageBody, Release};
use crate::orders::venue::Venue;
use crate::shard::Admission;
use crate::shard::record::{
    Effect, HoldRecord, HoldStanding, ToldKind, ToldOutcome, ToldRecord, venue_name,
};
use crate::shard::settlement::Fact;
use crate::time::Nanos;
use crate::types::{AccountId, Amount, FillId, InstrumentId, Price, Quantity, RejectCode, Side};

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// Takes a message for good; acknowledged when that is durable.
    pub(super) fn take_message(&mut self, ask: SettleAsk, now: Nanos) {
        let SettleAsk {
            stream,
            message,
            instrument,
            acknowledged,
        } = ask;
        let sequence = message.sequence;
        let Some(desk) = &mut self.authority else {
            return;
        };
        let is_known = desk.cursors.contains_key(&stream);
        if !is_known && desk.cursors.len() >= AUTHORITY_STREAMS_MAX {
            // Without a cursor it could be booked twice: it stays in its outbox.
            desk.counts.strange_streams += 1;
            return;
        }
        let cursor = desk.cursors.entry(stream).or_insert(0);
        if sequence > *cursor {
            *cursor = sequence;
            self.book_message(stream, &message, instrument, now);
        } else {
            desk.counts.repeated += 1;
        }
        let shard = self.shard;
        if let Some(desk) = &mut self.authority {
            desk.answers.push(AnswerOut::Taken {
                shard,
                sequence,
                acknowledged,
            });
        }
    }

    fn book_message(
        &mut self,
        stream: u64,
        message: &Message,
        instrument: Option<InstrumentId>,
        now: Nanos,
    ) {
        let mut told = match &message.body {
            MessageBody::Execution(one) => {
                let told = told_of(ToldKind::Execution, one, instrument);
                self.book_execution(told, &one.reservation_id, now)
            }
            MessageBody::Reversal(one) => {
                let told = told_of(ToldKind::Reversal, one, instrument);
                self.book_reversal(told, &one.reservation_id, now)
            }
            MessageBody::Release(one) => self.book_release(one, now),
        };
        told.stream = stream;
        told.sequence = message.sequence;
        if let Some(desk) = &mut self.authority {
            let counts = &mut desk.counts;
            match (told.outcome, told.kind) {
                (ToldOutcome::Repeated, _) => counts.repeated += 1,
                (ToldOutcome::SetAside, _) => {
                    counts.set_aside += 1;
                    push_bounded(&mut desk.set_aside, told, EXTERNAL_FILLS_MAX);
                }
                (_, ToldKind::Execution) => counts.executed += 1,
                (_, ToldKind::Reversal) => counts.reversed += 1,
                (_, ToldKind::Release) => {}
            }
            if told.outcome == ToldOutcome::NoHold && told.kind == ToldKind::Execution {
                desk.counts.without_hold += 1;
            }
        }
        self.write_effect(&Effect::Told(told));
    }

    fn book_execution(&mut self, told: ToldRecord, reservation: &str, now: Nanos) -> ToldRecord {
        let hold = self.hold_named(reservation, told.account, &told);
        if let Some(number) = hold {
            self.note_brought(number);
        }
        let outcome = match self.fact_of(&told) {
            Err(outcome) => outcome,
            Ok(mut fact) => {
                let token = hold.and_then(|number| self.token_for(number, &fact));
                fact.token = token;
                self.book(&fact, now);
                if hold.is_none() {
                    self.judge_late(&told);
                }
                token.map_or(ToldOutcome::NoHold, |_| ToldOutcome::Settled)
            }
        };
        if let Some(number) = hold {
            if told.ends {
                // What it says last tells how much of the order was left.
                self.write_hold(number);
                self.end_hold(number, now);
            } else {
                self.touch_hold(number);
            }
        }
        ToldRecord { outcome, ..told }
    }

    /// A fill whose hold has ended: more than was left of its order is an overfill,
    /// and closes the account as one that comes before the end does (rule O24).
    fn judge_late(&mut self, told: &ToldRecord) {
        let desk = self.authority.as_mut();
        let is_beyond = desk.is_some_and(|desk| desk.ended.is_beyond(told));
        if is_beyond && let Some(account) = told.account {
            self.block_for(account, RejectCode::RiskLimitExceeded);
        }
    }

    /// What the venue has taken back is traded back, at its price and without the
    /// hold, which its order does not get again.
    fn book_reversal(&mut self, told: ToldRecord, reservation: &str, now: Nanos) -> ToldRecord {
        let hold = self.hold_named(reservation, told.account, &told);
        let outcome = match self.fact_of(&told) {
            Err(outcome) => outcome,
            Ok(fact) => {
                let back = Fact {
                    side: fact.side.opposite(),
                    fee: fact.fee.checked_neg().unwrap_or(Amount::MAX),
                    ..fact
                };
                self.book(&back, now);
                hold.map_or(ToldOutcome::NoHold, |_| ToldOutcome::Settled)
            }
        };
        if let Some(number) = hold {
            self.note_brought(number);
            self.touch_hold(number);
        }
        ToldRecord { outcome, ..told }
    }

    fn book_release(&mut self, release: &Release, now: Nanos) -> ToldRecord {
        let account = Some(release.account_id);
        let mut told = ToldRecord {
            stream: 0,
            sequence: 0,
            kind: ToldKind::Release,
            outcome: ToldOutcome::NoHold,
            ends: true,
            account,
            instrument: None,
            side: None,
            client_order_id: release.client_order_id,
            fill_id: FillId(0),
            quantity: Quantity::ZERO,
            price: Price::ZERO,
            fee: Amount::ZERO,
            venue: venue_name(""),
        };
        if let Some(number) = self.hold_named(&release.reservation_id, account, &told) {
            self.end_hold(number, now);
            told.outcome = ToldOutcome::Settled;
        }
        told
    }

    /// What is booked of an execution that is told for the first time.
    fn fact_of(&mut self, told: &ToldRecord) -> Result<Fact, ToldOutcome> {
        let Some(desk) = &mut self.authority else {
            return Err(ToldOutcome::SetAside);
        };
        if !desk.fills.first_time(&told.venue, told.fill_id, told.kind) {
            return Err(ToldOutcome::Repeated);
        }
        let (Some(account), Some(instrument), Some(side)) =
            (told.account, told.instrument, told.side)
        else {
            self.counts.alarms += 1;
            if let Some(account) = told.account {
                self.block_for(account, RejectCode::UnknownInstrument);
            }
            return Err(ToldOutcome::SetAside);
        };
        Ok(Fact {
            token: None,
            account,
            instrument,
            side,
            // The engine's own numbers are of this shard's venue.
            fill_id: None,
            price: told.price,
            quantity: told.quantity,
            fee: told.fee,
            is_final: false,
        })
    }

    fn block_for(&mut self, account: AccountId, cause: RejectCode) {
        // One that is not known has nothing that a block would keep.
        if self.risk.block_account(account, cause).is_ok() {
            self.write_block(account);
        }
    }

    fn hold_named(
        &self,
        reservation: &str,
        account: Option<AccountId>,
        told: &ToldRecord,
    ) -> Option<u64> {
        let desk = self.authority.as_ref()?;
        desk.holds
            .find(self.shard, reservation, account?, told.client_order_id)
    }

    /// The hold's token, where the fact is of what it was made for.
    fn token_for(&self, number: u64, fact: &Fact) -> Option<crate::risk::ReservationToken> {
        let held = self.authority.as_ref()?.holds.get(number)?;
        let same = held.order.instrument == fact.instrument && held.order.side == fact.side;
        same.then_some(held.token)
    }

    fn note_brought(&mut self, number: u64) {
        if let Some(desk) = &mut self.authority {
            desk.holds.brought(number);
        }
    }

    fn touch_hold(&mut self, number: u64) {
        if let Some(desk) = &mut self.authority {
            desk.touched.push(number);
        }
    }

    /// How much was left tells a late fill from one too many.
    fn remember_end(&mut self, held: &HeldDecision) {
        let (Some(hold), Some(grant)) = (self.risk.hold_image(held.token), &held.decision.grant)
        else {
            return;
        };
        let left = Left::of(held.decision.size, &hold);
        if let Some(desk) = &mut self.authority {
            desk.ended.insert(grant.client_order_id, left);
        }
    }

    /// Gives back what is left of a hold, once: it is gone then (rule O27).
    pub(super) fn end_hold(&mut self, number: u64, now: Nanos) {
        let Some(held) = self
            .authority
            .as_mut()
            .and_then(|desk| desk.holds.remove(number))
        else {
            return;
        };
        self.remember_end(&held);
        let end = Fact {
            token: Some(held.token),
            account: held.order.account,
            instrument: held.order.instrument,
            side: held.order.side,
            fill_id: None,
            price: Price::ZERO,
            quantity: Quantity::ZERO,
            fee: Amount::ZERO,
            is_final: true,
        };
        self.book(&end, now);
        if let Some(desk) = &mut self.authority {
            desk.counts.ended += 1;
        }
        self.write_effect(&Effect::Hold(HoldRecord {
            number,
            standing: HoldStanding::Ended,
            hold: crate::risk::HoldImage::default(),
        }));
    }
}

/// A message as it is kept, before it is known what becomes of it.
fn told_of(kind: ToldKind, one: &Execution, instrument: Option<InstrumentId>) -> ToldRecord {
    let side: Option<Side> = one.side;
    ToldRecord {
        stream: 0,
        sequence: 0,
        kind,
        outcome: ToldOutcome::SetAside,
        ends: one.release_remainder,
        account: one.account_id.filter(|_| !one.external),
        instrument,
        side,
        client_order_id: one.client_order_id,
        fill_id: one.fill_id,
        quantity: one.qty,
        price: one.price,
        fee: one.fee,
        venue: venue_name(&one.venue),
    }
}
