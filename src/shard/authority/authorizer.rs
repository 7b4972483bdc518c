//! The authorizer as threads that ask see it.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::ask::{Ask, AskSender, AuthorityEnd, BlockedAccounts, ReserveAsk, ask_queue};
use super::expiry::Due;
use super::holds::order_of;
use super::pending::{Answer, Deciding};
use super::receiver::ShardReceiver;
use super::request::{Allowed, Decided, DecisionRequest, Undecided};
use crate::lanes::LaneKey;
use crate::limits::AUTHORITY_DUE_MAX;
use crate::orders::decision::{Decision, Role, Signer};
use crate::risk::Rejects;
use crate::shard::ReportBell;
use crate::time::Clock;
use crate::types::{AccountId, InstrumentId, RejectCode, RejectScope, ShardId};

/// What an authorizer signs with, and what it calls things.
pub struct AuthorizerSettings {
    /// Its private key, of the role [`Role::Authorizer`]; without one it settles,
    /// and decides nothing.
    pub signer: Option<Signer>,
    /// The instruments of each venue, by their names in decisions.
    pub instruments: BTreeMap<String, BTreeMap<String, InstrumentId>>,
    /// How far the clocks of authorizer and executor may be apart: so much later
    /// than its `expires_at` a decision counts as never brought (rule O4).
    pub skew: Duration,
    /// What `issued_at` and `expires_at` are told by.
    pub clock: Box<dyn Clock + Send + Sync>,
}

/// Asks the shards for decisions, and hands them what their executor tells.
///
/// `Clone`, `Send` and `Sync`; no call waits for a shard. The hold that an
/// allowed decision has is the risk engine's own, in the books of the account's
/// shard (rule O4).
#[derive(Clone)]
pub struct Authorizer(Arc<Inner>);

struct Inner {
    settings: AuthorizerSettings,
    shards: Vec<AskSender>,
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer")
            .field("signer", &self.0.settings.signer)
            .field("shards", &self.0.shards.len())
            .finish_non_exhaustive()
    }
}

impl Authorizer {
    /// An authorizer over as many shards as there are bells, and each shard's
    /// end, by number. A bell wakes the I/O thread that runs its shard inline; a
    /// shard on a thread of its own has none.
    ///
    /// # Panics
    /// Without a shard, with more than fit their numbers, or with a key of
    /// another role.
    #[must_use]
    pub fn new(
        settings: AuthorizerSettings,
        bells: Vec<Option<ReportBell>>,
    ) -> (Self, Vec<AuthorityEnd>) {
        let signer = settings.signer.as_ref();
        assert!(
            signer.is_none_or(|signer| signer.role() == Role::Authorizer),
            "decisions are signed with an authorizer's key"
        );
        assert!(
            (1..=usize::from(u16::MAX)).contains(&bells.len()),
            "an authorizer has at least one shard"
        );
        let (shards, ends) = bells.into_iter().map(ask_queue).unzip();
        (Self(Arc::new(Inner { settings, shards })), ends)
    }

    /// Asks for a decision. What is allowed is held from before the answer on,
    /// over crashes too, until it is filled, released, or found never to have
    /// been brought ([`due`](Self::due)).
    ///
    /// # Errors
    /// [`Undecided::NoKey`], [`Undecided::Invalid`], [`Undecided::Busy`],
    /// [`Undecided::NotThere`]; nothing was asked.
    pub fn decide(&self, request: &DecisionRequest) -> Result<Deciding, Undecided> {
        let settings = &self.0.settings;
        let signer = settings.signer.as_ref().ok_or(Undecided::NoKey)?;
        let now = settings.clock.wall();
        let draft = request
            .draft(now, signer.key_id())
            .map_err(Undecided::Invalid)?;
        let (reply, answer) = oneshot::channel();
        let deciding = Deciding::new(Answer::new(answer), self.clone());
        let instrument = match self.instrument(&request.venue, &request.instrument) {
            Ok(instrument) => instrument,
            Err(code) => {
                // The answer is known here, and is what a shard would say.
                let _ = reply.send(Err(Rejects::one(code, RejectScope::Order)));
                return Ok(deciding);
            }
        };
        // Types and times in force that a request has do have names.
        let Some(order) = order_of(&draft, instrument) else {
            return Err(Undecided::NotThere);
        };
        let due_at = draft.expires_at.after(settings.skew);
        let ask = Ask::Reserve(Box::new(ReserveAsk {
            order,
            draft: Box::new(draft),
            reply,
            due_at,
        }));
        self.shard(request.account).send(ask)?;
        Ok(deciding)
    }

