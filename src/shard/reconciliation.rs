//! After a restart: every order that was open is asked for at the venue before
//! its account may send new ones (rules O21, O22).

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::Admission;
use crate::limits::{RECONCILE_PAUSE_MAX, RECONCILE_PAUSE_MIN, RECONCILE_QUERIES_PER_TURN};
use crate::orders::venue::{OrderSnapshot, Venue, VenueStatus};
use crate::orders::{IdentitySource, OpenOrder, PendingReplace};
use crate::time::Nanos;
use crate::types::{AccountId, ClientOrderId, RejectCode};

/// What the venue of a shard that starts again knows of its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VenueMemory {
    /// It ran on: each order is asked for.
    Kept,
    /// It is new, and has none: what was open is over. For a simulated venue in
    /// the process that was restarted.
    Lost,
}

/// See the module.
#[derive(Default)]
pub(super) struct Reconciliation {
    open: HashMap<ClientOrderId, Asked>,
    /// Due first at the front, but for those that were asked again sooner.
    queue: VecDeque<ClientOrderId>,
    accounts: HashMap<AccountId, u32>,
}

struct Asked {
    account: AccountId,
    /// When it was first asked for.
    first: Option<Nanos>,
    /// When it is asked for again.
    due: Nanos,
    pause_ns: u64,
}

impl Reconciliation {
    pub(super) fn add(&mut self, id: ClientOrderId, account: AccountId) {
        let asked = Asked {
            account,
            first: None,
            due: Nanos(0),
            pause_ns: RECONCILE_PAUSE_MIN,
        };
        if self.open.insert(id, asked).is_none() {
            self.queue.push_back(id);
            *self.accounts.entry(account).or_insert(0) += 1;
        }
    }

    /// Whether an account's orders are not all known yet.
    #[inline]
    pub(super) fn holds(&self, account: AccountId) -> bool {
        !self.accounts.is_empty() && self.accounts.contains_key(&account)
    }

    /// It is known how the order stands.
    #[inline]
    pub(super) fn resolve(&mut self, id: ClientOrderId) {
        if self.open.is_empty() {
            return;
        }
        if let Some(asked) = self.open.remove(&id)
            && let Some(count) = self.accounts.get_mut(&asked.account)
        {
            *count -= 1;
            if *count == 0 {
                self.accounts.remove(&asked.account);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}

impl<V: Venue, I: IdentitySource> Admission<V, I> {
    /// Orders whose state at the venue is not known since the restart.
    #[must_use]
    pub fn unreconciled(&self) -> usize {
        self.reconciliation.len()
    }

    /// Asks for those that are due, as many as a turn may.
    pub(super) fn ask_venue(&mut self, now: Nanos) -> bool {
        let mut any = false;
        for _ in 0..RECONCILE_QUERIES_PER_TURN.min(self.reconciliation.queue.len()) {
            let Some(id) = self.reconciliation.queue.pop_front() else {
                break;
            };
            let Some(asked) = self.reconciliation.open.get_mut(&id) else {
                continue;
            };
            if asked.due <= now && self.outlet.venue.query(id).is_ok() {
                asked.first.get_or_insert(now);
                asked.due = Nanos(now.0.saturating_add(asked.pause_ns));
                asked.pause_ns = (asked.pause_ns * 2).min(RECONCILE_PAUSE_MAX);
                any = true;
            }
            self.reconciliation.queue.push_back(id);
        }
        any
    }

    /// The venue's answer; executions came before it.
    pub(super) fn answered(&mut self, snapshot: &OrderSnapshot, now: Nanos) {
        let Some(asked) = self.reconciliation.open.get(&snapshot.id) else {
            return;
        };
        let since = asked.first.map_or(0, |first| now.since(first));
        let settle = self.outlet.venue.capabilities();
        let settle = settle.map_or(u128::MAX, |known| known.settle_time.as_nanos());
        let Some(&mut open) = self.orders.get_mut(snapshot.id) else {
            self.reconciliation.resolve(snapshot.id);
            return;
        };
        match snapshot.status {
            // Not there, or not yet.
            None if u128::from(since) < settle => {}
            None => self.end_unknown(&open, now),
            Some(VenueStatus::Rejected) => {
                self.end_rejected(open.id, RejectCode::SystemUnavailable, now);
            }
            Some(VenueStatus::Canceled | VenueStatus::Expired) => self.end_canceled(open.id, now),
            Some(VenueStatus::Working) if snapshot.filled == open.cumulative => {
                self.reconciliation.resolve(open.id);
                self.ask_again(&open);
            }
            // It tells of fills that it has not told: a person should look, and
            // the account stays closed until the next answer.
            Some(VenueStatus::Working | VenueStatus::Filled) => self.counts.alarms += 1,
        }
    }

    /// The venue never had the order, or has lost it: it is over.
    pub(super) fn end_unknown(&mut self, open: &OpenOrder, now: Nanos) {
        if open.cumulative.is_zero() {
            self.end_rejected(open.id, RejectCode::SystemUnavailable, now);
        } else {
            self.end_canceled(open.id, now);
        }
    }

    /// Nobody knows whether these reached the venue. Both are the same when
    /// they are done twice.
    fn ask_again(&mut self, open: &OpenOrder) {
        let id = open.id;
        if open.cancelling.is_some() && self.outlet.cancel(id).is_err() {
            self.counts.alarms += 1;
        }
        if let Some(PendingReplace { after, .. }) = open.replacing
            && let (Some(price), Some(quantity)) = (after.price, after.quantity)
            && self.outlet.replace(id, price, quantity).is_err()
        {
            self.counts.alarms += 1;
        }
        self.touch_order(id);
    }
}
