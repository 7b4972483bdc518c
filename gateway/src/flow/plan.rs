//! From rows to what a client sends, and what it then expects.
//!
//! - `NEW`, `REPLACE` and `CANCEL` are sent. A replace's row gives what remains;
//!   what is sent is the total, with what the file says was filled.
//! - The first `TRADE` has order 0: the opening auction at its price. The market
//!   is closed until then.
//! - A later `TRADE` is an order that arrives and trades at that price: it is
//!   sent as immediate-or-cancel. One by an order that rests is that order moved
//!   to the price: it is sent as a replace.
//! - `FILL` is never sent; it is what we expect. Neither is a `CANCEL` or
//!   `REPLACE` of the same time that only says what a fill left of its order.
//!
//! A sweep over several prices is a `TRADE` for each; what then stays of the
//! order is a `NEW` of the same id. Quantity that was never shown (icebergs) and
//! orders that were never in the book (stops) are in the expectations alone.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use pitlane::limits::FLOW_ORDERS_MAX;
use pitlane::time::UnixNanos;
use pitlane::types::{Price, Quantity, Side};

use super::error::{FlowError, FlowProblem};
use super::expected::ExpectedFills;
use super::row::{FlowEvent, FlowOrderId, FlowRow};

/// One thing to send, and when the recorded venue saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStep {
    /// The row that it comes from.
    pub line: u64,
    /// The recorded venue's time; never decreases if the file's does not.
    pub time: UnixNanos,
    /// What to send.
    pub action: FlowAction,
}

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAction {
    /// A limit day order.
    New {
        /// Later steps and fills name it.
        order: FlowOrderId,
        /// Buy or sell.
        side: Side,
        /// Its limit.
        price: Price,
        /// Its quantity.
        quantity: Quantity,
    },
    /// A new price and total quantity, fills included.
    Replace {
        /// Named by an earlier `New`.
        order: FlowOrderId,
        /// Its limit from now on.
        price: Price,
        /// What it has traded, as the file says, and what shall still work.
        total: Quantity,
    },
    /// A cancel.
    Cancel {
        /// Named by an earlier `New`.
        order: FlowOrderId,
    },
    /// A limit order, immediate or cancel. An order of its own: its fills are
    /// in no expectation, and a later `New` of the same id is another.
    Aggress {
        /// Whose account sends it.
        order: FlowOrderId,
        /// Buy or sell.
        side: Side,
        /// Its limit.
        price: Price,
        /// Its quantity.
        quantity: Quantity,
    },
    /// The opening auction, at this price; the market is closed before it.
    OpenAuction {
        /// At which everything that crosses trades.
        price: Price,
    },
}

/// An order that rests, as the file tells it; quantities are raw.
struct Resting {
    side: Side,
    price: Price,
    /// What remains to be seen; below zero where hidden quantity traded.
    remaining: i64,
    /// What has traded since it was new.
    filled: i64,
    /// When it last traded.
    filled_at: Option<UnixNanos>,
}

/// The steps of a flow; ends after the first error.
pub struct FlowPlan<I> {
    rows: I,
    rows_read: u64,
    orders: HashMap<FlowOrderId, Resting, foldhash::fast::FixedState>,
    expected: ExpectedFills,
    is_open: bool,
    failed: bool,
}

impl<I: Iterator<Item = Result<FlowRow, FlowError>>> FlowPlan<I> {
    /// A plan for these rows.
    pub fn new(rows: I) -> Self {
        Self {
            rows,
            rows_read: 0,
            orders: HashMap::default(),
            expected: ExpectedFills::default(),
            is_open: false,
            failed: false,
        }
    }

    /// Rows so far, sent or not.
    pub const fn rows_read(&self) -> u64 {
        self.rows_read
    }

    /// The fills of the rows so far.
    pub const fn expected(&self) -> &ExpectedFills {
        &self.expected
    }

    /// The fills of all rows, once the steps have ended.
    pub fn into_expected(self) -> ExpectedFills {
        self.expected
    }

    /// What to send for a row, if anything.
    fn take(&mut self, row: &FlowRow) -> Result<Option<FlowAction>, FlowError> {
        let traded = matches!(row.event, FlowEvent::Trade | FlowEvent::Fill);
        let auction = row.event == FlowEvent::Trade && row.order.0 == 0;
        if traded && !auction && !self.is_open {
            return Err(at_event(row, FlowProblem::BeforeOpening));
        }
        match row.event {
            FlowEvent::New => self.enter(row).map(Some),
            FlowEvent::Replace => self.replace(row),
            FlowEvent::Cancel => self.cancel(row),
            FlowEvent::Trade if auction && self.is_open => {
                Err(at_order(row, FlowProblem::OpenAlready))
            }
            FlowEvent::Trade if auction => {
                self.is_open = true;
                Ok(Some(FlowAction::OpenAuction { price: row.price }))
            }
            FlowEvent::Trade => self.aggress(row).map(Some),
            FlowEvent::Fill => self.fill(row).map(|()| None),
        }
    }

