//! Everything is mended, and in the end all agree with what the venues say.

use std::collections::BTreeMap;
use std::time::Duration;

use super::checks::ensure;
use super::ledger::{Traded, raw};
use super::run::{Checked, Simulation};
use super::system::ACCOUNTS;
use crate::orders::executor::OrderView;
use crate::orders::lifecycle::OrderState;
use crate::orders::venue::distant::Faults;
use crate::orders::venue::{VenueEvent, VenueStatus};
use crate::types::{AccountId, ClientOrderId, Side};

/// Rounds of four seconds: a decision's time, the skew, and the pause after which
/// what is due is listed again.
const ROUNDS: u32 = 45;

impl Simulation {
    pub(super) fn converge(&mut self) -> Checked {
        self.note(format_args!("everything is mended"));
        self.system.venue.far().set_faults(Faults::default());
        self.system.line.set_away(false);
        self.system.syncs = true;
        for _ in 0..ROUNDS {
            self.sweep()?;
            self.pass_by(Duration::from_millis(500), Duration::from_secs(4))?;
        }
        self.may_have_lost = true;
        self.check()?;
        self.nothing_hangs()?;
        self.orders_agree()?;
        self.holds_have_ended()?;
        self.accounts_agree()
    }

    fn nothing_hangs(&mut self) -> Checked {
        let (asked, requests) = (self.asked.len(), self.requests.len());
        ensure(asked + requests == 0, || {
            format!("I5: {asked} questions and {requests} requests hang")
        })?;
        // A working order that is silent is asked for now and then: that is no doubt.
        let views = self.system.executor().orders();
        let works = |view: &&OrderView| {
            matches!(view.state, OrderState::Acked | OrderState::PartiallyFilled)
        };
        let doubtful: Vec<_> = views
            .iter()
            .filter(|view| !view.state.is_terminal() && !works(view))
            .map(|view| (view.client_order_id, view.state))
            .collect();
        let questions = self.system.executor().open_questions();
        let working = views.iter().filter(works).count();
        ensure(doubtful.is_empty() && questions <= working, || {
            format!("{questions} questions about {working} orders, not settled: {doubtful:?}")
        })?;
        let undelivered = self.system.executor().undelivered();
        ensure(undelivered == 0, || {
            format!("{undelivered} messages not delivered")
        })?;
        let external = self.system.executor().counts().external_fills;
        ensure(external == 0, || {
            format!("{external} fills of nobody's order")
        })?;
        for seat in &self.system.seats {
            let left = seat.shard.unreconciled();
            ensure(left == 0, || format!("{left} own orders are not settled"))?;
        }
        let strange: u64 = self.ledgers.iter().map(|one| one.strange).sum();
        ensure(strange == 0, || {
            format!("{strange} executions were told twice, or of nothing")
        })?;
        let without: u64 = self.ledgers.iter().map(|one| one.without_hold).sum();
        // What comes beyond an order's size comes after its end.
        ensure(without == self.extras.len() as u64, || {
            format!("{without} executions without a hold")
        })
    }

    /// Every order is as its venue says, and settled as it is booked.
    fn orders_agree(&mut self) -> Checked {
        for view in self.system.executor().orders() {
            let id = view.client_order_id;
            let filled = self.told_by_venue(id);
            ensure(view.filled_qty.raw() == filled * 1_000_000_000, || {
                format!("the venue filled {filled}: {view:?}")
            })?;
            self.state_agrees(&view)?;
            let overfilled = !view.excess.is_zero();
            let Some(account) = self.account_of(id) else {
                return Err(format!("{id} has no decision"));
            };
            if overfilled {
                let is_blocked = self.system.executor().is_blocked(account);
                let seat = self.system.seat_of(account);
                let is_closed = seat.shard.risk().own_block(account).is_some();
                ensure(is_blocked && is_closed, || {
                    format!("I6: {account} is blocked: {is_blocked}, {is_closed}: {view:?}")
                })?;
            }
        }
        Ok(())
    }

    fn account_of(&self, id: ClientOrderId) -> Option<AccountId> {
        let mut ledgers = self.ledgers.iter();
        ledgers.find_map(|one| Some(one.decisions.get(&id)?.account))
    }

    /// What was filled of an order, raw: of its venue's record, and beyond it.
    fn told_by_venue(&self, id: ClientOrderId) -> i128 {
        let quantities = self.executions(id).into_iter().map(|event| match event {
            VenueEvent::Executed { quantity, .. } => raw(quantity),
            _ => 0,
        });
        quantities.sum()
    }

    fn executions(&self, id: ClientOrderId) -> Vec<VenueEvent> {
        let truth = self.system.venue.far().truth(id);
        let extras = self.extras.iter().filter(|one| one.order() == Some(id));
        truth.into_iter().chain(extras.copied()).collect()
    }

    fn state_agrees(&self, view: &OrderView) -> Checked {
        let truth = self.system.venue.far().truth(view.client_order_id);
        let Some(VenueEvent::Snapshot(snapshot)) = truth.last() else {
            return Err("a venue's record ends with a snapshot".to_owned());
        };
        let agrees = match snapshot.status {
            None => view.state == OrderState::Rejected,
            Some(VenueStatus::Working) => {
                !view.state.is_terminal() && view.state != OrderState::Unknown
            }
            Some(_) => view.state.is_terminal(),
        };
        ensure(agrees, || format!("{snapshot:?} is not {view:?}"))
    }

    /// O4, O27: a hold is there exactly while its order works.
    fn holds_have_ended(&mut self) -> Checked {
        let views = self.system.executor().orders();
        let works: BTreeMap<_, _> = views
            .iter()
            .map(|view| (view.client_order_id, !view.state.is_terminal()))
            .collect();
        for ledger in &self.ledgers {
            for (id, kept) in &ledger.decisions {
                let works = works.get(id).copied().unwrap_or(false);
                ensure(works != kept.is_over, || {
                    format!("O27: {id} works: {works}; its hold: {kept:?}")
                })?;
            }
        }
        for (ledger, seat) in self.ledgers.iter().zip(&self.system.seats) {
            let held = seat.shard.held_decisions();
            let kept = ledger.decisions.values();
            let live = kept.filter(|kept| !kept.is_over).count();
            ensure(held == live, || {
                format!("{held} decisions hold, {live} live")
            })?;
        }
        Ok(())
    }

    /// What each account has traded is what the venues say it has.
    fn accounts_agree(&self) -> Checked {
        let mut truth: BTreeMap<AccountId, Traded> = BTreeMap::new();
        let mut add = |account, side: Side, events: &[VenueEvent]| {
            let traded = truth.entry(account).or_default();
            for event in events {
                if let VenueEvent::Executed {
                    quantity, price, ..
                } = event
                {
                    traded.add(side, raw(*quantity), *price);
                }
            }
        };
        for (ledger, seat) in self.ledgers.iter().zip(&self.system.seats) {
            for (id, kept) in &ledger.decisions {
                add(kept.account, kept.side, &self.executions(*id));
            }
            for (id, kept) in &ledger.own {
                add(kept.account, kept.side, &seat.venue.far().truth(*id));
            }
        }
        for account in (1..=ACCOUNTS).map(AccountId) {
            let own = self.ledgers[self.system.shard_of(account)].traded(account);
            let told = truth.get(&account).copied().unwrap_or_default();
            ensure(own == told, || {
                format!("{account} traded {own:?}, by its venues {told:?}")
            })?;
        }
        Ok(())
    }
}
