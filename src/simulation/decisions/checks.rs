//! What must be true at every moment: invariants I1 to I6, by the plain model.

use std::collections::BTreeSet;

use super::ledger::Ledger;
use super::run::{Checked, Simulation};
use super::system::{ACCOUNTS, INSTRUMENT, OPENING, Seat};
use crate::orders::executor::Record;
use crate::orders::lifecycle::OrderState;
use crate::orders::venue::VenueEvent;
use crate::types::{AMOUNT_SCALE, AccountId, ClientOrderId};

/// Says what is wrong where something does not hold.
pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(what()) }
}

impl Simulation {
    pub(super) fn check(&mut self) -> Checked {
        for (ledger, seat) in self.ledgers.iter_mut().zip(&self.system.seats) {
            ensure(ledger.follow(&seat.journal), || {
                "a journal has a record that is none".to_owned()
            })?;
            own_orders(ledger, seat)?;
        }
        self.check_identities()?;
        self.check_accounts()?;
        self.check_intents()?;
        self.check_messages()?;
        self.check_orders()
    }

    /// O3: an identity is given once, whatever was lost in between.
    fn check_identities(&mut self) -> Checked {
        for ledger in &self.ledgers {
            for (id, name) in &ledger.names {
                let first = self.minted.entry(*id).or_insert_with(|| name.clone());
                ensure(first == name, || format!("O3: {id} was given twice"))?;
            }
        }
        // What was answered was durable, and stays.
        for issued in &self.issued {
            let shard = self.system.shard_of(issued.account);
            let is_there = self.ledgers[shard].decisions.contains_key(&issued.id);
            ensure(is_there, || format!("I2: decision {} is lost", issued.id))?;
        }
        Ok(())
    }

    /// I4: what is held and what was used is what orders and fills add up to.
    fn check_accounts(&self) -> Checked {
        for account in (1..=ACCOUNTS).map(AccountId) {
            let shard = self.system.shard_of(account);
            let (ledger, seat) = (&self.ledgers[shard], &self.system.seats[shard]);
            let Some(image) = seat.shard.risk().account_image(account, INSTRUMENT) else {
                return Err(format!("account {account} is gone"));
            };
            let traded = ledger.traded(account);
            ensure(image.net == traded.net, || {
                format!("I4: {account} has {} and traded {traded:?}", image.net)
            })?;
            let held = ledger.held(account);
            let changes = [traded.base(), traded.cash];
            let of = [image.of_base, image.of_settlement];
            for asset in 0..2 {
                let balance = of[asset];
                ensure(balance.held.raw() == held[asset], || {
                    format!(
                        "I4: {account} holds {balance:?}, its orders {}",
                        held[asset]
                    )
                })?;
                let used = balance.available.raw() + balance.held.raw();
                let total = OPENING[asset] * AMOUNT_SCALE + changes[asset];
                ensure(used == total, || {
                    format!("I4: {account} has {balance:?}, which should add up to {total}")
                })?;
            }
        }
        Ok(())
    }

    /// I1, I2 and I3 of the executor.
    fn check_intents(&mut self) -> Checked {
        let submits = self.system.venue.submits();
        let last = self.submits_checked.len() - 1;
        if submits.len() == self.submits_checked[last] {
            return Ok(());
        }
        self.submits_checked[last] = submits.len();
        let sent: BTreeSet<_> = submits.iter().copied().collect();
        ensure(sent.len() == submits.len(), || {
            "I3: an order was handed over twice".to_owned()
        })?;
        let (mut intents, mut opened) = (BTreeSet::new(), BTreeSet::new());
        for record in self.system.log.durable_records() {
            match record {
                Record::Moved {
                    id,
                    to: OrderState::PendingNew,
                    ..
                } => drop(intents.insert(id)),
                Record::Opened { terms, .. } => drop(opened.insert(terms.client_order_id)),
                _ => {}
            }
        }
        ensure(sent.is_subset(&intents), || {
            "I1: an order was sent without a durable intent".to_owned()
        })?;
        ensure(self.acknowledged.is_subset(&opened), || {
            "I2: an acknowledged intent is lost".to_owned()
        })?;
        self.came_from_decisions(&opened)
    }

    /// Whatever the executor takes, a shard holds for or has held for.
    fn came_from_decisions(&self, opened: &BTreeSet<ClientOrderId>) -> Checked {
        for id in opened {
            let is_known = self
                .ledgers
                .iter()
                .any(|ledger| ledger.decisions.contains_key(id));
            ensure(is_known, || format!("O4: order {id} has no decision"))?;
        }
        Ok(())
    }

    /// O30: what the executor takes for delivered is there, for good. Only a crash
    /// of the shards could lose it.
    fn check_messages(&mut self) -> Checked {
        if !core::mem::take(&mut self.may_have_lost) {
            return Ok(());
        }
        let told: BTreeSet<u64> = self
            .ledgers
            .iter()
            .flat_map(|ledger| ledger.told.keys().copied())
            .collect();
        let gap = (1..=self.delivered()).find(|sequence| !told.contains(sequence));
        ensure(gap.is_none(), || {
            format!("O30: message {gap:?} was delivered, and is lost")
        })
    }

    fn delivered(&self) -> u64 {
        let records = self.system.log.durable_records();
        let last = records.iter().rev().find_map(|record| match record {
            Record::Delivered { through } => Some(*through),
            _ => None,
        });
        last.unwrap_or(0)
    }

    /// O24 and I6 of the executor's orders.
    fn check_orders(&mut self) -> Checked {
        let extras: BTreeSet<_> = self.extras.iter().filter_map(VenueEvent::order).collect();
        for view in self.system.executor().orders() {
            let id = view.client_order_id;
            let kept = self.ledgers.iter().find_map(|one| one.decisions.get(&id));
            let Some(kept) = kept else { continue };
            let filled = view.filled_qty.raw() - view.excess.raw();
            let sum = filled + view.leaves.raw() + view.ended.raw();
            // An amount has nine decimals more than a quantity.
            let size = kept.quantity * 1_000_000_000;
            ensure(sum == size, || format!("O24: {size} is not {view:?}"))?;
            ensure(view.excess.is_zero() || extras.contains(&id), || {
                format!("I6: filled beyond its size: {view:?}")
            })?;
        }
        Ok(())
    }
}

/// I1 to I3 of a shard's own orders.
fn own_orders(ledger: &Ledger, seat: &Seat) -> Checked {
    let durable = seat.journal.durable();
    let submits = seat.venue.submits();
    let sent: BTreeSet<_> = submits.iter().copied().collect();
    ensure(sent.len() == submits.len(), || {
        "I3: a shard sent an order twice".to_owned()
    })?;
    for id in &sent {
        let is_durable = ledger
            .own
            .get(id)
            .is_some_and(|kept| kept.sequence <= durable);
        ensure(is_durable, || format!("I1: a shard sent {id}, not written"))?;
    }
    for report in &seat.told {
        ensure(ledger.reports.contains(report), || {
            format!("I2: told, and not written: {report:?}")
        })?;
    }
    Ok(())
}
