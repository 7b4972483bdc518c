//! How much was left of orders whose holds have ended: a fill that comes later is
//! late where something was left, and beyond its order where nothing was (rule O24).

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::limits::AUTHORITY_ENDED_MAX;
use crate::orders::decision::Size;
use crate::risk::HoldImage;
use crate::shard::record::ToldRecord;
use crate::types::ClientOrderId;

/// What an order may still trade, in raw units of a quantity, or of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shard) enum Left {
    /// Of an order by quantity.
    Quantity(i128),
    /// Of an order by volume.
    Volume(i128),
}

impl Left {
    /// What an order of this size has left, by its hold.
    pub(in crate::shard) fn of(size: Size, hold: &HoldImage) -> Self {
        match size {
            Size::Quantity(quantity) => {
                Self::Quantity(i128::from(quantity.raw()) - i128::from(hold.filled))
            }
            Size::Volume(_) => Self::Volume(hold.volume),
        }
    }

    /// Less than it was; whether that much was left.
    fn take(&mut self, told: &ToldRecord) -> bool {
        let (left, taken) = match self {
            Self::Quantity(left) => (left, i128::from(told.quantity.raw())),
            Self::Volume(left) => (left, told.price.notional(told.quantity).raw()),
        };
        *left -= taken;
        *left >= 0
    }
}

/// See the module: the last [`AUTHORITY_ENDED_MAX`], the oldest is forgotten first,
/// and a fill of it counts as late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::shard) struct EndedHolds {
    left: HashMap<ClientOrderId, Left, foldhash::fast::RandomState>,
    order: VecDeque<ClientOrderId>,
}

impl EndedHolds {
    pub(in crate::shard) fn insert(&mut self, id: ClientOrderId, left: Left) {
        if self.left.insert(id, left).is_some() {
            return;
        }
        if self.order.len() >= AUTHORITY_ENDED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.left.remove(&oldest);
        }
        self.order.push_back(id);
    }

    /// All of them, oldest first.
    pub(in crate::shard) fn all(&self) -> impl Iterator<Item = (ClientOrderId, Left)> {
        let ids = self.order.iter();
        ids.filter_map(|id| Some((*id, *self.left.get(id)?)))
    }

    /// Takes a fill that came after the end; whether it is beyond its order.
    pub(in crate::shard) fn is_beyond(&mut self, told: &ToldRecord) -> bool {
        let left = self.left.get_mut(&told.client_order_id);
        left.is_some_and(|left| !left.take(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::record::{ToldKind, ToldOutcome, venue_name};
    use crate::types::{Amount, FillId, Price, Quantity};

    const fn id(low: u64) -> ClientOrderId {
        ClientOrderId { high: 1, low }
    }

    fn fill(order: u64, quantity: i64) -> ToldRecord {
        ToldRecord {
            stream: 1,
            sequence: 1,
            kind: ToldKind::Execution,
            outcome: ToldOutcome::NoHold,
            ends: false,
            account: None,
            instrument: None,
            side: None,
            client_order_id: id(order),
            fill_id: FillId(1),
            quantity: Quantity::from_raw(quantity),
            price: Price::from_raw(2),
            fee: Amount::ZERO,
            venue: venue_name("sim"),
        }
    }

    #[test]
    fn o24_late_is_what_was_left_and_beyond_is_what_was_not() {
        let mut ended = EndedHolds::default();
        ended.insert(id(1), Left::Quantity(5));
        ended.insert(id(2), Left::Volume(9));
        assert!(!ended.is_beyond(&fill(1, 3)));
        assert!(!ended.is_beyond(&fill(1, 2)));
        assert!(ended.is_beyond(&fill(1, 1)));
        assert!(!ended.is_beyond(&fill(2, 4)), "8 of 9");
        assert!(ended.is_beyond(&fill(2, 1)));
        assert!(!ended.is_beyond(&fill(3, 1)), "nobody knows");
    }

    #[test]
    fn o24_beyond_its_bound_the_oldest_is_forgotten() {
        let mut ended = EndedHolds::default();
        for number in 0..=AUTHORITY_ENDED_MAX as u64 {
            ended.insert(id(number), Left::Quantity(0));
        }
        assert!(!ended.is_beyond(&fill(0, 1)));
        assert!(ended.is_beyond(&fill(1, 1)));
    }
}
