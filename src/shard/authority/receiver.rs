//! The executor's outbox, on its way to the shards.

use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ask::{Ask, SettleAsk};
use super::authorizer::Authorizer;
use crate::orders::executor::{Away, Message, MessageBody, Receiver};
use crate::types::ShardId;

/// How far each shard has taken what it was given, for good.
pub(crate) struct Acknowledged {
    /// By shard, a sequence.
    through: Box<[AtomicU64]>,
    bell: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Acknowledged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acknowledged")
            .field("through", &self.through)
            .finish_non_exhaustive()
    }
}

impl Acknowledged {
    /// The shard has taken everything up to this sequence that was its own.
    pub(super) fn take(&self, shard: ShardId, sequence: u64) {
        if let Some(through) = self.through.get(usize::from(shard.0)) {
            // Pairs with the acquiring load of the receiver; the shard alone
            // writes it, a sequence that came again too.
            through.fetch_max(sequence, Ordering::Release);
        }
    }

    pub(super) fn ring(&self) {
        (self.bell)();
    }
}

/// Hands an executor's messages to the shards of their accounts, each shard's in
/// order; one is taken when the shard's record group is durable. It never blocks.
///
/// A message of nobody's account (a fill of somebody else's order) goes to the
/// first shard, which keeps it for a person.
#[derive(Debug)]
pub struct ShardReceiver {
    authorizer: Authorizer,
    stream: u64,
    acknowledged: Arc<Acknowledged>,
    /// Handed over and not known to be taken, by sequence, with their shards.
    handed: VecDeque<(u64, ShardId)>,
    taken: u64,
}

impl ShardReceiver {
    pub(super) fn new(
        authorizer: Authorizer,
        stream: u64,
        bell: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let through = (0..authorizer.shards()).map(|_| AtomicU64::new(0));
        let acknowledged = Arc::new(Acknowledged {
            through: through.collect(),
            bell,
        });
        Self {
            authorizer,
            stream,
            acknowledged,
            handed: VecDeque::new(),
            taken: 0,
        }
    }
}

impl Receiver for ShardReceiver {
    fn offer(&mut self, message: &Message) -> Result<(), Away> {
        let (account, names) = match &message.body {
            MessageBody::Execution(one) | MessageBody::Reversal(one) => {
                (one.account_id, Some((&one.venue, &one.instrument)))
            }
            MessageBody::Release(one) => (Some(one.account_id), None),
        };
        let instrument =
            names.and_then(|(venue, name)| self.authorizer.instrument(venue, name).ok());
        let shard = account.map_or(ShardId(0), |account| self.authorizer.shard_of(account));
        let ask = Ask::Settle(Box::new(SettleAsk {
            stream: self.stream,
            message: message.clone(),
            instrument,
            acknowledged: Arc::clone(&self.acknowledged),
        }));
        let sent = self.authorizer.sender(shard).send(ask);
        sent.map_err(|_| Away)?;
        self.handed.push_back((message.sequence, shard));
        Ok(())
    }

    fn taken(&mut self) -> Result<u64, Away> {
        while let Some((sequence, shard)) = self.handed.front() {
            let through = &self.acknowledged.through[usize::from(shard.0)];
            if through.load(Ordering::Acquire) < *sequence {
                break;
            }
            self.taken = *sequence;
            self.handed.pop_front();
        }
        let waits_for = self.handed.front().map(|(_, shard)| *shard);
        if waits_for.is_some_and(|shard| !self.authorizer.sender(shard).is_there()) {
            // What it had is lost with it; all that follows is offered again.
            self.handed.clear();
            return Err(Away);
        }
        Ok(self.taken)
    }
}
