//! The fills that a recorded flow tells of, summed by order and price.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use pitlane::limits::FLOW_FILLS_MAX;
use pitlane::types::{Price, Quantity};

use super::error::{FlowError, FlowProblem};
use super::row::{FlowOrderId, FlowRow};

/// A sum of fills of one order at one price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExpectedFill {
    pub(super) quantity: Quantity,
    /// The first row that tells of it.
    pub(super) line: u64,
    /// The file never showed the order in its book.
    pub(super) unseen: bool,
    /// It traded more than it showed.
    pub(super) hidden: bool,
}

/// What the recorded venue traded; filled while the plan runs.
#[derive(Debug, Default)]
pub struct ExpectedFills {
    by_order_and_price: HashMap<(FlowOrderId, Price), ExpectedFill, foldhash::fast::FixedState>,
}

impl ExpectedFills {
    /// How many pairs of order and price.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_order_and_price.len()
    }

    /// Whether nothing has traded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_order_and_price.is_empty()
    }

    /// What the file says that an order traded at a price.
    #[must_use]
    pub fn quantity(&self, order: FlowOrderId, price: Price) -> Option<Quantity> {
        let fill = self.by_order_and_price.get(&(order, price));
        fill.map(|fill| fill.quantity)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowOrderId, Price, ExpectedFill)> + '_ {
        self.by_order_and_price
            .iter()
            .map(|(&(order, price), &fill)| (order, price, fill))
    }

    pub(super) fn contains(&self, order: FlowOrderId, price: Price) -> bool {
        self.by_order_and_price.contains_key(&(order, price))
    }

    /// Adds a fill row. `shown`: what remained of the order; none if it was
    /// not in the book.
    pub(super) fn add(&mut self, row: &FlowRow, shown: Option<i64>) -> Result<(), FlowError> {
        let fail = |problem| FlowError::new(row.line, None, row.order, problem);
        let full = self.by_order_and_price.len() >= FLOW_FILLS_MAX;
        let hidden = shown.is_some_and(|shown| shown < row.quantity.raw());
        match self.by_order_and_price.entry((row.order, row.price)) {
            Entry::Occupied(mut entry) => {
                let fill = entry.get_mut();
                fill.quantity = fill
                    .quantity
                    .checked_add(row.quantity)
                    .ok_or_else(|| fail(FlowProblem::QuantityRange))?;
                fill.hidden |= hidden;
            }
            Entry::Vacant(_) if full => {
                return Err(fail(FlowProblem::TooManyFills(FLOW_FILLS_MAX)));
            }
            Entry::Vacant(entry) => {
                entry.insert(ExpectedFill {
                    quantity: row.quantity,
                    line: row.line,
                    unseen: shown.is_none(),
                    hidden,
                });
            }
        }
        Ok(())
    }
}