    fn enter(&mut self, row: &FlowRow) -> Result<FlowAction, FlowError> {
        let side = side_of(row)?;
        let full = self.orders.len() >= FLOW_ORDERS_MAX;
        match self.orders.entry(row.order) {
            Entry::Occupied(_) => return Err(at_order(row, FlowProblem::RestsAlready)),
            Entry::Vacant(_) if full => {
                return Err(at_order(row, FlowProblem::TooManyOrders(FLOW_ORDERS_MAX)));
            }
            Entry::Vacant(entry) => entry.insert(Resting {
                side,
                price: row.price,
                remaining: row.quantity.raw(),
                filled: 0,
                filled_at: None,
            }),
        };
        Ok(FlowAction::New {
            order: row.order,
            side,
            price: row.price,
            quantity: row.quantity,
        })
    }

    fn replace(&mut self, row: &FlowRow) -> Result<Option<FlowAction>, FlowError> {
        let order = self.resting(row)?;
        let echo = order.filled_at == Some(row.time)
            && order.price == row.price
            && order.remaining == row.quantity.raw();
        if echo {
            return Ok(None);
        }
        order.price = row.price;
        order.remaining = row.quantity.raw();
        order.moved(row).map(Some)
    }

    fn cancel(&mut self, row: &FlowRow) -> Result<Option<FlowAction>, FlowError> {
        let order = self.resting(row)?;
        let echo = order.filled_at == Some(row.time) && order.remaining <= 0;
        self.orders.remove(&row.order);
        Ok((!echo).then_some(FlowAction::Cancel { order: row.order }))
    }

    fn aggress(&mut self, row: &FlowRow) -> Result<FlowAction, FlowError> {
        let side = side_of(row)?;
        if self.orders.contains_key(&row.order) {
            let order = self.resting(row)?;
            order.price = row.price;
            order.remaining = order.remaining.max(row.quantity.raw());
            return order.moved(row);
        }
        Ok(FlowAction::Aggress {
            order: row.order,
            side,
            price: row.price,
            quantity: row.quantity,
        })
    }

    fn fill(&mut self, row: &FlowRow) -> Result<(), FlowError> {
        let Some(order) = self.orders.get_mut(&row.order) else {
            return self.expected.add(row, None);
        };
        let shown = order.remaining;
        let quantity = row.quantity.raw();
        let sums = (
            order.remaining.checked_sub(quantity),
            order.filled.checked_add(quantity),
        );
        let (Some(remaining), Some(filled)) = sums else {
            return Err(at_order(row, FlowProblem::QuantityRange));
        };
        order.remaining = remaining;
        order.filled = filled;
        order.filled_at = Some(row.time);
        self.expected.add(row, Some(shown))
    }

    /// The order of a row that must rest, and on the row's side.
    fn resting(&mut self, row: &FlowRow) -> Result<&mut Resting, FlowError> {
        let side = side_of(row)?;
        match self.orders.get_mut(&row.order) {
            None => Err(at_order(row, FlowProblem::NotResting)),
            Some(order) if order.side != side => Err(at_order(row, FlowProblem::OtherSide)),
            Some(order) => Ok(order),
        }
    }
}

impl Resting {
    fn moved(&self, row: &FlowRow) -> Result<FlowAction, FlowError> {
        let total = self.filled.checked_add(self.remaining);
        let total = total.ok_or_else(|| at_order(row, FlowProblem::QuantityRange))?;
        Ok(FlowAction::Replace {
            order: row.order,
            price: self.price,
            total: Quantity::from_raw(total),
        })
    }
}

impl<I: Iterator<Item = Result<FlowRow, FlowError>>> Iterator for FlowPlan<I> {
    type Item = Result<FlowStep, FlowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.failed {
            let row = self.rows.next()?;
            self.rows_read += u64::from(row.is_ok());
            let step = match row {
                Ok(row) => self.take(&row).map(|action| {
                    action.map(|action| FlowStep {
                        line: row.line,
                        time: row.time,
                        action,
                    })
                }),
                Err(error) => Err(error),
            };
            self.failed = step.is_err();
            if let Some(step) = step.transpose() {
                return Some(step);
            }
        }
        None
    }
}

fn side_of(row: &FlowRow) -> Result<Side, FlowError> {
    row.side
        .ok_or_else(|| FlowError::new(row.line, Some("side"), "", FlowProblem::NotSide))
}

fn at_order(row: &FlowRow, problem: FlowProblem) -> FlowError {
    FlowError::new(row.line, Some("order_id"), row.order, problem)
}

fn at_event(row: &FlowRow, problem: FlowProblem) -> FlowError {
    let name = match row.event {
        FlowEvent::Trade => "TRADE",
        _ => "FILL",
    };
    FlowError::new(row.line, Some("event"), name, problem)
}
