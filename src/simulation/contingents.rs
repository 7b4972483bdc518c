//! Contingent orders of all accounts, in one component: each pair or bracket lives
//! until it is over.

use crate::dispatch::contingent::{BracketOrder, OcoPair};
use crate::dispatch::{Component, Context, ShardEvent};

/// One of them.
enum Kind {
    Oco(OcoPair),
    Bracket(BracketOrder),
}

/// See the module.
#[derive(Default)]
pub(super) struct Contingents {
    active: Vec<Kind>,
    counts: ContingentCounts,
}

/// What came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ContingentCounts {
    pub(super) begun: u64,
    pub(super) over: u64,
    /// Brackets whose stop was reached.
    pub(super) stopped: u64,
}

impl Contingents {
    pub(super) fn begin_oco(&mut self, mut pair: OcoPair) {
        pair.submit();
        self.counts.begun += 1;
        self.active.push(Kind::Oco(pair));
    }

    pub(super) fn begin_bracket(&mut self, mut bracket: BracketOrder) {
        bracket.submit();
        self.counts.begun += 1;
        self.active.push(Kind::Bracket(bracket));
    }

    pub(super) const fn counts(&self) -> ContingentCounts {
        self.counts
    }
}

impl Component<ShardEvent> for Contingents {
    fn name(&self) -> &str {
        "contingent orders"
    }

    fn maintain(&mut self, event: &ShardEvent, _: &Context<'_, ShardEvent>) {
        let counts = &mut self.counts;
        self.active.retain_mut(|one| {
            let is_over = match (one, event) {
                (Kind::Oco(pair), ShardEvent::Order(report)) => pair.take(report) && pair.is_over(),
                (Kind::Oco(_), ShardEvent::Mark { .. }) => false,
                (Kind::Bracket(bracket), ShardEvent::Order(report)) => {
                    bracket.take(report) && bracket.is_over()
                }
                (Kind::Bracket(bracket), &ShardEvent::Mark { instrument, price }) => {
                    let was_stopped = bracket.is_stopped();
                    bracket.mark(instrument, price);
                    counts.stopped += u64::from(bracket.is_stopped() && !was_stopped);
                    bracket.is_over()
                }
            };
            counts.over += u64::from(is_over);
            !is_over
        });
    }

    fn on_event(&mut self, _: &ShardEvent, _: &Context<'_, ShardEvent>) {}
}
