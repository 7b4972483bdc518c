//! What the executor knows: exactly what its records say, so that applying them
//! again after a restart gives the same (rules O18, O22, O29).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::message::{Message, MessageBody};
use super::record::{Record, Void};
use crate::limits;
use crate::orders::lifecycle::{Booking, Fill, TrackedOrder};
use crate::time::UnixNanos;
use crate::types::{AccountId, ClientOrderId, FillId};

/// An order with what the executor keeps beside it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) order: TrackedOrder,
    /// The place in the order of admission.
    pub(super) number: u64,
    /// A cancel is wanted, and the venue has not refused it.
    pub(super) cancelling: bool,
    /// The hold's remainder was released; it is released once.
    pub(super) released: bool,
}

/// What became of a decision.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Order(ClientOrderId, [u8; 32]),
    Void(Box<Void>),
}

impl Outcome {
    pub(super) const fn digest(&self) -> &[u8; 32] {
        match self {
            Self::Order(_, digest) => digest,
            Self::Void(void) => &void.digest,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Book {
    /// The latest wall time that was recorded.
    pub(super) high_water: UnixNanos,
    pub(super) orders: BTreeMap<ClientOrderId, Entry>,
    decisions: BTreeMap<String, Outcome>,
    /// Identities that void decisions used up.
    void_ids: BTreeMap<ClientOrderId, String>,
    /// Fills of orders that are none of ours.
    pub(super) external: BTreeMap<(u16, FillId), (ClientOrderId, Fill)>,
    pub(super) blocked: BTreeSet<AccountId>,
    /// Messages that were not delivered.
    pub(super) outbox: VecDeque<Message>,
    /// The last message's sequence.
    pub(super) messages: u64,
    opened: u64,
}

impl Book {
    /// Applies an effect; what became of a fill.
    pub(super) fn apply(&mut self, record: &Record) -> Option<Booking> {
        match record {
            Record::Time(now) => self.high_water = self.high_water.max(*now),
            Record::Opened { terms, digest } => {
                self.opened += 1;
                let id = terms.client_order_id;
                let outcome = Outcome::Order(id, *digest);
                self.decisions.insert(terms.decision_id.clone(), outcome);
                let entry = Entry {
                    order: TrackedOrder::new((**terms).clone()),
                    number: self.opened,
                    cancelling: false,
                    released: false,
                };
                self.orders.insert(id, entry);
            }
            Record::Voided(void) => {
                if let Some(id) = void.client_order_id {
                    self.void_ids.insert(id, void.decision_id.clone());
                }
                let outcome = Outcome::Void(void.clone());
                self.decisions.insert(void.decision_id.clone(), outcome);
            }
            Record::Moved {
                id,
                to,
                mover,
                error,
            } => {
                if let Some(entry) = self.orders.get_mut(id) {
                    let moved = entry.order.advance(*to, *mover);
                    debug_assert!(moved.is_ok(), "a move is judged before it is written");
                    if error.is_some() {
                        entry.order.last_error.clone_from(error);
                    }
                }
            }
            Record::Filled { id, fill } => {
                return self.orders.get_mut(id).map(|entry| entry.order.book(*fill));
            }
            Record::Reversed { id, fill_id } => {
                if let Some(entry) = self.orders.get_mut(id) {
                    entry.order.reverse(*fill_id);
                }
            }
            Record::External { venue, id, fill } => {
                if self.external.len() < limits::EXTERNAL_FILLS_MAX {
                    self.external.insert((*venue, fill.fill_id), (*id, *fill));
                }
            }
            Record::Cancelling { id, wanted } => {
                if let Some(entry) = self.orders.get_mut(id) {
                    entry.cancelling = *wanted;
                }
            }
            Record::Blocked { account, blocked } => {
                if *blocked {
                    self.blocked.insert(*account);
                } else {
                    self.blocked.remove(account);
                }
            }
            Record::Message(message) => self.tell(message),
            Record::Delivered { through } => {
                while self.outbox.front().is_some_and(|m| m.sequence <= *through) {
                    self.outbox.pop_front();
                }
            }
        }
        None
    }

    fn tell(&mut self, message: &Message) {
        self.messages = message.sequence;
        let ends = match &message.body {
            MessageBody::Execution(execution) if execution.release_remainder => {
                Some(execution.client_order_id)
            }
            MessageBody::Release(release) => Some(release.client_order_id),
            MessageBody::Execution(_) | MessageBody::Reversal(_) => None,
        };
        if let Some(entry) = ends.and_then(|id| self.orders.get_mut(&id)) {
            entry.released = true;
        }
        self.outbox.push_back(message.clone());
    }

    /// What became of a decision.
    pub(super) fn decision(&self, decision_id: &str) -> Option<&Outcome> {
        self.decisions.get(decision_id)
    }

    /// The decision that used an identity up.
    pub(super) fn decision_of(&self, id: ClientOrderId) -> Option<&str> {
        let order = self.orders.get(&id);
        let order = order.map(|entry| entry.order.terms.decision_id.as_str());
        order.or_else(|| self.void_ids.get(&id).map(String::as_str))
    }

    /// How many decisions are kept.
    pub(super) fn len(&self) -> usize {
        self.decisions.len()
    }

    /// Forgets what has been over since `before` and is `forgettable`.
    pub(super) fn forget(
        &mut self,
        before: UnixNanos,
        forgettable: impl Fn(&TrackedOrder) -> bool,
    ) {
        let orders = &mut self.orders;
        let void_ids = &mut self.void_ids;
        self.decisions.retain(|_, outcome| match outcome {
            Outcome::Void(void) => {
                let keep = void.expires_at >= before;
                if let Some(id) = void.client_order_id.filter(|_| !keep) {
                    void_ids.remove(&id);
                }
                keep
            }
            Outcome::Order(id, _) => {
                let over = orders.get(id).is_none_or(|entry| {
                    let order = &entry.order;
                    let expired = order.terms.expires_at < before;
                    order.state().is_terminal() && entry.released && expired && forgettable(order)
                });
                if over {
                    orders.remove(id);
                }
                !over
            }
        });
    }
}
