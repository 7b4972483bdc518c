//! The decisions that a shard holds for: bounded, found by number, and by when
//! they should have been brought.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::limits::{AUTHORITY_DUE_PAUSE, AUTHORITY_HOLDS_MAX};
use crate::orders::decision::{Decision, Size, order_type, time_in_force};
use crate::risk::ReservationToken;
use crate::time::UnixNanos;
use crate::types::{AccountId, ClientOrderId, InstrumentId, Order, ShardId};

/// A decision with what it holds.
#[derive(Debug)]
pub(super) struct HeldDecision {
    pub(super) decision: Decision,
    pub(super) order: Order,
    /// The risk engine's hold.
    pub(super) token: ReservationToken,
    /// Its executor has told of it: it was brought.
    pub(super) is_brought: bool,
    /// When it is next listed as never brought, unless it was.
    pub(super) due_at: UnixNanos,
}

impl HeldDecision {
    fn is(&self, account: AccountId, id: ClientOrderId) -> bool {
        let own = self.decision.grant.as_ref();
        self.order.account == account && own.is_some_and(|own| own.client_order_id == id)
    }
}

#[derive(Debug, Default)]
pub(super) struct HoldTable {
    holds: HashMap<u64, HeldDecision, foldhash::fast::RandomState>,
    due: BTreeSet<(UnixNanos, u64)>,
    /// The last number that was given.
    last: u64,
}

impl HoldTable {
    pub(super) fn len(&self) -> usize {
        self.holds.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.holds.len() >= AUTHORITY_HOLDS_MAX
    }

    /// A number that was never given.
    pub(super) const fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn saw_number(&mut self, number: u64) {
        self.last = self.last.max(number);
    }

    pub(super) fn insert(&mut self, number: u64, held: HeldDecision) {
        if !held.is_brought {
            self.due.insert((held.due_at, number));
        }
        self.holds.insert(number, held);
    }

    pub(super) fn get(&self, number: u64) -> Option<&HeldDecision> {
        self.holds.get(&number)
    }

    /// The hold of that name, if it is of this account and order: a name alone
    /// may be of an earlier run.
    pub(super) fn find(
        &self,
        shard: ShardId,
        reservation_id: &str,
        account: AccountId,
        id: ClientOrderId,
    ) -> Option<u64> {
        let number = number_of(shard, reservation_id)?;
        let held = self.holds.get(&number)?;
        held.is(account, id).then_some(number)
    }

    /// The hold of that name, if it is of this account.
    pub(super) fn find_of(
        &self,
        shard: ShardId,
        reservation_id: &str,
        account: AccountId,
    ) -> Option<u64> {
        let number = number_of(shard, reservation_id)?;
        let held = self.holds.get(&number)?;
        (held.order.account == account).then_some(number)
    }

    /// It was brought: it is not listed any more. Whether that is news.
    pub(super) fn brought(&mut self, number: u64) -> bool {
        let Some(held) = self.holds.get_mut(&number) else {
            return false;
        };
        self.due.remove(&(held.due_at, number));
        !std::mem::replace(&mut held.is_brought, true)
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<HeldDecision> {
        let held = self.holds.remove(&number)?;
        self.due.remove(&(held.due_at, number));
        Some(held)
    }

    /// Those that should have been brought by `now`, oldest first; each is listed
    /// again after a pause.
    pub(super) fn take_due(&mut self, now: UnixNanos, most: usize) -> Vec<Decision> {
        let mut listed = Vec::new();
        while listed.len() < most
            && let Some(&(at, number)) = self.due.first()
            && at < now
        {
            self.due.pop_first();
            if let Some(held) = self.holds.get_mut(&number) {
                held.due_at = now.after(AUTHORITY_DUE_PAUSE);
                self.due.insert((held.due_at, number));
                listed.push(held.decision.clone());
            }
        }
        listed
    }

    pub(super) fn holds_token(&self, token: ReservationToken) -> bool {
        self.holds.values().any(|held| held.token == token)
    }
}

/// The name of a shard's hold: the shard, and its number there.
pub(super) fn reservation_id(shard: ShardId, number: u64) -> String {
    format!("r-{shard}.{number}")
}

fn number_of(shard: ShardId, reservation_id: &str) -> Option<u64> {
    let (own, number) = reservation_id.strip_prefix("r-")?.split_once('.')?;
    if own.parse() != Ok(shard.0) {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    // One name for each: no sign, no zeros in front.
    (self::reservation_id(shard, number) == reservation_id).then_some(number)
}

/// The order that a decision allows; `None` where its type or time in force has a
/// name that nothing has here.
pub(super) fn order_of(decision: &Decision, instrument: InstrumentId) -> Option<Order> {
    let (quantity, volume) = match decision.size {
        Size::Quantity(quantity) => (Some(quantity), None),
        Size::Volume(volume) => (None, Some(volume)),
    };
    Some(Order {
        account: decision.account_id,
        instrument,
        side: decision.side,
        order_type: order_type(&decision.order_type)?,
        time_in_force: time_in_force(&decision.time_in_force)?,
        quantity,
        volume,
        price: decision.price,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o04_a_hold_has_one_name_and_it_is_its_shards() {
        let name = reservation_id(ShardId(3), 17);
        assert_eq!(name, "r-3.17");
        assert_eq!(number_of(ShardId(3), &name), Some(17));
        assert_eq!(number_of(ShardId(2), &name), None);
        for other in [
            "r-3.017", "r-03.17", "r-3.+17", "r-3", "r-3.17.1", "3.17", "",
        ] {
            assert_eq!(number_of(ShardId(3), other), None, "{other}");
        }
    }
}
