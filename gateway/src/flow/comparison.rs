//! How many of the file's fills our venue made, and where it differed.

use core::fmt;

use hashbrown::HashMap;
use pitlane::limits::{FLOW_DIFFERENCES_MAX, FLOW_FILLS_MAX};
use pitlane::types::{Price, Quantity};

use super::expected::{ExpectedFill, ExpectedFills};
use super::row::FlowOrderId;

/// Gathers our venue's fills, in any order, while the flow runs.
///
/// Give it the fills of orders that a `New` step made, whoever arrived; not
/// those of `Aggress` steps, of which the file has no fills either.
#[derive(Debug, Default)]
pub struct FlowComparison {
    ours: HashMap<(FlowOrderId, Price), Quantity, foldhash::fast::FixedState>,
    /// Fills that found no room, or a sum out of range.
    lost: u64,
}

impl FlowComparison {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a fill of ours.
    pub fn add(&mut self, order: FlowOrderId, price: Price, quantity: Quantity) {
        let full = self.ours.len() >= FLOW_FILLS_MAX;
        let key = (order, price);
        let sum = match self.ours.get(&key) {
            Some(sum) => sum.checked_add(quantity),
            None if full => None,
            None => Some(quantity),
        };
        match sum {
            Some(sum) => drop(self.ours.insert(key, sum)),
            None => self.lost += 1,
        }
    }

    /// Compares with what the file says.
    #[must_use]
    pub fn report(&self, expected: &ExpectedFills) -> FlowReport {
        let mut differences = Vec::new();
        for (order, price, fill) in expected.iter() {
            let ours = self.ours.get(&(order, price)).copied();
            let ours = ours.unwrap_or(Quantity::ZERO);
            if ours != fill.quantity {
                differences.push(FlowDifference {
                    line: fill.line,
                    order,
                    price,
                    theirs: fill.quantity,
                    ours,
                    cause: cause(&fill, ours),
                });
            }
        }
        differences.sort_unstable_by_key(|one| (one.line, one.order, one.price));
        let exact = expected.len() - differences.len();
        differences.truncate(FLOW_DIFFERENCES_MAX);
        let only_ours = self
            .ours
            .keys()
            .filter(|(order, price)| !expected.contains(*order, *price))
            .count();
        FlowReport {
            fills: expected.len(),
            exact,
            only_ours,
            lost: self.lost,
            first_differences: differences,
        }
    }
}

fn cause(fill: &ExpectedFill, ours: Quantity) -> FlowCause {
    if fill.unseen {
        FlowCause::NeverInBook
    } else if fill.hidden {
        FlowCause::HiddenQuantity
    } else if ours.is_zero() {
        FlowCause::OtherOrderTraded
    } else {
        FlowCause::EarlierDifference
    }
}

/// Our fills beside the file's, summed by order and price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// Pairs of order and price of which the file has fills.
    pub fills: usize,
    /// Those of them that ours made to the unit.
    pub exact: usize,
    /// Pairs of which only ours has fills.
    pub only_ours: usize,
    /// Fills of ours that found no room here: the comparison is not whole.
    pub lost: u64,
    /// By line, at most [`FLOW_DIFFERENCES_MAX`].
    pub first_differences: Vec<FlowDifference>,
}

impl FlowReport {
    /// Exact ones in ten thousand, rounded down; all where there are none.
    #[must_use]
    pub fn exact_per_ten_thousand(&self) -> usize {
        if self.fills == 0 {
            return 10_000;
        }
        self.exact * 10_000 / self.fills
    }
}

impl fmt::Display for FlowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.exact_per_ten_thousand();
        writeln!(
            f,
            "{} of {} fills by order and price made exactly ({}.{:02}%); {} only here",
            self.exact,
            self.fills,
            share / 100,
            share % 100,
            self.only_ours
        )?;
        if self.lost > 0 {
            writeln!(f, "{} fills found no room to be compared", self.lost)?;
        }
        for difference in &self.first_differences {
            writeln!(f, "  {difference}")?;
        }
        Ok(())
    }
}

/// A sum of fills that ours did not make exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowDifference {
    /// The first row that tells of it.
    pub line: u64,
    /// Whose fills.
    pub order: FlowOrderId,
    /// At which price.
    pub price: Price,
    /// What the file says.
    pub theirs: Quantity,
    /// What our venue made.
    pub ours: Quantity,
    /// Why, as far as the file can tell.
    pub cause: FlowCause,
}

impl fmt::Display for FlowDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}: order {} at {}: theirs {}, ours {}: {}",
            self.line, self.order, self.price, self.theirs, self.ours, self.cause
        )
    }
}

/// A plausible cause of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowCause {
    /// The file has a fill of an order that it never showed.
    NeverInBook,
    /// The order traded more than the file showed of it.
    HiddenQuantity,
    /// Ours did not trade at all.
    OtherOrderTraded,
    /// Ours traded another quantity.
    EarlierDifference,
}

impl fmt::Display for FlowCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeverInBook => "it was never in the book (a stop, or implied)",
            Self::HiddenQuantity => "it traded more than it showed (an iceberg)",
            Self::OtherOrderTraded => "another order stood before it here",
            Self::EarlierDifference => "an earlier difference left another queue before it",
        })
    }
}
