//! The open orders of a scenario, oldest first.

use pitlane::risk::ReservationToken;
use pitlane::types::{Order, Quantity};

use super::row::Row;

#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) id: String,
    pub(super) token: ReservationToken,
    pub(super) order: Order,
    /// What the table has not yet filled; zero for an order by volume.
    pub(super) left: Quantity,
}

#[derive(Debug, Default)]
pub(super) struct OpenOrders(Vec<Open>);

impl OpenOrders {
    pub(super) fn add(&mut self, id: &str, token: ReservationToken, order: &Order) {
        self.0.push(Open {
            id: id.to_owned(),
            token,
            order: *order,
            left: order.quantity.unwrap_or(Quantity::ZERO),
        });
    }

    /// The order that a row names, else its account's oldest of the instrument
    /// and side that has enough left, else the oldest of those.
    pub(super) fn find(&self, row: &Row) -> Option<usize> {
        let fits = |open: &&Open| {
            Some(open.order.account) == row.account
                && row.instrument.is_none_or(|id| id == open.order.instrument)
                && row.side.is_none_or(|side| side == open.order.side)
        };
        if !row.id.is_empty() {
            return self
                .0
                .iter()
                .position(|open| open.id == row.id && Some(open.order.account) == row.account);
        }
        let enough = |open: &Open| {
            open.order.quantity.is_none() || row.qty.is_none_or(|quantity| open.left >= quantity)
        };
        self.0
            .iter()
            .position(|open| fits(&open) && enough(open))
            .or_else(|| self.0.iter().position(|open| fits(&open)))
    }

    pub(super) fn get_mut(&mut self, at: usize) -> &mut Open {
        &mut self.0[at]
    }

    pub(super) fn remove(&mut self, at: usize) -> Open {
        self.0.remove(at)
    }
}