    /// The executor's way to this authorizer, for
    /// [`Authority::Remote`](crate::orders::executor::Authority): hands messages
    /// to the shards, and reports them taken once they are durable there.
    ///
    /// `stream` names the executor's log, durably: a log that begins anew is
    /// another stream, or its messages would be taken for repeated ones. `bell`
    /// is called on a shard's thread when more was taken.
    #[must_use]
    pub fn receiver(&self, stream: u64, bell: Box<dyn Fn() + Send + Sync>) -> ShardReceiver {
        ShardReceiver::new(self.clone(), stream, bell)
    }

    /// Asks every shard which of its decisions should have been brought by now,
    /// and of which no message has come: to be given to
    /// [`Executor::void_unseen`](crate::orders::executor::Executor::void_unseen),
    /// whose message then releases what it voids. One that was brought is listed
    /// again after a pause, as long as nothing is heard of it.
    #[must_use]
    pub fn due(&self) -> Due {
        Due::new(self.due_answers())
    }

    /// The same, as each shard's answer; a shard that is not there has none.
    #[must_use]
    pub fn due_answers(&self) -> Vec<Answer<Vec<Decision>>> {
        let now = self.0.settings.clock.wall();
        let answers = self.0.shards.iter().filter_map(|shard| {
            let (reply, answer) = oneshot::channel();
            let most = AUTHORITY_DUE_MAX;
            let asked = shard.send(Ask::Due { now, most, reply });
            asked.ok().map(|()| Answer::new(answer))
        });
        answers.collect()
    }

    /// Ends the hold of a decision that is void, by the word of an executor that
    /// cannot say so itself; the answer is whether there was one. Never for a
    /// decision that may still be brought.
    ///
    /// # Errors
    /// [`Undecided::Busy`], [`Undecided::NotThere`]; nothing was asked.
    pub fn release(
        &self,
        account: AccountId,
        reservation_id: &str,
    ) -> Result<Answer<bool>, Undecided> {
        let (reply, answer) = oneshot::channel();
        self.shard(account).send(Ask::Release {
            account,
            reservation_id: reservation_id.to_owned(),
            reply,
        })?;
        Ok(Answer::new(answer))
    }

    /// Blocks an account, or clears its block whatever its cause, in the books of
    /// its shard and over restarts; the answer is whether the account is known.
    ///
    /// # Errors
    /// [`Undecided::Busy`], [`Undecided::NotThere`]; nothing was asked.
    pub fn set_blocked(
        &self,
        account: AccountId,
        cause: Option<RejectCode>,
    ) -> Result<Answer<bool>, Undecided> {
        let (reply, answer) = oneshot::channel();
        self.shard(account).send(Ask::SetBlock {
            account,
            cause,
            reply,
        })?;
        Ok(Answer::new(answer))
    }

    /// Asks every shard for its blocked accounts and their causes.
    ///
    /// # Errors
    /// [`Undecided::Busy`], [`Undecided::NotThere`], of the first shard that says
    /// so.
    pub fn blocks(&self) -> Result<Vec<Answer<BlockedAccounts>>, Undecided> {
        let asked = self.0.shards.iter().map(|shard| {
            let (reply, answer) = oneshot::channel();
            shard.send(Ask::Blocks { reply })?;
            Ok(Answer::new(answer))
        });
        asked.collect()
    }

    pub(super) fn sign(
        &self,
        verdict: Result<Box<Decision>, Rejects>,
    ) -> Result<Decided, Undecided> {
        let decision = match verdict {
            Ok(decision) => *decision,
            Err(rejects) => return Ok(Decided::Denied(rejects)),
        };
        let signer = self.0.settings.signer.as_ref().ok_or(Undecided::NoKey)?;
        let signed = decision.clone().signed(signer);
        let body = String::from_utf8_lossy(&signed.canonical()).into_owned();
        Ok(Decided::Allowed(Box::new(Allowed { decision, body })))
    }

    /// What a name is here.
    pub(super) fn instrument(&self, venue: &str, name: &str) -> Result<InstrumentId, RejectCode> {
        let venue = self.0.settings.instruments.get(venue);
        let instruments = venue.ok_or(RejectCode::UnknownVenue)?;
        let instrument = instruments.get(name).copied();
        instrument.ok_or(RejectCode::UnknownInstrument)
    }

    pub(super) fn shard_of(&self, account: AccountId) -> ShardId {
        // `new` has held the number to its range.
        let shards = u16::try_from(self.0.shards.len()).unwrap_or(u16::MAX);
        LaneKey::Account(account).shard(shards)
    }

    fn shard(&self, account: AccountId) -> &AskSender {
        self.sender(self.shard_of(account))
    }

    pub(super) fn sender(&self, shard: ShardId) -> &AskSender {
        &self.0.shards[usize::from(shard.0)]
    }

    pub(super) fn shards(&self) -> usize {
        self.0.shards.len()
    }
}
